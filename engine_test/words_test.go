package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// peakOf is the fullest rank's allocated memory, and the time of a step.
func peakOf(t *testing.T, d knob.Draft) (units.Bytes, engine.Report) {
	t.Helper()
	r := evaluate(t, d)
	var peak units.Bytes
	for _, rank := range r.Memory.Ranks {
		peak = max(peak, rank.Allocated)
	}
	return peak, r
}

// deepseek is DeepSeek-V3 on 256 GPUs, the model with every part that can be
// recomputed.
func deepseek(t *testing.T) knob.Draft {
	t.Helper()
	d := textbookDraft(t, "deepseek-v3", 4096)
	return knob.DraftOf(d.Model(), d.Cluster(), knob.Given{
		knob.GPUs: 256, knob.TP: 2, knob.PP: 16, knob.EP: 8, knob.Seq: 4096,
		knob.Calibration: recipe.MegatronCore,
	})
}

// Each module saves exactly its tensors (physics of Megatron-Core's activation
// recomputation, bytes per token in 16-bit, over TP with SP), costs time, and
// together they save the sum.
func TestRecomputeModules(t *testing.T) {
	d := deepseek(t)
	m := d.Model()
	plain, before := peakOf(t, d)
	fullest := before.Memory.PeakRank
	rank := before.Memory.Ranks[fullest]
	perToken := map[recipe.Modules]float64{
		recipe.ModuleNorm: 4 * float64(m.Hidden),
		recipe.ModuleMLAUp: float64(m.Heads*(4*(m.QKNopeDim+m.QKRopeDim)+2*m.VHeadDim) + 2*
			(m.QLoraRank+m.KVLoraRank)),
		recipe.ModuleMoEAct: 2 * float64(m.TopK*m.ExpertFFN),
		recipe.ModuleShared: 6 * float64(m.SharedFFN),
		// The input of the experts stays; the input of the shared ones, the router's scores, and of
		// each expert of a token the input and the inner width go.
		recipe.ModuleMoE: float64(2*m.Hidden+6*m.SharedFFN+8*m.Experts) +
			float64(m.TopK*(2*m.Hidden+6*m.ExpertFFN)),
	}
	for module, bytes := range perToken {
		again := recipe.Recompute{Mode: recipe.RecomputeModules, Modules: module}
		d.With(knob.Given{knob.Recompute: again})
		peak, r := peakOf(t, d)
		got := rank.Activations - r.Memory.Ranks[fullest].Activations
		// Dense layers have only norms and attention of these.
		most := bytes * 4096 / 2 * float64(rank.Layers) * rank.InFlight
		if float64(got) > most*(1+1e-9) || float64(got) < most*0.2 || peak > plain {
			t.Errorf("%s saves %.2f GiB of at most %.2f", again, got.GiB(), most/float64(units.GiB))
		}
		if r.Time.Recompute <= 0 || r.Time.Step <= before.Time.Step {
			t.Errorf("%s costs nothing: recompute %v, step %v after %v", again, r.Time.Recompute, r.Time.Step,
				before.Time.Step)
		}
		wantMore := module&(recipe.ModuleMLAUp|recipe.ModuleShared|recipe.ModuleMoE) != 0
		if (r.Throughput.HFU > r.Throughput.MFU) != wantMore {
			t.Errorf("%s: HFU %v, MFU %v", again, r.Throughput.HFU, r.Throughput.MFU)
		}
	}
	dense := textbookDraft(t, "llama3.1-8b", 8192)
	of := dense.Model()
	dense = knob.DraftOf(of, dense.Cluster(),
		knob.Given{knob.GPUs: 8, knob.TP: 2, knob.Calibration: recipe.MegatronCore})
	_, kept := peakOf(t, dense)
	dense.With(knob.Given{knob.Recompute: recipe.Recompute{
		Mode:    recipe.RecomputeModules,
		Modules: recipe.ModuleMLP,
	}})
	_, without := peakOf(t, dense)
	// The output of its norm, gate, up and their product, of 32 layers, over TP with SP.
	near(t, "bytes that recomputing the MLP saves",
		float64(kept.Memory.Stages[0].Activations-without.Memory.Stages[0].Activations),
		float64(32*8192*(2*of.Hidden+6*of.FFN)/2), 1e-12)

	d.With(knob.Given{knob.Recompute: recipe.Recompute{
		Mode:    recipe.RecomputeModules,
		Modules: recipe.AllModules,
	}})
	all, r := peakOf(t, d)
	full := d
	full.With(knob.Given{knob.Recompute: recipe.RecomputeFull})
	least, slowest := peakOf(t, full)
	if all >= plain || all <= least || r.Time.Recompute >= slowest.Time.Recompute {
		t.Errorf("all modules: %.1f GiB between %.1f and %.1f; %v of recompute against %v", all.GiB(),
			plain.GiB(), least.GiB(), r.Time.Recompute, slowest.Time.Recompute)
	}
}

// The optimizer in host memory leaves the GPU; its bytes go over PCIe, and the processors of
// the node update it.
func TestOffload(t *testing.T) {
	d := deepseek(t)
	_, before := peakOf(t, d)
	d.With(knob.Given{knob.Offload: recipe.OffloadOptimizer})
	_, after := peakOf(t, d)
	slowest := units.Seconds(0)
	for i, rank := range after.Memory.Ranks {
		if rank.Optimizer != 0 || rank.Offloaded != before.Memory.Ranks[i].Optimizer ||
			rank.Allocated >= before.Memory.Ranks[i].Allocated {
			t.Errorf("rank %d: %v on the GPU, %v off it, of %v", i, rank.Optimizer, rank.Offloaded,
				before.Memory.Ranks[i].Optimizer)
		}
		// 12 bytes of state per parameter of the shard; 4 of gradient go, 2 of weight come.
		pcie := (rank.Offloaded / 12 * 6).Over(d.Cluster().GPU.HostBandwidth)
		slowest = max(slowest, pcie+units.Seconds(rank.Offloaded/12*8)*hardware.HostAdam)
	}
	host := d.Cluster().Calibration.For(recipe.MegatronCore).HostStep
	update := after.Time.Optimizer + after.Time.Offload
	near(t, "update on the host", float64(update), float64(slowest+host), 1e-9)
	unlinked := d.Cluster()
	unlinked.GPU.HostBandwidth = 0
	d.SetCluster(unlinked)
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if p := engine.Check(s); !codes(p)["offload-bandwidth"] {
		t.Errorf("no word about the unknown link: %+v", p)
	}
}

func codes(problems []engine.Problem) map[string]bool {
	set := map[string]bool{}
	for _, p := range problems {
		set[p.Code] = true
	}
	return set
}

// An unfused loss keeps 6 bytes per logit instead of 2.
func TestUnfusedLoss(t *testing.T) {
	d := deepseek(t)
	last := func(loss recipe.Loss) units.Bytes {
		d.With(knob.Given{knob.Loss: loss})
		ranks := evaluate(t, d).Memory.Ranks
		return ranks[len(ranks)-1].Logits
	}
	fused, unfused := last(recipe.FusedLoss), last(recipe.UnfusedLoss)
	near(t, "fused", float64(fused), 2*4096*float64(d.Model().Vocab)/2, 0.002) // the vocabulary is padded
	near(t, "unfused", float64(unfused), 3*float64(fused), 1e-12)
}

// A busier expert rank needs more activations and more time, nothing else. The
// first rank has dense layers only.
func TestImbalance(t *testing.T) {
	d := deepseek(t)
	_, even := peakOf(t, d)
	d.With(knob.Given{knob.Imbalance: 150})
	_, uneven := peakOf(t, d)
	for i := range even.Memory.Ranks {
		a, b := even.Memory.Ranks[i], uneven.Memory.Ranks[i]
		if i > 0 && b.Activations <= a.Activations || b.Weights != a.Weights || b.Optimizer != a.Optimizer {
			t.Errorf("rank %d: %+v and %+v", i, a, b)
		}
	}
	if uneven.Time.Compute <= even.Time.Compute ||
		uneven.Throughput.ModelTFLOPSPerGPU >= even.Throughput.ModelTFLOPSPerGPU {
		t.Errorf("time %+v and %+v", even.Time, uneven.Time)
	}
	near(t, "all-to-all", float64(traffic(t, uneven, "ep").Bytes), 1.5*float64(traffic(t, even, "ep").Bytes),
		1e-9)
}

// HSDP: two replicas of ZeRO-3 hold twice the states; the gather stays in half
// the group.
func TestHSDP(t *testing.T) {
	d := textbookDraft(t, "llama3.1-70b", 8192)
	d = knob.DraftOf(d.Model(), d.Cluster(), knob.Given{knob.GPUs: 256, knob.Calibration: recipe.TorchTitan})
	static := func(r engine.Report) float64 {
		m := r.Memory.Ranks[0]
		return float64(m.Weights + m.Gradients + m.Optimizer)
	}
	one := evaluate(t, d)
	near(t, "sharded over all", static(one), 16*one.Memory.Ranks[0].Parameters/256, 1e-9)
	d.With(knob.Given{knob.HSDP: 8})
	eight := evaluate(t, d)
	near(t, "sharded in a replica", static(eight), 8*static(one), 1e-9)
	if traffic(t, eight, "dp").Seconds >= traffic(t, one, "dp").Seconds {
		t.Errorf("gathering over 32 takes %v, over 256 %v", traffic(t, eight, "dp").Seconds,
			traffic(t, one, "dp").Seconds)
	}
	d.With(knob.Given{knob.HSDP: 3})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if p := engine.Check(s); !codes(p)["hsdp-dp"] {
		t.Errorf("3 replicas of 256 ranks are taken: %+v", p)
	}
}

// fp8 runs the products at the fp8 rate and nothing else faster.
func TestFP8Time(t *testing.T) {
	d := textbookDraft(t, "llama3.1-70b", 8192)
	d = knob.DraftOf(d.Model(), d.Cluster(), knob.Given{knob.GPUs: 64, knob.TP: 8})
	bf16 := evaluate(t, d)
	d.With(knob.Given{knob.Precision: recipe.FP8})
	fp8 := evaluate(t, d)
	if ratio := float64(bf16.Time.Compute / fp8.Time.Compute); ratio < 1.2 || ratio > 2 {
		t.Errorf("fp8 computes %.2f times as fast", ratio)
	}
}

// A split that is said is what every figure follows: layers and weights of each
// rank, the slowest stage, also where the stack would deal out layers its own
// way.
func TestSplit(t *testing.T) {
	for _, stack := range recipe.Stacks() {
		if stack.Traits().Ledger {
			continue // no pipeline
		}
		d := textbookDraft(t, "llama3.1-405b", 8192)
		d = knob.DraftOf(d.Model(), d.Cluster(), knob.Given{
			knob.GPUs: 1024, knob.TP: 8, knob.PP: 8, knob.MicroBatches: 32,
			knob.Calibration: stack, knob.Split: "15,16,16,16,16,16,16,15",
		})
		r := evaluate(t, d)
		for i, want := range []int{15, 16, 16, 16, 16, 16, 16, 15} {
			if got := r.Memory.Ranks[i].Layers; got != want {
				t.Errorf("%s: rank %d has %d layers, asked for %d", stack, i, got, want)
			}
		}
		d.With(knob.Given{knob.Split: "1,18,18,18,18,18,18,17"})
		uneven := evaluate(t, d)
		if uneven.Time.Step <= r.Time.Step ||
			uneven.Memory.Ranks[0].Parameters >= r.Memory.Ranks[0].Parameters {
			t.Errorf("%s: step %v after %v", stack, uneven.Time.Step, r.Time.Step)
		}
		d.With(knob.Given{knob.Split: "15,16,16,16,16,16,16,14"})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if !codes(engine.Check(s))["split"] {
			t.Errorf("%s: a split of 125 layers is taken for 126", stack)
		}
	}
}
