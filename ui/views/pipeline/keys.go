package pipeline

import (
	"meshscope/ui/widget"
)

// HandleKey changes the state by a key of Bubble Tea's names.
func (v *View) HandleKey(in Input, w, h int, key string) (handled bool, do Request) {
	if in.Theme == nil {
		return false, do
	}
	v.said = ""
	if v.table.open {
		return v.handleTable(&in, h, key)
	}
	switch key {
	case "t", "b":
		return v.openTable(&in, key == "b")
	}
	l := v.layout(&in, w, h)
	if l == nil {
		return false, do
	}
	v.drawn = l
	return v.move(l, h, key) || v.see(l, key) || v.play(l, key), do
}

// openTable shows the table; b picks a second schedule from it, or drops it.
func (v *View) openTable(in *Input, second bool) (bool, Request) {
	if in.line() == nil {
		return false, Request{}
	}
	if second && v.against != "" {
		v.single()
		return true, Request{}
	}
	v.table.open, v.table.second = true, second
	if v.table.current(in.Setup) {
		v.table.pick(in.Setup.Schedule)
		return true, Request{}
	}
	if v.table.pendingFor(in.Setup) {
		return true, Request{}
	}
	return true, v.work(*in.Setup)
}

// move are the keys of the cursor.
func (v *View) move(l *layout, h int, key string) bool {
	page := max(1, h/2)
	switch key {
	case "left", "h":
		v.step(l, -1)
	case "right", "l":
		v.step(l, 1)
	case "up", "k":
		v.vertical(l, -1)
	case "down", "j":
		v.vertical(l, 1)
	case "shift+left", "H":
		v.pan(l, -0.5)
	case "shift+right", "L":
		v.pan(l, 0.5)
	case "shift+up", "K", "[", "pgup":
		v.vertical(l, -page)
	case "shift+down", "J", "]", "pgdown":
		v.vertical(l, page)
	case "home", "w":
		v.moveTo(l, 0)
	case "d":
		s := v.spot(l)
		v.moveTo(l, drain(s.line, s.rank)+1e-9*l.axis.Whole)
	case "end", "G":
		s := v.spot(l)
		v.moveTo(l, s.line.Ranks[s.rank].Last-1e-9*l.axis.Whole)
	case "n":
		v.idle(l, 1)
	case "N":
		v.idle(l, -1)
	case "i":
		v.other(l, true)
	case "o":
		v.other(l, false)
	default:
		return false
	}
	if v.head > 0 && !v.playing {
		v.head = max(l.axis.Place(v.at*l.axis.Whole), 1e-9)
	}
	return true
}

// other moves the cursor to where its input comes from or its result goes.
func (v *View) other(l *layout, input bool) {
	s := v.spot(l)
	if s.last {
		return
	}
	find := s.line.Order.Consumer
	if input {
		find = s.line.Order.Producer
	}
	p, ok := find(s.place())
	if !ok {
		return
	}
	v.rank = p.Rank
	v.at = (s.line.Begin[p.Op] + s.line.End[p.Op]) / 2 / l.axis.Whole
	v.reveal(l)
}

// see are the keys that change the picture.
func (v *View) see(l *layout, key string) bool {
	here := l.axis.Place(v.at * l.axis.Whole)
	switch key {
	case "+", "=":
		v.magnify(l, 2*v.zoomed(), here)
	case "-", "_":
		v.magnify(l, v.zoomed()/2, here)
	case "0":
		v.zoom, v.left = 1, 0
	case "1":
		v.magnify(l, l.axis.PerOp()/float64(max(1, l.plot)), here)
		v.reveal(l)
	case "f":
		if !v.unfolded && l.axis.Folded == 0 {
			v.said = "nothing to fold: all is readable, or nothing repeats"
			return true
		}
		v.unfolded = !v.unfolded
		v.zoom, v.left = 1, 0
	case "enter":
		v.words = !v.words
	case "v":
		if len(l.blocks) < 2 {
			v.said = "v shows A and B in turn: b compares"
			return true
		}
		if v.flip {
			v.below = !v.below
		}
		v.flip = true
	case "s":
		v.sparks = on
		if l.per > l.tall {
			v.sparks = off
		}
	case "m":
		v.microBatch = !v.microBatch
	case "c":
		v.critical = !v.critical
	case "esc":
		if !v.critical && !v.microBatch && v.head == 0 && v.against == "" && !v.words {
			return false
		}
		v.escape()
	default:
		return false
	}
	return true
}

// escape undoes one thing: playback, then highlights, then the second timeline.
func (v *View) escape() {
	switch {
	case v.head > 0:
		v.head, v.playing = 0, false
	case v.critical || v.microBatch:
		v.critical, v.microBatch = false, false
	case v.flip:
		v.flip = false
	case v.words:
		v.words = false
	default:
		v.single()
	}
}

// single ends the comparison.
func (v *View) single() {
	v.jobs.Drop()
	v.second, v.against, v.fetching, v.lost, v.below, v.flip = nil, "", "", "", false, false
}

// Bounds of the playback's speed, as powers of two.
const (
	slowest = -2
	fastest = 4
)

// play are the keys of the playback.
func (v *View) play(l *layout, key string) bool {
	switch key {
	case "space", " ":
		v.playing = !v.playing
		if v.playing && v.head <= 0 {
			v.head, _ = v.window()
			v.head = max(v.head, 1e-9)
		}
		if !v.playing {
			v.at = l.axis.Moment(v.head) / l.axis.Whole
		}
	case "<", ",":
		v.speed = max(slowest, v.speed-1)
	case ">", ".":
		v.speed = min(fastest, v.speed+1)
	default:
		return false
	}
	return true
}

// HandleMouse moves the cursor to a click and zooms about the pointer with the
// wheel. Coordinates are those inside the screen's area.
func (v *View) HandleMouse(in Input, w, h int, x, y int, button string) (handled bool, do Request) {
	if in.Theme == nil {
		return false, do
	}
	if v.table.open {
		return v.mouseTable(h, y, button), do
	}
	l := v.layout(&in, w, h)
	if l == nil || y < 0 || y >= h {
		return false, do
	}
	v.drawn = l
	col := min(max(0, x-l.label), l.plot-1)
	place := l.axis.Place(l.frame.Time(col))
	switch button {
	case "left":
		return v.click(l, x, y), do
	case "wheelup":
		v.magnify(l, 2*v.zoomed(), place)
	case "wheeldown":
		v.magnify(l, v.zoomed()/2, place)
	case "wheelleft":
		v.pan(l, -0.1)
	case "wheelright":
		v.pan(l, 0.1)
	default:
		return false, do
	}
	return true, do
}

// click puts the cursor under the pointer, or moves the window by the overview.
func (v *View) click(l *layout, x, y int) bool {
	if x < l.label || x >= l.label+l.plot {
		return false
	}
	if l.overview >= 0 && y >= l.overview && y <= l.overview+l.strips {
		place := l.axis.Place(float64(x-l.label) / float64(l.plot) * l.axis.Whole)
		v.left = place - 0.5/v.zoomed()
		v.left, _ = v.window()
		v.at = l.axis.Moment(place) / l.axis.Whole
		return true
	}
	for i := range l.blocks {
		b := &l.blocks[i]
		n := (y - b.top) / l.per
		if b.hidden || y < b.top || n >= b.lines() {
			continue
		}
		if b.two {
			n *= 2 // the upper one, or where it has the cursor already the lower one
			if b.ranks[n] == v.rank && v.below == (i == 1) {
				n = min(n+1, len(b.ranks)-1)
			}
		}
		v.rank, v.below = b.ranks[n], i == 1
		v.at = min(1, l.frame.Time(x-l.label)/l.axis.Whole)
		return true
	}
	return false
}

// mouseTable is the wheel and a click on the table.
func (v *View) mouseTable(h, y int, button string) bool {
	t := &v.table
	last := max(0, len(t.rows)-1)
	switch button {
	case "wheelup":
		t.row = max(0, t.row-1)
	case "wheeldown":
		t.row = min(last, t.row+1)
	case "left":
		from, n := t.page(h)
		if y < 2 || y-2 >= n || from+y-2 > last {
			return false
		}
		t.row = from + y - 2
	default:
		return false
	}
	return true
}

// Bindings are all keys of the screen for the help.
func (v *View) Bindings() []widget.Binding {
	return []widget.Binding{
		{Keys: []string{"left", "right", "h", "l"}, Text: "operation before, after"},
		{Keys: []string{"up", "down", "k", "j"}, Text: "rank above, below"},
		{Keys: []string{"shift+left", "shift+right", "H", "L"}, Text: "half a screen earlier, later"},
		{Keys: []string{"pgup", "pgdown", "[", "]", "shift+up", "shift+down", "K", "J"}, Text: "half a screen of ranks up, down"},
		{Keys: []string{"home", "w"}, Text: "begin of the step: the warm-up"},
		{Keys: []string{"d"}, Text: "begin of the drain"},
		{Keys: []string{"end", "G"}, Text: "end of the rank's work"},
		{Keys: []string{"n", "N"}, Text: "next, last idle gap"},
		{Keys: []string{"i"}, Text: "go to where its input comes from"},
		{Keys: []string{"o"}, Text: "go to who reads its result"},
		{Keys: []string{"+", "-", "=", "_"}, Text: "zoom in, out"},
		{Keys: []string{"0"}, Text: "the whole step"},
		{Keys: []string{"1"}, Text: "so near that every operation has a column"},
		{Keys: []string{"f"}, Text: "fold what repeats, or not"},
		{Keys: []string{"s"}, Text: "activation memory below each rank, or not"},
		{Keys: []string{"m"}, Text: "mark the way of this micro-batch"},
		{Keys: []string{"c"}, Text: "mark the critical path"},
		{Keys: []string{"space"}, Text: "play the step, pause"},
		{Keys: []string{"<", ">", ",", "."}, Text: "play slower, faster"},
		{Keys: []string{"enter"}, Text: "all words about the cursor, or not"},
		{Keys: []string{"t"}, Text: "table of all schedules"},
		{Keys: []string{"b"}, Text: "compare with a second schedule, or not"},
		{Keys: []string{"v"}, Text: "of two schedules one after the other in the same place"},
		{Keys: []string{"esc"}, Text: "end playback, marks or comparison"},
	}
}

// Hints are the keys for the moment, best first.
func (v *View) Hints(_ Input) []widget.Hint {
	if v.table.open {
		what := "take it"
		if v.table.second {
			what = "compare with it"
		}
		return []widget.Hint{{Key: "enter", Text: what}, {Key: "up/down", Text: "choose"}, {Key: "esc", Text: "back"}}
	}
	if v.second != nil {
		return []widget.Hint{{Key: "v", Text: "A, B in turn"}, {Key: "b", Text: "one timeline"}, {Key: "arrows", Text: "move"}, {Key: "+ - 0 1", Text: "zoom"}, {Key: "t", Text: "all schedules"}, {Key: "n N", Text: "next gap"}}
	}
	compare := widget.Hint{Key: "b", Text: "compare"}
	if v.against != "" {
		compare.Text = "one timeline"
	}
	hints := []widget.Hint{
		{Key: "arrows", Text: "move"},
		{Key: "+ - 0 1", Text: "zoom"},
		{Key: "t", Text: "all schedules"},
		{Key: "n N", Text: "next gap"},
		compare,
		{Key: "space", Text: "play"},
		{Key: "f", Text: "fold"},
		{Key: "m", Text: "micro-batch"},
		{Key: "c", Text: "critical path"},
		{Key: "s", Text: "memory"},
		{Key: "enter", Text: "all words"},
		{Key: "i o", Text: "input, reader"},
		{Key: "shift+arrows", Text: "half a screen"},
	}
	if v.playing || v.head > 0 {
		first := []widget.Hint{{Key: "space", Text: "pause"}, {Key: "< >", Text: "speed"}, {Key: "esc", Text: "end playback"}}
		if !v.playing {
			first[0].Text = "go on"
		}
		return append(first, hints[:4]...)
	}
	return hints
}
