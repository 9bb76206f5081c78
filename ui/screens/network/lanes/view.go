// Package lanes is the pane of the Network screen that draws one step of one rank on a time
// axis: what it computes, and the traffic of each dimension below it, hidden or exposed. Other
// ways to time that traffic can be drawn in place of the setup's own.
package lanes

import (
	"context"

	"meshscope/engine"
	lane "meshscope/engine/lanes"
	"meshscope/engine/units"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// View is the pane. New makes one.
type View struct {
	row   int           // focused: a line of the picture, see rows
	at    units.Seconds // moment under the cursor
	moved bool          // false: the exposed segment that lasts longest
	whole bool          // nothing is folded
	list  int           // from which list a choice is drawn; -1: the setup as it is
	pick  int           // the choice

	playing bool
	head    float64 // end of what is drawn while playing, as a share of the width; 0: all is drawn

	drawn   drawing
	costs   costing
	pending query
	jobs    widget.Jobs
}

// New makes a pane.
func New() *View { return &View{list: none} }

// Copy returns the pane with its cursor and what is drawn, at rest.
func (v *View) Copy() screen.Screen {
	c := *v
	c.jobs, c.pending, c.playing, c.head = widget.Jobs{}, query{}, false, 0
	return &c
}

// Fits reports whether what is drawn is as wide as the window.
func (v *View) Fits(in *screen.Context) bool { return !known(in) || v.drawn.plot == plotWidth(in.W) }

const none = -1

// query is what a drawing is of.
type query struct {
	setup      engine.Setup
	list, pick int
	plot       int // width
	whole      bool
	costs      bool // asks for the costs of the choices instead
}

// drawing is the step that is drawn.
type drawing struct {
	query
	step    *lane.Step
	choices lane.Choices // of the setup
}

// costing is what each choice costs.
type costing struct {
	setup engine.Setup
	known bool
	of    [lists][]lane.Cost
}

const lists = 4

// known reports whether there is a step to draw.
func known(in *screen.Context) bool {
	return in.Setup != nil && in.Report != nil && in.Report.Legal && in.Report.Time != nil &&
		in.Report.Time.Step > 0
}

// query returns what is to be drawn.
func (v *View) query(in *screen.Context) query {
	return query{setup: *in.Setup, list: v.list, pick: v.pick, plot: plotWidth(in.W), whole: v.whole}
}

// Refresh asks for the step, then for what each choice costs.
func (v *View) Refresh(in *screen.Context) screen.Request {
	if !known(in) {
		return screen.Request{}
	}
	if v.drawn.setup != *in.Setup { // a choice is of its setup
		v.list, v.pick = none, 0
	}
	q := v.query(in)
	switch {
	case v.drawn.query != q:
	case v.costs.known && v.costs.setup == *in.Setup:
		return screen.Request{}
	default:
		q.costs = true
	}
	if v.pending == q {
		return screen.Request{}
	}
	v.pending = q
	job, choices := v.jobs.Begin(), v.drawn.choices
	return screen.Request{Work: func(ctx context.Context) func() {
		stop := func() bool { return ctx.Err() != nil }
		if q.costs {
			found, ok := costsOf(&q.setup, &choices, stop)
			return v.ending(job, ok, func() { v.costs = found })
		}
		found, ok := draw(q, stop)
		return v.ending(job, ok, func() { v.take(found) })
	}}
}

// ending takes the result of work where that still counts; work that was stopped is asked for
// again.
func (v *View) ending(job int, ok bool, take func()) func() {
	return func() {
		if v.jobs.End(job) {
			v.pending = query{}
			if ok {
				take()
			}
		}
	}
}

// take shows a drawing; the cursor goes to what it is about, until somebody moves it.
func (v *View) take(d drawing) {
	first := v.drawn.step == nil
	if v.drawn.setup != d.setup {
		v.moved = false
	}
	v.drawn = d
	v.row = min(v.row, v.last())
	if first || !v.moved && v.laneAt(v.row) != nil {
		v.home()
	}
}

// draw evaluates the setup or the choice and cuts its operations into as many pieces as can be
// seen.
func draw(q query, stop func() bool) (drawing, bool) {
	d := drawing{query: q, choices: lane.ChoicesOf(&q.setup)}
	setup := q.setup
	if q.list != none {
		list := d.choices.Lists()[q.list]
		setup = list[min(q.pick, len(list)-1)].Setup
	}
	detail := lane.Detail{Ends: 2, Pieces: 1}
	if q.whole {
		detail.Ends = 1 << 9
	}
	step, ok := lane.Of(&setup, detail, stop)
	if !ok {
		return d, false
	}
	d.step = step
	if detail.Pieces = pieces(step, q.plot); detail.Pieces > 1 {
		if finer, ok := lane.Of(&setup, detail, stop); ok {
			d.step = finer
		}
	}
	return d, true
}

// pieces returns into how many an operation can be cut so that the shortest of its parts that is
// seen at all still has a cell.
func pieces(s *lane.Step, plot int) int {
	axis := newAxis(s, plot)
	most := 1 << 10
	for i := range s.Lanes {
		for j := range s.Lanes[i].Segments {
			g := &s.Lanes[i].Segments[j]
			if cells := axis.place(g.End()) - axis.place(g.Start); g.Layers > 0 && cells >= 1 {
				most = min(most, int(cells))
			}
		}
	}
	if most == 1<<10 {
		return 1
	}
	return most
}

// costsOf evaluates every choice.
func costsOf(s *engine.Setup, c *lane.Choices, stop func() bool) (costing, bool) {
	out := costing{setup: *s, known: true}
	e := engine.Evaluator{SkipTimeline: true}
	for i, list := range c.Lists() {
		for j := range list {
			cost, ok := lane.CostOf(&e, &list[j], stop)
			if !ok {
				return out, false
			}
			out.of[i] = append(out.of[i], cost)
		}
	}
	return out, true
}

// Forget drops nothing: a folded step is small.
func (*View) Forget() {}

// Playing reports whether the step plays.
func (v *View) Playing() bool { return v.playing }

// playSeconds is how long a step plays.
const playSeconds = 8

// Tick plays on by a frame.
func (v *View) Tick() bool {
	if !v.playing {
		return false
	}
	if v.head += 1.0 / (screen.TicksPerSecond * playSeconds); v.head >= 1 || v.drawn.step == nil {
		v.head, v.playing = 0, false
		return true
	}
	a := newAxis(v.drawn.step, v.drawn.plot)
	v.at, v.moved = a.moment(v.head*float64(a.w)), true
	return true
}
