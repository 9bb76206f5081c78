package curves_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine_test/shared"
	"meshscope/presets"
	"meshscope/presets/curves"
)

func all(t *testing.T) map[string]*curves.Curve {
	t.Helper()
	list, err := curves.All(&engine.Evaluator{SkipTimeline: true}, presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*curves.Curve{}
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	return out
}

// worst are the largest errors of curves whose network and layouts are known; of the others
// something is assumed, or left out on purpose, and their notes say so.
func worst() map[string]float64 {
	return map[string]float64{
		"dp-1b": 0.14, "zero1-1b": 0.05, "zero1-1b-memory": 0.1, "tp-8b": 0.2, "pp-8b": 0.15,
		"bandwidth-early": 0.42, "bandwidth-late": 0.25,
	}
}

// TestPredictions holds that every point is predicted, and those of known layouts well.
func TestPredictions(t *testing.T) {
	t.Parallel()
	all := all(t)
	for id, bound := range worst() {
		if c := all[id]; c == nil {
			t.Errorf("no curve %s", id)
		} else {
			for i := range c.Points {
				if p := &c.Points[i]; math.Abs(p.Error()) > bound {
					t.Errorf("%s at %d: %.4g measured, %.4g predicted: more than %.0f %% off", id, p.At,
						p.Measured, p.Predicted, 100*bound)
				}
			}
		}
	}
	for id, c := range all {
		for i := range c.Points {
			if p := &c.Points[i]; !(p.Predicted > 0) || math.IsInf(p.Predicted, 0) {
				t.Errorf("%s at %d: predicted %v", id, p.At, p.Predicted)
			}
		}
	}
}

// TestBubbleIsNotAll holds what the two curves of the pipeline are there to show: more is
// lost than the bubble predicts, most where the pipeline crosses nodes.
func TestBubbleIsNotAll(t *testing.T) {
	t.Parallel()
	all := all(t)
	few, many := all["pp-few"].Points, all["pp-many"].Points
	for _, p := range few[1:] {
		if p.Predicted != few[0].Measured { // m = p-1: half of the step is bubble, whatever p is
			t.Errorf("m = p-1 at %d: %v", p.At, p.Predicted)
		}
	}
	if got, want := many[1].Predicted/many[0].Predicted, 33.0/35; math.Abs(got-want) > 1e-12 {
		t.Errorf("32 micro-batches from PP 2 to 4: %v, want %v", got, want)
	}
	if e := many[len(many)-1].Error(); e < 1 {
		t.Errorf("at PP 32 the bubble alone is only %.0f %% too fast", 100*e)
	}
}

// TestAsPublished compares every typed value with the reference material.
func TestAsPublished(t *testing.T) {
	t.Parallel()
	all, seen := all(t), map[string]int{}
	check := func(id, at, value string, of func(*curves.Point) float64) {
		for i := range all[id].Points {
			p := &all[id].Points[i]
			if v, err := strconv.ParseFloat(value, 64); strconv.Itoa(p.At) == at &&
				(err != nil || of(p) != v) {
				t.Errorf("%s at %s: typed %v, published %s", id, at, of(p), value)
			} else if strconv.Itoa(p.At) == at {
				seen[id]++
			}
		}
	}
	measured := func(p *curves.Point) float64 { return p.Measured }
	figures := map[string]string{
		"dp_scaling": "dp-1b", "tp_scaling": "tp-3b", "tp_sp_scaling_source_comment": "tp-sp-3b",
		"pp_1f1b_scaling (m = p-1)": "pp-few", "pp_1f1b_scaling (m = 32)": "pp-many",
	}
	for _, r := range shared.CSV(t, "playbook", "scaling-curves.csv") {
		if id := figures[r["figure"]]; id != "" {
			check(id, r["value"], r["tok_s_gpu"], measured)
		}
		if id := map[string]string{
			"tp_scaling":    "tp-3b-batch",
			"tp_sp_scaling": "tp-sp-3b-batch",
		}[r["figure"]]; id != "" {
			check(id, r["value"], r["max_batch_size"], measured)
		}
	}
	for _, r := range shared.CSV(t, "playbook", "allreduce-bandwidth.csv") {
		if id := "bandwidth-" + strings.ReplaceAll(r["collective"], "_", "-"); all[id] != nil {
			check(id, r["nodes"], r["figure_line_gb_s"], measured)
			check(id, r["nodes"], r["figure_p5_gb_s"], func(p *curves.Point) float64 { return p.Low })
			check(id, r["nodes"], r["figure_p95_gb_s"], func(p *curves.Point) float64 { return p.High })
		}
	}
	for _, r := range shared.CSV(t, "playbook", "bandwidth-eras.csv") {
		if r["collective"] == "all_reduce" {
			check("bandwidth-"+r["era"], r["nodes"], r["median_gb_s"], measured)
		}
	}
	for id, c := range all {
		if seen[id] >= len(c.Points) {
			continue
		}
		ran := map[string]bool{} // the sweep's runs of the curve's machine and size
		for _, r := range shared.CSV(t, "validation", "playbook-sweep.csv") {
			ran[r["gpus"]+" "+r["tp"]+" "+r["pp"]+" "+r["mbs"]+" "+r["tok_s_gpu"]] = true
			ran[r["gpus"]+" "+r["tp"]+" "+r["pp"]+" "+r["mbs"]+" "+r["mem_reserved_gib"]] = true
		}
		for i := range c.Points {
			p := &c.Points[i]
			s := &p.Setup
			var key []string
			for _, n := range []int{s.GPUs, s.TP, s.PP, s.MBS} {
				key = append(key, strconv.Itoa(n))
			}
			key = append(key, strconv.FormatFloat(p.Measured, 'f', -1, 64))
			if !ran[strings.Join(key, " ")] {
				t.Errorf("%s at %d: no run %v in the sweep", id, p.At, key)
			}
		}
	}
}
