package engine

import (
	"fmt"
	"math"
	"slices"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// nearest looks for the smallest change that makes the whole setup legal: first
// of the problem's own field (with the fields that follow it), then a repair of
// everything. It also names the legal neighbours on both sides in the message.
func nearest(s *Setup, p *Problem) map[string]any {
	best, neighbours := singleFix(s, p.Field)
	if best == nil {
		best = offered(s, p)
	}
	if best == nil {
		best = repair(s)
	} else if len(neighbours) > 1 {
		p.Message += fmt.Sprintf("; nearest legal: %d or %d", neighbours[0], neighbours[1])
	}
	if best == nil {
		return nil
	}
	return difference(s, best)
}

// singleFix tries values of one field from near to far. The neighbours are the
// closest legal numbers below and above, ascending.
func singleFix(s *Setup, field string) (best *Setup, neighbours []int) {
	for _, fix := range wordFixes(s, field) {
		if legal(&fix) {
			return &fix, nil
		}
	}
	current := fieldValue(s, field)
	below, above := 0, 0
	for _, v := range nearby(s, field) {
		if v < current && below > 0 || v > current && above > 0 {
			continue
		}
		fixed := settled(s, field, v)
		if fixed == nil {
			continue
		}
		if best == nil {
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
	return best, nil
}

// settled sets a field and lets GPUs and batch follow, keeping as much as can be
// kept: GPUs and global batch, then GPUs, then neither. Nil if none is legal.
func settled(s *Setup, field string, value int) *Setup {
	for _, keep := range [...]struct{ gpus, batch bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		t := *s
		setField(&t, field, value)
		if follow(&t, field, keep.gpus, keep.batch) && legal(&t) {
			return &t
		}
	}
	return nil
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
	case field == "dp" || !keepGPUs && field != "gpus":
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
	case field == "microbatches" || !keepBatch && field != "gbs":
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
		problems := violations(&t, nil)
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
			if countErrors(violations(&fix, nil)) < errors {
				*t = fix
				return true
			}
		}
		for _, v := range nearby(t, problems[i].Field) {
			u := *t
			setField(&u, problems[i].Field, v)
			if !follow(&u, problems[i].Field, true, false) {
				follow(&u, problems[i].Field, false, false)
			}
			if countErrors(violations(&u, nil)) < errors {
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
		ZeRO: min(max(s.ZeRO, 0), 3), MBS: 1, MicroBatches: 1, Seq: min(max(s.Seq, 1), layout.MaxSeq),
	}
	if t.Model.MaxSeq > 0 {
		t.Seq = min(t.Seq, t.Model.MaxSeq)
	}
	t.MicroBatches = min(max(s.GBS/gpus, 1), layout.MaxMicroBatches, 4096)
	t.GBS = gpus * t.MicroBatches
	t.Schedule, t.GroupSize, t.MaxInFlight, t.TrainMTP = schedule.OneFOneB, 0, 0, false
	for _, field := range []string{"precision", "grad-dtype", "attention", "optimizer", "mfu", "calibration", "recompute"} {
		if legal(&t) {
			break
		}
		for _, fix := range wordFixes(&t, field) {
			if countErrors(violations(&fix, nil)) < countErrors(violations(&t, nil)) {
				t = fix
				break
			}
		}
	}
	if !legal(&t) {
		return nil
	}
	return &t
}

// wordFixes are the setup with other words in a field that holds one.
func wordFixes(s *Setup, field string) []Setup {
	var fixes []Setup
	add := func(change func(*Setup)) {
		t := *s
		change(&t)
		fixes = append(fixes, t)
	}
	switch field {
	case "precision":
		for _, w := range recipe.Precisions() {
			add(func(t *Setup) { t.Precision = w })
		}
	case "grad-dtype":
		add(func(t *Setup) { t.GradDtype = recipe.GradFP32 })
	case "attention":
		add(func(t *Setup) { t.Attention = recipe.Flash })
	case "optimizer":
		add(func(t *Setup) { t.Optimizer = recipe.Adam })
	case "mfu":
		add(func(t *Setup) { t.MFU = recipe.MFUCausal })
	case "calibration":
		add(func(t *Setup) { t.Stack = recipe.DefaultStack })
	case "recompute":
		add(func(t *Setup) { t.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull} })
		add(func(t *Setup) { t.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone} })
	case "mtp":
		add(func(t *Setup) { t.TrainMTP = false })
	case "split":
		add(func(t *Setup) { t.Split = "" })
	case "schedule":
		for _, k := range schedule.Kinds() {
			add(func(t *Setup) { t.Schedule = k.Kind })
			add(func(t *Setup) { t.Schedule, t.VPP = k.Kind, 1 })
			add(func(t *Setup) { t.Schedule, t.VPP = k.Kind, 2 })
		}
	}
	return fixes
}

// countOf finds a count by the name of its flag; nil for words.
func countOf(s *Setup, field string) *int {
	switch field {
	case "gpus":
		return &s.GPUs
	case "dp":
		return &s.DP
	case "tp":
		return &s.TP
	case "pp":
		return &s.PP
	case "vpp":
		return &s.VPP
	case "cp":
		return &s.CP
	case "ep":
		return &s.EP
	case "etp":
		return &s.ETP
	case "zero":
		return &s.ZeRO
	case "mbs":
		return &s.MBS
	case "microbatches":
		return &s.MicroBatches
	case "gbs":
		return &s.GBS
	case "seq":
		return &s.Seq
	case "group-size":
		return &s.GroupSize
	case "max-in-flight":
		return &s.MaxInFlight
	}
	return nil
}

func fieldValue(s *Setup, field string) int {
	if n := countOf(s, field); n != nil {
		return *n
	}
	return 0
}

func setField(s *Setup, field string, value int) {
	if n := countOf(s, field); n != nil {
		*n = value
	}
}

// nearby are values of a field worth trying, from near to far on a ratio
// scale, so that 4 is nearer to 3 than 2 is.
func nearby(s *Setup, field string) []int {
	if countOf(s, field) == nil {
		return nil
	}
	current := fieldValue(s, field)
	var list []int
	switch field {
	case "tp":
		list = divisorsUpTo(s.Model.Heads, s.Model.Heads)
	case "pp":
		list = counting(1, min(s.Model.Layers, 512))
	case "vpp":
		list = counting(1, min(s.Model.Layers, 128))
	case "cp":
		list = divisorsUpTo(s.Seq, 4096)
	case "ep":
		list = append(divisorsUpTo(s.Model.Experts, s.Model.Experts), 1)
	case "etp":
		list = append(divisorsUpTo(s.Model.ExpertFFN, 64), 1)
	case "zero":
		list = []int{0, 1, 2, 3}
	case "gpus":
		list = multiplesNear(max(s.TP*s.PP*s.CP, 1), current, 64)
		if s.Cluster.Inter.Bandwidth <= 0 {
			list = append(list, multiplesNear(max(s.TP*s.PP*s.CP, 1), s.Cluster.Domain(), 64)...)
		}
	case "gbs":
		list = multiplesNear(max(s.MBS*s.DP, 1), current, 64)
	case "seq":
		unit := max(2*s.CP*s.TP, 1)
		list = append(multiplesNear(unit, min(current, s.Model.MaxSeq), 8), multiplesNear(unit, current, 8)...)
	case "group-size":
		list = append(multiplesNear(1, current, 64), 0, s.PP, s.MicroBatches)
	case "max-in-flight":
		list = []int{0, s.PP, 2 * s.PP}
	case "microbatches":
		list = append(multiplesNear(max(s.PP, 1), current, 16), multiplesNear(1, current, 64)...)
	default: // dp, mbs
		list = append(multiplesNear(1, current, 64), counting(1, 64)...)
	}
	list = append(list, clampField(field, current))
	distance := func(v int) float64 {
		return math.Abs(math.Log((float64(v) + 0.5) / (max(float64(current), 0) + 0.5)))
	}
	slices.SortStableFunc(list, func(a, b int) int {
		switch da, db := distance(a), distance(b); {
		case da < db:
			return -1
		case da > db:
			return 1
		}
		return a - b
	})
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(v int) bool { return v == current })
}

// clampField is the value moved into the bounds of its field.
func clampField(field string, v int) int {
	high := layout.MaxDegree
	low := 1
	switch field {
	case "gpus":
		high = layout.MaxGPUs
	case "microbatches":
		high = layout.MaxMicroBatches
	case "gbs":
		high = layout.MaxGBS
	case "seq":
		high = layout.MaxSeq
	case "zero":
		low, high = 0, 3
	case "group-size", "max-in-flight":
		low = 0
	}
	return min(max(v, low), high)
}

func counting(from, to int) []int {
	var list []int
	for v := from; v <= to; v++ {
		list = append(list, v)
	}
	return list
}

// divisorsUpTo lists the divisors of n that are at most limit.
func divisorsUpTo(n, limit int) []int {
	var list []int
	for v := 1; v <= min(n, limit); v++ {
		if n%v == 0 {
			list = append(list, v)
		}
	}
	return list
}

// multiplesNear lists positive multiples of unit around a value, count on each side.
func multiplesNear(unit, around, count int) []int {
	var list []int
	k := around / unit
	for i := k - count; i <= k+count; i++ {
		if i >= 1 {
			list = append(list, i*unit)
		}
	}
	return list
}

// difference lists the fields in which b differs from a, by flag name.
func difference(a, b *Setup) map[string]any {
	d := map[string]any{}
	for _, field := range []string{"gpus", "dp", "tp", "pp", "vpp", "cp", "ep", "etp", "zero", "mbs", "microbatches", "gbs", "seq", "group-size", "max-in-flight"} {
		if x, y := fieldValue(a, field), fieldValue(b, field); x != y {
			d[field] = y
		}
	}
	word := func(field string, x, y any) {
		if x != y {
			d[field] = y
		}
	}
	word("sp", a.SP, b.SP)
	word("split", a.Split, b.Split)
	word("schedule", string(a.Schedule), string(b.Schedule))
	word("recompute", a.Recompute.String(), b.Recompute.String())
	word("precision", string(a.Precision), string(b.Precision))
	word("grad-dtype", string(a.GradDtype), string(b.GradDtype))
	word("attention", string(a.Attention), string(b.Attention))
	word("optimizer", string(a.Optimizer), string(b.Optimizer))
	word("mtp", a.TrainMTP, b.TrainMTP)
	word("calibration", string(a.Stack), string(b.Stack))
	word("mfu", string(a.MFU), string(b.MFU))
	return d
}
