package engine_test

import (
	"math"
	"testing"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/published"
)

// machinesOfFacts are the clusters whose kernels the fact sheets measured.
func machinesOfFacts(t *testing.T) map[string]hardware.Machine {
	t.Helper()
	out := map[string]hardware.Machine{}
	for gpu, id := range map[string]string{"a100-pcie-80g": "a100-pcie-8x", "b200-sxm": "b200-8x-simumax"} {
		c, err := presets.Default().Cluster(id)
		if err != nil {
			t.Fatal(err)
		}
		out[gpu] = hardware.NewMachine(&c, recipe.BF16, recipe.MegatronCore, &recipe.Software{})
	}
	return out
}

// kernels are the errors of one kind of operation on one GPU, all rows and the
// second half of them, and what one constant rate would score.
type kernelErrors struct{ all, work, time []float64 }

func (k *kernelErrors) add(predicted units.Seconds, work, measured float64) {
	k.all = append(k.all, math.Abs(float64(predicted)/measured-1))
	k.work, k.time = append(k.work, work), append(k.time, measured)
}

func (k *kernelErrors) report(t *testing.T, what string, most float64) {
	t.Helper()
	fitted, _ := published.Constant(k.work, k.time)
	s := scoreOf(k.all)
	t.Logf("0 %-34s n %3d  mean %4.1f %%  median %4.1f %%  max %5.1f %% | one constant: mean %4.1f %%", what,
		s.n, 100*s.mean, 100*s.median, 100*s.max, 100*scoreOf(fitted).mean)
	limit(t, what, s.mean, most)
}

// TestAccuracyKernels compares the operation model with measured kernels.
func TestAccuracyKernels(t *testing.T) {
	machines := machinesOfFacts(t)
	for gpu, most := range map[string][3]float64{
		"a100-pcie-80g": {0.06, 0.06, 0.06},
		"b200-sxm":      {0.13, 0.16, 0.18},
	} {
		m := machines[gpu]
		gemm, attention, grouped := matMulErrors(t, &m, gpu), attentionErrors(t, &m, gpu),
			groupedErrors(t, &m, gpu)
		gemm.report(t, gpu+" matrix products", most[0])
		attention.report(t, gpu+" fused attention", most[1])
		grouped.report(t, gpu+" grouped products", most[2])
	}
}

func matMulErrors(t *testing.T, m *hardware.Machine, gpu string) (out kernelErrors) {
	for _, row := range validationRows(t, "../facts/gemm-measured.csv") {
		if row["gpu"] != gpu {
			continue
		}
		rows, inner, cols := cell(row, "m"), cell(row, "k"), cell(row, "n")
		result := 2.0
		if row["out_dtype"] == "fp32" {
			result = 4
		}
		if row["accumulate"] == "True" {
			result *= 2
		}
		work := 2 * rows * inner * cols
		touched := units.Bytes(2*(rows*inner+inner*cols) + result*rows*cols)
		out.add(m.MatMul(nil, rows, inner, cols, touched), work,
			work/(cell(row, "efficiency")*cell(row, "peak_tflops")*1e12))
	}
	return out
}

// attentionErrors: the sheet counts the whole square, and 2.5 times the forward
// for the backward.
func attentionErrors(t *testing.T, m *hardware.Machine, gpu string) (out kernelErrors) {
	for _, row := range validationRows(t, "../facts/attention-measured.csv") {
		if row["gpu"] != gpu {
			continue
		}
		work := 2 * cell(row, "batch") * cell(row, "head_num") * cell(row, "seq_len") * cell(row,
			"seq_len") * (cell(row, "qk_head_dim") + cell(row, "v_head_dim"))
		forward, backward := attended(m, units.FLOPs(work/2), int(cell(row, "qk_head_dim")))
		rate := cell(row, "efficiency") * cell(row, "peak_tflops") * 1e12
		if row["op"] == "sdp_fwd" {
			out.add(forward, work, work/rate)
		} else {
			out.add(backward, 2.5*work, 2.5*work/rate)
		}
	}
	return out
}

func groupedErrors(t *testing.T, m *hardware.Machine, gpu string) (out kernelErrors) {
	for _, row := range validationRows(t, "../facts/grouped-gemm-measured.csv") {
		if row["gpu"] != gpu {
			continue
		}
		groups, rows, cols, inner := cell(row, "ng"), cell(row, "M"), cell(row, "N"), cell(row, "K")
		weight := 2.0
		if row["stage"] == "bwd_grad_w" {
			weight = 8
		}
		work := 2 * groups * rows * cols * inner
		touched := units.Bytes(2*groups*rows*(cols+inner) + weight*groups*cols*inner)
		out.add(m.GroupedMatMul(nil, groups, rows, inner, cols, touched), work,
			work/(cell(row, "efficiency")*cell(row, "peak_tflops")*1e12))
	}
	return out
}
