package engine_test

import (
	"errors"
	"strings"
	"testing"

	"meshscope/engine/schedule"
)

// TestScheduleCheck lists what is refused, what only a launcher rejects, and
// the value offered instead. The rules are those of schedules.md, sections 3
// and 4.1, which names who raises what.
func TestScheduleCheck(t *testing.T) {
	for _, c := range []struct {
		spec    schedule.Spec
		code    string // "" for no issue
		field   string
		nearest map[string]int
		warning bool
		says    string // part of the message
	}{
		{spec: schedule.Spec{Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 1, MicroBatches: 8}},
		{spec: schedule.Spec{Kind: schedule.AFAB, Ranks: 4, VirtualStages: 1, MicroBatches: 1}},
		{spec: schedule.Spec{
			Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 9,
			GroupSize: 5,
		}},
		{spec: schedule.Spec{
			Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 10,
			GroupSize: 6,
		}},
		{
			spec: schedule.Spec{Kind: "gpipe2", Ranks: 4, VirtualStages: 1, MicroBatches: 8},
			code: "unknown-schedule", field: "schedule", says: "naive, afab, 1f1b, interleaved",
		},
		{
			spec: schedule.Spec{Kind: schedule.OneFOneB, Ranks: 0, VirtualStages: 1, MicroBatches: 8},
			code: "pp-not-positive", field: "pp", nearest: map[string]int{"pp": 1},
		},
		{
			spec: schedule.Spec{Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 2, MicroBatches: 8},
			code: "schedule-one-chunk", field: "vpp", nearest: map[string]int{"vpp": 1},
		},
		{
			spec: schedule.Spec{Kind: schedule.Naive, Ranks: 4, VirtualStages: 1, MicroBatches: 8},
		},
		{
			spec: schedule.Spec{Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 1, MicroBatches: 3},
			code: "fewer-microbatches-than-ranks", field: "microbatches",
			nearest: map[string]int{"microbatches": 4}, warning: true, says: "PyTorch",
		},
		{
			spec: schedule.Spec{Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 3},
			code: "fewer-microbatches-than-ranks", field: "microbatches",
			nearest: map[string]int{"microbatches": 4}, warning: true, says: "Megatron",
		},
		{
			spec: schedule.Spec{Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 9},
			code: "group-remainder", field: "microbatches",
			nearest: map[string]int{"microbatches": 8}, warning: true,
			says: "8 or 12 micro-batches fit, or groups of 5",
		},
		{
			spec: schedule.Spec{Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 11},
			code: "group-remainder", field: "microbatches", nearest: map[string]int{"microbatches": 12},
			warning: true,
		},
		{ // the same rule broken so that the ranks wait for each other
			spec: schedule.Spec{Kind: schedule.Interleaved, Ranks: 8, VirtualStages: 2, MicroBatches: 11},
			code: "group-remainder", field: "microbatches", nearest: map[string]int{"microbatches": 8},
			says: "deadlocks",
		},
		{
			spec: schedule.Spec{
				Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 8,
				GroupSize: 3,
			},
			code: "group-size-range", field: "group-size", nearest: map[string]int{"group-size": 4},
		},
		{
			spec: schedule.Spec{
				Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 8,
				GroupSize: 9,
			},
			code: "group-size-range", field: "group-size", nearest: map[string]int{"group-size": 8},
		},
		{
			spec: schedule.Spec{Kind: schedule.Interleaved, Ranks: 1, VirtualStages: 2, MicroBatches: 8},
			code: "interleaved-one-rank", field: "pp", nearest: map[string]int{"pp": 2}, warning: true,
			says: "Megatron",
		},
		{
			spec: schedule.Spec{Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 1, MicroBatches: 8},
			code: "interleaved-one-chunk", field: "vpp", nearest: map[string]int{"vpp": 2}, warning: true,
		},
		{
			spec: schedule.Spec{
				Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 1, MicroBatches: 8,
				GroupSize: 4,
			},
			code: "group-size-unused", field: "group-size", nearest: map[string]int{"group-size": 0},
			warning: true,
		},
		{
			spec: schedule.Spec{Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 1, MicroBatches: 1 << 62},
			code: "schedule-too-large", field: "microbatches",
			nearest: map[string]int{"microbatches": schedule.MaxOps / 8},
		},
	} {
		issues := c.spec.Check()
		if c.code == "" {
			if len(issues) != 0 {
				t.Errorf("%+v: %+v, want none", c.spec, issues)
			}
			continue
		}
		if len(issues) != 1 {
			t.Errorf("%+v: %d issues, want 1: %+v", c.spec, len(issues), issues)
			continue
		}
		is := issues[0]
		if is.Code != c.code || is.Field != c.field || is.Warning != c.warning ||
			!strings.Contains(is.Message, c.says) || !sameNearest(is.Nearest, c.nearest) {
			t.Errorf("%+v: %+v, want %+v", c.spec, is, c)
		}
		if _, err := schedule.Build(c.spec); (err == nil) != c.warning {
			t.Errorf("%+v: a warning is %v, Build says %v", c.spec, c.warning, err)
		}
	}
}

func sameNearest(a, b map[string]int) bool {
	if len(a) != len(b) {
		return false
	}
	for field, value := range a {
		if other, ok := b[field]; !ok || other != value {
			return false
		}
	}
	return true
}

// TestScheduleBuildErrors tells the two kinds of refusal apart.
func TestScheduleBuildErrors(t *testing.T) {
	var spec *schedule.SpecError
	if _, err := schedule.Build(schedule.Spec{Kind: "nonsense"}); !errors.As(err, &spec) ||
		len(spec.Issues) == 0 {
		t.Errorf("unknown kind: %v", err)
	}
	for _, s := range []schedule.Spec{
		{Kind: schedule.OneFOneB, Ranks: 1 << 20, VirtualStages: 1, MicroBatches: 1 << 10},
		{Kind: schedule.OneFOneB, Ranks: 1, VirtualStages: 1, MicroBatches: 1 << 62},
		{Kind: schedule.Interleaved, Ranks: 2, VirtualStages: 1 << 40, MicroBatches: 2},
	} {
		var limit *schedule.LimitError
		if _, err := schedule.Build(s); !errors.As(err, &limit) ||
			!strings.Contains(err.Error(), limit.Limit) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	o, err := schedule.Build(schedule.Spec{
		Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1,
		MicroBatches: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	before := o.RankText(0)
	if o.Rebuild(schedule.Spec{Kind: "nonsense"}) == nil || o.RankText(0) != before {
		t.Error("a failed Rebuild must leave the order as it was")
	}
}

// TestScheduleKinds checks that every schedule of the table describes itself.
func TestScheduleKinds(t *testing.T) {
	seen := map[schedule.Kind]bool{}
	for _, info := range schedule.Kinds() {
		if info.Name == "" || info.Paper == "" || info.Code == "" || info.WeightCopies < 1 ||
			seen[info.Kind] {
			t.Errorf("incomplete or twice: %+v", info)
		}
		seen[info.Kind] = true
		if found, ok := info.Kind.Info(); !ok || found.Kind != info.Kind || found.Name != info.Name ||
			found.Paper != info.Paper {
			t.Errorf("%s: %+v, %v", info.Kind, found, ok)
		}
	}
	if _, ok := schedule.Kind("nonsense").Info(); ok {
		t.Error("an unknown schedule must not be found")
	}
}
