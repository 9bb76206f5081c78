package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/lanes"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// TestOffloadIsAPartOfTheStep: copies to host memory and drives are a part of their own: computing takes what
// it takes without them, or a little less, the copies what their bytes need, and all parts add up.
func TestOffloadIsAPartOfTheStep(t *testing.T) {
	const all, share, embedding = 8030261248., 8030261248. / 4, 128256 * 4096.
	link := 55.2e9 // pinned memory, presets/gpus
	for _, c := range []struct {
		stack   recipe.Stack
		offload recipe.Offload
		host    float64 // bytes of a GPU
		drives  float64 // seconds of a node
	}{
		// gradients down and weights up, once
		{recipe.DeepSpeed, recipe.OffloadOptimizer, 4 * share, 0},
		// weights twice but the head's once, gradients
		{recipe.DeepSpeed, recipe.OffloadWeights, 2*(2*all-embedding)/4 + 2*share, 0},
		{recipe.DeepSpeed, recipe.OffloadOptimizerNVMe, 4 * share, all * (16/10e9 + 16/5e9)},
		{
			recipe.DeepSpeed, recipe.OffloadWeightsNVMe, 2*(2*all-embedding)/4 + 2*share,
			all*(16/10e9+18/5e9) + 2*(2*all-embedding)/10e9,
		},
		// fp32 weights twice, embedding and head, which stay from forward to backward, once; gradients
		{recipe.PyTorch, recipe.OffloadWeights, 4 * (3*all - 2*embedding) / 4, 0},
	} {
		run := func(offload recipe.Offload) (engine.Setup, engine.Report) {
			return fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
				knob.GPUs: 4, knob.Calibration: c.stack, knob.ZeRO: 3, knob.Offload: offload,
			})
		}
		_, none := run(recipe.OffloadNone)
		s, r := run(c.offload)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		// where the host lags behind, a copy hides what launching takes
		if got := float64(r.Time.Compute / none.Time.Compute); got > 1+1e-9 || got < .94 {
			t.Errorf("%s: computing takes %.4f of what it takes without", c.offload, got)
		}
		near(t, "recomputation", float64(r.Time.Recompute), float64(none.Time.Recompute), 1e-9)
		host, _ := r.Sent("host")
		drives, _ := r.Sent("drives")
		near(t, "rows", float64(host.Exposed+drives.Exposed), float64(r.Time.Offload), 1e-9)
		if got := float64(host.Bytes); math.Abs(got/c.host-1) > .02 {
			t.Errorf("%s: %.4g bytes to the host and back, want %.4g", c.offload, got, c.host)
		}
		if got := float64(host.Exposed); got < c.host/70e9 || got > c.host/link*1.05 {
			t.Errorf("%s: %.4g s to the host and back of %.4g bytes", c.offload, got, c.host)
		}
		if got := float64(drives.Exposed); math.Abs(got-c.drives) > .02*c.drives {
			t.Errorf("%s: %.4g s of drives, want %.4g", c.offload, got, c.drives)
		}
		l, ok := lanes.Of(&s, lanes.Detail{Ends: 2, Pieces: 3}, nil)
		if !ok {
			t.Fatal("no lanes")
		}
		checkLanes(t, l, &r)
	}
}

// TestOffloadOfLayers: what Megatron's offload of layers exposes is offload too, in pipelines as well.
func TestOffloadOfLayers(t *testing.T) {
	d := knob.DraftOf(presetModel(t, "llama3.1-70b"), presets.DefaultSetup().Cluster, knob.Given{
		knob.GPUs: 64, knob.TP: 1, knob.PP: 8, knob.GBS: 64, knob.Seq: 1024, "offload-layers": 4,
		knob.Offload: recipe.OffloadOptimizer,
	})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	s.Cluster.GPU.HostBandwidth, s.Cluster.GPU.HostLink = 1e9, 0
	l, ok := lanes.Of(&s, lanes.Detail{Ends: 2, Pieces: 3}, nil)
	r := engine.Evaluate(s)
	if !ok || r.Time.Offload <= 0 {
		t.Fatalf("offload %v, %v", r.Time.Offload, r.Problems)
	}
	checkLanes(t, l, &r)
	x := r.Time
	sum := x.Compute + x.Recompute + x.Bubble + x.Exposed + x.Optimizer + x.Offload
	near(t, "step", float64(sum), float64(x.Step), 1e-9)
}
