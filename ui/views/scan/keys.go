package scan

import (
	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/ui/widget"
)

// HandleKey chooses what is scanned, moves in the chart, or takes a point.
func (v *View) HandleKey(in Input, _, _ int, key string) (handled bool, do Request) {
	if in.Setup == nil {
		return false, Request{}
	}
	if v.find.on {
		v.findKey(key)
		return true, v.Refresh(in)
	}
	switch key {
	case "f":
		v.inChart = !v.inChart
	case "/":
		v.startFinding(&in)
	case "b":
		v.x, v.by = v.by, v.x
		if v.x == "" {
			v.x, v.by = v.by, ""
		}
	case "enter":
		if v.inChart {
			return true, v.take()
		}
		v.inChart = true
	case "esc":
		if !v.inChart {
			return false, Request{}
		}
		v.inChart = false
	case "up", "k", "down", "j", "left", "h", "right", "l", "home", "end", "G":
		v.arrow(&in, key)
	default:
		return false, Request{}
	}
	return true, v.Refresh(in)
}

func (v *View) arrow(in *Input, key string) {
	n := 1
	if key == "up" || key == "k" || key == "left" || key == "h" {
		n = -1
	}
	rows, columns := 0, 0
	if v.grid != nil && len(v.grid.Rows) > 0 {
		rows, columns = len(v.grid.Rows), len(v.grid.Rows[0])
	}
	sideways := key == "left" || key == "h" || key == "right" || key == "l"
	switch {
	case key == "home" && v.inChart:
		v.column = 0
	case (key == "end" || key == "G") && v.inChart:
		v.column = max(columns-1, 0)
	case key == "home":
		v.at = 0
	case key == "end", key == "G":
		v.at = choices - 1
	case v.inChart && sideways:
		v.column = min(max(v.column+n, 0), max(columns-1, 0))
	case v.inChart:
		v.row = min(max(v.row+n, 0), max(rows-1, 0))
	case sideways:
		v.turn(in, n)
	default:
		v.at = choice(min(max(int(v.at)+n, 0), int(choices)-1))
	}
}

func (v *View) take() Request {
	p := v.point()
	if p == nil || p.Verdict == engine.PointIllegal {
		return Request{}
	}
	s := p.Setup
	text := v.pointName(p)
	return Request{Setup: &s, Text: "of the scan: " + text}
}

// HandleMouse chooses what is scanned and turns it with the wheel.
func (v *View) HandleMouse(in Input, w, h int, x, y int, button string) (handled bool, do Request) {
	if in.Setup == nil || x < 0 || y < 0 || x >= w || y >= h {
		return false, Request{}
	}
	n := 0
	switch button {
	case "wheelup":
		n = -1
	case "wheeldown":
		n = 1
	case "left":
	default:
		return false, Request{}
	}
	if y >= 1 && y <= int(choices) {
		again := !v.inChart && v.at == choice(y-1)
		v.at, v.inChart = choice(y-1), false
		switch {
		case n != 0:
			v.turn(&in, n)
		case again:
			v.turn(&in, 1)
		}
		return true, v.Refresh(in)
	}
	if y < choiceLines || v.grid == nil || len(v.grid.Rows) == 0 {
		return false, Request{}
	}
	v.inChart = true
	last := max(len(v.grid.Rows[0])-1, 0)
	if n != 0 {
		v.column = min(max(v.column+n, 0), last)
	} else if v.drawn.by == "" && w > tickWidth {
		v.column = min(max((x-tickWidth)*len(v.grid.Rows[0])/(w-tickWidth), 0), last)
	}
	return true, Request{}
}

// Bindings are all keys of the screen for the help.
func (v *View) Bindings() []widget.Binding {
	general := []widget.Binding{
		{Keys: []string{"/"}, Text: "find a figure by part of its name"},
		{Keys: []string{"f"}, Text: "what is scanned, or the chart"},
		{Keys: []string{"b"}, Text: "exchange the two knobs"},
		{Keys: []string{"esc"}, Text: "back to what is scanned"},
	}
	if v.inChart {
		return append([]widget.Binding{
			{Keys: []string{"enter"}, Text: "take this point as the setup"},
			{Keys: []string{"left", "right", "h", "l"}, Text: "value before, after"},
			{Keys: []string{"up", "down", "k", "j"}, Text: "row above, below"},
			{Keys: []string{"home", "end", "G"}, Text: "first, last value"},
		}, general...)
	}
	return append([]widget.Binding{
		{Keys: []string{"up", "down", "k", "j"}, Text: "figure, knob across, second knob"},
		{Keys: []string{"left", "right", "h", "l"}, Text: "another one"},
		{Keys: []string{"home", "end", "G"}, Text: "first, last line"},
		{Keys: []string{"enter"}, Text: "into the chart"},
	}, general...)
}

// Hints are the keys of the moment.
func (v *View) Hints(Input) []widget.Hint {
	switch {
	case v.find.on:
		return []widget.Hint{{Key: "enter", Text: "takes it"}, {Key: "esc", Text: "back to the figure before"}}
	case v.inChart:
		return []widget.Hint{{Key: "enter", Text: "take it"}, {Key: "left/right", Text: "point"}, {Key: "f", Text: "what is scanned"}, {Key: "b", Text: "exchange"}}
	}
	return []widget.Hint{{Key: "left/right", Text: "another"}, {Key: "up/down", Text: "line"}, {Key: "/", Text: "find figure"}, {Key: "enter", Text: "into the chart"}, {Key: "b", Text: "exchange"}}
}

// Status says what is under the cursor.
func (v *View) Status(in Input, w int) string {
	p := v.point()
	if !v.inChart || p == nil {
		return in.cut(v.at.label()+": "+v.at.help(), w)
	}
	text := v.pointName(p)
	switch {
	case p.Verdict == engine.PointIllegal:
		text += ": " + p.Why
	case p.Value == nil:
		text += ": has no " + words(v.drawn.figure)
	default:
		text += ": " + words(v.drawn.figure) + " " + figure.Of(v.grid.Unit, *p.Value)
		if exact := exact(&in, v.drawn.figure); exact != "" {
			text += " (" + exact + ")"
		}
		if p.Verdict == engine.PointNoFit {
			text += ", does not fit"
		}
	}
	if s := &p.Setup; p.Verdict != engine.PointIllegal && s.GPUs != v.drawn.setup.GPUs {
		text += ", on " + figure.Comma(s.GPUs) + " GPUs"
	}
	if s := &p.Setup; p.Verdict != engine.PointIllegal && s.GBS != v.drawn.setup.GBS {
		text += ", global batch " + figure.Comma(s.GBS)
	}
	return in.cut(text, w)
}
