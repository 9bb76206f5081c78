package engine_test

import (
	"fmt"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/ledger"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// TestCuDNNByHand: cuDNN's kernel makes a step shorter by what its measured rates and FlashAttention-2's
// differ by in each layer, and keeps what that keeps.
func TestCuDNNByHand(t *testing.T) {
	const (
		s, heads, width, layers = 16384, 32, 128, 32
		queries                 = s * heads * width
		work                    = 2*s*queries + 2*s*128*width*132 // causal, tiles on 132 SMs
		// kernels-pytorch.toml, heads of 128: FLOP/s and seconds of an element of the queries
		flash = work/365e12 + 1.9e-12*queries + 2.5*work/300e12 + 20e-12*queries
		cudnn = work/637e12 + 1.3e-12*queries + 2.5*work/572e12 + 11e-12*queries
	)
	run := func(kernel recipe.Attention) engine.Report {
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 4, knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Attention: kernel, knob.Seq: s,
			knob.Recompute: recipe.RecomputeNone,
		})
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return r
	}
	a, b := run(recipe.Flash), run(recipe.CuDNN)
	near(t, "memory", float64(b.Memory.Peak), float64(a.Memory.Peak), 1e-9)
	near(t, "attention", float64(a.Time.Compute-b.Time.Compute), layers*(flash-cudnn), 1e-6)
}

// TestKernelRefused: a stack without that choice, a GPU whose rates nobody published, and torch.compile,
// which runs FlashAttention-2, refuse a kernel and say which are there.
func TestKernelRefused(t *testing.T) {
	pytorch := func(kernel recipe.Attention, compile string) knob.Given {
		return knob.Given{
			knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Attention: kernel, "compile": compile,
		}
	}
	for _, kernel := range recipe.Attentions()[2:] {
		refusals(t, map[string]knob.Given{
			"no attention kernel to choose here; pytorch, transformers and deepspeed have": {
				knob.Calibration: recipe.MegatronCore, knob.Attention: kernel,
			},
		})
	}
	refusals(t, map[string]knob.Given{
		"no attention flash4 here: its rates are known on Blackwell alone, not on H100 SXM5 80GB (Hopper); " +
			"allowed: flash, flash2, flash3, cudnn, efficient": pytorch(recipe.Flash4, "off"),
		"no attention standard here: scores are never stored": pytorch(recipe.Standard, "off"),
		"no attention cudnn here: torch.compile runs flash where it is asked for (compile off); " +
			"allowed: flash, flash2, flash3": pytorch(recipe.CuDNN, "on"),
		"no attention efficient here: torch.compile": pytorch(recipe.Efficient, "on"),
	})
	for gpu, kernel := range map[string]recipe.Attention{
		"a100-sxm-80g": recipe.Flash3, "b200-sxm": recipe.Flash3, "rtx5090": recipe.Flash4,
	} {
		given := pytorch(kernel, "off")
		given[knob.GPUs] = 4
		s, _ := fineTuned(t, "llama3.1-8b", gpu, given)
		refusedBy(t, &s, fmt.Sprintf("no attention %s here: its rates are known on %s", kernel,
			kernel.Architecture()))
		s.Model.HeadDim, s.Attention = 512, recipe.Flash2
		refusedBy(t, &s, "no attention flash2 here: no head over 256 wide, not 512")
	}
	for gpu, why := range map[string]string{
		"mi300x":       "its rates are known on GPUs of NVIDIA alone, not on MI300X",
		"v100-sxm-32g": "it needs Ampere or newer, not V100 SXM2 32GB (Volta)",
	} {
		given := pytorch(recipe.CuDNN, "off")
		given[knob.GPUs] = 4
		s, _ := fineTuned(t, "llama3.1-8b", gpu, given)
		refusedBy(t, &s, "no attention cudnn here: "+why)
	}
}

// kernelTime is a pass of causal attention on an H100 as rates have it, over elements of the queries.
func kernelTime(a, over ledger.AttentionRates, back, s int, width, queries, masked float64) float64 {
	work := 2 * float64(s) * (queries*(2-masked) + masked*128*width*132)
	return []float64{1, 2.5}[back]*work/(a.FLOPs[back]*over.FLOPs[back]) +
		a.PerQuery[back]*over.PerQuery[back]*queries
}

// TestFlash3Published: FlashAttention-3 is as much faster than cuDNN as its paper has it (arXiv 2407.08608,
// figures 5 and 6: an H100, 16,384 tokens, heads of 2,048 elements in all).
func TestFlash3Published(t *testing.T) {
	rates, one := hopperRates(t), unit()
	for _, c := range []struct {
		pass, wide           int
		width, masked, least float64
		flash3, cudnn        [6]float64
	}{
		{
			0, 0, 64, 1, 0.055,
			[6]float64{197, 265, 371, 420, 460, 473},
			[6]float64{225, 288, 334, 363, 379, 388},
		},
		{
			0, 1, 128, 1, 0.025,
			[6]float64{292, 423, 521, 579, 602, 616},
			[6]float64{315, 410, 484, 518, 529, 539},
		},
		{
			1, 0, 64, 0, 0.01,
			[6]float64{272, 363, 422, 453, 472, 474},
			[6]float64{266, 348, 395, 417, 432, 433},
		},
		{
			1, 1, 128, 0, 0.015,
			[6]float64{316, 424, 501, 542, 559, 561},
			[6]float64{305, 408, 465, 499, 518, 516},
		},
	} {
		for i := range c.cudnn {
			s, queries := 512<<i, 16384.0*2048
			base, over := rates.CuDNN[c.wide], rates.Flash3[c.wide]
			cudnn := kernelTime(base, one, c.pass, s, c.width, queries, c.masked)
			flash3 := kernelTime(base, over, c.pass, s, c.width, queries, c.masked)
			near(t, fmt.Sprintf("pass %d, heads of %v, %d tokens", c.pass, c.width, s), cudnn/flash3,
				c.flash3[i]/c.cudnn[i], c.least)
		}
	}
}

// TestKernelsOfLlama: steps of Llama 3.2 1B on an H200 differ by kernel of attention as measured there
// (NVIDIA/cudnn-frontend, benchmark/Llama-3.2-1B-Training): cuDNN's and FlashAttention-2's rates are of
// another GPU and other models, the memory-efficient kernel's of these steps.
func TestKernelsOfLlama(t *testing.T) {
	for _, c := range []struct {
		mbs, seq                int
		cudnn, efficient, flash float64
	}{
		{12, 1024, 0.22216, 0.24284, 0.22823},
		{6, 2048, 0.22936, 0.27001, 0.23996},
		{3, 4096, 0.24294, 0.32197, 0.25990},
		{2, 8192, 0.35720, 0.56567, 0.39713},
		{1, 16384, 0.42355, 0.85010, 0.50018},
	} {
		run := func(kernel recipe.Attention) float64 {
			_, r := fineTuned(t, "llama3.2-1b", "h200-sxm", knob.Given{
				knob.GPUs: 1, knob.Calibration: recipe.Transformers, knob.ZeRO: 0, knob.Attention: kernel,
				knob.MBS: c.mbs, knob.Seq: c.seq, knob.Recompute: recipe.RecomputeNone,
				knob.Optimizer: recipe.AdamNoMaster, knob.GradDtype: recipe.GradBF16,
			})
			if !r.Legal {
				t.Fatal(r.Problems)
			}
			return float64(r.Time.Compute)
		}
		flash := run(recipe.Flash2)
		near(t, "flash", run(recipe.Flash), flash, 1e-12)
		near(t, fmt.Sprint(c.seq, ": cudnn"), flash-run(recipe.CuDNN), c.flash-c.cudnn, 0.12)
		near(t, fmt.Sprint(c.seq, ": efficient"), run(recipe.Efficient)-flash, c.efficient-c.flash, 0.06)
	}
}

// TestPaddedHeads: FlashAttention computes heads of 112 as those of 128, cuDNN's rates are not known of that;
// 96 is a width of its own.
func TestPaddedHeads(t *testing.T) {
	rates := hopperRates(t)
	run := func(kernel recipe.Attention, width int) float64 {
		s, _ := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 4, knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Attention: kernel,
			knob.Seq: 16384, knob.Recompute: recipe.RecomputeNone,
		})
		s.Model.HeadDim = width
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return float64(r.Time.Compute)
	}
	for width, computed := range map[int]float64{96: 96, 112: 128, 72: 96, 128: 128} {
		queries := 16384 * 32 * float64(width)
		want := 0.0
		for back := range 2 {
			flash := kernelTime(rates.Flash[1], unit(), back, 16384, float64(width), queries, 1) -
				rates.Flash[1].PerQuery[back]*queries
			want += flash*computed/float64(width) + rates.Flash[1].PerQuery[back]*queries -
				kernelTime(rates.CuDNN[1], unit(), back, 16384, float64(width), queries, 1)
		}
		got := run(recipe.Flash, width) - run(recipe.CuDNN, width)
		near(t, fmt.Sprint("heads of ", width), got, 32*want, 1e-6)
	}
}

// unit is a kernel over itself.
func unit() ledger.AttentionRates {
	return ledger.AttentionRates{FLOPs: [2]float64{1, 1}, PerQuery: [2]float64{1, 1}}
}

// hopperRates are those of an H100.
func hopperRates(t *testing.T) ledger.Rates {
	t.Helper()
	g, err := presets.Default().GPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	node := presets.Default().NodeOf(g)
	rates, _ := node.Rates(recipe.BF16)
	return rates
}
