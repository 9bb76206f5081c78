package explore

import (
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Panels draws what the screen shows beside its knobs, as much of it as there is room for: memory,
// step, pipeline and traffic, in two columns where they are wide enough. What is masked is covered.
func Panels(in *screen.Context, w, h int) []string {
	type panel struct {
		name   string
		lines  int
		masked bool
		draw   func(w, h int) []string
	}
	ranks := min(in.Setup.PP, 4)
	memory := panel{
		"MEMORY", 3 + ranks, in.Hides("memory."),
		func(w, h int) []string { return Memory(in, 0, w, h) },
	}
	step := panel{
		"STEP", 5, in.Hides(append(screen.Speed(), "time.", "pipeline.")...),
		func(w, h int) []string { return Step(in, w, h) },
	}
	pipeline := panel{
		"PIPELINE", 3 + ranks, in.Hides(append(screen.Speed(), "time.", "pipeline.")...),
		func(w, h int) []string { return Pipeline(in, 0, w, h) },
	}
	traffic := panel{
		"TRAFFIC", 1 + max(len(in.Report.Communication), 1),
		in.Hides(append(screen.Speed(),
			append(communicated(in, ".bytes"), communicated(in, ".seconds")...)...)...),
		func(w, h int) []string { return Traffic(in, w, h) },
	}
	column := func(w int, panels ...panel) []string {
		var lines []string
		room := h
		for _, p := range panels {
			room -= p.lines
		}
		for _, p := range panels {
			n := min(p.lines, h-len(lines))
			if n < 2 {
				break
			}
			if p.masked {
				lines = append(lines, in.Cover(p.name, w, n)...)
			} else {
				lines = append(lines, p.draw(w, n)...)
			}
			if room > 0 && len(lines) < h {
				lines, room = append(lines, widget.Blank(w)), room-1
			}
		}
		return widget.Height(lines, w, h)
	}
	piped := in.Setup.PP > 1
	const twoColumns, gap = 100, 3
	switch {
	case w < twoColumns && piped:
		return column(w, memory, pipeline, step, traffic)
	case w < twoColumns:
		return column(w, memory, step, traffic)
	}
	each := (w - gap) / 2
	right := []panel{step}
	if piped {
		right = []panel{step, pipeline}
	}
	left, rest := column(each, memory, traffic), column(w-gap-each, right...)
	for i := range left {
		left[i] += widget.Blank(gap) + rest[i]
	}
	return left
}
