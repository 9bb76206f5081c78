package advise

import (
	"cmp"
	"context"
	"slices"

	"meshscope/engine"
	"meshscope/engine/search"
	"meshscope/engine/units"
)

// moves are the best ones: of one knob, of two, and the whole way to the best
// layout that a search finds.
func (a *adviser) moves() []Move {
	if a.report.Memory.Fits {
		return a.faster()
	}
	return a.fixes()
}

// worthwhile is by how much a step must get shorter to be a move.
const worthwhile = 1.001

// faster are moves that shorten the step and keep it fitting.
func (a *adviser) faster() []Move {
	list := a.bestOfEach(func(m *Move) bool { return fits(m) && m.Speed > worthwhile })
	if !a.options.Alone {
		single := worthwhile
		if len(list) > 0 {
			single = max(list[0].Speed, single)
		}
		list = append(list, a.pairs(single, a.mayFit, fits)...)
		if best, ok := a.searched(); ok && best.Speed > single*worthwhile {
			list = append(list, best)
		}
	}
	slices.SortStableFunc(list, func(x, y Move) int { return cmp.Compare(y.Speed, x.Speed) })
	return a.distinct(list)
}

func fits(m *Move) bool { return m.Fits && !m.NowRefused }

func (a *adviser) mayFit(f engine.Floor) bool { return f.Peak <= a.report.Memory.Usable }

// fixes are moves that make the setup fit, the fewest turns first and of those
// the fastest. Where none does, those that lower the peak most.
func (a *adviser) fixes() []Move {
	list := a.bestOfEach(fits)
	enough := func() bool { return a.options.Alone && len(list) > 0 }
	if !enough() {
		list = append(list, a.pairs(0, a.mayFit, fits)...)
	}
	if !enough() {
		if best, ok := a.searched(); ok {
			list = append(list, best)
		}
	}
	slices.SortStableFunc(list, func(x, y Move) int {
		return cmp.Or(cmp.Compare(x.Turned, y.Turned), cmp.Compare(y.Speed, x.Speed))
	})
	if len(list) == 0 {
		list = a.bestOfEach(func(m *Move) bool { return m.Saved > 0 && !m.NowRefused })
		if least, ok := a.smallest(); ok {
			list = append(list, least)
		}
		slices.SortStableFunc(list, func(x, y Move) int { return cmp.Compare(y.Saved, x.Saved) })
	}
	return a.distinct(list)
}

// bestOfEach takes of every knob the fastest value that will do.
func (a *adviser) bestOfEach(will func(*Move) bool) []Move {
	var out []Move
	for _, id := range knobs() {
		best := -1
		for i := range a.turns {
			t := &a.turns[i]
			if t.knob == id && will(&t.Move) && (best < 0 || t.Speed > a.turns[best].Speed) {
				best = i
			}
		}
		if best >= 0 {
			out = append(out, a.turns[best].Move)
		}
	}
	slices.SortStableFunc(out, func(x, y Move) int { return cmp.Compare(y.Speed, x.Speed) })
	return out
}

// distinct drops moves that end in the same setup, and those beyond the number
// that is wanted.
func (a *adviser) distinct(list []Move) []Move {
	var out []Move
	for _, m := range list {
		if len(out) < a.options.Moves && !slices.ContainsFunc(out, func(o Move) bool { return o.Setup == m.Setup }) {
			out = append(out, m)
		}
	}
	return out
}

// pair is a setup two turns away, with its floor.
type pair struct {
	setup engine.Setup
	floor engine.Floor
}

// pairs are the best moves of two knobs that are faster than a speed: every
// second turn after every first one is bounded from below, and the best are
// evaluated until no bound that is left can be among them.
func (a *adviser) pairs(speed float64, may func(engine.Floor) bool, will func(*Move) bool) []Move {
	var open []pair
	seen := map[engine.Setup]bool{a.now: true}
	for i := range a.turns {
		seen[a.turns[i].Setup] = true
	}
	for i := range a.turns {
		first := &a.turns[i]
		for _, knob := range later(first.knob) {
			if a.stopped() {
				return nil
			}
			for _, v := range values(&first.Setup, knob) {
				if v.Current || seen[v.Setup] || a.slow(&v.Setup) {
					continue
				}
				seen[v.Setup] = true
				floor, ok := a.floor(&v.Setup)
				if ok && may(floor) && float64(a.report.Time.Step/floor.Step) > speed {
					open = append(open, pair{v.Setup, floor})
				}
			}
		}
	}
	slices.SortStableFunc(open, func(x, y pair) int { return cmp.Compare(x.floor.Step, y.floor.Step) })
	return a.settle(open, speed, will)
}

// settle evaluates pairs in the order of their bounds.
func (a *adviser) settle(open []pair, speed float64, will func(*Move) bool) []Move {
	const wanted = 3
	var out []Move
	for i := range open {
		if a.stopped() || len(out) == wanted && open[i].floor.Step >= out[wanted-1].Report.Time.Step {
			break
		}
		m, ok := a.try(open[i].setup, 2)
		if !ok || !will(&m) || m.Speed <= speed {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, m.Report.Time.Step, func(o Move, step units.Seconds) int {
			return cmp.Compare(o.Report.Time.Step, step)
		})
		out = slices.Insert(out, at, m)
		out = out[:min(len(out), wanted)]
	}
	return out
}

// later are the knobs that a pair turns after one: each pair of knobs is tried
// in one order, the one in which the second can follow the first.
func later(first engine.ParamID) []engine.ParamID {
	all := knobs()
	return all[slices.Index(all, first)+1:]
}

func (a *adviser) floor(s *engine.Setup) (engine.Floor, bool) {
	if !a.floors.Lay(s) {
		return engine.Floor{}, false
	}
	a.floors.Shard(s.ZeRO)
	return a.floors.Of(s.Spec()), true
}

// problem is the search that answers the same question without being bound to
// two turns.
func (a *adviser) problem() search.Problem {
	p := search.Problem{Setup: a.now, Top: 1, Workers: 1}
	p.Setup.Split, p.Setup.HSDP, p.Setup.GroupSize = "", 1, 0 // the way there may give them up
	return p
}

// searched is the way to the best layout that is known to fit.
func (a *adviser) searched() (Move, bool) {
	return a.arrive(a.problem())
}

// smallest is the way to the layout with the least memory, fitting or not.
func (a *adviser) smallest() (Move, bool) {
	p := a.problem()
	p.Objective, p.AnyMemory = search.LeastMemory, true
	m, ok := a.arrive(p)
	return m, ok && m.Saved > 0
}

func (a *adviser) arrive(p search.Problem) (Move, bool) {
	p.Stop = a.options.Stop
	r := search.Run(context.Background(), p, nil)
	if len(r.Best) == 0 {
		return Move{}, false
	}
	s := r.Best[0].Setup
	return a.try(s, turns(&a.now, &s))
}

// turns counts the knobs that lie between two setups, without what follows from
// them.
func turns(from, to *engine.Setup) int {
	n := 0
	for _, id := range knobs() {
		if p, ok := engine.FindParam(id); ok && p.Text(*from) != p.Text(*to) {
			n++
		}
	}
	return max(n, 1)
}
