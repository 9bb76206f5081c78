package advise

import (
	"cmp"
	"context"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// moves returns the best ones: of one knob, of two, of three, and the whole way to the
// best layout that is known.
func (a *adviser) moves() []Move {
	if a.roomy(a.report.Memory) {
		return a.faster()
	}
	list := a.fixes()
	switch {
	case !a.report.Memory.Fits || len(list) > 0 && list[0].Roomy && list[0].Last == "":
		return list
	case len(list) > 0 && list[0].Roomy: // and the tight ones that are faster, as none of those may be
		return a.distinct(a.ordered(append(list, a.bestOfEach(func(m *Move) bool {
			return fits(m) && !m.Roomy && m.Speed > worthwhile
		})...)))
	}
	return a.faster() // nothing leaves a margin
}

// worthwhile is by how much a step must get shorter to be a move.
const worthwhile = 1.001

// faster are moves that shorten the step and keep it fitting.
func (a *adviser) faster() []Move {
	will := func(m *Move) bool { return a.sound(m) && m.Speed > worthwhile }
	list := a.bestOfEach(will)
	if !a.options.Alone {
		// where what is found marks a value, another
		list = append(a.farther(list, worthwhile), a.bestOfEach(will)...)
	}
	list = append(list,
		a.bestOfEach(func(m *Move) bool { return fits(m) && m.Last != "" && m.Speed > worthwhile })...)
	return a.distinct(a.ordered(list))
}

// fits reports whether a move leads to a layout that fits and that a launcher runs.
func fits(m *Move) bool { return m.Fits && !m.NowRefused }

// sound reports whether nothing speaks against a move: it fits with its margin, and rests
// on nothing that the model is least sure of.
func sound(m *Move) bool { return fits(m) && m.Last == "" }

// sound marks a move, too, once the best of a search is known.
func (a *adviser) sound(m *Move) bool {
	a.mark(m)
	return sound(m)
}

// mayFit reports whether the bound of a layout leaves room for a margin.
func (a *adviser) mayFit(f bound.Bound) bool {
	least := units.Bytes(engine.DefaultHeadroom)
	if a.options.Limited {
		least = units.Bytes(a.options.Headroom)
	}
	return f.Peak <= a.report.Memory.Usable*(1-least)
}

// mayBeTight reports whether the bound of a layout leaves it a chance to fit.
func (a *adviser) mayBeTight(f bound.Bound) bool { return f.Peak <= a.report.Memory.Usable }

// farther adds moves of more knobs, where they are faster than those of fewer: of
// two, of three, and the whole way to the best that is known.
func (a *adviser) farther(list []Move, least float64) []Move {
	r := a.reach()
	list = append(list, a.evaluateInOrder(r.pairs, 2, several, max(least, fastest(list)*worthwhile), a.mayFit,
		sound)...)
	list = append(list, a.evaluateInOrder(a.triples(r), 3, several, max(least, fastest(list)*worthwhile),
		a.mayFit, sound)...)
	if speed := fastest(list); speed > 0 {
		best := list[slices.IndexFunc(list, func(m Move) bool { return m.Speed == speed && m.Last == "" })]
		list = append(list, a.climb(best))
	}
	best, ok := a.searched()
	if !ok {
		a.none = !a.stopped()
		return list
	}
	a.found = &best
	if !sound(&best) {
		if fits(&best) && best.Speed > least && len(best.Changes) > 0 { // not the setup itself
			list = append(list, best) // it comes last
		}
		return list
	}
	if best.Speed > max(least, fastest(a.marked(list))) {
		list = append(list, best)
	}
	if on := a.climb(best); on.Speed > max(least, fastest(list)*worthwhile) {
		list = append(list, on)
	}
	return list
}

// several is how many moves of as many knobs are wanted.
const several = 3

// fastest returns the speed of the fastest move that does not come last.
func fastest(list []Move) float64 {
	speed := 0.0
	for i := range list {
		if list[i].Last == "" {
			speed = max(speed, list[i].Speed)
		}
	}
	return speed
}

// fixes are moves that make the setup fit. Where none does, those that lower the peak
// most.
func (a *adviser) fixes() []Move {
	list := a.mended()
	if !a.options.Alone || len(list) == 0 {
		list = a.farther(list, 0)
		if slices.ContainsFunc(a.marked(list),
			func(m Move) bool { return m.Turned == 1 && m.Last == beyond }) {
			list = append(list, a.mended()...) // another value of its knob
		}
	}
	if a.report.Memory.Fits && !slices.ContainsFunc(list, func(m Move) bool { return sound(&m) }) {
		list = append(list, a.bestOfEach(func(m *Move) bool { return fits(m) && m.Roomy })...)
	}
	if len(list) == 0 { // nothing is sound: what fits with a reason to come last
		r := a.reach()
		list = append(list, a.evaluateInOrder(r.pairs, 2, several, 0, a.mayBeTight, fits)...)
		list = append(list, a.evaluateInOrder(a.triples(r), 3, several, fastest(list), a.mayBeTight, fits)...)
		if best, ok := a.searched(); ok && fits(&best) {
			list = append(list, best) // tight: nothing has a margin
		}
	}
	if list = a.ordered(list); len(list) > 0 {
		return a.distinct(list)
	}
	list = a.bestOfEach(func(m *Move) bool { return a.eases(m) && !m.NowRefused })
	if least, ok := a.smallest(); ok {
		list = append(list, least)
	}
	slices.SortStableFunc(list, func(x, y Move) int {
		return cmp.Compare(x.Report.Memory.Needs(), y.Report.Memory.Needs())
	})
	return a.distinct(list)
}

// Fixes returns the turns of a single knob that make a setup fit: of each knob the value
// with the shortest step that fits with its margin and that no launcher rejects on top,
// else one that has a reason to come last; the shortest step first, but these last. Advice
// on the setup takes them in. None for a setup that fits or is
// illegal, and none once stop (nil: never) says true.
func Fixes(s engine.Setup, stop func() bool) []Move {
	a := adviser{options: Options{Stop: stop}, now: s}
	a.evaluator.SkipTimeline = true
	var done bool
	if a.report, done = a.evaluator.EvaluateUntil(s, stop); !done || !a.report.Legal || a.report.Memory.Fits {
		return nil
	}
	if a.step, _, done = a.evaluator.PessimisticStep(&s, &a.report, stop); !done {
		return nil
	}
	list := a.mended()
	if a.stopped() {
		return nil
	}
	return list
}

// mended returns the fixes; what a bound excludes is not evaluated.
func (a *adviser) mended() []Move {
	var list []Move
	for _, id := range knob.Advised() {
		seen := map[engine.Setup]bool{a.now: true}
		open := a.extend(nil, seen, &a.now, [2]knob.ID{id}, id)
		byStep(open)
		best := a.evaluateInOrder(open, 1, 1, 0, a.mayFit, sound)
		if len(best) == 0 && !a.report.Memory.Fits {
			best = a.evaluateInOrder(open, 1, 1, 0, a.mayBeTight, fits)
		}
		list = append(list, best...)
	}
	list = a.ordered(list)
	for i := range list {
		list[i].Parallelizes = a.parallelizes(&list[i])
	}
	return list
}

// bestOfEach takes of every knob the fastest value that will do.
func (a *adviser) bestOfEach(will func(*Move) bool) []Move {
	var out []Move
	for _, id := range a.knobs {
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

// distinct drops moves that end in the same setup, and those beyond the number that is
// wanted: of moves of one knob the slower ones where they are more than half; the fastest that
// fits stays, wherever it stands.
func (a *adviser) distinct(list []Move) []Move {
	var out []Move
	for _, m := range list {
		if !slices.ContainsFunc(out, func(o Move) bool { return o.Setup == m.Setup || o.alike(&m) }) {
			out = append(out, m)
		}
	}
	most := a.options.Moves
	single := 0
	for i := 0; i < len(out) && len(out) > most && out[i].Last == ""; i++ {
		if out[i].Turned != 1 {
			continue
		}
		if single++; 2*single > most {
			out = slices.Delete(out, i, i+1)
			i--
		}
	}
	if len(out) <= most {
		return out
	}
	best := -1
	for i := range out {
		if fits(&out[i]) && (best < 0 || out[i].Speed > out[best].Speed) {
			best = i
		}
	}
	if best >= most && most > 1 {
		out[most-1] = out[best]
	}
	return out[:most]
}

// alike reports whether a move that stands later does the same with as many changes or more, or turns
// the same knobs to other values.
func (m *Move) alike(later *Move) bool {
	if later.Turned < 2 || m.Turned > later.Turned {
		return false
	}
	fields := func(m *Move) (list []string) {
		for _, c := range m.Changes {
			if c.Follows == "" {
				list = append(list, c.Field)
			}
		}
		return list
	}
	same := m.PessimisticStep == later.PessimisticStep && m.Report.Memory.Peak == later.Report.Memory.Peak
	return same || (m.Last == "") == (later.Last == "") && slices.Equal(fields(m), fields(later))
}

// later returns the knobs that a pair turns after one: each pair of knobs is tried
// in one order, the one in which the second can follow the first; all follow one that advice only prices.
func later(first knob.ID) []knob.ID {
	all := knob.Advised()
	return all[slices.Index(all, first)+1:]
}

// problem returns the search that answers the same question without being bound to
// two turns.
func (a *adviser) problem() search.Problem {
	p := search.Problem{Setup: a.now, Top: 1, Workers: 1, Margin: !a.options.Limited}
	if a.options.Limited {
		p.Headroom = a.options.Headroom
	}
	p.Space.Accepts = a.options.Accepts
	// whoever runs such a one runs another
	p.Space.Refused = p.Space.Accepts != nil || knob.LauncherRejects(a.report.Problems)
	// the way there may give them up
	p.Setup.Split, p.Setup.HSDP, p.Setup.GroupSize = "", 1, 0
	if own := p.Setup.Offload; own != "" && own != recipe.OffloadNone {
		p.Space.Others = []search.Other{{
			ID:     knob.Offload,
			Values: []string{string(own), string(recipe.OffloadNone)},
		}}
	}
	return p
}

// Problem returns the search that answers the question of the advice with such options.
func (a *Advice) Problem(o Options) search.Problem {
	return (&adviser{now: a.Setup, report: a.Report, options: o}).problem()
}

// searched returns the way to the best layout that is known to fit, with its margin where any
// has one.
func (a *adviser) searched() (Move, bool) {
	return a.arrive(a.problem())
}

// smallest returns the way to the layout that needs least memory of what is too small, fitting or not.
func (a *adviser) smallest() (Move, bool) {
	p := a.problem()
	p.Objective, p.AnyMemory = search.LeastMemory, true
	m, ok := a.arrive(p)
	return m, ok && a.eases(&m)
}

// eases reports whether a move takes less of the memory that is too small, and of the GPU or of the host no
// more than is too much.
func (a *adviser) eases(m *Move) bool {
	was, is := a.report.Memory, m.Report.Memory
	return is.Needs() < was.Needs() && is.HostOver() <= was.HostOver() && is.Peak <= max(was.Peak, was.Usable)
}

func (a *adviser) arrive(p search.Problem) (Move, bool) {
	p.Stop = a.options.Stop
	r := search.Run(context.Background(), p, nil)
	a.looked.Layouts += r.Legal
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
	for _, id := range knob.Advised() {
		if p, ok := knob.Find(id); ok && p.Text(*from) != p.Text(*to) {
			n++
		}
	}
	return max(n, 1)
}
