package compare

import (
	"slices"
	"strings"
	"unicode"

	"meshscope/engine"
	"meshscope/report"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Name returns the name of the tab.
func (*View) Name() string { return "Compare" }

// Opens says that c opens the screen from everywhere.
func (*View) Opens() screen.Opening {
	return screen.Opening{ID: "compare", Keys: "c", Help: "compare a pinned setup with another"}
}

// Keys returns the key table.
func (v *View) Keys(in *screen.Context) []screen.Key {
	if in != nil && in.Setup == nil {
		return nil
	}
	alone := func() bool { return v.pane == alonePane }
	paired := func() bool { return v.pane == pairPane && len(v.pins) > 0 }
	rivals := func() bool { return v.pane == pairPane && len(v.pins) == 0 && v.pair != nil }
	return []screen.Key{
		{
			ID: "pane", Keys: "v", Help: "next pane: two setups, each method alone, methods now",
			Hint: paneNames()[(v.pane+1)%panes], Do: func(int) { v.pane, v.row = (v.pane+1)%panes, 0 },
		},
		{
			ID: "fewer-gpus more-gpus", Keys: "left h | right l", Help: "half, twice as many GPUs",
			Hint: "GPUs",
			When: alone, Do: func(n int) { v.alone.turn(in, n > 0) },
		},
		{
			Keys: "enter", Help: "take this method as the setup", Hint: "take it", When: alone,
			Ask: v.takeAlone,
		},
		{
			ID: "next-a", Keys: "a", Help: "next pin as A", Foot: "a b", Hint: "sides", When: paired,
			Do: v.nextA,
		},
		{ID: "next-b", Keys: "b", Help: "next pin, or the current setup, as B", When: paired, Do: v.nextB},
		{
			Keys: "enter", Help: "take the setup after this change; else A", Hint: "take it", When: paired,
			Ask: func() screen.Request { return v.take(in) },
		},
		{
			Keys: "enter", Help: "take the setup after this change; else B", Hint: "take it", When: rivals,
			Ask: func() screen.Request { return v.take(in) },
		},
		{ID: "drop", Keys: "d", Help: "drop pin A", Hint: "drop A", When: paired, Do: v.drop},
		{
			ID: "put-back", Keys: "D", Help: "restore the dropped pin", Hint: "restore",
			When: func() bool { return v.pane == pairPane && v.dropped != nil }, Do: v.putBack,
		},
		{
			ID: "unchanged", Keys: "=", Help: "list terms that are the same, or leave them out",
			When: func() bool { return v.pane == pairPane && v.pair != nil }, Do: v.showUnchanged,
		},
		{
			Keys: "p", Help: "pin the setup, to compare others with", Hint: "pin",
			When: func() bool { return v.pane == pairPane },
		},
		{ID: "line-up line-down", Keys: "up k | down j", Help: "line above, below", Hint: "line", Do: v.move},
		{
			ID: "lines-up lines-down", Keys: "pgup | pgdown", Help: "ten lines up, down",
			Do: func(n int) { v.move(10 * n) },
		},
		{
			ID: "first last", Keys: "home | end G", Help: "first, last line",
			Do: func(n int) { v.move(n << 20) },
		},
	}
}

// nextA takes the next pin as A; a side against itself says nothing.
func (v *View) nextA(int) {
	if v.a = (v.a + 1) % len(v.pins); v.a == v.b {
		v.a = (v.a + 1) % len(v.pins)
	}
	v.row = 0
}

// nextB takes the next pin as B, after the last one the current setup.
func (v *View) nextB(int) {
	if v.b++; v.b == v.a {
		v.b++
	}
	if v.b >= len(v.pins) {
		v.b = -1
	}
	v.row = 0
}

// drop takes pin A out; D puts it back.
func (v *View) drop(int) {
	v.dropped = &dropped{v.a, v.pins[v.a]}
	v.pins = slices.Delete(v.pins, v.a, v.a+1)
	v.a, v.b, v.row = max(v.a-1, 0), -1, 0
}

// putBack takes the pin that was dropped last back to its place.
func (v *View) putBack(int) {
	if len(v.pins) < MaxPins && !slices.Contains(v.pins, v.dropped.setup) {
		v.a = min(v.dropped.at, len(v.pins))
		v.pins = slices.Insert(v.pins, v.a, v.dropped.setup)
		v.b, v.row = -1, 0
	}
	v.dropped = nil
}

// take makes a setup on the way the current setup, or A where the cursor is on
// none.
func (v *View) take(in *screen.Context) screen.Request {
	if v.pair != nil && v.row < len(v.pair.way) {
		return screen.Take(v.pair.way[v.row].Setup, "between A and B")
	}
	want, ok := v.sides(in)
	if !ok {
		return screen.Request{}
	}
	if v.against(in) {
		return screen.Take(want.b, v.rival.name)
	}
	return screen.Take(want.a, "A")
}

func (v *View) takeAlone() screen.Request {
	a := &v.alone
	if v.row >= len(a.list) {
		return screen.Request{}
	}
	m := &a.list[v.row]
	if !m.Report.Legal {
		return screen.Request{}
	}
	return screen.Take(m.Setup, m.Name+" alone")
}

func (v *View) move(n int) { v.row = widget.Step(v.row, n, v.rows()) }

// Mouse chooses a pane or moves with the wheel.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	switch {
	case in.Setup == nil || x < 0 || x >= in.W:
		return false, screen.Request{}
	case screen.Wheel(button) != 0:
		v.move(screen.Wheel(button))
	case button == "left" && y == 0:
		at := len("COMPARE") + 2
		for p, name := range paneNames() {
			if at += widget.Width(name) + 2; x < at && x >= at-widget.Width(name)-2 {
				v.pane, v.row = pane(p), 0
				return true, v.Refresh(in)
			}
		}
		return false, screen.Request{}
	case button == "left" && v.pane == pairPane && y >= 1 && y <= len(v.pins):
		v.a, v.row = y-1, 0
		return true, v.Refresh(in)
	default:
		return false, screen.Request{}
	}
	return true, screen.Request{}
}

// Status returns the rule behind the line under the cursor.
func (v *View) Status(in *screen.Context) string {
	w := in.W
	text := ""
	switch v.pane {
	case alonePane:
		if a := &v.alone; v.row < len(a.list) {
			m := &a.list[v.row]
			text = m.Name + ": " + report.LayoutWords(&m.Setup, nil)
			if m.Report.Memory != nil && m.Report.Memory.Fit == engine.Over {
				text = m.Name + ": " + m.Report.Memory.Reason
			}
		}
	case methodsPane:
		if list := methodRows(); v.row < len(list) {
			text = strings.Join(whole("when: "+lower(v.methods[list[v.row].note].Use), w, 1, in), "")
		}
	case pairPane, panes:
		text = v.pairStatus()
		for end := 0; end >= 0 && widget.Width(text) > w; { // whole clauses
			if end = strings.LastIndexAny(text, ",;:"); end > 0 {
				text = text[:end]
			}
		}
	}
	return in.Cut(text, w)
}

// lower begins a sentence small, unless it begins with an abbreviation.
func lower(s string) string {
	r := []rune(s)
	if len(r) > 1 && unicode.IsUpper(r[0]) && !unicode.IsUpper(r[1]) {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}

// whole returns as many sentences of a text as n lines hold; where not even the first
// one does, it is cut.
func whole(text string, w, n int, in *screen.Context) []string {
	for s := text; ; {
		lines := widget.Wrap(s, w)
		if len(lines) <= n {
			return lines
		}
		end := strings.LastIndex(strings.TrimSuffix(s, "."), ". ")
		if end < 0 {
			last := strings.Join(lines[max(n-1, 0):], " ")
			return append(lines[:max(n-1, 0)], in.Cut(last, w))[:n]
		}
		s = s[:end+1]
	}
}
