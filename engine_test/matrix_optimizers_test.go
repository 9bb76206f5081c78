package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/ledger"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// Llama 3.1 8B by hand: a layer's q and o are 4096 by 4096, k and v 1024 by 4096, gate, up and down 14336 by
// 4096; embedding and head are 128256 by 4096; two norms of 4096 a layer and one behind them.
const (
	llamaLayers   = 32
	llamaMatrices = llamaLayers * (2*4096*4096 + 2*1024*4096 + 3*14336*4096)
	llamaSums     = llamaLayers * (2*(4096+4096) + 2*(1024+4096) + 3*(14336+4096)) // rows and columns
	llamaEnds     = 2 * 128256 * 4096
	llamaNorms    = (2*llamaLayers + 1) * 4096
	llamaTensors  = llamaLayers*(7+2) + 3
	scalarBlock   = 512 // bytes of a block of the allocator, which holds a scalar
)

// TestStatesOfMatrices: what Adafactor and Muon keep of Llama 3.1 8B on a GPU, by hand, for each group of
// parameters.
func TestStatesOfMatrices(t *testing.T) {
	const factors = llamaSums + 2*(128256+4096) + llamaNorms // and the norms' moments, whole
	const norms = scalarBlock * llamaTensors                 // of transformers, each a scalar
	for _, c := range []struct {
		stack     recipe.Stack
		zero      int
		gpus      int
		optimizer recipe.Optimizer
		weights   recipe.WeightDtype
		want      float64 // bytes of the optimizer's state on a GPU
	}{
		{recipe.Transformers, 0, 1, recipe.Adafactor, recipe.WeightsFP32, 4*factors + norms},
		{recipe.Transformers, 0, 2, recipe.Adafactor, recipe.WeightsBF16, 4*factors + norms},
		{recipe.PyTorch, 0, 1, recipe.Adafactor, recipe.WeightsFP32, 4 * factors},
		{recipe.PyTorch, 0, 1, recipe.Adafactor, recipe.WeightsBF16, 2 * factors},
		// flat: fp32 copies and second moments
		{
			recipe.DeepSpeed, 2, 4, recipe.Adafactor, recipe.WeightsFP32,
			(4+4)*(llamaMatrices+llamaEnds+llamaNorms)/4 + scalarBlock,
		},
		{
			recipe.PyTorch, 0, 1, recipe.Muon, recipe.WeightsFP32,
			4*llamaMatrices + 8*(llamaEnds+llamaNorms) + scalarBlock*(2*llamaLayers+3),
		},
		{
			recipe.Transformers, 0, 1, recipe.Muon, recipe.WeightsBF16,
			2*llamaMatrices + 4*(llamaEnds+llamaNorms) + scalarBlock*(2*llamaLayers+3),
		},
		{ // in shards, but for the counters
			recipe.PyTorch, 3, 4, recipe.Muon, recipe.WeightsFP32,
			(4*llamaMatrices+8*(llamaEnds+llamaNorms))/4 + scalarBlock*(2*llamaLayers+3),
		},
	} {
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: c.gpus, knob.Calibration: c.stack, knob.ZeRO: c.zero, knob.Optimizer: c.optimizer,
			knob.WeightDtype: c.weights,
		})
		if !r.Legal {
			t.Errorf("%s with %s: %v", c.stack, c.optimizer, r.Problems)
			continue
		}
		near := 2.
		if c.zero == 3 { // a MiB of a block is not cut
			near = 4 << 20
		}
		if got := float64(r.Memory.Ranks[0].Optimizer); math.Abs(got-c.want) > near {
			t.Errorf("%s with %s and weights in %s: %.0f bytes, want %.0f", c.stack, c.optimizer, c.weights,
				got, c.want)
		}
	}
}

// TestUpdatesOfMatrices: an update makes its temporaries one tensor after the other. The largest is the
// embedding's under Adafactor, a product of the MLP under Muon: its momentum with a look ahead, X and the
// next X, a Gram matrix and its polynomial.
func TestUpdatesOfMatrices(t *testing.T) {
	for _, c := range []struct {
		stack     recipe.Stack
		optimizer recipe.Optimizer
		weights   recipe.WeightDtype
		ranks     int64 // of FSDP2
		want      float64
	}{
		// two copies of the head's gradient, and the update of the norm before it
		{recipe.Transformers, recipe.Adafactor, recipe.WeightsFP32, 0, 2*4*128256*4096 + 4*4096},
		// and its gradient and weight in fp32
		{recipe.Transformers, recipe.Adafactor, recipe.WeightsBF16, 0, 4*4*128256*4096 + 4*4096},
		{recipe.PyTorch, recipe.Adafactor, recipe.WeightsFP32, 0, 4*128256*4096 + 4*4096},
		{recipe.PyTorch, recipe.Muon, recipe.WeightsFP32, 0, (4+2+2)*14336*4096 + 2*2*4096*4096},
		{recipe.PyTorch, recipe.Muon, recipe.WeightsBF16, 0, (2+2+2)*14336*4096 + 2*2*4096*4096},
		// whole ones in 16 bits
		{recipe.PyTorch, recipe.Muon, recipe.WeightsFP32, 4, (2+2+2)*14336*4096 + 2*2*4096*4096},
	} {
		m := presetModel(t, "llama3.1-8b")
		code, err := ledger.CodeOf("")
		if c.stack == recipe.Transformers {
			code, err = ledger.CodeOf("Llama")
		}
		if err != nil {
			t.Fatal(err)
		}
		w := &ledger.Way{
			Code: code, Bytes: 4, Autocast: true, Seq: 512, MicroBatch: 1, MicroBatches: 1, Steps: 2,
			Optimizer: c.optimizer, Checkpoint: ledger.Full,
		}
		if c.weights == recipe.WeightsBF16 {
			w.Bytes, w.Autocast = 2, false
		}
		if c.ranks > 0 {
			w.FSDP, w.Autocast, w.Ranks = true, false, c.ranks
		}
		res, err := ledger.Steps(model.Lay(&m, nil), w, new(ledger.Rates))
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(res.Later.PeakOptimizer - res.Later.AfterBackward); math.Abs(got-c.want) > 2048 {
			t.Errorf("%s of %s in %s: %.0f bytes more in the update, want %.0f", c.optimizer, c.stack,
				c.weights, got, c.want)
		}
	}
}

// TestNewtonSchulz: five iterations of an n by m matrix, n at most m, are 5 (4 n^2 m + 2 n^3) FLOPs, on a GPU
// whose memory, launches and host take no time.
func TestNewtonSchulz(t *testing.T) {
	const rate = 1e15
	flops := 0.
	for _, matrix := range [][2]float64{
		{4096, 4096}, {4096, 4096}, {1024, 4096}, {1024, 4096}, {4096, 14336}, {4096, 14336}, {4096, 14336},
	} {
		n, m := matrix[0], matrix[1]
		flops += llamaLayers * 5 * (4*n*n*m + 2*n*n*n)
	}
	var rates ledger.Rates
	for _, r := range rates.List() {
		switch {
		case r.By == ledger.Peak:
			*r.Of = rate
		case r.By != ledger.NoLimit:
			*r.Of = math.Inf(1)
		}
	}
	rates.Foreach, rates.LogSoftmax = 0, [2]float64{}
	m := presetModel(t, "llama3.1-8b")
	code, err := ledger.CodeOf("")
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(o recipe.Optimizer) float64 {
		res, err := ledger.Steps(model.Lay(&m, nil), &ledger.Way{
			Code: code, Bytes: 2, Seq: 512, MicroBatch: 1, MicroBatches: 1, Steps: 1, Optimizer: o,
		}, &rates)
		if err != nil {
			t.Fatal(err)
		}
		return res.Optimizer
	}
	if got, want := seconds(recipe.Muon)-seconds(recipe.Adam), flops/rate; math.Abs(got/want-1) > 1e-6 {
		t.Errorf("%.6g s, want %.6g", got, want)
	}
}

// TestGathersOfMuon: under FSDP2 an update gathers 16 bits of every matrix of the layers over NVLink, 450
// GB/s at most, and each rank makes it whole.
func TestGathersOfMuon(t *testing.T) {
	given := knob.Given{
		knob.GPUs: 8, knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Optimizer: recipe.Muon,
	}
	s, sharded := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
	holds(t, s)
	_, rec := engine.EvaluateRecorded(s)
	x, err := rec.Formula("time.optimizer.0")
	if err != nil || len(x.Args) != 2 || x.Args[1].Name != "gathers of the update" {
		t.Fatalf("%+v, %v", x, err)
	}
	least := 2. * llamaMatrices * 7 / 8 / 450e9
	if got := x.Args[1].Value; got < least || got > 3*least {
		t.Errorf("gathers of %.4g s, want %.4g at least", got, least)
	}
	given[knob.GPUs] = 1
	_, alone := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
	if share := sharded.Time.Optimizer / alone.Time.Optimizer; share < .7 {
		t.Errorf("%v on one GPU, %v on eight", alone.Time.Optimizer, sharded.Time.Optimizer)
	}
}

// TestMatricesRefused: optimizers of whole matrices are refused where those are shards, flat or stacked.
func TestMatricesRefused(t *testing.T) {
	refusals(t, map[string]knob.Given{
		"no adafactor under FSDP2": {
			knob.Calibration: recipe.Transformers, knob.ZeRO: 3, knob.Optimizer: recipe.Adafactor,
		},
		"allowed with zero 3: adam, adam-no-master, sgd, adamw-foreach, sgd-plain, muon": {
			knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Optimizer: recipe.Adafactor,
		},
		"no muon on the host; allowed with offload weights: adam, adam-no-master, sgd": {
			knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Optimizer: recipe.Muon,
			knob.Offload: recipe.OffloadWeights,
		},
		"no muon here: DeepSpeed's own": {
			knob.Calibration: recipe.DeepSpeed, knob.Optimizer: recipe.Muon,
		},
		"megatron-core has no muon here": {
			knob.Calibration: recipe.MegatronCore, knob.Optimizer: recipe.Muon,
		},
		"DeepSpeedCPUAdam on the host, not adafactor": {
			knob.Calibration: recipe.DeepSpeed, knob.Offload: recipe.OffloadOptimizer,
			knob.Optimizer: recipe.Adafactor,
		},
	})
	s, _ := fineTuned(t, "qwen3-30b-a3b", "h100-sxm", knob.Given{
		knob.GPUs: 1, knob.Calibration: recipe.Transformers, knob.ZeRO: 0, knob.Optimizer: recipe.Muon,
	})
	refusedBy(t, &s, "no muon of experts")
}
