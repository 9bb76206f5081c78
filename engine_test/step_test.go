package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

func stepDraft(t *testing.T, model, cluster string, gpus int) knob.Draft {
	t.Helper()
	m := presetModel(t, model)
	c, err := presets.Default().Cluster(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return knob.DraftOf(m, c, knob.Given{knob.GPUs: gpus, knob.Seq: 4096, knob.MBS: 1})
}

func traffic(t *testing.T, r engine.Report, dimension string) engine.Communication {
	t.Helper()
	for _, c := range r.Communication {
		if c.Dimension == dimension {
			return c
		}
	}
	t.Fatalf("no %s traffic in %+v", dimension, r.Communication)
	return engine.Communication{}
}

// TestTrafficByHand counts the bytes that one GPU sends in one step of known
// layouts, dimension by dimension (ring volumes; 16-bit activations and
// weights, fp32 gradients).
func TestTrafficByHand(t *testing.T) {
	const (
		tokens = 4096.0
		h      = 8192.0 // llama3.1-70b
		layers = 80.0
		m      = 4.0
	)
	sent := func(n, volume float64) float64 { return (n - 1) / n * volume }
	hidden := 2 * tokens * h

	d := stepDraft(t, "llama3.1-70b", "dgx-h100", 8)
	d.With(knob.Given{knob.TP: 8, knob.MicroBatches: 4})
	r := evaluate(t, d)
	// per layer two regions with 2 collectives forward and 3 backward; 2 and 2 at both ends
	near(t, "tp with sp", float64(traffic(t, r, "tp").Bytes), m*sent(8, hidden)*(layers*2*5+4), 1e-12)
	d.With(knob.Given{knob.SP: false})
	near(t, "tp without sp", float64(traffic(t, evaluate(t, d), "tp").Bytes),
		m*sent(8, hidden)*(layers*2*4+4), 1e-12)

	d = stepDraft(t, "llama3.1-70b", "dgx-h100", 8)
	d.With(knob.Given{knob.CP: 8, knob.MicroBatches: 4})
	// k and v of 8 heads of 128 go round 7 times, in the backward with their gradients
	near(t, "cp", float64(traffic(t, evaluate(t, d), "cp").Bytes), m*layers*3*7*(tokens/8)*2*2*8*128, 1e-12)

	d = stepDraft(t, "llama3.1-70b", "dgx-h100", 64)
	d.With(knob.Given{knob.TP: 8, knob.PP: 4, knob.MicroBatches: 4})
	r = evaluate(t, d)
	near(t, "pp", float64(traffic(t, r, "pp").Bytes), 2*m*hidden/8, 1e-12)
	params := r.Memory.Ranks[0].Parameters
	// of the slowest rank
	near(t, "dp, zero 1", float64(traffic(t, r, "dp").Bytes), sent(2, (4+2)*params), 0.05)

	d = stepDraft(t, "mixtral-8x22b", "dgx-h100", 8)
	d.With(knob.Given{knob.EP: 8, knob.MicroBatches: 4})
	// 56 layers, top 2 of width 6144, dispatch and combine, forward and backward
	near(t, "ep", float64(traffic(t, evaluate(t, d), "ep").Bytes), m*56*4*sent(8, tokens*2*6144*2), 1e-12)

	d = stepDraft(t, "mixtral-8x22b", "dgx-h100", 64)
	d.With(knob.Given{knob.EP: 8, knob.TP: 2, knob.MicroBatches: 4})
	r = evaluate(t, d)
	if dense, expert := traffic(t, r, "dp"), traffic(t, r, "expert-dp"); dense.GroupSize != 32 ||
		expert.GroupSize != 8 {
		t.Errorf("groups of %d and %d, want 32 and 8", dense.GroupSize, expert.GroupSize)
	}
}

// TestStepIsThePipelinePlusWhatFollows: the parts of the time against the
// simulated pipeline.
func TestStepIsThePipelinePlusWhatFollows(t *testing.T) {
	for _, vpp := range []int{1, 2} {
		d := stepDraft(t, "llama3.1-70b", "dgx-h100", 256)
		d.With(knob.Given{knob.TP: 8, knob.PP: 4, knob.VPP: vpp, knob.MicroBatches: 8, knob.ZeRO: 0})
		if vpp > 1 {
			d.With(knob.Given{knob.Schedule: schedule.Interleaved})
		}
		r := evaluate(t, d)
		dp := traffic(t, r, "dp")
		near(t, "step", float64(r.Time.Step), float64(r.Pipeline.Makespan+dp.Exposed+r.Time.Optimizer), 1e-9)
		if dp.Exposed <= 0 || dp.Exposed >= dp.Seconds {
			t.Errorf("vpp %d: gradient traffic of %v s is exposed for %v s", vpp, dp.Seconds, dp.Exposed)
		}
		tp := traffic(t, r, "tp")
		near(t, "exposed", float64(r.Time.Exposed), float64(tp.Exposed+dp.Exposed), 1e-9)
	}
}

// TestRecomputationCosts: full recomputation runs the layers' forward again
// (HFU 4/3 of MFU without a head), half the layers cost half of it.
func TestRecomputationCosts(t *testing.T) {
	at := func(r recipe.Recompute) engine.Report {
		d := stepDraft(t, "llama3.1-70b", "dgx-h100", 64)
		d.With(knob.Given{knob.TP: 8, knob.PP: 2, knob.MicroBatches: 16, knob.Recompute: r})
		return evaluate(t, d)
	}
	none, full := at(recipe.Recompute{Mode: recipe.RecomputeNone}),
		at(recipe.Recompute{Mode: recipe.RecomputeFull})
	half := at(recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 20})
	near(t, "half of the time", float64(half.Time.Recompute), float64(full.Time.Recompute)/2, 1e-9)
	if none.Time.Recompute != 0 || full.Time.Recompute < 0.3*none.Time.Compute ||
		full.Time.Recompute > 0.34*none.Time.Compute {
		t.Errorf("recompute %v of compute %v", full.Time.Recompute, none.Time.Compute)
	}
	m := presetModel(t, "llama3.1-70b")
	forward := m.ForwardFLOPs(4096, true)
	again := float64(forward.Total()-forward.Head) / float64(3*forward.Total())
	near(t, "HFU", full.Throughput.HFU/full.Throughput.MFU, 1+again, 1e-9)
	near(t, "HFU of half", half.Throughput.HFU/half.Throughput.MFU, 1+again/2, 1e-9)
	near(t, "HFU of none", none.Throughput.HFU, none.Throughput.MFU, 0)

	// Layers that stand unevenly: 8 of each rank's are recomputed, as far as there are that many.
	d := stepDraft(t, "llama3.1-70b", "dgx-h100", 16)
	d.With(knob.Given{knob.TP: 8, knob.PP: 2, knob.MicroBatches: 4, knob.Split: "4,76"})
	d.With(knob.Given{knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 8}})
	uneven := evaluate(t, d)
	near(t, "HFU of 4 + 8 layers of 80", uneven.Throughput.HFU/uneven.Throughput.MFU, 1+again*12/80, 1e-9)
}

// TestComputeIsNeverFasterThanTheGPU: counted work over the best measured rate
// bounds the compute time, also for models with parts that fit no category.
func TestComputeIsNeverFasterThanTheGPU(t *testing.T) {
	for _, id := range []string{"llama3.1-70b", "minimax-m1", "gopher-280b", "deepseek-v3", "mixtral-8x22b"} {
		d := stepDraft(t, id, "dgx-h100", 8)
		d.With(knob.Given{knob.Seq: 2048, knob.MicroBatches: 2})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r := engine.Evaluate(s)
		least := r.Model.TrainingFLOPs * s.Tokens() / float64(s.GPUs) / float64(s.Cluster.GPU.MatmulBF16)
		if float64(r.Time.Compute) < least {
			t.Errorf("%s: compute %.4g s, its FLOPs at the best measured rate take %.4g s", id,
				r.Time.Compute, least)
		}
	}
}

// TestComputeGrowsWithWork: a longer sequence never takes less compute.
func TestComputeGrowsWithWork(t *testing.T) {
	for _, id := range []string{"gpt2-xl", "llama3.2-1b", "llama3.1-8b"} {
		previous := 0.0
		for seq := 256; seq <= 1024; seq += 2 {
			d := stepDraft(t, id, "dgx-h100", 1)
			d.With(knob.Given{knob.Seq: seq, knob.MicroBatches: 1})
			if now := float64(evaluate(t, d).Time.Compute); now < previous {
				t.Fatalf("%s: %d tokens take %g s, two fewer took %g s", id, seq, now, previous)
			} else {
				previous = now
			}
		}
	}
}

// TestMTPCosts: the module of DeepSeek-V3 adds its parameters to the last rank
// and its work to the step.
func TestMTPCosts(t *testing.T) {
	at := func(on bool) engine.Report {
		d := stepDraft(t, "deepseek-v3", "deepseek-h800", 256)
		d.With(knob.Given{knob.PP: 16, knob.EP: 8, knob.MicroBatches: 32, knob.MTP: on})
		return evaluate(t, d)
	}
	off, on := at(false), at(true)
	m := presetModel(t, "deepseek-v3")
	layer := m.Layer(m.Layers - 1)
	experts := float64(layer.ExpertsSharded)
	want := float64(m.MTP()) - experts + experts/8
	last := len(on.Memory.Ranks) - 1
	near(t, "parameters", on.Memory.Ranks[last].Parameters-off.Memory.Ranks[last].Parameters, want, 1e-9)
	near(t, "rank 0", on.Memory.Ranks[0].Total.GiB(), off.Memory.Ranks[0].Total.GiB(), 1e-9)
	if on.Model.TrainingFLOPs <= off.Model.TrainingFLOPs ||
		on.Memory.Ranks[last].Logits <= off.Memory.Ranks[last].Logits {
		t.Error("the module adds no work or no logits")
	}
	if got := on.Timeline.Ranks[last].Busy / off.Timeline.Ranks[last].Busy; got < 1.2 {
		t.Errorf("the last rank is busy %.3f times as long", got)
	}
}

// TestOptimizerTime: 30 bytes of memory traffic per parameter of the shard.
func TestOptimizerTime(t *testing.T) {
	for zero, share := range map[int]float64{0: 1, 1: 8} {
		d := stepDraft(t, "llama3.1-8b", "dgx-h100", 8)
		d.With(knob.Given{knob.MicroBatches: 1, knob.ZeRO: zero})
		r := evaluate(t, d)
		ops := d.Cluster().Calibration.Ops
		host := d.Cluster().Calibration.For(recipe.MegatronCore).HostStep
		want := 30*r.Memory.Ranks[0].Parameters/share/(3.35e12*ops.Stream) + float64(ops.Start+host)
		near(t, "optimizer", float64(r.Time.Optimizer), want, 1e-9)
	}
}
