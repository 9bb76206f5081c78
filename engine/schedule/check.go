package schedule

import (
	"fmt"

	"meshscope/engine/knob/id"
)

// Fields that an Issue can name: the flags of the command line.
const (
	fieldSchedule     = string(id.Schedule)
	fieldPP           = string(id.PP)
	fieldVPP          = string(id.VPP)
	fieldMicroBatches = string(id.MicroBatches)
	fieldGroup        = string(id.GroupSize)
	fieldMaxInFlight  = string(id.MaxInFlight)
	fieldWarmup       = "extra-warmup" // no flag: an option of the order alone
)

// Issue is why a spec cannot be executed, or, as a warning, what one launcher
// rejects or what is odd about a spec that can.
type Issue struct {
	Code    string
	Field   string // schedule, pp, vpp, microbatches, group-size or max-in-flight
	Message string
	// Nearest are values, by field, that together make this issue go away;
	// nil when a number cannot.
	Nearest map[string]int
	Warning bool
}

// Check lists what is wrong with a spec: errors for what cannot be executed at
// all, warnings for the rest. A spec without errors can be built.
func (s Spec) Check() []Issue {
	if d, ok := find(s.Kind); ok {
		return s.check(d)
	}
	return append(s.checkCounts(), Issue{
		Code: "unknown-schedule", Field: fieldSchedule,
		Message: fmt.Sprintf("unknown schedule %q; allowed are %s", s.Kind, kindNames()),
	})
}

// check is Check of a known schedule.
func (s Spec) check(d *descriptor) []Issue {
	if issues := s.checkCounts(); len(issues) > 0 {
		return issues
	}
	if issues := s.checkSize(d); len(issues) > 0 {
		return issues
	}
	return d.check(s)
}

// checkCounts rejects counts below 1.
func (s Spec) checkCounts() []Issue {
	var issues []Issue
	for _, count := range [...]struct {
		field        string
		what         string
		given, least int
	}{
		{fieldPP, "pipeline ranks", s.Ranks, 1},
		{fieldVPP, "stages per rank", s.VirtualStages, 1},
		{fieldMicroBatches, "micro-batches", s.MicroBatches, 1},
		{fieldGroup, "micro-batches per group", s.GroupSize, 0},
		{fieldMaxInFlight, "activations in flight", s.MaxInFlight, 0},
		{fieldWarmup, "extra forwards ahead", s.ExtraWarmup, 0},
	} {
		if count.given < count.least {
			issues = append(issues, Issue{
				Code: count.field + "-not-positive", Field: count.field,
				Message: fmt.Sprintf("%s must be %d or more, not %d", count.what, count.least, count.given),
				Nearest: map[string]int{count.field: count.least},
			})
		}
	}
	return issues
}

// checkWarmup rejects more than Megatron's one extra forward: beyond it a short
// last group can block the ranks.
func checkWarmup(s Spec) []Issue {
	if s.ExtraWarmup <= 1 {
		return nil
	}
	return []Issue{{
		Code: "extra-warmup-range", Field: fieldWarmup,
		Message: fmt.Sprintf("interleaved allows 0 or 1 extra warm-up forwards, not %d", s.ExtraWarmup),
		Nearest: map[string]int{fieldWarmup: 1},
	}}
}

// checkSize rejects what exceeds the bounds of an order, first the counts
// themselves, then their product.
func (s Spec) checkSize(d *descriptor) []Issue {
	issue := func(field, bound string, given float64, limit, nearest int) []Issue {
		what := map[string]string{
			"MaxOps": "operations", "MaxMicroBatches": "micro-batches", "MaxVirtualStages": "stages per rank",
			"MaxAutoOps": "operations", "MaxAutoRanks": "ranks",
		}
		return []Issue{{
			Code: "schedule-too-large", Field: field,
			Message: fmt.Sprintf("too large to simulate: %.0f %s, allowed are %d (%s)", given, what[bound],
				limit, bound),
			Nearest: map[string]int{field: nearest},
		}}
	}
	bound, most := d.bound()
	perMicroBatch := s
	perMicroBatch.MicroBatches = 1
	perRank := perMicroBatch
	perRank.Ranks = 1
	switch {
	case s.VirtualStages > MaxVirtualStages:
		return issue(fieldVPP, "MaxVirtualStages", float64(s.VirtualStages), MaxVirtualStages,
			MaxVirtualStages)
	case d.maxRanks > 0 && s.Ranks > d.maxRanks:
		return issue(fieldPP, "MaxAutoRanks", float64(s.Ranks), d.maxRanks, d.maxRanks)
	case perMicroBatch.ops(d.Info) > float64(most):
		return issue(fieldPP, bound, s.ops(d.Info), most, most/int(perRank.ops(d.Info)))
	case s.MicroBatches > MaxMicroBatches, s.ops(d.Info) > float64(most):
		fits := min(MaxMicroBatches, most/int(perMicroBatch.ops(d.Info)))
		if s.MicroBatches > MaxMicroBatches {
			return issue(fieldMicroBatches, "MaxMicroBatches", float64(s.MicroBatches), MaxMicroBatches, fits)
		}
		return issue(fieldMicroBatches, bound, s.ops(d.Info), most, fits)
	}
	return nil
}

// oneChunk rejects several stages per rank where the schedule has one.
func oneChunk(s Spec) []Issue {
	if s.VirtualStages == 1 {
		return nil
	}
	return []Issue{{
		Code: "schedule-one-chunk", Field: fieldVPP,
		Message: fmt.Sprintf("%s runs one stage per rank, not %d; interleaved runs several", s.Kind,
			s.VirtualStages),
		Nearest: map[string]int{fieldVPP: 1},
	}}
}

// unusedGroup warns of a group size that the schedule does not have.
func unusedGroup(s Spec) []Issue {
	if s.GroupSize == 0 {
		return nil
	}
	return []Issue{{
		Code: "group-size-unused", Field: fieldGroup, Warning: true,
		Message: fmt.Sprintf("%s has no micro-batch groups: the group size is not used", s.Kind),
		Nearest: map[string]int{fieldGroup: 0},
	}}
}

// hasError reports whether any issue is more than a warning.
func hasError(issues []Issue) bool {
	for _, is := range issues {
		if !is.Warning {
			return true
		}
	}
	return false
}

// errorsOf leaves the warnings out.
func errorsOf(issues []Issue) []Issue {
	var kept []Issue
	for _, is := range issues {
		if !is.Warning {
			kept = append(kept, is)
		}
	}
	return kept
}
