// Package search is the Search screen: the best layouts of the model on the
// cluster, ranked, with what may be fixed of them, next to the current setup.
package search

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	find "meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/ui/screen"
	"meshscope/ui/table"
	"meshscope/ui/widget"
)

// View is the Search screen. Work that it asks for ends in a call that changes
// the View, so a View stays where it is.
type View struct {
	lib *presets.Library
	// Shared says that others compute in the same process: a search has one core, and does not collect
	// their garbage.
	Shared bool

	chosen chosen
	knob   facet // under the cursor
	inKnob bool  // the arrow keys choose and turn what is searched

	values     [knobs][]string // what each knob can be turned to
	valuesOf   engine.Setup    // the base that they are of
	haveValues bool
	typed      chosen // words that somebody typed, next to the values that there are
	entry      entry

	running *job
	answer  *answer // of the last search that ended

	table table.Table[row]
	slow  struct { // slow end of the current setup's step
		of   engine.Setup
		step units.Seconds
	}

	picture   picture
	inPicture bool // the arrow keys move in the picture
	heat      heat
	measured  measured
	guide     guide
}

// New makes a screen.
func New(lib *presets.Library) *View { return &View{lib: lib, table: table.New(columns())} }

// Copy returns the screen with what was found and its cursors; what still runs or is typed stays behind.
func (v *View) Copy() screen.Screen {
	c := *v
	c.running, c.entry, c.guide = nil, entry{}, guide{}
	c.table = v.table.Copy()
	c.heat.cells, c.heat.jobs, c.measured.jobs = slices.Clone(v.heat.cells), widget.Jobs{}, widget.Jobs{}
	return &c
}

// query is what a search answers: the setup without its layout, and what was
// asked for.
type query struct {
	base   engine.Setup
	chosen chosen
}

// answer is what a search found.
type answer struct {
	of        query
	result    counts
	rows      []row                  // ranked
	front     []int                  // of rows: no other has both more speed and less memory
	reliances []find.OverlapReliance // what the first place rests on
	exact     string                 // the error band of what decides its place
	room      report.Room            // that its memory leaves
	forMargin bool                   // it is not the fastest (find.Found.ForMargin)
	conflict  *find.Conflict
	missed    *find.Missed // where the deadline is a reason
	searched  bool         // everything was searched, and nothing found
	seconds   float64
}

// counts are the figures of a search.
type counts struct {
	legal, evaluated, fitting int
	partial                   bool
	share                     float64
	near, band                find.Near // within 1 % of the best, and within its error band
}

// job is a search that runs.
type job struct {
	of     query
	shared bool // View.Shared
	stop   context.CancelFunc

	ranked           atomic.Int64 // thousandths of the ranking pass
	legal, evaluated atomic.Int64

	questions, asking atomic.Int64 // why there is nothing: asked, thousandths of the open one
}

// top is how many layouts are listed.
const top = 100

// base returns a setup without what a search varies: with the schedule and the recomputation that every stack
// has.
func base(s *engine.Setup) engine.Setup {
	out := *s
	out.Layout = layout.Layout{GPUs: s.GPUs, GBS: s.GBS, Seq: s.Seq, HSDP: s.HSDP}
	out.Schedule, out.GroupSize, out.MaxInFlight = schedule.OneFOneB, 0, 0
	out.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone}
	return out
}

// Refresh asks for a search where the one that is there answers another
// question: to be called when the screen is opened and when the setup changes.
func (v *View) Refresh(in *screen.Context) screen.Request {
	if in.Setup == nil {
		return screen.Request{}
	}
	want := query{base: base(in.Setup), chosen: v.chosen}
	v.refreshValues(&want)
	want.chosen = v.chosen
	switch {
	case v.running != nil && v.running.of == want:
		return screen.Request{}
	case v.running == nil && v.answer != nil && v.answer.of == want:
		if v.guide.open {
			return v.refreshGuide(in)
		}
		return v.refreshPicture(in)
	}
	return v.start(want)
}

func (v *View) start(want query) screen.Request {
	ctx, stop := context.WithCancel(context.Background())
	j := &job{of: want, shared: v.Shared, stop: stop}
	v.running = j
	return screen.Request{Work: func(open context.Context) func() {
		defer stop()
		defer context.AfterFunc(open, stop)()
		a := j.search(ctx)
		left := open.Err() != nil
		return func() {
			if v.running != j {
				return // another one is on its way
			}
			v.running = nil
			if left {
				return
			}
			v.answer = a
			v.table.Fresh()
		}
	}}
}

// search returns the work itself.
func (j *job) search(ctx context.Context) *answer {
	began := time.Now()
	p := j.of.question(j.shared)
	step := 0 // all numbers of GPUs that are asked for are tried
	if p.Objective == find.FewestGPUs {
		step = p.Setup.Cluster.Node()
	}
	r := find.Fewest(ctx, p, step, func(at find.Progress) {
		j.ranked.Store(int64(1000 * at.Ranked))
		j.legal.Store(int64(at.Legal))
		j.evaluated.Store(int64(at.Evaluated))
	})
	a := &answer{of: j.of, result: counts{
		legal: r.Legal, evaluated: r.Evaluated, fitting: r.Fitting, partial: r.Partial, share: r.Share,
		near: r.Near, band: r.Band,
	}}
	if len(r.Best) > 0 {
		first := &r.Best[0].Report
		a.reliances, a.exact = find.OverlapReliances(first), p.Objective.Evidence(first).Band("")
		a.room, a.forMargin = report.NewRoom(first.Memory), r.Best[0].ForMargin
	}
	for i := range r.Best {
		f := &r.Best[i]
		a.rows = append(a.rows, report.NewCandidate(&f.Setup, &f.Report, f.PessimisticStep, i+1))
		a.rows[i].Close = i > 0 && p.TooClose(&r.Best[0], &r.Best[i])
	}
	a.mergeFront(r.Front)
	if len(r.Best) == 0 && !r.Partial {
		a.searched = true
		a.conflict = find.Explain(ctx, p, func(at find.Asking) {
			j.questions.Store(int64(at.Questions))
			j.asking.Store(int64(1000 * at.Share))
		})
		if c := a.conflict; c != nil && slices.Contains(c.Fields, "deadline") && ctx.Err() == nil {
			a.missed = p.Missed(ctx, p.Space.FollowGBS)
		}
	}
	a.seconds = time.Since(began).Seconds()
	return a
}

// mergeFront marks the layouts of the front and adds those beyond the listed
// ones, which have no rank.
func (a *answer) mergeFront(front []find.Found) {
	at := make(map[engine.Setup]int, len(a.rows))
	for i := range a.rows {
		at[a.rows[i].Setup] = i
	}
	for i := range front {
		n, listed := at[front[i].Setup]
		if !listed {
			n = len(a.rows)
			f := &front[i]
			a.rows = append(a.rows, report.NewCandidate(&f.Setup, &f.Report, f.PessimisticStep, 0))
		}
		a.rows[n].Front = true
		a.front = append(a.front, n)
	}
}

// Playing reports whether something on the screen moves by itself.
func (v *View) Playing() bool { return v.running != nil }

// Tick returns called while Playing: what a search reports is read where it is drawn.
func (v *View) Tick() bool { return v.running != nil }

// ShowsIllegal says that a setup which cannot run is no hindrance: layouts that can are
// what the screen looks for.
func (*View) ShowsIllegal() {}

// cancel ends a running search with what it has; false where none runs.
func (v *View) cancel() bool {
	if v.running == nil {
		return false
	}
	v.running.stop()
	return true
}
