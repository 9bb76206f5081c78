package compare

import (
	"context"
	"fmt"

	"meshscope/engine"
	enginecompare "meshscope/engine/compare"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// alone is every method by itself on a few GPUs.
type alone struct {
	of   engine.Setup
	gpus int // 0: one node
	done int // GPUs that the list is of
	list []enginecompare.Method
	jobs widget.Jobs
}

func (a *alone) count(in *screen.Context) int {
	if a.gpus == 0 {
		return in.Setup.Cluster.Node()
	}
	return a.gpus
}

// refresh asks for the methods where they are of another setup.
func (a *alone) refresh(in *screen.Context) screen.Request {
	n := a.count(in)
	if a.of == *in.Setup && a.done == n && (a.jobs.Running() || a.list != nil) {
		return screen.Request{}
	}
	of := *in.Setup
	*a = alone{of: of, gpus: a.gpus, done: n, jobs: a.jobs}
	return screen.Work(&a.jobs, func(ctx context.Context) []enginecompare.Method {
		list := enginecompare.MethodsAlone(of, n)
		e := engine.Evaluator{SkipTimeline: true}
		for i := range list {
			if ctx.Err() == nil {
				list[i].Report = e.Evaluate(list[i].Setup)
			}
		}
		return list
	}, func(list []enginecompare.Method) { a.list = list })
}

// turn takes twice or half as many GPUs.
func (a *alone) turn(in *screen.Context, up bool) {
	n := a.count(in)
	if up && n < 1024 {
		n *= 2
	} else if !up && n > 2 {
		n /= 2
	}
	a.gpus = n
}

const (
	nameWidth = 11
	figWidth  = 10
)

// render draws the small multiples: memory and step of each method.
func (a *alone) render(in *screen.Context, row, w, h int) []string {
	n := a.count(in)
	detail := in.Setup.Model.Name + " on " + figure.Plural(n, "GPU")
	if w >= 100 {
		detail += fmt.Sprintf(", seq %s, mbs %d", figure.Comma(in.Setup.Seq), in.Setup.MBS)
		if r := in.Setup.Recompute; r.Mode != recipe.RecomputeNone {
			detail += ", recompute " + r.String()
		}
	}
	exact := ""
	if e := a.exact(); e != nil {
		exact = e.BandOf("steps", in.Glyphs.PlusMinus)
	}
	lines := []string{in.Heading(w, "EACH METHOD ALONE", detail, exact)}
	if len(a.list) == 0 {
		return widget.Height(append(lines, in.Note(w, "evaluating "+in.Glyphs.Ellipsis)), w, h)
	}
	bar := (w - nameWidth - 2*figWidth - 12) / 2
	if bar < 8 {
		return widget.Height(append(lines, in.Note(w, "the window is too narrow")), w, h)
	}
	memory, step := a.scales()
	timeOf := "time of " + figure.Plural(a.list[0].Setup.GBS, "sequence")
	if widget.Width(timeOf) > bar {
		timeOf = "time, " + figure.Comma(a.list[0].Setup.GBS) + " seqs"
	}
	memoryOf := "memory, GiB"
	for i := range a.list {
		if m := a.list[i].Report.Memory; m == nil || m.Peak <= memory {
			continue
		}
		if long := memoryOf + "; " + in.Glyphs.Arrow + " off scale"; widget.Width(long) <= bar {
			memoryOf = long
		}
		break
	}
	head := widget.NewLine(w).To(nameWidth).Put(in.Paint(themes.Muted),
		in.Cut(memoryOf, bar)).To(nameWidth+bar+figWidth+1).
		Put(in.Paint(themes.Muted), in.Cut(timeOf, bar))
	lines = append(lines, head.RightAligned(in.Paint(themes.Muted), "tok/s/GPU", w).String())
	tall := 1
	if h-4 >= 2*len(a.list) {
		tall = 2
	}
	for i := range a.list {
		m := &a.list[i]
		lines = append(lines, a.line(in, m, i == row, w, bar, memory, step))
		if tall == 2 {
			lines = append(lines, widget.Blank(w))
		}
	}
	lines = append(lines, legend(in, w)...)
	return widget.Height(lines, w, h)
}

// exact returns how exact the methods' step times are; nil where there are none.
func (a *alone) exact() *engine.Evidence {
	for i := range a.list {
		if t := a.list[i].Report.Time; t != nil && a.list[i].Setup.GPUs > 1 {
			return &t.Evidence
		}
	}
	return nil
}

// scales returns the lengths of full bars: the largest memory, at most four times
// what a GPU has, and the longest step of those on all GPUs.
func (a *alone) scales() (memory units.Bytes, step units.Seconds) {
	for i := range a.list {
		r := &a.list[i].Report
		if r.Memory == nil || r.Time == nil {
			continue
		}
		memory = max(memory, min(r.Memory.Peak, 4*r.Memory.Usable), r.Memory.Usable*11/10)
		if a.list[i].Setup.GPUs > 1 {
			step = max(step, r.Time.Step)
		}
	}
	return memory, step
}

func (a *alone) line(in *screen.Context, m *enginecompare.Method, here bool, w, bar int, memory units.Bytes,
	step units.Seconds,
) string {
	l, role := in.Pointed(w, here)
	l.To(2).Put(in.Paint(role), in.Cut(m.Name, nameWidth-3)).To(nameWidth)
	r := &m.Report
	if !r.Legal || r.Memory == nil || r.Time == nil || r.Throughput == nil {
		why := "cannot run"
		for _, p := range r.Problems {
			if p.Severity == "error" {
				why = p.Message
				break
			}
		}
		return l.Put(in.Paint(themes.Muted), in.Cut(in.Glyphs.Cross+" "+why, l.Left())).String()
	}
	rank := &r.Memory.Ranks[r.Memory.PeakRank]
	stack := widget.Stack{
		Segments: screen.Segments(screen.MemoryParts(rank), false), Scale: float64(memory),
		Limit: float64(r.Memory.Usable), NoTrack: true,
	}
	if r.Memory.Peak > memory { // the bar goes on beyond its full length
		stack.Scale *= float64(bar-1) / float64(bar)
		l.Raw(stack.Render(in.Theme, in.Glyphs, bar-1), bar-1).Put(in.Paint(themes.Bad), in.Glyphs.Arrow)
	} else {
		l.Raw(stack.Render(in.Theme, in.Glyphs, bar), bar)
	}
	peak, text := themes.Strong, figure.GiB(r.Memory.Peak)+"  "
	if !r.Memory.Fits {
		peak, text = themes.Bad, figure.GiB(r.Memory.Peak)+" !"
	}
	l.RightAligned(in.Paint(peak), text, nameWidth+bar+figWidth-1).To(nameWidth + bar + figWidth + 1)
	t := r.Time
	times := widget.Stack{
		Segments: screen.Segments(screen.StepParts(t), false), Scale: float64(step),
		NoTrack: true,
	}
	l.Raw(times.Render(in.Theme, in.Glyphs, bar), bar)
	l.RightAligned(in.Paint(themes.Strong), figure.Seconds(t.Step), nameWidth+2*bar+2*figWidth)
	return l.RightAligned(in.Paint(themes.Text), figure.Three(r.Throughput.TokensPerSecondPerGPU), w).String()
}

// legend names the fills of both bars, those of memory first.
func legend(in *screen.Context, w int) []string {
	memory, step := screen.MemoryParts(new(engine.RankMemory)), screen.StepParts(new(engine.Time))
	form := [2]int{} // of the names
	step[4].Names[0] = "optimizer step"
	if w < 100 {
		form = [2]int{2, 1}
	}
	lines := make([]string, 0, 2)
	for i, parts := range [][]screen.Part{memory, step} {
		l := widget.NewLine(w).To(nameWidth)
		for _, p := range parts {
			name := p.Names[form[i]]
			if l.Left() < widget.Width(name)+4 {
				break
			}
			widget.Swatch(l, in.Theme, in.Glyphs, p.Fill)
			l.Gap(1).Put(in.Paint(themes.Muted), name).Gap(2)
		}
		if i == 0 && l.Left() > len("| usable") {
			l.Put(in.Paint(themes.Limit), in.Glyphs.Limit).Gap(1).Put(in.Paint(themes.Muted), "usable")
		}
		lines = append(lines, l.String())
	}
	return lines
}
