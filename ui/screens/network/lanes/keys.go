package lanes

import (
	"meshscope/engine"
	lane "meshscope/engine/lanes"
	"meshscope/engine/units"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Name returns the name of the pane.
func (*View) Name() string { return "lanes" }

// The rows that take the cursor: the variants, the lanes, and the lists that scale the step.
func (v *View) lanesFrom() int { return 1 }

// lanesTo returns the row behind the last lane.
func (v *View) lanesTo() int {
	if v.drawn.step == nil {
		return 1
	}
	return 1 + len(v.drawn.step.Lanes)
}

// last returns the last row.
func (v *View) last() int { return v.lanesTo() + len(v.scales()) - 1 }

// scales returns the lists below the lanes that have a choice.
func (v *View) scales() []int {
	var out []int
	for i, list := range v.drawn.choices.Lists() {
		if i > 0 && len(list) > 1 {
			out = append(out, i)
		}
	}
	return out
}

// listAt returns the list of a row; none: it is a lane.
func (v *View) listAt(row int) int {
	switch {
	case row < v.lanesFrom():
		return 0
	case row >= v.lanesTo():
		if s := v.scales(); row-v.lanesTo() < len(s) {
			return s[row-v.lanesTo()]
		}
	}
	return none
}

// laneAt returns the lane of a row; nil: it is a list.
func (v *View) laneAt(row int) *lane.Lane {
	if v.drawn.step == nil || row < v.lanesFrom() || row >= v.lanesTo() {
		return nil
	}
	return &v.drawn.step.Lanes[row-v.lanesFrom()]
}

// Keys returns the key table.
func (v *View) Keys(in *screen.Context) []screen.Key {
	if in != nil && !known(in) {
		return nil
	}
	play, turn, back, take := "play", "segment", "", ""
	switch {
	case v.playing:
		play = "pause"
	case in != nil && in.Calm:
		play = "next segment"
	}
	if v.listAt(v.row) != none {
		turn = "turn"
	}
	if v.list != none {
		back = "your setup"
		if c := v.choice(); c != nil && c.Knob {
			take = "take it"
		}
	}
	return []screen.Key{
		{
			ID: "row-up row-down", Keys: "up k | down j", Help: "row above, below: variants, lanes, sizes",
			Foot: "↑↓", Hint: "row", Do: v.moveRow,
		},
		{
			ID: "before after", Keys: "left h | right l", Help: "segment before, after; on a list: turn it",
			Foot: "←→", Hint: turn, Do: v.move,
		},
		{
			ID: "play", Keys: "space", Help: "play the step, pause; where nothing is to move: next segment",
			Hint: play, Do: func(int) { v.play(in) },
		},
		{
			ID: "exposed", Keys: "x", Help: "next exposed segment of the step", Hint: "next exposed",
			Do: v.nextExposed,
		},
		{
			ID: "as-it-is", Keys: "=", Help: "draw the setup as it is", Hint: back,
			Do: func(int) { v.list, v.pick = none, 0 },
		},
		{
			Keys: "enter", Help: "take the setup that is drawn", Hint: take,
			When: func() bool { return take != "" || in == nil }, Ask: v.taken,
		},
		{
			ID: "fold", Keys: "f", Help: "fold the middle of the step, or not", Hint: "fold",
			When: func() bool { return v.whole || v.drawn.step == nil || v.drawn.step.Folded > 0 },
			Do:   func(int) { v.whole = !v.whole },
		},
		{ID: "first last", Keys: "home | end", Help: "first, last segment of the lane", Do: v.farthest},
	}
}

// choice returns the one that is drawn; nil: the setup itself.
func (v *View) choice() *lane.Choice {
	if v.list == none {
		return nil
	}
	if list := v.drawn.choices.Lists()[v.list]; v.pick < len(list) {
		return &list[v.pick]
	}
	return nil
}

// taken asks the program to take the choice.
func (v *View) taken() screen.Request {
	c := v.choice()
	if c == nil || !c.Knob {
		return screen.Request{}
	}
	return screen.Take(c.Setup, "taken from the lanes: "+v.choiceName(v.list, c))
}

func (v *View) moveRow(n int) { v.row = min(max(v.row+n, 0), v.last()) }

// move goes to another segment of a lane, or turns a list.
func (v *View) move(n int) {
	if l := v.laneAt(v.row); l != nil {
		v.step(l, n)
		return
	}
	i := v.listAt(v.row)
	if i == none {
		return
	}
	list := v.drawn.choices.Lists()[i]
	if len(list) == 0 {
		return
	}
	at := v.pick
	if v.list != i {
		at = current(list)
	}
	v.turnTo(i, widget.Step(at, n, len(list)))
}

// turnTo draws a choice of a list.
func (v *View) turnTo(list, pick int) {
	v.list, v.pick = list, pick
	if v.drawn.choices.Lists()[list][pick].Current {
		v.list, v.pick = none, 0
	}
}

// SetupAtCursor returns the setup that is drawn and what the pane calls it; nil: the one that is
// there, or one that no knobs lead to.
func (v *View) SetupAtCursor(*screen.Context) (*engine.Setup, string) {
	if c := v.choice(); c != nil && c.Knob {
		return &c.Setup, listName(v.list) + " " + v.choiceName(v.list, c)
	}
	return nil, ""
}

// current returns the place of the setup as it is.
func current(list []lane.Choice) int {
	for i := range list {
		if list[i].Current {
			return i
		}
	}
	return 0
}

// segment returns the place of the segment under the cursor in a lane, or of the nearest one;
// -1: the lane is empty.
func (v *View) segment(l *lane.Lane) int {
	best, distance := -1, v.at
	for i := range l.Segments {
		g := &l.Segments[i]
		d := max(0, g.Start-v.at, v.at-g.End())
		if best < 0 || d < distance {
			best, distance = i, d
		}
	}
	return best
}

// to puts the cursor in the middle of a segment.
func (v *View) to(g *lane.Segment) { v.at, v.moved = g.Start+g.Length/2, true }

func (v *View) step(l *lane.Lane, n int) {
	if i := v.segment(l); i >= 0 {
		v.to(&l.Segments[widget.Step(i, n, len(l.Segments))])
	}
}

// farthest goes to an end of the lane or list.
func (v *View) farthest(n int) { v.move(n << 20) }

// home puts the cursor on the longest exposed segment, or on the longest of what is computed.
func (v *View) home() {
	v.row = v.lanesFrom()
	var longest, exposed units.Seconds
	for i := range v.drawn.step.Lanes {
		l := &v.drawn.step.Lanes[i]
		for j := range l.Segments {
			g := &l.Segments[j]
			switch waits := g.Kind == lane.Exposed && l.Dimension != "pp"; {
			case waits && g.Length > exposed:
				exposed = g.Length
			case i == 0 && exposed == 0 && g.Length > longest:
				longest = g.Length
			default:
				continue
			}
			v.row, v.at = v.lanesFrom()+i, g.Start+g.Length/2
		}
	}
}

// nextExposed goes to the next exposed segment in time, of any lane, round the end.
func (v *View) nextExposed(int) {
	s := v.drawn.step
	if s == nil {
		return
	}
	v.nextOf(func(i int, g *lane.Segment) bool { return i > 0 && g.Kind == lane.Exposed })
}

// nextOf goes to the next segment of a kind, round the end.
func (v *View) nextOf(wanted func(lane int, g *lane.Segment) bool) {
	row, first, at, firstAt := -1, -1, v.drawn.step.Length, v.drawn.step.Length
	for i := range v.drawn.step.Lanes {
		l := &v.drawn.step.Lanes[i]
		for j := range l.Segments {
			g := &l.Segments[j]
			middle := g.Start + g.Length/2
			if !wanted(i, g) {
				continue
			}
			if middle > v.at && middle < at {
				row, at = i, middle
			}
			if middle < firstAt {
				first, firstAt = i, middle
			}
		}
	}
	if row < 0 {
		row, at = first, firstAt
	}
	if row >= 0 {
		v.row, v.at, v.moved = v.lanesFrom()+row, at, true
	}
}

// play plays the step or pauses; where nothing is to move by itself it goes to the next segment.
func (v *View) play(in *screen.Context) {
	if v.drawn.step == nil {
		return
	}
	if in.Calm {
		v.nextOf(func(int, *lane.Segment) bool { return true })
		return
	}
	if v.playing = !v.playing; v.playing && v.head == 0 {
		v.head = 1e-9
	}
}

// Mouse takes a click on a lane or a list.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	p := v.plan(in)
	if button != "left" || v.drawn.step == nil || y < 0 || x < 0 || x >= in.W || y >= in.H {
		return false, screen.Request{}
	}
	for row, line := range p.lines {
		if y != line {
			continue
		}
		v.row = row
		if l := v.laneAt(row); l != nil && x >= labelWidth && x < labelWidth+v.drawn.plot {
			a := newAxis(v.drawn.step, v.drawn.plot)
			v.at, v.moved = a.moment(float64(x-labelWidth)+0.5), true
		}
		if list := v.listAt(row); list != none {
			if i := v.choiceAt(list, x); i >= 0 {
				v.turnTo(list, i)
			}
		}
		return true, v.Refresh(in)
	}
	return false, screen.Request{}
}
