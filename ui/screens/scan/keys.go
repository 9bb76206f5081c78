package scan

import (
	"cmp"

	enginescan "meshscope/engine/scan"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Name returns the name of the tab.
func (*View) Name() string { return "Scan" }

// Keys returns the key table.
func (v *View) Keys(in *screen.Context) []screen.Key {
	if in != nil && in.Setup == nil {
		return nil
	}
	chart := func() bool { return v.inChart }
	choosing := func() bool { return !v.inChart }
	find := "find figure" // in the chart the footer has no room for it
	if v.inChart {
		find = ""
	}
	return []screen.Key{
		{Keys: "enter", Help: "take this point as the setup", Hint: "take it", When: chart, Ask: v.take},
		{
			ID: "value-before value-after", Keys: "left h | right l", Help: "value before, after",
			Hint: "point",
			When: chart, Do: v.moveColumn,
		},
		{ID: "row-up row-down", Keys: "up k | down j", Help: "row above, below", When: chart, Do: v.moveRow},
		{
			ID: "first last", Keys: "home | end G", Help: "first, last value", When: chart,
			Do: func(n int) { v.moveColumn(n << 20) },
		},
		{
			ID: "chart", Keys: "f", Help: "figure and knobs, or the chart", Hint: "figure and knobs",
			When: chart, Do: func(int) { v.inChart = false },
		},
		{
			ID: "another-before another-after", Keys: "left h | right l", Help: "another one",
			Hint: "another",
			When: choosing, Do: func(n int) { v.turn(in, n) },
		},
		{
			ID: "line-up line-down", Keys: "up k | down j", Help: "figure, knob across, second knob",
			Hint: "line", When: choosing, Do: v.moveChoice,
		},
		{
			ID: "first last", Keys: "home | end G", Help: "first, last line", When: choosing,
			Do: func(n int) { v.moveChoice(n * int(choices)) },
		},
		{
			ID: "find", Keys: "/", Help: "find a figure by part of its name", Hint: find,
			Do: func(int) { v.startFinding(in) },
		},
		{
			Keys: "enter", Help: "into the chart", Hint: "into the chart", When: choosing,
			Do: func(int) { v.inChart = true },
		},
		{
			ID: "chart", Keys: "f", Help: "figure and knobs, or the chart", When: choosing,
			Do: func(int) { v.inChart = true },
		},
		{ID: "exchange", Keys: "b", Help: "exchange the two knobs", Hint: "exchange", Do: v.exchange},
		{Keys: "esc", Help: "back to figure and knobs", When: chart, Do: func(int) { v.inChart = false }},
	}
}

// exchange swaps the knobs; a scan has one across at least.
func (v *View) exchange(int) {
	v.picked = false
	if v.x, v.by = v.by, v.x; v.x == "" {
		v.x, v.by = v.by, ""
	}
}

// moveColumn moves the cursor of the chart sideways.
func (v *View) moveColumn(n int) {
	if v.grid != nil && len(v.grid.Rows) > 0 {
		v.column = widget.Step(v.column, n, len(v.grid.Rows[0]))
	}
}

// moveRow moves the cursor of the chart up or down.
func (v *View) moveRow(n int) {
	if v.grid != nil {
		v.row = widget.Step(v.row, n, len(v.grid.Rows))
	}
}

// moveChoice goes up or down in what can be chosen.
func (v *View) moveChoice(n int) { v.at = choice(widget.Step(int(v.at), n, int(choices))) }

func (v *View) take() screen.Request {
	p := v.point()
	if p == nil || p.Verdict == enginescan.Illegal {
		return screen.Request{}
	}
	return screen.Take(p.Setup, "of the scan: "+v.pointName(p))
}

// Mouse chooses a part of the query and changes it with the wheel.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	w, h := in.W, in.H
	if in.Setup == nil || x < 0 || y < 0 || x >= w || y >= h {
		return false, screen.Request{}
	}
	n := screen.Wheel(button)
	if n == 0 && button != "left" {
		return false, screen.Request{}
	}
	if y >= 1 && y <= int(choices) {
		again := !v.inChart && v.at == choice(y-1)
		v.at, v.inChart = choice(y-1), false
		switch {
		case n != 0:
			v.turn(in, n)
		case again:
			v.turn(in, 1)
		}
		return true, v.Refresh(in)
	}
	if y < choiceLines || v.grid == nil || len(v.grid.Rows) == 0 {
		return false, screen.Request{}
	}
	v.inChart = true
	if n != 0 {
		v.moveColumn(n)
	} else if v.drawn.by == "" && w > tickWidth {
		v.column = 0
		v.moveColumn((x - tickWidth) * len(v.grid.Rows[0]) / (w - tickWidth))
	}
	return true, screen.Request{}
}

// Status says the item under the cursor.
func (v *View) Status(in *screen.Context) string {
	w := in.W
	p := v.point()
	if !v.inChart || p == nil {
		text := v.at.label() + ": " + v.at.help()
		if v.at == acrossChoice && v.picked {
			text = "across: of the layout's knobs " + label(v.x) + " trades most memory for step time here"
		}
		return in.Cut(text, w)
	}
	text := v.pointName(p)
	switch {
	case p.Verdict == enginescan.Illegal:
		text += ": " + p.Why
	case p.Value == nil:
		text += ": has no " + words(v.drawn.figure)
	default:
		text += ": " + words(v.drawn.figure) + " " + figure.Of(v.grid.Unit, *p.Value)
		if exact := exact(in, v.drawn.figure); exact != "" {
			text += " (" + exact + ")"
		}
		if p.Verdict == enginescan.DoesNotFit {
			text += ", " + cmp.Or(p.Why, "does not fit")
		}
	}
	if s := &p.Setup; p.Verdict != enginescan.Illegal && s.GPUs != v.drawn.setup.GPUs {
		text += ", on " + figure.Plural(s.GPUs, "GPU")
	}
	if s := &p.Setup; p.Verdict != enginescan.Illegal && s.GBS != v.drawn.setup.GBS {
		text += ", global batch " + figure.Comma(s.GBS)
	}
	return in.Cut(text, w)
}
