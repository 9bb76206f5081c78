package search

import (
	"context"
	"slices"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/knob"
	find "meshscope/engine/search"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// stage is one of the three steps to a layout.
type stage uint8

const (
	fitStage stage = iota
	batchStage
	speedStage
	stages
)

func (s stage) name() string {
	return [stages]string{"1 FIT", "2 GLOBAL BATCH", "3 THROUGHPUT"}[s]
}

func (s stage) ask() string {
	return [stages]string{
		"which methods fit the model at all?",
		"how many sequences per step, at what cost?",
		"the best layout, and the loss of every other choice",
	}[s]
}

// guide are the three steps of the playbook: make it fit, choose the global batch,
// then the fastest. Every line is a search of its own; what finds nothing is ruled
// out with its reason.
type guide struct {
	of     query
	shared bool // View.Shared
	open   bool
	at     stage
	rows   [stages][]option
	row    [stages]int // under the cursor; of the steps before: what was chosen
	own    int         // line of the setup's own batch
	jobs   widget.Jobs // the searches of the lines
	seeks  stage       // the step that the last of them is for
	rules  rules
}

// option is one line of a step.
type option struct {
	name  string
	note  string // what is particular about it
	limit func(*find.Problem)
	gbs   int // of a line of the second step: its batch
	done  bool
	found bool
	row   row
	why   string // it is ruled out
}

// families returns the ways to make a model fit, the simple ones first.
func (v *View) families() []option {
	one := []int{1}
	tp, pp := v.more(tensor), v.more(pipeline)
	alone := func(zero ...int) func(*find.Problem) {
		return func(p *find.Problem) {
			p.Space.TP, p.Space.PP, p.Space.CP, p.Space.ZeRO = one, one, one, zero
		}
	}
	return []option{
		{name: "DP alone", limit: alone(0)},
		{name: "ZeRO-1", limit: alone(1)},
		{name: "ZeRO-2", limit: alone(2)},
		{name: "ZeRO-3 (FSDP)", limit: alone(3)},
		{name: "TP", limit: func(p *find.Problem) {
			p.Space.TP, p.Space.PP, p.Space.CP, p.Space.ZeRO = tp, one, one, []int{0, 1}
		}},
		{name: "TP + ZeRO-3", limit: func(p *find.Problem) {
			p.Space.TP, p.Space.PP, p.Space.CP, p.Space.ZeRO = tp, one, one, []int{3}
		}},
		{name: "PP", limit: func(p *find.Problem) { p.Space.TP, p.Space.PP, p.Space.CP = one, pp, one }},
		{name: "TP + PP", limit: func(p *find.Problem) { p.Space.TP, p.Space.PP, p.Space.CP = tp, pp, one }},
		{name: "all methods", limit: func(*find.Problem) {}},
	}
}

// more returns the values of a degree that are larger than one.
func (v *View) more(k facet) []int {
	var out []int
	for _, text := range v.values[k] {
		if n, err := strconv.Atoi(text); err == nil && n > 1 {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return []int{2} // which is then found illegal
	}
	return out
}

// batches returns the global batches next to that of the setup, and the one that a search
// takes where nobody says any.
func batches(s *engine.Setup) []option {
	var out []option
	usual := find.UnsetGBS(s, []int{s.GPUs}, s.Seq)
	sizes := []int{s.GBS / 4, s.GBS / 2, s.GBS, 2 * s.GBS, 4 * s.GBS, usual}
	slices.Sort(sizes)
	for _, n := range slices.Compact(sizes) {
		if n < 1 || n > knob.MaxBatch {
			continue
		}
		note := ""
		switch n {
		case s.GBS:
			note = "yours"
		case usual:
			note = usualBatch(s)
		}
		out = append(out, option{
			name:  figure.Comma(n) + " seqs, " + figure.Short(float64(n)*float64(s.Seq)) + " tokens",
			note:  note,
			gbs:   n,
			limit: func(p *find.Problem) { p.Setup.GBS, p.Space.GBS = n, nil },
		})
	}
	return out
}

// others returns the best layout and, knob by knob, what the best with another value
// would be.
func (v *View) others(best *row) []option {
	out := []option{{name: "the best", limit: func(*find.Problem) {}}}
	if best == nil {
		return out
	}
	out[0].done, out[0].found, out[0].row = true, true, *best
	for _, k := range []facet{tensor, pipeline, contextual, expert, zero, microBatch, recompute} {
		now := [knobs]string{
			tensor: strconv.Itoa(best.Setup.TP), pipeline: strconv.Itoa(best.Setup.PP),
			contextual: strconv.Itoa(best.Setup.CP),
			expert:     strconv.Itoa(best.Setup.EP), zero: strconv.Itoa(best.Setup.ZeRO),
			microBatch: strconv.Itoa(best.Setup.MBS),
			recompute:  best.Setup.Recompute.String(),
		}[k]
		for _, value := range v.values[k] {
			if value == anyValue || value == now {
				continue
			}
			var fixed chosen
			fixed[k] = value
			out = append(out, option{name: k.label() + " " + value, limit: func(p *find.Problem) {
				with := (&query{base: p.Setup, chosen: fixed}).problem().Space
				sp := &p.Space
				for _, pair := range [][2]*[]int{
					{&sp.TP, &with.TP},
					{&sp.PP, &with.PP},
					{&sp.CP, &with.CP},
					{&sp.EP, &with.EP},
					{&sp.ZeRO, &with.ZeRO},
					{&sp.MBS, &with.MBS},
				} {
					if len(*pair[1]) > 0 {
						*pair[0] = *pair[1]
					}
				}
				if len(with.Recompute) > 0 {
					sp.Recompute = with.Recompute
				}
			}})
		}
	}
	return out
}

// refreshGuide asks for the next line that the step in front lacks.
func (v *View) refreshGuide(in *screen.Context) screen.Request {
	g := &v.guide
	want := query{base: base(in.Setup), chosen: v.chosen.fastest()}
	if g.of != want || g.rows[fitStage] == nil {
		g.jobs.Drop()
		g.rules.jobs.Drop()
		*g = guide{of: want, shared: v.Shared, open: g.open, jobs: g.jobs, rules: rules{jobs: g.rules.jobs}}
		g.rows[fitStage], g.rows[batchStage], g.rows[speedStage] = v.families(), batches(in.Setup),
			v.others(nil)
		g.row[fitStage] = len(g.rows[fitStage]) - 1
		g.own = max(slices.IndexFunc(g.rows[batchStage],
			func(o option) bool { return o.gbs == in.Setup.GBS }), 0)
		g.row[batchStage] = g.own
	}
	rows := g.rows[g.at]
	i := slices.IndexFunc(rows, func(o option) bool { return !o.done })
	switch {
	case g.jobs.Running():
		return screen.Request{}
	case i < 0:
		return v.refreshRules()
	}
	stage, answer, p, of := g.at, rows[i], g.problem(g.at, i), g.of
	g.seeks = stage
	return screen.Work(&g.jobs, func(open context.Context) option {
		answer.look(open, p, &of)
		return answer
	}, func(answer option) {
		g.rows[stage][i] = answer
		if stage == speedStage && i == 0 && answer.found {
			g.rows[speedStage] = v.others(&answer.row)
		}
	})
}

// problem returns what a line of a step searches: what was chosen in the steps before,
// and its own limit. The batch is chosen in the second step: a method of the first is
// ruled out only if none of those batches will do.
func (g *guide) problem(at stage, i int) find.Problem {
	p := g.of.question(g.shared)
	p.Top, p.Front = 1, false
	p.Space.GBS = nil
	if at == fitStage {
		for _, o := range g.rows[batchStage] {
			p.Space.GBS = append(p.Space.GBS, o.gbs)
		}
	}
	for before := range at {
		if rows := g.rows[before]; g.row[before] < len(rows) {
			rows[g.row[before]].limit(&p)
		}
	}
	g.rows[at][i].limit(&p)
	return p
}

// look searches, with the batch of the setup before any other; where nothing is found
// it says why. of is the query without the line.
func (o *option) look(ctx context.Context, p find.Problem, of *query) {
	o.done = true
	own := p
	own.Space.GBS = nil
	r := find.Run(ctx, own, nil)
	if len(r.Best) == 0 && len(p.Space.GBS) > 1 && ctx.Err() == nil {
		r = find.Run(ctx, p, nil)
	}
	if len(r.Best) > 0 {
		f := &r.Best[0]
		o.found, o.row = true, report.NewCandidate(&f.Setup, &f.Report, f.PessimisticStep, 1)
		return
	}
	if ctx.Err() == nil {
		o.why = ruledOut(ctx, p, of)
	}
}

// guideKeys go through the steps and their lines, and take the layout.
func (v *View) guideKeys(in *screen.Context) []screen.Key {
	g := &v.guide
	enter := "next step"
	if g.at == speedStage {
		enter = "take it"
		if o := g.here(); o == nil || !o.found || in != nil && same(&o.row.Setup, in.Setup) {
			enter = "" // there is nothing to take, or it is taken
		}
	}
	return []screen.Key{
		{
			Keys: "enter", Help: "next step with this; at the last one take the layout", Hint: enter,
			Ask: v.goOn,
		},
		{
			ID: "step-before step-after", Keys: "left h | right l", Help: "step before, after", Hint: "step",
			Do: func(n int) {
				if n > 0 {
					g.forward()
				} else if g.at > 0 {
					g.at--
				}
			},
		},
		{
			ID: "line-up line-down", Keys: "up k | down j", Help: "line above, below", Hint: "line",
			Do: func(n int) { g.choose(g.row[g.at] + n) },
		},
		{
			ID: "first-line last-line", Keys: "home | end G", Help: "first, last line",
			Do: func(n int) { g.choose(n << 20) },
		},
	}
}

// goOn goes to the next step with the item under the cursor; at the last it takes the
// layout.
func (v *View) goOn() screen.Request {
	g := &v.guide
	v.entry = entry{}
	if g.at != speedStage {
		g.forward()
	} else if o := g.here(); o != nil && o.found {
		return screen.Take(o.row.Setup, "of the three steps, "+o.name)
	}
	return screen.Request{}
}

// here returns the line under the cursor.
func (g *guide) here() *option {
	if rows := g.rows[g.at]; g.row[g.at] < len(rows) {
		return &rows[g.row[g.at]]
	}
	return nil
}

// choose puts the cursor on a line. What the later steps have found was found for
// another choice.
func (g *guide) choose(i int) {
	i = min(max(i, 0), max(len(g.rows[g.at])-1, 0))
	if i == g.row[g.at] {
		return
	}
	g.row[g.at] = i
	if g.seeks > g.at {
		g.jobs.Drop() // it is for the choice before
	}
	if g.at == fitStage {
		g.forget(batchStage)
	}
	if g.at != speedStage {
		g.forgetSpeed()
	}
}

func (g *guide) forgetSpeed() {
	g.rows[speedStage] = []option{{name: "the best", limit: func(*find.Problem) {}}}
	g.row[speedStage] = 0
}

func (g *guide) forget(s stage) {
	for i := range g.rows[s] {
		o := &g.rows[s][i]
		*o = option{name: o.name, note: o.note, limit: o.limit, gbs: o.gbs}
	}
}

// forward goes to the next step; what is ruled out leads nowhere. A method that was
// found with another batch than that of the setup puts the cursor on that one.
func (g *guide) forward() {
	o := g.here()
	if g.at >= speedStage || o == nil || !o.found && o.done {
		return
	}
	if g.at == fitStage && o.found && g.row[batchStage] == g.own {
		if i := slices.IndexFunc(g.rows[batchStage],
			func(b option) bool { return b.gbs == o.row.Setup.GBS }); i >= 0 && i != g.own {
			g.row[batchStage] = i
			g.forgetSpeed()
		}
	}
	g.at++
}

// mouseGuide chooses a line; a second click goes on with it.
func (v *View) mouseGuide(in *screen.Context, h, y int, button string) (bool, screen.Request) {
	g := &v.guide
	if by := screen.Wheel(button); by != 0 {
		g.choose(g.row[g.at] + by)
		return true, v.refreshGuide(in)
	} else if button != "left" {
		return false, screen.Request{}
	}
	top := int(g.at) + 2
	n := max(h-int(stages)-2, 1)
	i := y - top + widget.Page(g.row[g.at], n, len(g.rows[g.at]))
	if y < top || i >= len(g.rows[g.at]) {
		return false, screen.Request{}
	}
	if i == g.row[g.at] {
		if do := v.goOn(); do.Setup != nil {
			return true, do
		}
		return true, v.refreshGuide(in)
	}
	g.choose(i)
	return true, v.refreshGuide(in)
}
