package knob

import (
	"fmt"
	"maps"
	"slices"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// fixer looks for the nearest legal values of one setup. What it has tried for one problem it
// knows for the others.
type fixer struct {
	s     *Setup
	wrong []string // the fields in error, each once
	tried map[string]fieldFix
	whole *Setup // what repair returns
	asked bool   // whether it was asked
}

// fieldFix is what singleFix returns.
type fieldFix struct {
	best       *Setup
	neighbours []int
}

// nearest looks for the smallest change that makes the whole setup legal: first
// of the problem's own field (with the fields that follow it), then of one other
// field that is in error too, then a repair of everything. It also names the
// legal neighbours on both sides in the message. More GPUs than there are come last:
// nobody has a larger machine because a layout does not divide.
func (f *fixer) nearest(p *Problem) map[string]any {
	if own := better(f.s, p); own != nil && !f.larger(own) {
		return own
	}
	fix := f.single(p.Field)
	var last *Setup
	for _, find := range []func() *Setup{
		func() *Setup { return fix.best },
		f.sameGPUs,
		func() *Setup { return f.otherFix(p.Field) },
		f.repaired,
		func() *Setup { return plainest(f.s) },
	} {
		best := find()
		switch {
		case best == nil:
			continue
		case best.GPUs <= f.s.GPUs:
			if last == nil && len(fix.neighbours) > 1 {
				p.Message += fmt.Sprintf("; nearest legal: %d or %d", fix.neighbours[0], fix.neighbours[1])
			}
			return difference(f.s, best)
		case last == nil:
			last = best
		}
	}
	if last == nil {
		return nil
	}
	return difference(f.s, last)
}

// larger reports whether a change takes more GPUs than there are.
func (f *fixer) larger(change map[string]any) bool {
	n, ok := change[string(GPUs)].(int)
	return ok && n > f.s.GPUs
}

// sameGPUs returns the change of one degree, with what follows it, that makes the setup legal on as many
// GPUs: the one that moves the fewest others along.
func (f *fixer) sameGPUs() (best *Setup) {
	gradeOf, least := grader(f.s), 0
	for _, id := range []ID{CP, PP, TP} {
		fix, _ := nearestValue(f.s, string(id), true, gradeOf)
		if fix == nil {
			continue
		}
		if n := len(difference(f.s, fix)); best == nil || n < least {
			best, least = fix, n
		}
	}
	return best
}

// single is singleFix, once for each field.
func (f *fixer) single(field string) fieldFix {
	fix, known := f.tried[field]
	if !known {
		if f.tried == nil {
			f.tried = map[string]fieldFix{}
		}
		fix.best, fix.neighbours = singleFix(f.s, field)
		f.tried[field] = fix
	}
	return fix
}

// repaired is repair, once.
func (f *fixer) repaired() *Setup {
	if !f.asked {
		f.whole, f.asked = repair(f.s), true
	}
	return f.whole
}

// otherFix returns the change of one field next to the given one that fixes all: the
// one that moves the fewest others along.
func (f *fixer) otherFix(field string) (best *Setup) {
	least := 0
	for _, other := range f.wrong {
		if other == field {
			continue
		}
		if fix := f.single(other).best; fix != nil {
			if n := len(difference(f.s, fix)); best == nil || n < least {
				best, least = fix, n
			}
		}
	}
	return best
}

// better resolves what the problem's own rule proposes; nil when there is no such
// proposal, or when it would not make the problem go away, or be illegal.
func better(s *Setup, p *Problem) map[string]any {
	if len(p.Nearest) == 0 {
		return nil
	}
	t, field := *s, ""
	for _, name := range slices.Sorted(maps.Keys(p.Nearest)) { // the last one is what the others follow
		if n, ok := p.Nearest[name].(int); ok {
			setField(&t, name, n)
			field = name
		}
	}
	if !follow(&t, field, true, true) && !follow(&t, field, true, false) {
		return nil
	}
	problems := codes(&t)
	if layout.HasErrors(problems) || layout.HasCode(problems, p.Code) {
		return nil
	}
	return difference(s, &t)
}

// grade is how good a proposal is.
type grade int

const (
	illegalFix grade = iota
	legalFix         // legal, with warnings that the setup did not have
	calmFix          // legal, and no new warnings
)

// grader checks proposals for a setup by the warnings it has already. Those of a number of micro-batches that
// is not the batch's count for nothing: each proposal has another one.
func grader(s *Setup) func(*Setup) grade {
	known := codes(s)
	if product(s.MBS, s.MicroBatches, s.DP) != s.GBS {
		known = slices.DeleteFunc(known, func(p Problem) bool { return ID(p.Field) == MicroBatches })
	}
	return func(t *Setup) grade {
		g := calmFix
		for _, p := range codes(t) {
			if p.Severity == layout.Error {
				return illegalFix
			}
			if !slices.ContainsFunc(known,
				func(k Problem) bool { return k.Code == p.Code && k.Severity == p.Severity }) {
				g = legalFix
			}
		}
		return g
	}
}

// singleFix tries values of one field from near to far and prefers those that
// bring no new warning. The neighbours are the closest such numbers below and
// above, ascending.
func singleFix(s *Setup, field string) (best *Setup, neighbours []int) {
	gradeOf := grader(s)
	for _, fix := range wordFixes(s, field) {
		if gradeOf(&fix) != illegalFix {
			return &fix, nil
		}
	}
	// Rather another value than another number of GPUs; the batch is let go
	// before the value is.
	for _, keepGPUs := range []bool{true, false} {
		if best, neighbours = nearestValue(s, field, keepGPUs, gradeOf); best != nil {
			return best, neighbours
		}
	}
	return nil, nil
}

func nearestValue(s *Setup, field string, keepGPUs bool, gradeOf func(*Setup) grade) (best *Setup,
	neighbours []int,
) {
	current := fieldValue(s, field)
	below, above := 0, 0
	var second *Setup // the nearest that is legal at all
	for _, v := range nearby(s, field) {
		if v < current && below > 0 || v > current && above > 0 {
			continue
		}
		fixed, g := withValue(s, field, v, keepGPUs, gradeOf)
		switch {
		case g == illegalFix:
			continue
		case g == legalFix:
			if second == nil {
				second = fixed
			}
			continue
		case best == nil:
			best = fixed
		}
		if v < current {
			below = v
		} else {
			above = v
		}
		if below > 0 && above > 0 {
			return best, []int{below, above}
		}
	}
	if best == nil {
		best = second
	}
	return best, nil
}

// withValue sets a field and lets GPUs and batch follow: at the same global batch
// if that is legal, else at another.
func withValue(s *Setup, field string, value int, keepGPUs bool, gradeOf func(*Setup) grade) (*Setup, grade) {
	for _, keepBatch := range []bool{true, false} {
		t := *s
		setField(&t, field, value)
		if !follow(&t, field, keepGPUs, keepBatch) {
			continue
		}
		if g := gradeOf(&t); g != illegalFix {
			return &t, g
		}
	}
	return nil, illegalFix
}

// follow makes the identities hold; false when they cannot with what is kept.
func follow(t *Setup, field string, keepGPUs, keepBatch bool) bool {
	for _, n := range [...]int{t.TP, t.PP, t.CP, t.DP, t.MBS, t.MicroBatches} {
		if n < 1 || n > layout.MaxDegree {
			return false
		}
	}
	plane := t.TP * t.PP * t.CP
	switch {
	case ID(field) == DP || !keepGPUs && ID(field) != GPUs:
		t.GPUs = t.Ranks()
	case t.GPUs%plane != 0:
		return false
	default:
		t.DP = t.GPUs / plane
	}
	if t.DP < 1 {
		return false
	}
	share := t.MBS * t.DP
	switch {
	case ID(field) == MicroBatches || !keepBatch && ID(field) != GBS:
		t.GBS = share * t.MicroBatches
	case t.GBS%share != 0 || t.GBS < share:
		return false
	default:
		t.MicroBatches = t.GBS / share
	}
	return true
}

// repair removes errors one after the other, and gives up to the plainest
// layout of the same model and machine when that does not end well.
func repair(s *Setup) *Setup {
	t := *s
	for range 12 {
		problems := codes(&t)
		errors := countErrors(problems)
		if errors == 0 {
			return &t
		}
		if !improve(&t, problems, errors) {
			break
		}
	}
	return plainest(s)
}

// improve takes the first change of a field in error that leaves fewer errors.
func improve(t *Setup, problems []Problem, errors int) bool {
	for i := range problems {
		if problems[i].Severity != layout.Error {
			continue
		}
		for _, fix := range wordFixes(t, problems[i].Field) {
			if countErrors(codes(&fix)) < errors {
				*t = fix
				return true
			}
		}
		for _, v := range nearby(t, problems[i].Field) {
			u := *t
			setField(&u, problems[i].Field, v)
			for _, keep := range [...][2]bool{{true, true}, {true, false}, {false, false}} {
				if follow(&u, problems[i].Field, keep[0], keep[1]) {
					break
				}
			}
			if countErrors(codes(&u)) < errors {
				*t = u
				return true
			}
		}
	}
	return false
}

func countErrors(problems []Problem) int {
	n := 0
	for i := range problems {
		if problems[i].Severity == layout.Error {
			n++
		}
	}
	return n
}

// plainest is data parallelism alone, with the words of the setup where they
// are legal. Nil when even that is not (a broken model or cluster).
func plainest(s *Setup) *Setup {
	t := *s
	gpus := min(max(s.GPUs, 1), layout.MaxDegree)
	if t.Cluster.Inter.Bandwidth <= 0 {
		gpus = min(gpus, t.Cluster.Domain())
	}
	t.Layout = layout.Layout{
		GPUs: gpus, DP: gpus, TP: 1, PP: 1, VPP: 1, CP: 1, EP: 1, ETP: 1,
		ZeRO: min(max(s.ZeRO, 0), 3), HSDP: 1, MBS: 1, MicroBatches: 1,
		Seq: min(max(s.Seq, 1), layout.MaxSeq),
	}
	if t.Model.MaxSeq > 0 {
		t.Seq = min(t.Seq, t.Model.MaxSeq)
	}
	t.MicroBatches = min(max(s.GBS/gpus, 1), layout.MaxMicroBatches, 4096)
	t.GBS = gpus * t.MicroBatches
	t.Schedule, t.GroupSize, t.MaxInFlight, t.TrainMTP = schedule.OneFOneB, 0, 0, false
	t.Imbalance = min(max(s.Imbalance, recipe.EvenLoad), recipe.MaxLoad)
	knobs := registry()
	for i := range knobs {
		if k := &knobs[i]; k.figure != nil {
			*k.figure(&t) = k.clamp(*k.figure(&t))
		}
	}
	for i := range knobs {
		if knobs[i].fixes == nil || knobs[i].figure != nil {
			continue
		}
		if legal(&t) {
			break
		}
		least := countErrors(codes(&t))
		for _, fix := range wordFixes(&t, string(knobs[i].ID)) { // the nearest of those that mend most
			if errors := countErrors(codes(&fix)); errors < least {
				t, least = fix, errors
			}
		}
	}
	if !legal(&t) {
		return nil
	}
	return &t
}

// wordFixes returns the setup with other words in a field that holds one.
func wordFixes(s *Setup, field string) []Setup {
	k := find(ID(field))
	if k == nil || k.fixes == nil {
		return nil
	}
	changes := k.fixes(s)
	fixed := make([]Setup, len(changes))
	for i, change := range changes {
		fixed[i] = *s
		change(&fixed[i])
	}
	return fixed
}
