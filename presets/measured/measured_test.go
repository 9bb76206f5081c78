package measured_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"meshscope/engine"
	"meshscope/engine/calibrate"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/measured"
)

// pool returns layouts of three models on up to 16 nodes of DGX H100.
func pool(t *testing.T, lib *presets.Library) (out []engine.Setup) {
	t.Helper()
	c, err := lib.Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"llama3.2-1b", "llama3.1-8b", "llama3.1-70b"} {
		m, err := lib.Model(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, nodes := range []int{1, 4, 16} {
			for _, tp := range []int{1, 2, 8} {
				for _, pp := range []int{1, 4} {
					for _, zero := range []int{1, 3} {
						for _, seq := range []int{4096, 32768} {
							for _, m1 := range []int{1, 8} {
								gpus := 8 * nodes
								if pp > 1 && zero == 3 || gpus < tp*pp {
									continue
								}
								dp := gpus / tp / pp
								s, err := knob.DraftOf(m, c, knob.Given{knob.GPUs: gpus, knob.TP: tp, knob.PP: pp, knob.ZeRO: zero, knob.Seq: seq, knob.GBS: dp * m1 * pp}).Resolve()
								if err != nil {
									continue
								}
								if r := engine.Evaluate(s); r.Legal && r.Memory.Fits {
									out = append(out, s)
								}
							}
						}
					}
				}
			}
		}
	}
	return out
}

func TestTry(t *testing.T) {
	lib := presets.Default()
	setups := pool(t, lib)
	e := &engine.Evaluator{SkipTimeline: true}
	j, err := measured.Sensitivity(e, setups)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(len(setups))
	for k := range j[0] {
		most, at := 0.0, 0
		for i := range j {
			if math.Abs(j[i][k]) > most {
				most, at = math.Abs(j[i][k]), i
			}
		}
		s := &setups[at]
		fmt.Printf("%d %.3f %s gpus %d tp %d pp %d zero %d seq %d m %d\n", k, most, s.Model.ID, s.GPUs, s.TP, s.PP, s.ZeRO, s.Seq, s.MicroBatches)
	}
	truth := map[string]float64{"gemm_efficiency": 0.62, "attention_forward_efficiency": 0.45, "attention_backward_efficiency": 0.45 * 0.42 / 0.55, "memory_efficiency": 0, "gather_efficiency": 0.6, "all_reduce_efficiency": 0.75, "all_to_all_efficiency": .525, "send_efficiency": .525, "dispatch_efficiency": 0.675, "inter_ring_efficiency": 0.6, "inter_all_to_all_efficiency": 0.8 * 0.6 / 0.85, "host_step_us": 15000}
	was, _ := presets.FiguresOf(setups[0].Cluster, setups[0].Stack)
	truth["memory_efficiency"] = was["memory_efficiency"].Value * 0.9
	real := func(s engine.Setup) float64 {
		var err error
		if s.Cluster, err = presets.WithFigures(s.Cluster, s.Stack, truth); err != nil {
			t.Fatal(err)
		}
		return float64(e.Evaluate(s).Time.Step)
	}
	var f *measured.Fit
	for _, n := range []int{12, 16, 24, 32} {
	chosen := calibrate.Spread(j, nil, n)
	for seed := range uint64(4) {
	random := rand.New(rand.NewPCG(seed, 2))
	var runs []measured.Run
	for _, i := range chosen {
		s := setups[i]
		runs = append(runs, measured.Run{Name: fmt.Sprint(i), Setup: s, Seconds: real(s) * math.Exp(0.02*random.NormFloat64())})
	}
	f, err = measured.Do(e, runs, func(s *engine.Setup) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Constants {
		if c.Fitted { fmt.Printf("%s %+.1f%% (%.1f) ", c.ID, 100*(c.After/truth[c.Keys[0]]-1), 100*c.Error/c.After) } else { fmt.Printf("%s: %.18s ", c.ID, c.Why) }
	}
	fmt.Println(len(chosen), f.Before, f.After, f.LeftOut)
	}
	}
	text, err := f.Preset(lib, "ours", "a test")
	fmt.Println(string(text), err)
	fitted, err := presets.WithFitted("ours.toml", text, lib)
	if err != nil {
		t.Fatal(err)
	}
	before, after := 0.0, 0.0
	for i := range setups {
		s := setups[i]
		want := real(s)
		before += math.Abs(float64(e.Evaluate(s).Time.Step)/want-1)
		s.Cluster = fitted.Calibrate(s.Cluster)
		after += math.Abs(float64(e.Evaluate(s).Time.Step)/want-1)
	}
	fmt.Println(before/float64(len(setups)), after/float64(len(setups)))
}
