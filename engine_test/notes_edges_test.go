package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/band"
	"meshscope/engine/fit"
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
)

// TestNotesFromTheFirstValue: an assumption, or what is left out, is said of the first setup that it is true
// of and not of its neighbour.
func TestNotesFromTheFirstValue(t *testing.T) {
	const (
		dense   = "llama3.1-8b dgx-h100 gpus=16 gbs=64 seq=4096 "
		experts = "mixtral-8x7b dgx-h100 gpus=16 gbs=64 seq=4096 ep=4 "
		modules = "deepseek-v3 deepseek-h800 gpus=128 pp=16 ep=8 gbs=128 seq=4096 "
	)
	plain := func(*engine.Setup) {}
	soft := func(set func(w *hardware.Software)) func(s *engine.Setup) {
		return func(s *engine.Setup) {
			cal := *s.Cluster.Calibration
			cal.Software = slices.Clone(cal.Software)
			for i := range cal.Software {
				set(&cal.Software[i])
			}
			s.Cluster.Calibration = &cal
		}
	}
	for _, c := range []struct {
		says, with, without string
		change              func(s *engine.Setup) // of both
	}{
		{
			"every expert rank is as busy as the busiest one", experts + "imbalance=101",
			experts + "imbalance=100", plain,
		},
		{"tokens are routed evenly", experts + "imbalance=100", experts + "imbalance=101", plain},
		{"tokens are routed evenly", experts, dense, plain},
		{"the replicas sum their shards", dense + "zero=1 hsdp=2", dense + "zero=1 hsdp=1", plain},
		{"the replicas sum their shards", dense + "zero=1 hsdp=2", dense + "zero=0 hsdp=2", plain},
		{"the multi-token-prediction module is not trained", modules, modules + "mtp=on", plain},
		{"the multi-token-prediction module is not trained", modules, experts, plain},
		{"context parallelism is timed as ring attention", dense + "cp=2", dense, plain},
		{
			"weights are all-gathered and gradients reduce-scattered", dense + "zero=3", dense + "zero=2",
			plain,
		},
		{
			"weights are all-gathered and gradients reduce-scattered", dense + "zero=3",
			"llama3.1-8b dgx-h100 gpus=8 tp=8 gbs=64 seq=4096 zero=3", plain,
		},
		{
			"gradients are reduce-scattered in every micro-batch and overlap with its backward",
			dense + "zero=2", dense + "zero=3", plain,
		},
		{
			"gradients are reduce-scattered in every micro-batch and overlap with its backward",
			dense + "zero=2", dense + "zero=1", plain,
		},
		{
			"a separate input-gradient pass overlaps with no tensor-parallel",
			dense + "tp=2 pp=2 schedule=zb-h1", dense + "pp=2 schedule=zb-h1", plain,
		},
		{
			"a split backward keeps the inputs and output gradients", dense + "pp=2 schedule=zb-h1",
			dense + "pp=2", plain,
		},
		{
			"both replicas of a stage have their own", dense + "pp=2 schedule=dualpipe",
			dense + "pp=2 schedule=dualpipe-v", plain,
		},
		{
			"the order is chosen from these times", dense + "pp=2 schedule=zb-2p",
			dense + "pp=2 schedule=zb-h2",
			plain,
		},
		{
			"steps follow one another without a barrier, as the zero-bubble papers count",
			dense + "pp=2 schedule=zb-h1", dense + "pp=2 schedule=dualpipe", plain,
		},
		{
			"though no publication confirms it", dense + "pp=2 schedule=dualpipe",
			dense + "pp=2 schedule=zb-h1",
			plain,
		},
		{"send/recv between stages is latency", dense + "pp=2", dense, plain},
		{
			"the job uses 64 of the 72 GPUs", "llama3.1-8b gb200-nvl72 gpus=128 gbs=128",
			"llama3.1-8b gb200-nvl72 gpus=72 gbs=72", plain,
		},
		{
			"in an overlapped pair, the expert all-to-all", experts + "pp=2 schedule=dualpipe",
			experts + "pp=2",
			plain,
		},
		{
			"tensor-parallel traffic is exposed in the forward", dense + "tp=2", dense,
			func(s *engine.Setup) { s.Cluster.Calibration = nil },
		},
		{
			"expert all-to-all is exposed", experts, "mixtral-8x7b dgx-h100 gpus=16 gbs=64 seq=4096 ep=1",
			func(s *engine.Setup) { s.Cluster.Calibration = nil },
		},
		{"step time is an unfitted roofline", dense + "calibration=textbook", dense, plain},
		{
			"training is in fp16", dense + "precision=fp16", dense + "precision=fp32",
			func(s *engine.Setup) { s.Cluster.GPU.PeakBF16, s.Cluster.Calibration = 0, nil },
		},
		{"training is in fp16", dense + "precision=fp16", dense + "precision=bf16", func(s *engine.Setup) {
			if s.Precision == recipe.FP16 {
				s.Cluster.GPU.PeakBF16, s.Cluster.Calibration = 0, nil
			}
		}},
		{"an offloaded optimizer takes the time", dense + "offload=optimizer", dense, plain},
		{
			"every layer with experts waits 2 ms per micro-batch", experts, dense,
			soft(func(w *hardware.Software) { w.MoELayer = 2e-3 }),
		},
		{
			"products of experts take 1.5 times the best", experts, dense,
			soft(func(w *hardware.Software) { w.Experts = 1.5 }),
		},
		{
			"takes 3 us more for each expert", experts, dense,
			soft(func(w *hardware.Software) { w.Expert = 3e-6 }),
		},
		{
			"takes the host at least 4 ms per micro-batch", experts + "precision=fp8:te", experts,
			soft(func(w *hardware.Software) { w.HostMoE8 = 4e-3 }),
		},
		{
			"biases of experts cost 5 times", "gpt-oss-20b dgx-h100 gpus=16 gbs=64 seq=4096 ep=4", experts,
			soft(func(w *hardware.Software) { w.Biased = 5 }),
		},
		{
			"gradient traffic overlaps with no compute", dense + "zero=1", dense + "zero=2",
			soft(func(w *hardware.Software) { w.DP = 1 }),
		},
		{
			"a share of both that the stack's constants give", dense + "zero=1", dense + "zero=2",
			soft(func(w *hardware.Software) { w.DP = 0.99 }),
		},
		{
			"weight traffic with the first forward", dense + "zero=0",
			"llama3.1-8b dgx-h100 gpus=8 tp=8 gbs=64 seq=4096",
			soft(func(w *hardware.Software) { w.DP = 0 }),
		},
		{
			"send/recv to another rank blocks the sender", dense + "pp=2 vpp=2", dense + "pp=2",
			soft(func(w *hardware.Software) { w.Blocking = true }),
		},
		{
			"send/recv between stages is latency", dense + "pp=2", dense + "pp=2 vpp=2",
			soft(func(w *hardware.Software) { w.Blocking = true }),
		},
		// What is left out.
		{
			"the all-reduce of the tied embedding's gradient", "llama3.2-1b dgx-h100 gpus=16 gbs=64 pp=2",
			"llama3.2-1b dgx-h100 gpus=16 gbs=64", plain,
		},
		{
			"the all-reduce of the tied embedding's gradient", "llama3.2-1b dgx-h100 gpus=16 gbs=64 pp=2",
			dense + "pp=2", plain,
		},
		{
			"the textbook counts every layer as dense", experts + "calibration=textbook",
			dense + "calibration=textbook", plain,
		},
		{"savings of local attention windows", "gemma2-2b dgx-h100 gpus=16 gbs=64", dense, plain},
		{
			"recomputation of the multi-token-prediction modules", modules + "mtp=on recompute=full",
			modules + "mtp=on recompute=none", plain,
		},
		{
			"recomputation of the multi-token-prediction modules", modules + "mtp=on recompute=full",
			modules + "recompute=full", plain,
		},
		{
			"fp8 copies and transposes of the weights", dense + "precision=fp8:te",
			dense + "precision=fp8:megatron", plain,
		},
		{"quantisation kernels of fp8", dense + "precision=fp8:megatron", dense + "precision=fp8:te", plain},
		{"quantisation kernels", dense + "precision=fp8:te", dense, plain},
	} {
		for on, want := range map[string]bool{c.with: true, c.without: false} {
			s := claimedSetup(t, on)
			c.change(&s)
			r := engine.Evaluate(s)
			if !r.Legal {
				t.Errorf("%s: %+v", on, r.Problems)
				continue
			}
			if got := strings.Contains(strings.Join(append(r.Assumptions, r.NotModelled...), "\n"),
				c.says); got != want {
				t.Errorf("%q of %s: %v, want %v", c.says, on, got, want)
			}
		}
	}
}

// TestNotesOfNothing: what software does not cost is not said.
func TestNotesOfNothing(t *testing.T) {
	s := claimedSetup(t, "gpt-oss-20b dgx-h100 gpus=16 gbs=64 seq=4096 ep=4 precision=fp8:te")
	cal := *s.Cluster.Calibration
	cal.Software = slices.Clone(cal.Software)
	for i := range cal.Software {
		w := &cal.Software[i]
		w.MoELayer, w.Experts, w.Expert, w.HostMoE8, w.Biased = 0, 0, 0, 0, 0
	}
	s.Cluster.Calibration = &cal
	said := strings.Join(engine.Evaluate(s).Assumptions, "\n")
	for _, words := range []string{
		"every layer with experts waits", "products of experts take",
		"more for each expert", "takes the host at least", "biases of experts cost",
	} {
		if strings.Contains(said, words) {
			t.Errorf("%q is said", words)
		}
	}
}

// TestReasonNamesTheLargestTerm: by how much the fullest rank is over, and where its largest term comes from.
func TestReasonNamesTheLargestTerm(t *testing.T) {
	for on, want := range map[string]string{
		"llama3.1-70b dgx-h100 gpus=8 gbs=8 seq=4096 zero=0 recompute=full":  "optimizer states alone are ",
		"llama3.1-70b dgx-h100 gpus=8 tp=8 gbs=64 seq=8192 mbs=32 zero=1":    "activations alone are ",
		"llama3.2-1b dgx-h100 gpus=8 gbs=512 seq=8192 mbs=16 recompute=full": "logits alone are ",
		// as large as the gradients
		"llama3.1-405b dgx-h100 gpus=8 tp=8 gbs=8 seq=4096 zero=1 offload=optimizer grad-dtype=bf16": "weights alone are ",
		"llama3.1-70b dgx-h100 gpus=32 tp=2 pp=4 gbs=128 seq=8192 mbs=4 schedule=zb-2p":              "kept for deferred weight gradients",
	} {
		r := engine.Evaluate(claimedSetup(t, on))
		if !r.Legal || r.Memory.Fits {
			t.Errorf("%s fits, or is illegal: %+v", on, r.Problems)
			continue
		}
		m := r.Memory
		full := &m.Ranks[m.PeakRank]
		over := fmt.Sprintf("rank %d needs %.1f GiB, %.1f more than the %.1f of ", full.Rank,
			full.Total.GiB(), (full.Total - m.Usable).GiB(), m.Usable.GiB())
		if !strings.HasPrefix(m.Reason, over) || !strings.Contains(m.Reason, want) {
			t.Errorf("%s: %s\nwant %s ... %s", on, m.Reason, over, want)
		}
	}
	one := engine.Evaluate(claimedSetup(t, "llama3.1-70b dgx-h100 gpus=8 tp=8 gbs=64 seq=8192 mbs=32 zero=1"))
	if !strings.Contains(one.Memory.Reason,
		"those of 1 micro-batch in flight under 1f1b over 80 layers, nothing recomputed") {
		t.Errorf("%s", one.Memory.Reason)
	}
}

// TestTraitsFollowTheSetup: what published runs are compared by is that of the setup, from its first value
// on.
func TestTraitsFollowTheSetup(t *testing.T) {
	var none engine.Report
	traits := func(on string) band.Traits {
		s := claimedSetup(t, on)
		return engine.Traits(&s, &none, false)
	}
	const dense = "llama3.1-8b dgx-h100 gpus=16 gbs=64 seq=4096 "
	plain := traits(dense + "zero=2")
	if plain.Pipeline || plain.ZeRO3 || plain.Experts || plain.Recompute || plain.PCIe {
		t.Errorf("%+v", plain)
	}
	all := traits("mixtral-8x7b dgx-h100 gpus=16 gbs=64 seq=4096 ep=4 pp=2 zero=3 recompute=full:1")
	if !all.Pipeline || !all.ZeRO3 || !all.Experts || !all.Recompute {
		t.Errorf("%+v", all)
	}
	s := claimedSetup(t, dense)
	r := engine.Evaluate(s)
	x := engine.Traits(&s, &r, false)
	traffic := 0.0
	for _, c := range r.Communication {
		traffic += float64(c.Seconds / r.Time.Step)
	}
	if want := 1 - float64((r.Time.Compute+r.Time.Recompute)/r.Time.Step); !same(x.NonCompute, want) ||
		!same(x.Traffic, traffic) {
		t.Errorf("%v of the step without compute, want %v; traffic %v, want %v", x.NonCompute, want,
			x.Traffic, traffic)
	}
}

// TestLargestThatFit: the largest sequence and micro-batch have their margin, one unit more has not;
// sequences go in steps of what CP and SP cut and of 128 tokens, a learned table ends them.
func TestLargestThatFit(t *testing.T) {
	var e engine.Evaluator
	for on, unit := range map[string]int{
		"llama3.1-8b dgx-h100 gpus=8 tp=2 gbs=16 seq=4096":                128,
		"llama3.1-8b dgx-h100 gpus=48 tp=2 cp=3 gbs=16 seq=6144":          384,
		"llama3.1-8b dgx-h100 gpus=48 tp=2 cp=3 sp=off gbs=16 seq=6144":   384,
		"llama3.1-8b dgx-h100 gpus=256 tp=8 cp=16 gbs=16 seq=8192":        256,
		"llama3.1-8b dgx-h100 gpus=256 tp=8 cp=16 sp=off gbs=16 seq=8192": 128,
	} {
		s := claimedSetup(t, on)
		l, ok := fit.Find(&e, s)
		if !ok || l.SeqUnit != unit || l.Seq%unit != 0 || l.Seq == 0 || l.MBS == 0 {
			t.Errorf("%s: %+v %v, want steps of %d", on, l, ok, unit)
			continue
		}
		margin := func(seq, mbs int) bool {
			u := s
			u.Seq, u.MBS = seq, mbs
			m := e.Memory(u)
			return m != nil && m.HasMargin()
		}
		if !margin(l.Seq, s.MBS) || !l.SeqOpen && margin(l.Seq+unit, s.MBS) || !margin(s.Seq, l.MBS) ||
			!l.MBSOpen && margin(s.Seq, l.MBS+1) {
			t.Errorf("%s: %+v are not the largest", on, l)
		}
	}
	s := claimedSetup(t, "gpt2-xl dgx-h100 gpus=8 gbs=64 seq=1024")
	if l, ok := fit.Find(&e, s); !ok || l.Seq != 1024 || !l.SeqOpen {
		t.Errorf("a table of 1,024 positions: %+v %v", l, ok)
	}
}
