package advise

import (
	"cmp"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// Looked is how many setups advice has looked at before it says what to turn.
// All of them are bounded from below; those that a bound does not exclude are
// evaluated.
type Looked struct {
	Singles int `json:"singles"`            // turns of one knob: every one of them, evaluated
	Pairs   int `json:"pairs"`              // of two knobs: every one of them
	Triples int `json:"triples"`            // of three, from the pairs that promise most
	Beam    int `json:"triples_from_pairs"` // these pairs
	Layouts int `json:"search_layouts"`     // legal layouts of the search for the best
	Further int `json:"on_from_the_best"`   // turns of one knob more, from the best that was found
}

// Words say what the moves were chosen from and what was left out; number writes a
// count.
func (l *Looked) Words(number func(int) string) string {
	return "looked at " + number(l.Singles) + " single-knob changes, " + number(l.Pairs) + " pairs, " +
		number(l.Triples) +
		" triples from the " + number(l.Beam) + " most promising pairs, " + number(l.Layouts) +
		" layouts of a search with the schedules 1f1b and interleaved, and " + number(l.Further) +
		" further changes of the best of these. Other changes of three or more knobs may be faster."
}

// pair is a setup that is some turns away, with its least.
type pair struct {
	setup  engine.Setup
	least  bound.Bound
	turned [2]knob.ID
}

// reached are all setups within two turns, in the order of their bounds.
type reached struct {
	pairs []pair
	seen  map[engine.Setup]bool // these, those of one turn, and the setup itself
}

// reach bounds every second turn after every first one.
func (a *adviser) reach() *reached {
	if a.within != nil {
		return a.within
	}
	r := &reached{seen: map[engine.Setup]bool{a.now: true}}
	a.within = r
	for i := range a.turns {
		r.seen[a.turns[i].Setup] = true
	}
	for i := range a.turns {
		first := &a.turns[i]
		for _, id := range later(first.knob) {
			if a.stopped() {
				return r
			}
			r.pairs = a.extend(r.pairs, r.seen, &first.Setup, [2]knob.ID{first.knob, id}, id)
		}
	}
	a.looked.Pairs = len(r.pairs)
	byStep(r.pairs)
	return r
}

// extend adds one more turn of a knob to a setup: every value that was not seen.
func (a *adviser) extend(list []pair, seen map[engine.Setup]bool, s *engine.Setup, turned [2]knob.ID,
	id knob.ID,
) []pair {
	for _, v := range values(s, id) {
		if v.Current || seen[v.Setup] || a.slow(&v.Setup) {
			continue
		}
		seen[v.Setup] = true
		slow, _ := engine.Pessimistic(v.Setup)
		if least, ok := a.bounds.Bound(&slow); ok {
			list = append(list, pair{v.Setup, least, turned})
		}
	}
	return list
}

func byStep(list []pair) {
	slices.SortStableFunc(list, func(x, y pair) int { return cmp.Compare(x.least.Step, y.least.Step) })
}

// How many pairs of every two knobs triples begin with: those with the best bounds of
// the ones that may fit, and of all. Where the setup does not fit itself more of all
// are taken, since the third turn is then what makes it fit. Tried on 17 setups, of
// one to four knobs away from their best: fewer miss triples that are faster by up to
// 7 %, more find none that is.
const (
	beamFits = 2
	beamAny  = 1
	beamFix  = 3
)

// triples returns the turns of a third knob after the pairs that promise most of every
// two knobs: a turn that pays only together with others does not fall to many that
// pay a little alone.
func (a *adviser) triples(r *reached) []pair {
	if a.thirds != nil {
		return a.thirds
	}
	type count struct{ fit, all int }
	taken := map[[2]knob.ID]count{}
	all := beamAny
	if !a.report.Memory.Fits {
		all = beamFix
	}
	var out []pair
	for i := range r.pairs {
		p := &r.pairs[i]
		n := taken[p.turned]
		may := a.mayFit(p.least)
		if (!may || n.fit >= beamFits) && n.all >= all {
			continue
		}
		if a.stopped() {
			return nil
		}
		n.all++
		if may {
			n.fit++
		}
		taken[p.turned] = n
		a.looked.Beam++
		for _, id := range knob.Advised() {
			if !slices.Contains(p.turned[:], id) {
				out = a.extend(out, r.seen, &p.setup, p.turned, id)
			}
		}
	}
	a.looked.Triples = len(out)
	byStep(out)
	a.thirds = out
	return out
}

// evaluateInOrder evaluates setups in the order of their bounds, until no bound that is left
// can be among the best that are wanted and faster than a speed.
func (a *adviser) evaluateInOrder(open []pair, turned, wanted int, speed float64, may func(bound.Bound) bool,
	will func(*Move) bool,
) []Move {
	var out []Move
	for i := range open {
		least := &open[i].least
		if a.stopped() || float64(a.step/least.Step) <= speed ||
			len(out) == wanted && least.Step >= out[wanted-1].PessimisticStep {
			break
		}
		if !may(*least) {
			continue
		}
		m, ok := a.try(open[i].setup, turned)
		if !ok || !will(&m) || m.Speed <= speed {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, m.PessimisticStep, func(o Move, step units.Seconds) int {
			return cmp.Or(cmp.Compare(o.PessimisticStep, step), -1) // what was there first stays in front
		})
		out = slices.Insert(out, at, m)
		out = out[:min(len(out), wanted)]
	}
	return out
}

// mostRounds bounds how many knobs are turned on from the best: it seldom takes
// more than two.
const mostRounds = 6

// climb turns one knob after the other from a move on, each time the one that makes
// it fastest, until none does: what the search leaves alone (schedules that few
// launchers have, offload, HSDP) is turned too.
func (a *adviser) climb(from Move) Move {
	seen := map[engine.Setup]bool{a.now: true, from.Setup: true}
	for range mostRounds {
		var open []pair
		for _, id := range knob.Advised() {
			if a.stopped() {
				return from
			}
			open = a.extend(open, seen, &from.Setup, [2]knob.ID{}, id)
		}
		a.looked.Further += len(open)
		byStep(open)
		better := a.evaluateInOrder(open, 0, several, from.Speed*worthwhile, a.mayFit, sound)
		if len(better) == 0 {
			return from
		}
		from = better[0]
		from.Turned = turns(&a.now, &from.Setup)
	}
	return from
}
