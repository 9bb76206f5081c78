package schedule

import "fmt"

// interleaved is 1F1B over v chunks per rank: micro-batches go round the ranks
// in groups, once per chunk, which divides the bubble by v.
func interleaved() descriptor {
	return descriptor{
		Info: Info{
			Kind: Interleaved, Name: "Interleaved 1F1B",
			Paper: "Narayanan et al., arXiv 2104.04473, section 2.2.2; group size: Llama 3, arXiv " +
				"2407.21783, figure 6",
			Code:      "Megatron-LM schedules.py, forward_backward_pipelining_with_interleaving",
			Placement: Loop, WeightCopies: 1,
			Constraint: `group size g from p to m, last group empty or at least p, p > 1; ` +
				`Megatron-LM otherwise: ` +
				`"The number of contiguous micro-batches in a virtual pipeline stage ` +
				`should range in [PP, M]", ` +
				`"The remainder of M divided by N should be 0, or larger than or ` +
				`equal to the pipeline-parallel size"; ` +
				`PyTorch requires m a multiple of m div p rounds`,
			Idle:   "(p-1)(tF+tB), for m < p [(p-1)+(v-1)(p-m)](tF+tB)",
			Memory: "min(v m, (v-1)g+2(p-1-r)+1)",
			warmup: func(s *Spec, rank int) Warmup {
				return exactly((s.VirtualStages-1)*s.group()+2*(s.Ranks-1-rank)+1+s.ExtraWarmup,
					s.VirtualStages*s.MicroBatches)
			},
			group: (*Spec).group,
			disproved: func(s *Spec, t ChunkTimes) string {
				if rest := s.MicroBatches % s.group(); s.VirtualStages > 1 && s.MicroBatches >= s.Ranks &&
					rest > 0 && rest < s.Ranks {
					return "(p-1)/(v m) is too low where the last group of micro-batches is short"
				}
				return disprovedLoop(s, t)
			},
		},
		generate: generateInterleaved,
		check:    checkInterleaved,
		idle:     idleInterleaved,
	}
}

// group returns the number of micro-batches per group: as given, else one per rank,
// or all of them when there are fewer (what PyTorch does).
func (s *Spec) group() int {
	if s.GroupSize > 0 {
		return s.GroupSize
	}
	return min(s.Ranks, s.MicroBatches)
}

// generateInterleaved runs 2(p-1-r)+(v-1)g forwards ahead on rank r. The factor
// 2 is Megatron's: forward and backward of a steady step are sent together.
func generateInterleaved(o *Order) {
	s, g := o.Spec, o.Spec.group()
	for r := range s.Ranks {
		o.warmLoop(2*(s.Ranks-1-r)+(s.VirtualStages-1)*g+s.ExtraWarmup, g)
	}
}

// idleInterleaved is (p-1)(tF+tB) per chunk when every group keeps all ranks
// busy, and [(p-1)+(v-1)(p-m)](tF+tB) with one group of m < p micro-batches.
func idleInterleaved(s Spec, t ChunkTimes) (float64, bool) {
	p, m, v, g := s.Ranks, s.MicroBatches, s.VirtualStages, s.group()
	slots := p - 1
	if m < p {
		slots += (v - 1) * (p - m)
	} else if rest := m % g; g < p || rest > 0 && rest < p {
		return 0, false
	}
	return float64(slots) * (t.F + t.B), true
}

func checkInterleaved(s Spec) []Issue {
	issues := append(append(checkGroup(s), checkWarmup(s)...), unusedLimit(s)...)
	p, m := s.Ranks, s.MicroBatches
	if s.VirtualStages == 1 {
		nearest := map[string]int{fieldVPP: 2}
		if rest := m % s.group(); m > p && rest > 0 && rest < p {
			nearest[fieldGroup] = fittingGroup(p, m)
		}
		issues = append(issues, Issue{
			Code: "interleaved-one-chunk", Field: fieldVPP, Warning: true,
			Message: "with one chunk per rank nothing is interleaved: 1f1b has the same bubble and holds " +
				"fewer activations",
			Nearest: nearest,
		})
	}
	if p == 1 {
		nearest := map[string]int{fieldPP: 2}
		if s.GroupSize == 1 {
			nearest[fieldGroup] = 0
		}
		issues = append(issues, Issue{
			Code: "interleaved-one-rank", Field: fieldPP, Warning: true,
			Message: "Megatron-LM rejects the interleaved schedule on one pipeline rank; PyTorch runs it",
			Nearest: nearest,
		})
	}
	if m < p {
		nearest := map[string]int{fieldMicroBatches: p}
		if s.GroupSize > 0 {
			nearest[fieldGroup] = p
		}
		issues = append(issues, Issue{
			Code: "fewer-microbatches-than-ranks", Field: fieldMicroBatches, Warning: true,
			Message: fmt.Sprintf("Megatron-LM rejects the interleaved schedule with fewer micro-batches "+
				"(%d) than pipeline ranks (%d); PyTorch runs it in one group",
				m, p),
			Nearest: nearest,
		})
	}
	return append(issues, checkRemainder(s)...)
}

// checkGroup returns the range of a group size that was given: from p to m, or m
// itself when m < p.
func checkGroup(s Spec) []Issue {
	lo := min(s.Ranks, s.MicroBatches)
	if s.GroupSize == 0 || s.GroupSize >= lo && s.GroupSize <= s.MicroBatches {
		return nil
	}
	nearest := lo
	if s.GroupSize > s.MicroBatches {
		nearest = s.MicroBatches
	}
	return []Issue{{
		Code: "group-size-range", Field: fieldGroup,
		Message: fmt.Sprintf("the micro-batch group size must be between %d (one per pipeline rank) and %d "+
			"(all micro-batches), not %d",
			lo, s.MicroBatches, s.GroupSize),
		Nearest: map[string]int{fieldGroup: nearest},
	}}
}

// checkRemainder is Megatron's rule that the last group, of m mod g
// micro-batches, is not shorter than the ranks. Where it is, the ranks wait in
// every chunk of that group, or even for each other.
func checkRemainder(s Spec) []Issue {
	p, m, g := s.Ranks, s.MicroBatches, s.group()
	rest := m % g
	if m < p || g < p || g > m || rest == 0 || rest >= p {
		return nil
	}
	below, above := m-rest, m-rest+p
	nearest := above
	if m-below < above-m {
		nearest = below
	}
	stuck := shortGroupDeadlocks(p, s.VirtualStages, g, rest)
	consequence, runs := "costs idle time, and Megatron-LM rejects it", ""
	if stuck {
		consequence = "deadlocks them"
		if m := nearestRunning(s); m != below && m != above {
			runs = fmt.Sprintf(" (%d run, but Megatron-LM rejects them)", m)
		}
	}
	return []Issue{{
		Code: "group-remainder", Field: fieldMicroBatches, Warning: !stuck,
		Message: fmt.Sprintf("%d micro-batches in groups of %d leave a last group of %d: shorter than the "+
			"%d pipeline ranks it %s; %d or %d micro-batches fit, or groups of %d%s",
			m, g, rest, p, consequence, below, above, fittingGroup(p, m), runs),
		Nearest: map[string]int{fieldMicroBatches: nearest},
	}}
}

// nearestRunning returns the number of micro-batches nearest to a spec's that does not
// block its ranks.
func nearestRunning(s Spec) int {
	runs := func(m int) bool {
		t := s
		t.MicroBatches = m
		rest := m % t.group()
		return m < s.Ranks || rest == 0 || rest >= s.Ranks ||
			!shortGroupDeadlocks(s.Ranks, s.VirtualStages, t.group(), rest)
	}
	for away := 1; away < s.MicroBatches; away++ {
		if runs(s.MicroBatches - away) {
			return s.MicroBatches - away
		}
		if runs(s.MicroBatches + away) {
			return s.MicroBatches + away
		}
	}
	return s.MicroBatches
}

// shortGroupDeadlocks reports whether a last group of rest < p micro-batches
// blocks the ranks: a rank then reaches a backward whose forward, further down
// its own pipeline, waits for a forward behind that backward. Found by building
// every order up to p = 14, v = 6 and g = 2p+2 (21,294 of them); the property
// tests compare it with the order itself.
func shortGroupDeadlocks(p, v, g, rest int) bool {
	return rest < 2*p-2-g && rest*(v-1) >= 2
}

// fittingGroup returns the smallest group size that leaves no short last group; m
// itself always does.
func fittingGroup(p, m int) int {
	for g := p; g < m; g++ {
		if rest := m % g; rest == 0 || rest >= p {
			return g
		}
	}
	return m
}
