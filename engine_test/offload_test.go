package engine_test

import (
	"math"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/fit"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
)

// TestHostMemory: what an offload keeps in host memory of Llama 3.1 8B, by hand, and none of it on the GPU.
func TestHostMemory(t *testing.T) {
	const (
		all      = 8030261248.
		adapters = 41.94e6
		rest     = 2 * 128256 * 4096. // embedding and head, in 16 bits under nf4
	)
	for _, c := range []struct {
		stack   recipe.Stack
		zero    int
		offload recipe.Offload
		weights recipe.WeightDtype
		lora    int
		want    float64 // bytes of a node of four GPUs
		onGPU   float64 // of weights, on each
	}{
		// fp32 copies, gradients and moments
		{recipe.DeepSpeed, 2, recipe.OffloadOptimizer, recipe.WeightsFP32, 0, 16 * all, 2 * all},
		{recipe.DeepSpeed, 3, recipe.OffloadOptimizer, recipe.WeightsFP32, 0, 16 * all, 2 * all / 4},
		{recipe.DeepSpeed, 3, recipe.OffloadWeights, recipe.WeightsFP32, 0, 18 * all, 0},
		{recipe.PyTorch, 3, recipe.OffloadWeights, recipe.WeightsFP32, 0, 16 * all, 0},
		{recipe.PyTorch, 2, recipe.OffloadWeights, recipe.WeightsBF16, 0, 8 * all, 0},
		{
			recipe.Transformers, 3, recipe.OffloadWeights, recipe.WeightsFP32, 16,
			(all-rest)*4.127/8 + 2*rest + 16*adapters, 0,
		},
		{recipe.MegatronCore, 1, recipe.OffloadOptimizer, recipe.WeightsFP32, 0, 12 * all, 2 * all},
	} {
		given := knob.Given{
			knob.GPUs: 4, knob.Calibration: c.stack, knob.ZeRO: c.zero, knob.Offload: c.offload,
			knob.WeightDtype: c.weights,
		}
		if c.lora > 0 {
			given[knob.LoRA], given["base-dtype"] = c.lora, recipe.BaseNF4
		}
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
		if !r.Legal {
			t.Errorf("%s, %s: %v", c.stack, c.offload, r.Problems)
			continue
		}
		rank := &r.Memory.Ranks[0]
		for what, got := range map[string][2]float64{
			"of the node":      {float64(r.Memory.Host), c.want},
			"of four GPUs":     {4 * float64(rank.Offloaded), c.want},
			"of weights":       {float64(rank.Weights), c.onGPU},
			"of the optimizer": {float64(rank.Optimizer), 0},
		} {
			if math.Abs(got[0]-got[1]) > .004*all {
				t.Errorf("%s, zero %d, %s: %.4g bytes %s, want %.4g", c.stack, c.zero, c.offload,
					got[0], what, got[1])
			}
		}
	}
}

// TestNVMeByHand: with states on drives host memory has gradients in 16 bits and four buffers of a sub-group,
// with weights there too five buffers of the largest shard, and those that stay: all of a share up to 1e9, of
// a larger one none, though their buffer is there, with one of what is written. The GPU has what it has with
// the host.
func TestNVMeByHand(t *testing.T) {
	const (
		all       = 8030261248.
		share     = all / 4
		adapters  = 41.94e6
		states    = 4 * (2*share + 4*4*1e9)
		embedding = 128256 * 4096.
		buffers   = 4 * 5 * 2 * embedding / 4
		read      = 10e9
		write     = 5e9
	)
	run := func(gpus, lora int, offload recipe.Offload) engine.Report {
		given := knob.Given{
			knob.GPUs: gpus, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3, knob.Offload: offload,
		}
		if lora > 0 {
			given[knob.LoRA] = lora
		}
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return r
	}
	for _, c := range []struct {
		gpus, lora      int
		drives, host    recipe.Offload
		memory          float64
		update, gathers float64 // seconds of the node's drives
	}{
		{
			4, 0, recipe.OffloadOptimizerNVMe, recipe.OffloadOptimizer, states,
			all * (16/read + 16/write), 0,
		},
		{ // what does not stay in host memory is gathered twice, but for the head
			4, 0, recipe.OffloadWeightsNVMe, recipe.OffloadWeights, states + 4*(2+2)*1e9 + buffers,
			all * (16/read + 18/write), 2 * (2*all - embedding) / read,
		},
		{ // two nodes
			16, 0, recipe.OffloadWeightsNVMe, recipe.OffloadWeights,
			8*(2+4*4+2)*all/16 + 8*5*2*1e8, all / 2 * (16/read + 16/write), 0,
		},
		{ // nor is a frozen embedding, which has no backward
			4, 16, recipe.OffloadWeightsNVMe, recipe.OffloadWeights, (2+4*4+2)*adapters + buffers,
			adapters * (16/read + 16/write), 2 * (2*all - 2*embedding) / read,
		},
	} {
		drives, host := run(c.gpus, c.lora, c.drives), run(c.gpus, c.lora, c.host)
		on, off := &drives.Memory.Ranks[0], &host.Memory.Ranks[0]
		if on.Allocated != off.Allocated {
			t.Errorf("%s: %v on the GPU, with the host %v", c.drives, on.Allocated, off.Allocated)
		}
		// what drives take is offload, and nothing else
		rest := drives.Time.Step - drives.Time.Offload - host.Time.Step + host.Time.Offload
		for what, got := range map[string][2]float64{
			"bytes in host memory": {float64(drives.Memory.Host), c.memory},
			"s of drives":          {float64(drives.Time.Offload - host.Time.Offload), c.update + c.gathers},
			"s of all else":        {float64(rest), 0},
		} {
			if math.Abs(got[0]-got[1]) > .05*got[1]+1e-9 {
				t.Errorf("%s: %.4g %s, want %.4g", c.drives, got[0], what, got[1])
			}
		}
	}
}

// TestDrivesArePublished: what drives do is a figure of a file with its source, below what a cluster says
// itself; without either an offload to them is refused by the fields' names.
func TestDrivesArePublished(t *testing.T) {
	s, _ := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
		knob.GPUs: 4, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3,
		knob.Offload: recipe.OffloadWeightsNVMe,
	})
	all := *s.Cluster.Published
	all.Typical.Drives.Read, all.Typical.Drives.Source = 7, "a data sheet"
	s.Cluster.Published = &all
	if read, write := s.Cluster.Drives(); read != 7e9 || write != 5e9 {
		t.Errorf("drives read %v and write %v", read, write)
	}
	if notes := strings.Join(engine.Evaluate(s).Assumptions, "\n"); !strings.Contains(notes, "a data sheet") {
		t.Errorf("no source of drives in %s", notes)
	}
	s.Cluster.DriveRead = 3e9
	if read, _ := s.Cluster.Drives(); read != 3e9 {
		t.Errorf("given drives read %v", read)
	}
	s.Cluster.Published = nil
	if p := engine.Evaluate(s).Problems; len(p) == 0 ||
		!strings.Contains(p[0].Message, "cluster.drive_write_bandwidth is missing") {
		t.Errorf("drives that nobody knows: %v", p)
	}
}

// TestOffloadTakesTime: weights that come from the host make a step longer, by their way at least; adapters
// have little to update there.
func TestOffloadTakesTime(t *testing.T) {
	run := func(given knob.Given) engine.Report {
		given[knob.GPUs], given[knob.ZeRO], given[knob.Calibration] = 4, 3, recipe.PyTorch
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
		return r
	}
	on, off := run(knob.Given{}), run(knob.Given{knob.Offload: recipe.OffloadWeights})
	const fp32Shard, link = 4 * 8.03e9 / 4, 64e9 // forward, backward with recomputation, and gradients
	got := float64(off.Time.Step - off.Time.Optimizer - on.Time.Step + on.Time.Optimizer)
	if got < 3*fp32Shard/link {
		t.Errorf("the way of weights and gradients takes %.3f s, want %.3f at least", got, 3*fp32Shard/link)
	}
	adapters := run(knob.Given{knob.Offload: recipe.OffloadWeights, knob.LoRA: 16})
	if adapters.Time.Optimizer > off.Time.Optimizer/50 {
		t.Errorf("adapters are updated in %v, all weights in %v", adapters.Time.Optimizer, off.Time.Optimizer)
	}
}

// TestOffloadRefused: what a stack cannot keep on the host is refused by name.
func TestOffloadRefused(t *testing.T) {
	refusals(t, map[string]knob.Given{
		"no optimizer alone on the host": {
			knob.Calibration: recipe.PyTorch, knob.Offload: recipe.OffloadOptimizer,
		},
		"under FSDP2 alone": {
			knob.ZeRO: 0, knob.Calibration: recipe.PyTorch, knob.Offload: recipe.OffloadWeights,
		},
		"weights on the host with zero 3": {
			knob.ZeRO: 2, knob.Calibration: recipe.DeepSpeed, knob.Offload: recipe.OffloadWeights,
		},
		"nothing on NVMe, which is DeepSpeed's": {
			knob.ZeRO: 3, knob.Calibration: recipe.PyTorch, knob.Offload: recipe.OffloadWeightsNVMe,
		},
		"NVMe with zero 3 alone, not 2": {
			knob.ZeRO: 2, knob.Calibration: recipe.DeepSpeed, knob.Offload: recipe.OffloadOptimizerNVMe,
		},
		"megatron-core has no offload to NVMe": {
			knob.Calibration: recipe.MegatronCore, knob.Offload: recipe.OffloadOptimizerNVMe,
		},
		"megatron-core has no weights on": {
			knob.Calibration: recipe.MegatronCore, knob.Offload: recipe.OffloadWeights,
		},
		"no adamw-paged under FSDP2: kerne": {
			knob.Calibration: recipe.PyTorch, knob.Offload: recipe.OffloadWeights,
			knob.Optimizer: recipe.AdamPaged,
		},
	})
}

// TestHostMemoryShort: what is offloaded beyond the host memory of a node does not fit, in the verdict, in
// search and in advice.
func TestHostMemoryShort(t *testing.T) {
	s, _ := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
		knob.GPUs: 4, knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Offload: recipe.OffloadWeights,
	})
	for _, c := range []struct {
		has  units.Bytes
		over bool
	}{{0, false}, {16.1 * 8030261248, false}, {100 << 30, true}} {
		s.Cluster.HostMemory = c.has
		r := engine.Evaluate(s)
		m := r.Memory
		if m.OnGPU() != engine.Fits || m.Fits == c.over || m.HasMargin() == c.over ||
			m.HasAmpleMargin() && c.over ||
			(m.Fit == engine.Over) != c.over || (m.FitWord() == "host over") != c.over ||
			strings.Contains(m.Reason, "19.7 GiB over in the host memory of a node (119.7 of 100.0)") !=
				c.over || c.over != (m.HostWords() != "") {
			t.Errorf("a host of %.0f GiB: %s, %q", c.has.GiB(), m.FitWord(), m.Reason)
		}
		if of := new(engine.Evaluator).Memory(s); of.Fit != m.Fit || of.Fits != m.Fits {
			t.Errorf("the memory alone: %s", of.Fit)
		}
		if l, _ := fit.Find(new(engine.Evaluator), s); (l.Seq == 0) != c.over || (l.MBS == 0) != c.over {
			t.Errorf("a host of %.0f GiB: up to %d tokens, %d sequences", c.has.GiB(), l.Seq, l.MBS)
		} else if seq, _ := fit.Stops(new(engine.Evaluator), s, l); c.over && (seq.Term != fit.Host ||
			!strings.Contains(seq.Host, "GiB over in the host memory of a node")) {
			t.Errorf("what stops it is %s: %s", seq.Term, seq.Host)
		}
		found := search.Run(t.Context(), search.Problem{Setup: s, Margin: true}, nil)
		if (len(found.Best) == 0) != c.over {
			t.Errorf("a host of %.0f GiB: search finds %d", c.has.GiB(), len(found.Best))
		}
		a, ok := advise.For(s, advise.Options{})
		if !ok {
			t.Fatal("no advice")
		}
		for _, m := range a.Moves {
			if is := m.Report.Memory; c.over && is.Host >= r.Memory.Host {
				t.Errorf("%s keeps %.0f GiB in host memory", m.Turns(), is.Host.GiB())
			}
		}
	}
}

// TestHostMemoryOfANode: a node with several pipeline ranks has the sum of theirs, not as many of the
// largest.
func TestHostMemoryOfANode(t *testing.T) {
	for _, pp := range []int{1, 2, 8} {
		d := knob.DraftOf(presetModel(t, "gemma2-9b"), presets.DefaultSetup().Cluster, knob.Given{
			knob.GPUs: 8, knob.TP: 1, knob.PP: pp, knob.CP: 1, knob.ZeRO: 1, knob.GBS: 64, knob.Seq: 4096,
			knob.Offload: recipe.OffloadOptimizer,
		})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r, sum := engine.Evaluate(s), units.Bytes(0)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		for _, rank := range r.Memory.Ranks {
			sum += rank.Offloaded * units.Bytes(8/pp)
		}
		if r.Memory.Host != sum || sum == 0 {
			t.Errorf("pp %d: %v in host memory, the ranks of the node have %v", pp, r.Memory.Host, sum)
		}
	}
}

// TestHostMemoryOfUnevenNodes: of six GPUs a rank a node of eight has those of two ranks.
func TestHostMemoryOfUnevenNodes(t *testing.T) {
	s, err := knob.DraftOf(presetModel(t, "qwen3-8b"), presets.DefaultSetup().Cluster, knob.Given{
		knob.GPUs: 24, knob.TP: 2, knob.PP: 4, knob.GBS: 24, knob.Seq: 4096, knob.ZeRO: 1,
		knob.Offload: recipe.OffloadOptimizer,
	}).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatal(r.Problems)
	}
	of := func(rank int) units.Bytes { return r.Memory.Ranks[rank].Offloaded }
	want := max(6*of(0)+2*of(1), 4*of(1)+4*of(2), 2*of(2)+6*of(3))
	if math.Abs(float64(r.Memory.Host/want)-1) > 1e-9 {
		t.Errorf("%v in host memory of a node, want %v", r.Memory.Host, want)
	}
}

// TestSearchFindsOffloads: what the stack takes at one ZeRO stage alone is found there.
func TestSearchFindsOffloads(t *testing.T) {
	for _, stack := range []recipe.Stack{recipe.PyTorch, recipe.DeepSpeed} {
		s, _ := fineTuned(t, "llama3.2-3b", "h100-sxm", knob.Given{
			knob.GPUs: 8, knob.ZeRO: 3, knob.Calibration: stack, knob.Offload: recipe.OffloadWeights,
		})
		best := search.Run(t.Context(), search.Problem{Setup: s, Top: 9}, nil).Best
		if len(best) == 0 || !engine.Legal(best[0].Setup) {
			t.Errorf("%s: %d layouts", stack, len(best))
		}
	}
}
