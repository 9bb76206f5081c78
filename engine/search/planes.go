package search

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// plane is a cut of the GPUs and the batch in a variant of the problem: what is left
// open are the choices of choices.
type plane struct{ variant, gpus, gbs, seq, tp, pp, cp, ep, etp int }

// Bounds of the values that are tried where a Space does not list any.
const (
	MaxMBS       = 64 // sequences; powers of two. LargestMBS goes on to the batch
	MaxOddMBS    = 16 // the same; other numbers
	MaxPP        = 128
	MaxVPP       = 16
	LeastCPSlice = 512 // tokens of a sequence that a context-parallel rank gets at least
)

// planes lists every cut of a variant that may be legal, in a fixed order.
func (p *Problem) planes(variant int) []plane {
	s, sp := &p.Setup, &p.Space
	var out []plane
	for _, gpus := range or(sp.GPUs, s.GPUs) {
		if gpus < 1 || gpus > layout.MaxGPUs {
			continue
		}
		divisors := divisors(gpus)
		for _, gbs := range p.batches(gpus) {
			for _, seq := range or(sp.Seq, s.Seq) {
				for _, tp := range p.tensor(divisors) {
					for _, pp := range p.pipeline(divisors) {
						for _, cp := range p.context(divisors, seq) {
							if cut := tp * pp * cp; cut > gpus || gpus%cut != 0 || !allows(sp.DP, gpus/cut) {
								continue
							}
							out = p.experts(out, plane{
								variant: variant, gpus: gpus, gbs: gbs, seq: seq,
								tp: tp, pp: pp, cp: cp,
							})
						}
					}
				}
			}
		}
	}
	return out
}

// or returns the list without repeats, or the one value where it is empty.
func or(list []int, one int) []int {
	if len(list) == 0 {
		return []int{one}
	}
	return unique(list)
}

// tensor returns the degrees of TP: up to twice the GPUs that the fast link joins,
// because one step beyond it is sometimes the only one that fits.
func (p *Problem) tensor(divisors []int) []int {
	most := 2 * p.Setup.Cluster.Domain()
	return pick(p.Space.TP, divisors, func(n int) bool { return n <= most && n <= p.Setup.Model.Heads })
}

func (p *Problem) pipeline(divisors []int) []int {
	return pick(p.Space.PP, divisors, func(n int) bool { return n <= MaxPP && n <= p.Setup.Model.Layers })
}

// context returns the degrees of CP, powers of two; on stacks that exchange heads, which need code for it,
// those that are given.
func (p *Problem) context(divisors []int, seq int) []int {
	given := p.Setup.Exchanges() == recipe.Ulysses && p.Setup.CPComm == ""
	return pick(p.Space.CP, divisors, func(n int) bool {
		return n == 1 || !given && n&(n-1) == 0 && seq%(2*n) == 0 && seq/n >= LeastCPSlice
	})
}

// experts adds the cuts of the experts over the ranks of a pipeline stage; their TP divides TP.
func (p *Problem) experts(out []plane, c plane) []plane {
	m := &p.Setup.Model
	if !m.IsMoE() {
		c.ep, c.etp = 1, 1
		if !allows(p.Space.EP, 1) || !allows(p.Space.ETP, 1) {
			return out
		}
		return append(out, c)
	}
	ranks := c.gpus / c.pp
	for _, etp := range pick(p.Space.ETP, divisors(c.tp), func(int) bool { return true }) {
		for _, ep := range pick(p.Space.EP, divisors(m.Experts), func(int) bool { return true }) {
			if ep*etp <= ranks && ranks%(ep*etp) == 0 {
				c.ep, c.etp = ep, etp
				out = append(out, c)
			}
		}
	}
	return out
}

// allows reports whether a list that may be empty allows a value.
func allows[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// pick returns what was given, without repeats and what is no number of parts, or the
// candidates that a rule keeps.
func pick(given, candidates []int, keep func(int) bool) []int {
	if len(given) > 0 {
		candidates, keep = unique(given), func(n int) bool { return n >= 1 && n <= layout.MaxDegree }
	}
	var out []int
	for _, n := range candidates {
		if keep(n) {
			out = append(out, n)
		}
	}
	return out
}

// unique leaves repeats out; what comes first stays.
func unique[T comparable](list []T) []T {
	var out []T
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// divisors in ascending order.
func divisors(n int) []int {
	var low, high []int
	for d := 1; d*d <= n; d++ {
		if n%d != 0 {
			continue
		}
		low = append(low, d)
		if d*d != n {
			high = append(high, n/d)
		}
	}
	slices.Reverse(high)
	return append(low, high...)
}

// choices are what every plane may be combined with.
type choices struct {
	mbs       []int
	sp        []bool
	recompute []recipe.Recompute
	zero      []int
	offered   [4]bool // ZeRO stages, by the stack
	unsharded bool    // one data-parallel rank takes stage 0: no stage was asked for, and the stack has 0
	kinds     []schedule.Info
}

func (p *Problem) choices() choices {
	sp := &p.Space
	c := choices{
		mbs: pick(sp.MBS, nil, nil), sp: unique(sp.SP), recompute: unique(sp.Recompute),
		zero:    unique(sp.ZeRO),
		offered: knob.ZeROStages(&p.Setup),
	}
	if len(sp.MBS) == 0 {
		c.mbs = p.microBatches()
	}
	if len(c.sp) == 0 {
		c.sp = []bool{true, false}
	}
	if len(c.recompute) == 0 {
		c.recompute = recomputations(&p.Setup)
	}
	if len(c.zero) == 0 {
		c.unsharded = c.offered[0]
		for stage, offered := range c.offered {
			if offered {
				c.zero = append(c.zero, stage)
			}
		}
	}
	kinds := sp.Schedules
	if len(kinds) == 0 {
		kinds = []schedule.Kind{schedule.OneFOneB, schedule.Interleaved}
	}
	for _, k := range unique(kinds) {
		if info, ok := k.Info(); ok {
			c.kinds = append(c.kinds, info)
		}
	}
	return c
}

// microBatches returns the micro-batch sizes that divide any of the global batches.
func (p *Problem) microBatches() []int {
	var out []int
	all := p.Batches()
	for n := 1; n <= MaxMBS; n++ {
		if n > MaxOddMBS && n&(n-1) != 0 {
			continue
		}
		for _, gbs := range all {
			if gbs%n == 0 {
				out = append(out, n)
				break
			}
		}
	}
	if p.Objective != LargestMBS {
		return out
	}
	// What is requested is not bounded by a list: only by memory and the batch.
	for n := 2 * MaxMBS; n <= slices.Max(all); n *= 2 {
		if slices.ContainsFunc(all, func(gbs int) bool { return gbs%n == 0 }) {
			out = append(out, n)
		}
	}
	return out
}

// recomputations returns the modes that differ: with a fused kernel, selective
// recomputation is none but on a stack that keeps products. Between none and full are
// parts of layers with experts, and quarters of the layers of each rank.
func recomputations(s *engine.Setup) []recipe.Recompute {
	list := []recipe.Recompute{{Mode: recipe.RecomputeNone}}
	if s.Attention == recipe.Standard || s.Stack.Traits().KeepsProducts {
		list = append(list, recipe.Recompute{Mode: recipe.RecomputeSelective})
	}
	list = append(list, s.Stack.ModuleSets(s.Model.IsMoE(), s.Model.IsMLA())...)
	for quarters := 1; quarters < 4; quarters++ {
		list = append(list, recipe.Recompute{Mode: recipe.RecomputeFull, Layers: -quarters})
	}
	return append(list, recipe.Recompute{Mode: recipe.RecomputeFull})
}

// part turns quarters of the layers of a rank into their number, a multiple of
// the rank's chunks so that all have the same; false where that is none or all,
// or the same as fewer quarters.
func part(r recipe.Recompute, s *engine.Setup) (recipe.Recompute, bool) {
	if r.Layers >= 0 {
		return r, true
	}
	layers := (s.Model.Layers + s.PP - 1) / s.PP
	number := func(quarters int) int { return layers * quarters / 4 / s.VPP * s.VPP }
	n := number(-r.Layers)
	fewer := number(-r.Layers - 1)
	r.Layers = n
	return r, n > fewer && n < layers
}

// splits returns the layers per stage that so many stages are tried with; empty: balanced.
func (p *Problem) splits(stages int) []string {
	if !p.Space.Splits {
		return []string{p.Setup.Split}
	}
	return append([]string{""}, layout.LighterEnds(p.Setup.Model.Layers, stages)...)
}

// chunks returns the stages per rank that a schedule is tried with. Where any number
// goes: those over which the layers divide when up to two are added, or three with a
// multi-token-prediction module: embedding, head and module in places of layers
// (as in Megatron's layout strings, "Et*4|(t*4|)*14tmL" for 61 layers).
func (p *Problem) chunks(info *schedule.Info, pp int) []int {
	switch {
	case info.Chunks > 0:
		if allows(p.Space.VPP, info.Chunks) {
			return []int{info.Chunks}
		}
		return nil
	case len(p.Space.VPP) > 0:
		return pick(p.Space.VPP, nil, nil)
	case pp == 1:
		return []int{1}
	}
	var out []int
	layers, most := p.Setup.Model.Layers, 2
	if p.Setup.Model.MTPLayers > 0 {
		most = 3
	}
	for v := 2; v <= MaxVPP && pp*v <= layers+most; v++ {
		if short := (pp*v - layers%(pp*v)) % (pp * v); short <= most {
			out = append(out, v)
		}
	}
	return out
}
