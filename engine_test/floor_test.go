package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"

	"pgregory.net/rapid"
)

// pipelined draws a setup whose counts agree, mostly with a pipeline; some are
// illegal for other reasons.
func (w world) pipelined(t *rapid.T) engine.Setup {
	pick := func(name string, values ...int) int { return rapid.SampledFrom(values).Draw(t, name) }
	kinds := schedule.Kinds()
	info := rapid.SampledFrom(kinds).Draw(t, "schedule")
	s := engine.Setup{
		Model:   rapid.SampledFrom(w.models).Draw(t, "model"),
		Cluster: rapid.SampledFrom(w.clusters).Draw(t, "cluster"),
		Layout: layout.Layout{
			DP: pick("dp", 1, 2, 3, 8), TP: pick("tp", 1, 2, 4), PP: pick("pp", 1, 2, 3, 4, 8), VPP: max(info.Chunks, 1),
			CP: pick("cp", 1, 1, 2), EP: 1, ETP: 1, HSDP: pick("hsdp", 0, 0, 2), ZeRO: pick("zero", 0, 1, 1, 2, 3),
			MBS: pick("mbs", 1, 2), MicroBatches: pick("m", 1, 2, 3, 8, 16, 24), Seq: pick("seq", 1024, 4096),
		},
		Schedule: info.Kind, Precision: recipe.BF16, GradDtype: recipe.GradFP32, Attention: rapid.SampledFrom(recipe.Attentions()).Draw(t, "attention"),
		Optimizer: recipe.Adam, Stack: rapid.SampledFrom(recipe.Stacks()).Draw(t, "stack"), MFU: recipe.MFUCausal,
		Offload: rapid.SampledFrom(append(recipe.Offloads(), "", "")).Draw(t, "offload"), Imbalance: pick("imbalance", 0, 130),
		Recompute: rapid.SampledFrom([]recipe.Recompute{{Mode: "none"}, {Mode: "none"}, {Mode: "full"}, {Mode: "selective"}, {Mode: "full", Layers: 3}, {Mode: "modules", Modules: recipe.AllModules}}).Draw(t, "recompute"),
	}
	if info.Chunks == 0 {
		s.VPP = pick("vpp", 1, 2, 3)
	}
	if s.Model.IsMoE() {
		s.EP = pick("ep", 1, 2, 4)
	}
	s.SP = s.TP > 1 && rapid.Bool().Draw(t, "sp")
	s.GPUs, s.GBS = s.Ranks(), s.MBS*s.MicroBatches*s.DP
	if stages := s.Stages(); stages > 1 && stages <= s.Model.Layers && rapid.IntRange(0, 3).Draw(t, "split by hand") == 0 {
		s.Split = unevenSplit(t, s.Model.Layers, stages)
	}
	return s
}

// unevenSplit moves some layers of the balanced split.
func unevenSplit(t *rapid.T, layers, stages int) string {
	list := strings.Split(layout.BalancedSplit(layers, stages), ",")
	from, to := rapid.IntRange(0, stages-1).Draw(t, "from"), rapid.IntRange(0, stages-1).Draw(t, "to")
	a, _ := strconv.Atoi(list[from])
	b, _ := strconv.Atoi(list[to])
	if from != to {
		n := rapid.IntRange(0, a).Draw(t, "moved")
		list[from], list[to] = strconv.Itoa(a-n), strconv.Itoa(b+n)
	}
	return strings.Join(list, ",")
}

// floorShort is how far a step can lie over its floor where a schedule has no
// waits of its own making: 1F1B with a balanced split. It is far only where a
// single micro-batch leaves some rank's gradients without cover (1.45 in 60,000
// draws); typical is a hundredth.
const floorShort = 1.6

// A floor is under what an evaluation finds, for every schedule and stack: no
// layout that a search leaves out because of it could have won. Of 1F1B the peak
// is met and the step is not far away.
func TestFloorsAreUnderEvaluations(t *testing.T) {
	w := newWorld(t)
	pipelines, split := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var s engine.Setup
		for range 8 {
			if s = w.pipelined(t); engine.Legal(s) && !s.Slow() {
				break
			}
		}
		r := engine.Evaluate(s)
		if !r.Legal || s.Slow() {
			t.Skip("illegal, or an automatic schedule of many operations")
		}
		var f engine.Floors
		floor, ok := f.Under(&s)
		if !ok {
			t.Fatalf("a legal setup cannot be laid out: %+v", s.Layout)
		}
		if floor.Step > r.Time.Step {
			t.Fatalf("floor %v s is over the step %v s: %s %+v", floor.Step, r.Time.Step, s.Schedule, s.Layout)
		}
		if floor.Peak > r.Memory.Peak {
			t.Fatalf("floor %v GiB is over the peak %v GiB: %s %+v", floor.Peak.GiB(), r.Memory.Peak.GiB(), s.Schedule, s.Layout)
		}
		info, _ := s.Schedule.Info()
		if s.PP > 1 {
			pipelines++
		}
		if s.PP > 1 && info.SplitsBackward {
			split++
		}
		if s.Schedule != schedule.OneFOneB {
			return
		}
		if short := float64(r.Memory.Peak / floor.Peak); short > 1+1e-6 {
			t.Fatalf("the peak is %v times its floor: %+v", short, s.Layout)
		}
		if short := float64(r.Time.Step / floor.Step); s.Split == "" && short > floorShort {
			t.Fatalf("the step is %v times its floor: %+v", short, s.Layout)
		}
	})
	if pipelines < 40 || split < 15 {
		t.Errorf("only %d pipelines, %d of them with split backwards", pipelines, split)
	}
}
