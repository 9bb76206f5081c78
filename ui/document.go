package ui

import (
	"context"
	"time"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// longestWork is how long a screen may work on what a document has of it; what it has by
// then is taken.
const longestWork = 10 * time.Second

// Document gives what the screens show of a setup and its report: the figures of
// Explore, then the tables of each screen, computed here. So it is not for a key press.
func Document(ctx context.Context, s engine.Setup, r engine.Report, lib *presets.Library) *report.Document {
	out := report.Overview(&s, &r)
	if !r.Legal || r.Memory == nil {
		return out
	}
	in := &screen.Context{Setup: &s, Report: &r, Glyphs: widget.NewGlyphs(false)}
	all := newScreens(nil, lib)
	for _, one := range all.all {
		tabler, ok := one.(screen.Tabler)
		if !ok {
			continue
		}
		workOut(ctx, one, in)
		for _, t := range tabler.Tables(in) {
			t.Folds, t.Ends = true, t.Head[0] == "rank"
			out.Sections = append(out.Sections, report.Section{Heading: t.Title, Blocks: []report.Block{&t}})
		}
		if large, ok := one.(screen.Forgetter); ok {
			large.Forget()
		}
	}
	out.Sections = append(out.Sections, report.Caveats(&r)...)
	return out
}

// workOut has a screen compute the data it asks for.
func workOut(ctx context.Context, one screen.Screen, in *screen.Context) {
	const most = 16 // questions, each after the answer of the last
	ctx, stop := context.WithTimeout(ctx, longestWork)
	defer stop()
	for range most {
		ask := one.Refresh(in)
		if ask.Work == nil {
			return
		}
		if finish := ask.Work(ctx); finish != nil {
			finish()
		}
	}
}
