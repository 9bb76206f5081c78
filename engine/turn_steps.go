package engine

import (
	"cmp"
	"slices"
	"strconv"
)

// Step is one legal value of a knob and the setup that turning to it gives.
type Step struct {
	Text    string
	Setup   Setup
	Current bool
}

// maxSteps bounds the ladder of a knob: what fits on a screen and can be
// evaluated between two key presses.
const maxSteps = 40

// Steps is the ladder of a knob: its legal values in ascending order (choices
// in their own order), under the locks. The current value is always among
// them, also when it is illegal.
func Steps(s Setup, id ParamID, l Locks) []Step {
	p, ok := FindParam(id)
	if !ok {
		return nil
	}
	if p.Kind != IntParam {
		return wordSteps(s, &p, l)
	}
	current := p.intOf(&s)
	values := candidates(&s, &p, l)
	if !slices.Contains(values, current) {
		values = append(values, current)
		slices.Sort(values)
	}
	steps := make([]Step, 0, min(len(values), 2*maxSteps))
	for _, v := range values {
		steps = appendStep(steps, s, &p, strconv.Itoa(v), v == current, l)
	}
	return thin(steps)
}

func wordSteps(s Setup, p *Param, l Locks) []Step {
	current := p.textOf(&s)
	words := p.Choices
	if p.Kind == TextParam {
		words = []string{""}
	}
	if !slices.Contains(words, current) { // full:4, a split by hand
		words = append(slices.Clone(words), current)
		if p.Kind == FigureParam {
			slices.SortFunc(words, func(a, b string) int { return cmp.Compare(p.value(a), p.value(b)) })
		}
	}
	steps := make([]Step, 0, len(words))
	for _, w := range words {
		steps = appendStep(steps, s, p, w, w == current, l)
	}
	return steps
}

func appendStep(steps []Step, s Setup, p *Param, text string, current bool, l Locks) []Step {
	if current {
		return append(steps, Step{Text: text, Setup: s, Current: true})
	}
	turned, err := turn(s, p, text, l)
	if err != nil || !legal(&turned) {
		return steps
	}
	return append(steps, Step{Text: text, Setup: turned})
}

// thin drops steps from an over-long ladder, evenly, never the current one or
// the ends.
func thin(steps []Step) []Step {
	if len(steps) <= maxSteps {
		return steps
	}
	kept := make([]Step, 0, maxSteps+1)
	last := len(steps) - 1
	next := 0
	for i := range steps {
		wanted := i == next*last/(maxSteps-2)
		if wanted {
			next++
		}
		if wanted || steps[i].Current {
			kept = append(kept, steps[i])
		}
	}
	return kept
}

// candidates are the values of a knob that may be legal, ascending. Check has
// the last word.
func candidates(s *Setup, p *Param, l Locks) []int {
	top := p.Max
	if s.Cluster.MaxGPUs > 0 && !batchParam(p.ID) {
		top = min(top, s.Cluster.MaxGPUs)
	}
	var values []int
	switch p.ID {
	case "tp", "pp", "cp":
		values = degreeCandidates(s, p.ID, l)
	case "dp":
		values = append(ladder(4096), divisors(quotientOf(s.GBS, s.MBS), 4096)...)
		if !l.Batch {
			values = ladder(16384)
		}
	case "vpp":
		values = append(ladder(32), divisors(quotientOf(s.Model.Layers, s.PP), 256)...)
	case "ep":
		values = append(ladder(8), divisors(s.Model.Experts, 1024)...)
	case "etp":
		values = append(ladder(8), divisors(s.TP, 1024)...)
	case "zero":
		values = []int{0, 1, 2, 3}
	case "hsdp":
		values = divisors(s.DP, 1024)
	case "imbalance":
		values = []int{100, 110, 120, 130, 150, 175, 200, 250, 300, 400}
	case "mbs":
		values = ladder(64)
		if l.Batch {
			values = append(values, divisors(quotientOf(s.GBS, s.DP), 4096)...)
		}
	case "microbatches":
		values = append(ladder(4096), multiples(s.PP, ladder(256))...)
	case "gbs":
		values = multiples(product(s.MBS, s.DP), append(ladder(1024), multiples(s.PP, ladder(32))...))
	case "seq":
		values = sequences()
	case "nodes":
		values = multiples(quotientOf(product(s.TP, s.PP, s.CP), s.Cluster.Node()), ladder(4096))
		top = min(top/s.Cluster.Node(), 16384)
	case "gpus":
		values = multiples(product(s.TP, s.PP, s.CP), ladder(4096))
		top = min(top, 1<<17)
	case "group-size":
		values = append(append([]int{0}, divisors(s.MicroBatches, 4096)...), multiples(s.PP, ladder(16))...)
	case "max-in-flight":
		values = append([]int{0, 2*s.PP - 1}, append(ladder(2*s.PP), multiples(s.PP, []int{1, 2, 3, 4})...)...)
	}
	return tidy(values, p.Min, top)
}

func batchParam(id ParamID) bool {
	return id == "mbs" || id == "microbatches" || id == "gbs" || id == "seq" || id == "group-size" || id == "imbalance"
}

// degreeCandidates: with the GPUs kept only what divides them can be legal;
// without, what divides the thing that is cut, and the plain ladder.
func degreeCandidates(s *Setup, id ParamID, l Locks) []int {
	rest, cut := product(s.PP, s.CP), s.Model.Heads
	switch id {
	case "pp":
		rest, cut = product(s.TP, s.CP), s.Model.Layers
	case "cp":
		rest, cut = product(s.TP, s.PP), 0
	}
	if l.GPUs {
		return divisors(quotientOf(s.GPUs, rest), 4096)
	}
	return append(ladder(128), divisors(cut, 1024)...)
}

// ladder is 1 2 3 4 6 8 12 16 ... up to top: powers of two and halves between.
func ladder(top int) []int {
	values := []int{1}
	for v := 2; v <= top; v *= 2 {
		values = append(values, v)
		if half := v + v/2; half <= top {
			values = append(values, half)
		}
	}
	return values
}

// sequences is 512 768 1024 ... 1 Mi tokens.
func sequences() []int { return multiples(512, ladder(2048)) }

func multiples(of int, factors []int) []int {
	values := make([]int, len(factors))
	for i, f := range factors {
		values[i] = product(max(of, 1), f)
	}
	return values
}

// divisors of n up to top. The search stops there, so a huge n is no danger.
func divisors(n, top int) []int {
	var values []int
	for d := 1; d <= min(n, top); d++ {
		if n%d == 0 {
			values = append(values, d)
		}
	}
	return values
}

// quotientOf is n/d rounded up, at least 1.
func quotientOf(n, d int) int { return max(1, (n+d-1)/max(d, 1)) }

// tidy sorts, removes doubles and what lies outside [low, high].
func tidy(values []int, low, high int) []int {
	slices.Sort(values)
	values = slices.Compact(values)
	return slices.DeleteFunc(values, func(v int) bool { return v < low || v > high })
}
