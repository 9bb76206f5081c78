package compare

import (
	"slices"
	"strings"
	"unicode"

	"meshscope/ui/widget"
)

// HandleKey chooses pane, sides and line, or takes a setup.
func (v *View) HandleKey(in Input, _, _ int, key string) (handled bool, do Request) {
	if in.Setup == nil {
		return false, Request{}
	}
	switch key {
	case "up", "k":
		v.move(-1)
	case "down", "j":
		v.move(1)
	case "pgup":
		v.move(-10)
	case "pgdown":
		v.move(10)
	case "home":
		v.row = 0
	case "end", "G":
		v.move(1 << 20)
	case "v":
		v.pane, v.row = (v.pane+1)%panes, 0
	case "left", "h", "right", "l":
		if v.pane != alonePane {
			return false, Request{}
		}
		v.alone.turn(&in, key == "right" || key == "l")
	default:
		return v.pairKey(&in, key)
	}
	return true, v.Refresh(in)
}

// pairKey are the keys of the two sides.
func (v *View) pairKey(in *Input, key string) (bool, Request) {
	if v.pane == alonePane && key == "enter" {
		return true, v.takeAlone()
	}
	if v.pane == pairPane && key == "D" && v.dropped != nil {
		v.putBack()
		return true, v.Refresh(*in)
	}
	if v.pane != pairPane || len(v.pins) == 0 {
		return false, Request{}
	}
	switch key {
	case "a":
		if v.a = (v.a + 1) % len(v.pins); v.a == v.b { // a side against itself says nothing
			v.a = (v.a + 1) % len(v.pins)
		}
	case "b":
		if v.b++; v.b == v.a {
			v.b++
		}
		if v.b >= len(v.pins) {
			v.b = -1
		}
	case "d":
		v.dropped = &dropped{v.a, v.pins[v.a]}
		v.pins = slices.Delete(v.pins, v.a, v.a+1)
		v.a, v.b = max(v.a-1, 0), -1
	case "enter":
		return true, v.take(in)
	default:
		return false, Request{}
	}
	v.row = 0
	return true, v.Refresh(*in)
}

// putBack takes the pin that was dropped last back to its place.
func (v *View) putBack() {
	if len(v.pins) < MaxPins && !slices.Contains(v.pins, v.dropped.setup) {
		v.a = min(v.dropped.at, len(v.pins))
		v.pins = slices.Insert(v.pins, v.a, v.dropped.setup)
		v.b, v.row = -1, 0
	}
	v.dropped = nil
}

// take makes a setup on the way the setup in force, or A where the cursor is on
// none.
func (v *View) take(in *Input) Request {
	if v.pair != nil && v.row < len(v.pair.way) {
		s := v.pair.way[v.row].Setup
		return Request{Setup: &s, Text: "on the way from A to B"}
	}
	want, ok := v.sides(in)
	if !ok {
		return Request{}
	}
	return Request{Setup: &want.a, Text: "A"}
}

func (v *View) takeAlone() Request {
	a := &v.alone
	if v.row >= len(a.list) {
		return Request{}
	}
	m := &a.list[v.row]
	if !m.report.Legal {
		return Request{}
	}
	s := m.setup
	return Request{Setup: &s, Text: m.name + " alone"}
}

func (v *View) move(n int) { v.row = min(max(v.row+n, 0), max(v.rows()-1, 0)) }

// HandleMouse chooses a pane or moves with the wheel.
func (v *View) HandleMouse(in Input, w, _ int, x, y int, button string) (handled bool, do Request) {
	switch {
	case in.Setup == nil || x < 0 || x >= w:
		return false, Request{}
	case button == "wheelup":
		v.move(-1)
	case button == "wheeldown":
		v.move(1)
	case button == "left" && y == 0:
		at := len("COMPARE") + 2
		for p, name := range paneNames() {
			if at += widget.Width(name) + 2; x < at && x >= at-widget.Width(name)-2 {
				v.pane, v.row = pane(p), 0
				return true, v.Refresh(in)
			}
		}
		return false, Request{}
	case button == "left" && v.pane == pairPane && y >= 1 && y <= len(v.pins):
		v.a, v.row = y-1, 0
		return true, v.Refresh(in)
	default:
		return false, Request{}
	}
	return true, Request{}
}

// Bindings are all keys of the screen for the help.
func (v *View) Bindings() []widget.Binding {
	list := []widget.Binding{
		{Keys: []string{"v"}, Text: "next pane: two setups, each method alone, methods now"},
		{Keys: []string{"up", "down", "k", "j"}, Text: "line above, below"},
		{Keys: []string{"pgup", "pgdown"}, Text: "ten lines up, down"},
		{Keys: []string{"home", "end", "G"}, Text: "first, last line"},
	}
	if v.pane == pairPane && v.dropped != nil {
		list = append(list, widget.Binding{Keys: []string{"D"}, Text: "put the pin back that was dropped"})
	}
	switch {
	case v.pane == alonePane:
		return append(list,
			widget.Binding{Keys: []string{"left", "right", "h", "l"}, Text: "half, twice as many GPUs"},
			widget.Binding{Keys: []string{"enter"}, Text: "take this method as the setup"})
	case v.pane == pairPane && len(v.pins) > 0:
		return append(list,
			widget.Binding{Keys: []string{"a"}, Text: "next pin as A"},
			widget.Binding{Keys: []string{"b"}, Text: "next pin, or the setup in force, as B"},
			widget.Binding{Keys: []string{"d"}, Text: "drop pin A"},
			widget.Binding{Keys: []string{"enter"}, Text: "take the setup after this change; else A"})
	}
	return list
}

// Hints are the keys of the moment.
func (v *View) Hints(Input) []widget.Hint {
	list := []widget.Hint{{Key: "v", Text: paneNames()[(v.pane+1)%panes]}}
	switch {
	case v.pane == alonePane:
		list = append(list, widget.Hint{Key: "left/right", Text: "GPUs"}, widget.Hint{Key: "enter", Text: "take it"})
	case v.pane == pairPane && len(v.pins) > 0:
		list = append(list, widget.Hint{Key: "a b", Text: "sides"}, widget.Hint{Key: "enter", Text: "take it"}, widget.Hint{Key: "d", Text: "drop A"})
	}
	if v.pane == pairPane {
		if v.dropped != nil {
			list = append(list, widget.Hint{Key: "D", Text: "put it back"})
		}
		list = append(list, widget.Hint{Key: "p", Text: "pin"})
	}
	return append(list, widget.Hint{Key: "up/down", Text: "line"})
}

// Status is the rule behind the line under the cursor.
func (v *View) Status(in Input, w int) string {
	text := ""
	switch v.pane {
	case alonePane:
		if a := &v.alone; v.row < len(a.list) {
			m := &a.list[v.row]
			text = m.name + ": " + layoutWords(&m.setup)
			if m.report.Memory != nil && !m.report.Memory.Fits {
				text = m.name + ": " + m.report.Memory.Reason
			}
		}
	case methodsPane:
		if list := methodRows(); v.row < len(list) {
			text = strings.Join(whole("when: "+lower(v.methods[list[v.row].note].Use), w, 1, &in), "")
		}
	case pairPane, panes:
		text = v.pairStatus()
	}
	return in.cut(text, w)
}

// lower begins a sentence small, unless it begins with an abbreviation.
func lower(s string) string {
	r := []rune(s)
	if len(r) > 1 && unicode.IsUpper(r[0]) && !unicode.IsUpper(r[1]) {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}

// whole is as many sentences of a text as n lines hold; where not even the first
// one does, it is cut.
func whole(text string, w, n int, in *Input) []string {
	for s := text; ; {
		lines := widget.Wrap(s, w)
		if len(lines) <= n {
			return lines
		}
		end := strings.LastIndex(strings.TrimSuffix(s, "."), ". ")
		if end < 0 {
			last := strings.Join(lines[max(n-1, 0):], " ")
			return append(lines[:max(n-1, 0)], in.cut(last, w))[:n]
		}
		s = s[:end+1]
	}
}
