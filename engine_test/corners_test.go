package engine_test

import (
	"cmp"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/lanes"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search/bound"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// cornerSetups are setups where several things meet that are rarely drawn together: modules for more tokens
// with deferred weight gradients, experts with uneven loads and cuts of their own, heads without fused
// losses, local windows, offloaded layers, pipelines of each stack.
func cornerSetups(t *testing.T) (out []engine.Setup) {
	t.Helper()
	for _, text := range []string{
		// Deferred weight gradients of dense layers, of latents, of experts with and without shared ones, of
		// modules.
		`{"model":"llama3.1-8b","gpus":16,"tp":2,"pp":4,"gbs":32,"schedule":"zb-h1","sp":false}`,
		`{"model":"deepseek-v3","cluster":"deepseek-h800","gpus":128,"tp":2,"pp":8,"ep":16,"gbs":128,"seq":4096,"mtp":true,"schedule":"zb-h1","imbalance":130}`,
		`{"model":"deepseek-v3","cluster":"deepseek-h800","gpus":128,"tp":2,"etp":2,"pp":8,"ep":8,"gbs":128,"seq":4096,"mtp":true,"schedule":"zb-v","precision":"fp8:megatron","zero":1}`,
		`{"model":"deepseek-v2-lite","gpus":16,"tp":2,"pp":2,"ep":8,"gbs":64,"seq":4096,"schedule":"v-half","precision":"fp8:te"}`,
		`{"model":"mixtral-8x7b","gpus":32,"tp":2,"pp":4,"ep":4,"gbs":64,"seq":4096,"schedule":"dualpipe-v","imbalance":200}`,
		`{"model":"qwen3-30b-a3b","gpus":16,"pp":4,"ep":4,"gbs":64,"seq":4096,"schedule":"interleaved-zb","vpp":2,"precision":"fp8:deepseek"}`,
		`{"model":"gpt3-175b","cluster":"dgx-a100","gpus":64,"tp":8,"pp":8,"gbs":32,"schedule":"zb-2p","sp":false}`,
		`{"model":"gemma2-2b","gpus":16,"tp":2,"pp":2,"gbs":32,"seq":8192,"schedule":"1f1b-v"}`,
		// Modules for more tokens next to the head.
		`{"model":"deepseek-v3","cluster":"deepseek-h800","gpus":128,"tp":1,"pp":16,"ep":8,"gbs":128,"seq":4096,"mtp":true,"loss":"unfused","recompute":"full:2"}`,
		`{"model":"deepseek-v3","cluster":"deepseek-h800","gpus":128,"tp":1,"pp":16,"ep":8,"gbs":128,"seq":4096,"mtp":true,"loss":"native","recompute":"full"}`,
		`{"model":"deepseek-v3","cluster":"deepseek-h800","gpus":64,"tp":1,"pp":8,"ep":8,"gbs":64,"seq":4096,"recompute":"modules:norm,act,mla-up,shared,moe-act","precision":"fp8:megatron"}`,
		// Experts: biases, groups, loads, tensor parallelism of their own, overlapped traffic, graphs.
		`{"model":"gpt-oss-120b","cluster":"gb200-nvl72","gpus":64,"tp":2,"ep":32,"gbs":128,"seq":4096,"etp":1,"grouped-mlp":"fused","precision":"fp8:tensor"}`,
		`{"model":"gpt-oss-20b","gpus":16,"tp":2,"etp":2,"ep":4,"gbs":64,"seq":4096,"sp":true,"imbalance":150}`,
		`{"model":"deepseek-v3","cluster":"dgx-h100","gpus":128,"tp":1,"pp":4,"vpp":4,"ep":32,"gbs":512,"seq":4096,"dispatcher":"hybridep","cuda-graph":"layer","precision":"fp8"}`,
		`{"model":"mixtral-8x22b","gpus":64,"tp":4,"pp":2,"ep":4,"cp":2,"gbs":64,"seq":32768,"dispatcher":"alltoall","zero":2}`,
		`{"model":"qwen3-30b-a3b","gpus":32,"tp":4,"ep":8,"gbs":64,"seq":4096,"sp":true,"zero":3,"hsdp":2}`,
		`{"model":"arctic-480b","gpus":640,"tp":4,"pp":5,"ep":8,"gbs":640,"seq":4096}`,
		// Losses and heads of each stack, with and without a pipeline, ZeRO on one rank and on many.
		`{"model":"llama3.1-8b","gpus":16,"tp":2,"pp":2,"gbs":64,"calibration":"torchtitan","zero":2,"loss":"unfused"}`,
		`{"model":"llama3.1-8b","gpus":16,"tp":2,"pp":2,"gbs":64,"calibration":"torchtitan","zero":3,"sp":false,"vpp":2,"schedule":"interleaved"}`,
		`{"model":"llama3.1-8b","gpus":2,"tp":2,"gbs":8,"calibration":"torchtitan","zero":2}`,
		`{"model":"llama3.1-8b","gpus":16,"gbs":64,"calibration":"torchtitan","zero":0,"precision":"fp32","cluster":"dgx-a100"}`,
		`{"model":"llama3.1-8b","gpus":16,"gbs":64,"calibration":"torchtitan","zero":2,"recompute":"selective","precision":"fp8:te"}`,
		`{"model":"mixtral-8x7b","gpus":16,"ep":4,"gbs":64,"seq":4096,"calibration":"llm-foundry","zero":2,"loss":"unfused"}`,
		`{"model":"llama3.1-8b","gpus":16,"gbs":64,"calibration":"llm-foundry","zero":3,"grad-dtype":"bf16","recompute":"full"}`,
		`{"model":"llama3.1-8b","gpus":8,"gbs":64,"calibration":"llm-foundry","zero":1}`,
		`{"model":"llama3.1-8b","gpus":16,"tp":4,"gbs":64,"calibration":"nanotron","zero":0,"loss":"unfused"}`,
		`{"model":"llama3.1-8b","gpus":16,"tp":2,"pp":4,"gbs":64,"calibration":"nanotron","zero":1,"recompute":"full:3"}`,
		`{"model":"mixtral-8x7b","gpus":16,"tp":2,"pp":2,"ep":2,"gbs":64,"seq":4096,"calibration":"nanotron","zero":1}`,
		`{"model":"llama3.1-8b","gpus":4,"tp":4,"gbs":16,"calibration":"nanotron","zero":1}`,
		`{"model":"gpt3-175b","cluster":"dgx-a100","gpus":64,"tp":8,"pp":8,"gbs":64,"calibration":"megatron-2021","loss":"unfused","vpp":2,"schedule":"interleaved"}`,
		`{"model":"gpt3-175b","cluster":"dgx-a100","gpus":64,"tp":8,"pp":8,"gbs":64,"calibration":"megatron-2022","recompute":"full:5","vpp":3,"schedule":"interleaved"}`,
		`{"model":"mixtral-8x7b","gpus":32,"tp":4,"pp":2,"ep":2,"gbs":64,"seq":4096,"calibration":"textbook","recompute":"selective","attention":"standard","zero":3}`,
		// Kernels: scores that are stored, windows, queries that are projected directly, keys on more ranks
		// than heads.
		`{"model":"gemma2-27b","gpus":16,"tp":8,"pp":2,"gbs":32,"seq":8192,"attention":"standard","recompute":"selective"}`,
		`{"model":"gemma3-27b","gpus":16,"tp":8,"gbs":32,"seq":32768,"cp":2,"recompute":"full"}`,
		`{"model":"llama3.1-70b","gpus":32,"tp":16,"pp":2,"gbs":32,"seq":4096,"zero":3}`,
		`{"model":"deepseek-v2-lite","gpus":16,"tp":2,"cp":2,"ep":4,"gbs":16,"seq":8192,"attention":"standard"}`,
		`{"model":"minimax-m1","gpus":128,"tp":4,"pp":4,"ep":8,"gbs":64,"seq":16384}`,
		`{"model":"gpt2-xl","gpus":8,"gbs":64,"seq":1024,"optimizer":"sgd","precision":"fp16"}`,
		// What waits or travels: offloading, late sharding, kernels that wait, replicas over nodes, memory of
		// the whole run.
		`{"model":"llama3.1-70b","cluster":"gb200-nvl72","gpus":32,"tp":4,"pp":2,"gbs":64,"offload-layers":10,"schedule":"1f1b"}`,
		`{"model":"llama3.1-70b","cluster":"gb200-nvl72","gpus":32,"tp":4,"pp":2,"vpp":2,"gbs":64,"offload-layers":7,"schedule":"interleaved"}`,
		`{"model":"llama3.1-70b","gpus":128,"tp":8,"zero":3,"hsdp":4,"gbs":128,"offload":"optimizer","optimizer":"adam-no-master"}`,
		`{"model":"llama3.1-8b","gpus":64,"tp":2,"zero":2,"hsdp":2,"gbs":128,"mbs":2,"dp-overlap":"off"}`,
		`{"model":"llama3.1-8b","gpus":64,"tp":4,"pp":4,"vpp":4,"gbs":128,"schedule":"looped-bfs","tokens":"1T","goodput":90,"pue":1.2,"price":2,"power":700}`,
		`{"model":"llama3.1-8b","cluster":"a100-pcie-8x","gpus":8,"tp":2,"pp":2,"gbs":32,"seq":4096}`,
		`{"model":"llama3.1-70b","cluster":"mi300x-8x-400g","gpus":16,"tp":8,"pp":2,"gbs":32}`,
	} {
		doc, err := setupdoc.Parse("", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s, err := doc.Setup(presets.Default())
		if err != nil || !engine.Legal(s) {
			t.Errorf("%s: %v %+v", text, err, engine.Check(s))
			continue
		}
		out = append(out, s)
	}
	return out
}

// madeCorners are setups of machines, software and models that no file has: a dense model with modules for
// more tokens, a host link that nothing hides, and software and a network in which everything waits.
func madeCorners(t *testing.T) (out []engine.Setup) {
	t.Helper()
	waits := func(s *engine.Setup) {
		cal := *s.Cluster.Calibration
		cal.Software = slices.Clone(cal.Software)
		for i := range cal.Software {
			w := &cal.Software[i]
			w.Expert, w.Experts = 0, 0
			w.MoELayer, w.HostMoE8, w.Biased = 1e-3, 5e-4, 3
			w.Blocking, w.Hop, w.Bucket, w.Once, w.TPBackward, w.CP, w.EP, w.EPOverlap, w.Pair = true, 2e-6,
				25e6, true, 0.3, 0.4, 0.5, 0.2, 0.2
			w.DP, w.Gather, w.Shard, w.ShardSlow, w.HostCopies = 0.5, 0.3, 0.2, 1.3, 0.1
		}
		n := &cal.Network
		n.HalfSize, n.Fixed, n.InterFixed, n.InterHop = 4e6, 1e-5, 2e-5, 3e-6
		n.Rails, n.Dispatch, n.Bridge, n.HalfRing, n.HalfAllToAll = 0.7, 0.5, 0.6, 0.8, 0.7
		cal.Ops.Wave, cal.Ops.SMs = 0.5, 132
		s.Cluster.Calibration = &cal
	}
	dear := func(s *engine.Setup) {
		waits(s)
		for i := range s.Cluster.Calibration.Software {
			w := &s.Cluster.Calibration.Software[i]
			w.Expert, w.Experts = 2e-6, 1.2
		}
	}
	modules := func(s *engine.Setup) { s.Model.MTPLayers, s.TrainMTP = 2, true }
	slowly := func(s *engine.Setup) { s.Cluster.GPU.HostBandwidth = 2e9 }
	const dense = "llama3.1-8b dgx-h100 gpus=16 seq=4096 "
	for _, c := range []struct {
		on     string
		change func(s *engine.Setup)
	}{
		{dense + "tp=2 pp=4 gbs=32 schedule=zb-h1", modules},
		{dense + "tp=2 pp=4 gbs=32 loss=unfused", modules},
		{dense + "pp=2 gbs=32 calibration=torchtitan zero=2", modules},
		{dense + "pp=2 gbs=64 offload-layers=5", slowly},
		{
			dense + "pp=2 gbs=64 offload-layers=16 schedule=zb-h1",
			func(s *engine.Setup) { slowly(s); s.Overlap = recipe.OverlapNone },
		},
		{dense + "tp=4 pp=2 gbs=64 sp=off zero=1 mbs=2", waits},
		{dense + "tp=2 pp=2 vpp=4 cp=2 gbs=64 zero=2", waits},
		{dense + "tp=2 gbs=64 zero=3", waits},
		{"mixtral-8x22b dgx-h100 gpus=64 tp=4 pp=2 ep=4 etp=2 gbs=64 seq=4096 schedule=dualpipe", waits},
		{
			"mixtral-8x22b dgx-h100 gpus=64 tp=2 pp=4 vpp=2 ep=8 gbs=64 seq=4096 ep-overlap=on " +
				"precision=fp8:te",
			waits,
		},
		{"gpt-oss-20b dgx-h100 gpus=16 tp=2 ep=8 gbs=64 seq=4096 imbalance=120", waits},
		{"gpt-oss-20b dgx-h100 gpus=16 tp=2 ep=8 gbs=64 seq=4096 imbalance=120", dear},
		{"deepseek-v3 dgx-h100 gpus=128 pp=8 ep=16 gbs=128 seq=4096 schedule=zb-v precision=fp8:deepseek " +
			"mtp=on", waits},
		{"llama3.1-70b dgx-a100 gpus=64 tp=8 pp=2 gbs=64 seq=4096 zero=3 hsdp=2", waits},
	} {
		s := claimedSetup(t, c.on)
		if c.change(&s); !engine.Legal(s) {
			t.Errorf("%s: %+v", c.on, engine.Check(s))
			continue
		}
		out = append(out, s)
	}
	return out
}

// TestCornersHoldWhatDrawsHold: in the corners too every recorded formula gives its figure, what adds up
// does, memory over a step meets its peak, and lanes add up to the report at any detail.
func TestCornersHoldWhatDrawsHold(t *testing.T) {
	var reused engine.Evaluator
	for _, s := range append(cornerSetups(t), madeCorners(t)...) {
		holds(t, s)
		agrees(t, s)
		checkAddsUp(t, s, &reused)
		checkOverStep(t, s)
		r := reused.Evaluate(s)
		for _, d := range []lanes.Detail{{Ends: 1, Pieces: 3}, {Ends: 50, Pieces: 12}} {
			l, ok := lanes.Of(&s, d, nil)
			if !ok {
				t.Fatalf("no lanes of %+v", s)
			}
			checkLanes(t, l, &r)
		}
	}
}

// TestBoundsInCorners: what a search ranks by is no more than the evaluation, not far below it, and where
// forwards and backwards follow one another in rows, as in naive, afab and looped-bfs, exactly that.
func TestBoundsInCorners(t *testing.T) {
	e := engine.Evaluator{SkipTimeline: true}
	var f bound.Bounder
	met := 0
	for _, s := range append(cornerSetups(t), madeCorners(t)...) {
		for _, kind := range []schedule.Kind{s.Schedule, schedule.Naive, schedule.AFAB, schedule.LoopedBFS} {
			s.Schedule = kind
			info, _ := kind.Info()
			if info.Chunks == 1 {
				s.VPP = 1
			} else if kind == schedule.LoopedBFS {
				s.VPP = max(s.VPP, 2)
			}
			if !engine.Legal(s) {
				continue
			}
			met++
			r, within := e.Evaluate(s), floorShort()[kind]
			b, ok := f.Bound(&s)
			if !ok {
				t.Fatalf("no bound of %+v", s)
			}
			step, peak := float64(r.Time.Step/b.Step), float64(r.Memory.Peak/b.Peak)
			if s.OffloadLayers > 0 {
				step = min(step, within.stepMost) // of activations' way to the host a bound knows nothing
			}
			if most := cmp.Or(within.peakMost, floorLimit(&s)); step < 1-1e-9 || peak < 1-1e-9 ||
				step > within.stepMost || peak > most {
				t.Errorf("%s: the step is %.9g of its bound, at most %g, the peak %.9g, at most %g: %+v",
					kind, step, within.stepMost, peak, most, s.Layout)
			}
		}
	}
	if met < 100 {
		t.Errorf("only %d bounds were looked at", met)
	}
}
