package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/presets"
)

// The numbers in this file are printed in the Ultra-Scale Playbook
// (huggingface.co/spaces/nanotron/ultrascale-playbook), stored in its figures,
// or follow by arithmetic from a formula printed there; each test says which.

func presetModel(t testing.TB, id string) model.Model {
	t.Helper()
	m, err := presets.Default().Model(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// textbookDraft is a model on as many H100 as the degrees need, evaluated by
// the playbook's formulas as its memory figures draw them: 16-bit weights and
// gradients, Adam without a master copy (2+2+8 bytes), one micro-batch of one
// sequence, selective recomputation, no SP.
func textbookDraft(t *testing.T, id string, seq int) knob.Draft {
	t.Helper()
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	m := presetModel(t, id)
	m.MaxSeq = max(m.MaxSeq, seq)
	return knob.DraftOf(m, cluster, knob.Given{
		knob.DP: 1, knob.Seq: seq, knob.MBS: 1, knob.MicroBatches: 1,
		knob.Calibration: recipe.Textbook, knob.ZeRO: 0, knob.SP: false,
		knob.GradDtype: recipe.GradBF16, knob.Optimizer: recipe.AdamNoMaster,
		knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeSelective},
	})
}

// B1 to B5: batch arithmetic.
func TestPlaybookBatch(t *testing.T) {
	for _, c := range []struct{ gbs, tokens int }{{15_360, 62_914_560}, {3_072, 12_582_912}} {
		l := layout.Layout{GBS: c.gbs, Seq: 4096}
		near(t, "B1 tokens", l.Tokens(), float64(c.tokens), 0)
	}
	for _, c := range []struct {
		name          string
		gpus, mbs, m  int
		gbs, wantGBS  int
		wantMicrobath int
	}{
		{name: "B2 one GPU", gpus: 1, mbs: 2, m: 8, wantGBS: 16, wantMicrobath: 8},
		{name: "B3 128 GPUs", gpus: 128, mbs: 2, gbs: 1024, wantGBS: 1024, wantMicrobath: 4},
		{name: "B3 512 GPUs", gpus: 512, mbs: 2, gbs: 1024, wantGBS: 1024, wantMicrobath: 1},
	} {
		d := textbookDraft(t, "llama3.1-8b", 4096)
		leaveOut(&d, knob.DP, knob.MicroBatches)
		d.With(knob.Given{knob.GPUs: c.gpus, knob.MBS: c.mbs})
		if c.m > 0 {
			d.With(knob.Given{knob.MicroBatches: c.m})
		} else {
			d.With(knob.Given{knob.GBS: c.gbs})
		}
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if s.GBS != c.wantGBS || s.MicroBatches != c.wantMicrobath || !engine.Legal(s) {
			t.Errorf("%s: gbs %d, m %d, problems %v", c.name, s.GBS, s.MicroBatches, engine.Check(s))
		}
	}
	// B4: gpus = dp x tp x pp x cp.
	d := textbookDraft(t, "llama3.1-8b", 4096)
	leaveOut(&d, knob.DP)
	d.With(knob.Given{knob.GPUs: 64, knob.TP: 2, knob.PP: 4, knob.CP: 2})
	s, err := d.Resolve()
	if err != nil || s.DP != 4 || s.Ranks() != 64 {
		t.Errorf("B4: dp %d, ranks %d, error %v", s.DP, s.Ranks(), err)
	}
	// B5: 512 GPUs with mbs 4 and a global batch of 1,024 would need half a micro-batch.
	d = textbookDraft(t, "llama3.1-8b", 4096)
	leaveOut(&d, knob.DP, knob.MicroBatches)
	d.With(knob.Given{knob.GPUs: 512, knob.MBS: 4, knob.GBS: 1024})
	if s, err = d.Resolve(); err != nil {
		t.Fatal(err)
	}
	problems := engine.Check(s)
	if len(problems) == 0 || problems[0].Code != "batch-not-divisible" || problems[0].Nearest["gbs"] != 2048 {
		t.Errorf("B5: %+v", problems)
	}
}

// M1 to M3: bytes per parameter, and the printed table of sizes in GB.
func TestPlaybookStaticBytes(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     recipe.Precision
		g     recipe.GradDtype
		bytes float64
		sizes [4]float64
	}{
		{"M1 fp32", recipe.FP32, recipe.GradFP32, 16, [4]float64{16, 112, 1120, 6480}},
		{"M2 bf16", recipe.BF16, recipe.GradBF16, 16, [4]float64{16, 112, 1120, 6480}},
		{
			"M3 bf16 with fp32 gradients", recipe.BF16, recipe.GradBF16FP32, 20,
			[4]float64{20, 140, 1400, 8100},
		},
		{"default, fp32 main gradients", recipe.BF16, recipe.GradFP32, 18, [4]float64{18, 126, 1260, 7290}},
	} {
		z := shardedBytes(0, c.p, c.g, 1)
		sum := z.Weights.Dense + z.Gradients.Dense + z.Optimizer.Dense
		near(t, c.name, sum, c.bytes, 0)
		for i, billions := range [4]float64{1, 7, 70, 405} {
			near(t, c.name, billions*sum, c.sizes[i], 1e-12)
		}
	}
}

// shardedBytes are the bytes per parameter of a ZeRO stage over so many ranks.
func shardedBytes(stage int, p recipe.Precision, g recipe.GradDtype, ranks int) memory.Sharding {
	stack, _ := memory.For(recipe.Textbook)
	l := layout.Layout{GPUs: ranks, DP: ranks, TP: 1, PP: 1, CP: 1, EP: 1, ETP: 1, ZeRO: stage}
	return stack.Shard(&memory.Input{Layout: &l, Precision: p, GradDtype: g, Optimizer: recipe.Adam})
}

// Z0 to Z4 with the cases (b), (c) and (d): N x bytes over d ranks, in GB.
func TestPlaybookZeRO(t *testing.T) {
	total := func(stage int, n, d float64, g recipe.GradDtype) float64 {
		z := shardedBytes(stage, recipe.BF16, g, int(d))
		return units.Bytes(n * (z.Weights.Dense + z.Gradients.Dense + z.Optimizer.Dense)).GB()
	}
	for stage, want := range [4]float64{128.48, 44.17, 30.11, 16.06} {
		near(t, "case (b), 8B on 8", total(stage, 8_030_261_248, 8, recipe.GradBF16), want, 5e-4)
	}
	for stage, want := range [4]float64{120, 31.4, 16.6, 1.88} { // ZeRO paper, arXiv 1910.02054, Figure 1
		near(t, "case (c), 7.5B on 64", total(stage, 7.5e9, 64, recipe.GradBF16), want, 3e-3)
	}
	near(t, "case (d), the limit of ZeRO-2", total(0, 1e9, 1e9, recipe.GradBF16)/total(2, 1e9, 1e9,
		recipe.GradBF16), 8, 1e-6)
	for stage, extra := range [4]float64{4, 4, 4.0 / 8, 4.0 / 8} {
		near(t, "Z4", total(stage, 1e9, 8, recipe.GradBF16FP32)-total(stage, 1e9, 8, recipe.GradBF16), extra,
			1e-9)
	}
}

// Case (a): the playbook's figure of ZeRO stages, 8B on 8 GPUs, parameters,
// gradients and optimizer in GiB. It draws 15 GiB for 14.957.
func TestPlaybookZeROFigure(t *testing.T) {
	for stage, want := range [4][3]float64{
		{15, 15, 60},
		{15, 15, 7.5},
		{15, 1.875, 7.5},
		{1.875, 1.875, 7.5},
	} {
		for seq, activations := range map[int]float64{1024: 4.25, 4096: 17, 16384: 68} {
			d := textbookDraft(t, "llama3.1-8b", seq)
			d.With(knob.Given{knob.DP: 8, knob.ZeRO: stage})
			rank := evaluate(t, d).Memory.Ranks[0]
			near(t, "weights", rank.Weights.GiB(), want[0], 0.003)
			near(t, "gradients", rank.Gradients.GiB(), want[1], 0.003)
			near(t, "optimizer", rank.Optimizer.GiB(), want[2], 0.003)
			near(t, "activations", rank.Activations.GiB(), activations, 0)
		}
	}
}

// Z0 to Z3: traffic per step in units of the 16-bit parameters: 2, 2, 2 and 3
// times (n-1)/n.
func TestPlaybookZeROTraffic(t *testing.T) {
	for stage, want := range [4]float64{2, 2, 2, 3} {
		d := textbookDraft(t, "llama3.1-8b", 4096)
		d.With(knob.Given{knob.DP: 8, knob.ZeRO: stage})
		r := evaluate(t, d)
		dp := r.Communication[len(r.Communication)-1]
		near(t, "traffic", float64(dp.Bytes)/(2*r.Memory.Ranks[0].Parameters)*8/7, want, 1e-9)
	}
}

// A1, A2 and A3: the table of activations over the sequence. The figure of
// recomputation adds one dropout mask of the input (A9) to all its bars.
func TestPlaybookActivations(t *testing.T) {
	seqs := [5]int{1024, 2048, 4096, 8192, 16384}
	for _, c := range []struct {
		name, model string
		mode        recipe.RecomputeMode
		dropout     bool
		want        []float64
	}{
		{
			"8B none", "llama3.1-8b", recipe.RecomputeNone, true,
			[]float64{9.25390625, 28.5078125, 97.015625, 354.03125, 1348.0625},
		},
		{"8B selective", "llama3.1-8b", recipe.RecomputeSelective, false, []float64{4.25, 8.5, 17, 34, 68}},
		{"8B full", "llama3.1-8b", recipe.RecomputeFull, false, []float64{0.25, 0.5, 1, 2, 4}},
		{
			"70B none", "llama3.1-70b", recipe.RecomputeNone, true,
			[]float64{46.2578125, 142.515625, 485.03125, 1770.0625, 6740.125},
		},
		{
			"405B none", "llama3.1-405b", recipe.RecomputeNone, true,
			[]float64{145.703125, 448.90625, 1527.8125, 5575.625, 21231.25},
		},
		{
			"1B none", "llama3.2-1b", recipe.RecomputeNone, true,
			[]float64{3.564453125, 12.12890625, 44.2578125, 168.515625},
		},
		{
			"3B none", "llama3.2-3b", recipe.RecomputeNone, true,
			[]float64{6.0732421875, 18.708984375, 63.66796875, 232.3359375},
		},
	} {
		for i, want := range c.want {
			d := textbookDraft(t, c.model, seqs[i])
			d.With(knob.Given{knob.Recompute: recipe.Recompute{Mode: c.mode}})
			got := evaluate(t, d).Memory.Ranks[0].Activations
			if c.dropout {
				got += units.Bytes(seqs[i] * d.Model().Hidden)
			}
			near(t, c.name, got.GiB(), want, 1e-12)
		}
	}
}

// A4 to A6: TP with and without SP, CP.
func TestPlaybookActivationsCut(t *testing.T) {
	for _, c := range []struct {
		model  string
		tp, cp int
		sp     bool
		want   map[int]float64
	}{
		{"llama3.1-70b", 8, 1, false, map[int]float64{1024: 8.125, 4096: 32.5, 16384: 130}},
		{"llama3.1-70b", 16, 1, false, map[int]float64{1024: 7.1875, 4096: 28.75, 16384: 115}},
		{"llama3.1-70b", 8, 1, true, map[int]float64{1024: 2.65625, 4096: 10.625, 16384: 42.5}},
		{"llama3.1-70b", 16, 1, true, map[int]float64{1024: 1.328125, 4096: 5.3125, 16384: 21.25}},
		{"llama3.1-8b", 2, 1, false, map[int]float64{
			1024: 2.75, 4096: 11, 16384: 44, 65536: 176,
			131072: 352,
		}},
		{"llama3.1-8b", 2, 4, false, map[int]float64{
			1024: 0.6875, 4096: 2.75, 16384: 11, 65536: 44,
			131072: 88,
		}},
		{"llama3.1-8b", 1, 1, false, map[int]float64{131072: 544}},
	} {
		for seq, want := range c.want {
			d := textbookDraft(t, c.model, seq)
			d.With(knob.Given{knob.TP: c.tp, knob.CP: c.cp, knob.SP: c.sp})
			rank := evaluate(t, d).Memory.Ranks[0]
			near(t, c.model, rank.Activations.GiB(), want, 1e-12)
			if c.model == "llama3.1-70b" {
				near(t, "TP divides the parameters", rank.Weights.GiB(), 131.5/float64(c.tp), 1e-3)
			}
		}
	}
	// A4 and A5 with the scores: s*b*h*L*(10 + (24 + 5as/h)/t) and (34 + 5as/h)/t.
	for _, sp := range []bool{false, true} {
		d := textbookDraft(t, "llama3.1-8b", 4096)
		d.With(knob.Given{
			knob.TP: 4, knob.SP: sp,
			knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeNone},
		})
		per := 10 + (24+160.0)/4
		if sp {
			per = (34 + 160.0) / 4
		}
		near(t, "A4/A5", evaluate(t, d).Memory.Ranks[0].Activations.GiB(),
			4096*4096*32*per/float64(units.GiB), 1e-12)
	}
}

// A7 and A8, P3: in-flight micro-batches of 1F1B and AFAB; the figure of PP = 8
// draws 2.603515625 GiB of weights on the first stage.
func TestPlaybookPipelineMemory(t *testing.T) {
	for seq, want := range map[int]float64{1024: 4.25, 4096: 17, 16384: 68} {
		d := textbookDraft(t, "llama3.1-8b", seq)
		d.With(knob.Given{knob.PP: 8, knob.MicroBatches: 32})
		r := evaluate(t, d)
		near(t, "A7", r.Memory.Ranks[0].Activations.GiB(), want, 1e-12)
		near(t, "weights of a stage", r.Memory.Ranks[0].Weights.GiB(), 2.603515625, 1e-3)
		for i, rank := range r.Memory.Ranks {
			near(t, "P3 in flight", rank.InFlight, float64(8-i), 0)
		}
		d.With(knob.Given{knob.Schedule: schedule.AFAB})
		near(t, "A8", evaluate(t, d).Memory.Ranks[0].Activations.GiB(), want*32/8, 1e-12)
	}
}

// T2: TP divides the heads; beyond the kv heads they are replicated.
func TestPlaybookTensorParallelLimits(t *testing.T) {
	for tp, wantCode := range map[int]string{
		1: "", 8: "", 16: "tp-kv-replication", 32: "tp-kv-replication",
		3: "tp-heads", 64: "tp-exceeds-heads",
	} {
		d := textbookDraft(t, "llama3.1-8b", 4096)
		d.With(knob.Given{knob.TP: tp})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, p := range engine.Check(s) {
			codes = append(codes, p.Code)
		}
		if list := strings.Join(codes, " "); (wantCode == "") != (list == "") ||
			!strings.Contains(list, wantCode) || engine.Legal(s) != (tp&(tp-1) == 0 && tp <= 32) {
			t.Errorf("tp %d: problems %q, want %q", tp, list, wantCode)
		}
	}
}

// X2: causal work of 16 tokens on 4 ranks, contiguous and zig-zag.
func TestPlaybookCausalBalance(t *testing.T) {
	contiguous := layout.CausalWork(16, 4, false)
	zigzag := layout.CausalWork(16, 4, true)
	for i, want := range [4]int{10, 26, 42, 58} {
		if contiguous[i] != want || zigzag[i] != 34 {
			t.Errorf("rank %d: contiguous %d (want %d), zig-zag %d (want 34)", i, contiguous[i], want,
				zigzag[i])
		}
	}
}
