package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

// zeroBubble are the rows of the Zero Bubble paper as setups; the schedules
// that this build does not know are left out. The vocabulary is not printed:
// 50,304 (GPT-2's, padded) is assumed.
func zeroBubble(t testing.TB) []run {
	t.Helper()
	cluster, err := presets.Default().Cluster("selene")
	if err != nil {
		t.Fatal(err)
	}
	base, err := presets.Default().Model("megatron-7.5b")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]schedule.Kind{
		"1F1B": schedule.OneFOneB, "1F1B-I": schedule.Interleaved,
		"ZB-1p": "zb-1p", "ZB-2p": "zb-2p",
	}
	var runs []run
	for _, row := range validationRows(t, "zero_bubble.csv") {
		if row["measured_metric"] != "throughput" {
			continue
		}
		word, _, _ := strings.Cut(row["system"], ",")
		model := base
		model.ID, model.Layers, model.Hidden = row["id"], *integer(row, "layers"), *integer(row, "hidden")
		model.Heads, model.KVHeads, model.FFN = *integer(row, "heads"), *integer(row, "heads"),
			4**integer(row, "hidden")
		model.HeadDim, model.Vocab, model.MaxSeq = model.Hidden/model.Heads, 50304, 1024
		pp := *integer(row, "pp")
		d := knob.DraftOf(model, cluster, knob.Given{
			knob.GPUs: *integer(row, "n_gpus"), knob.PP: pp, knob.MBS: *integer(row, "micro_batch_size"),
			knob.MicroBatches: *integer(row, "num_microbatches"), knob.Seq: 1024,
			knob.Calibration: recipe.Megatron2022, knob.Schedule: words[word], knob.Precision: recipe.FP16,
			knob.ZeRO: 0, knob.Attention: recipe.Standard,
		})
		stages := pp
		if words[word] == schedule.Interleaved {
			stages = model.Layers + 2
			d.With(knob.Given{knob.VPP: stages / pp})
		}
		d.With(knob.Given{knob.Split: thinEnds(model.Layers, stages)})
		s, err := d.Resolve()
		if err != nil || !engine.Legal(s) {
			t.Logf("    left out: %s", row["id"])
			continue
		}
		out := run{
			id: row["id"], group: "zero-bubble", row: row, setup: s,
			family: strings.Split(row["id"], "-")[1],
		}
		out.step = float64(s.GBS) / cell(row, "measured_value") / float64(s.GPUs)
		runs = append(runs, out)
	}
	return runs
}

// thinEnds gives the first and the last stage one layer less.
func thinEnds(layers, stages int) string {
	each := (layers + 2) / stages
	parts := make([]string, stages)
	for i := range parts {
		n := each
		if i == 0 || i == stages-1 {
			n--
		}
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ",")
}

func TestAccuracyZeroBubble(t *testing.T) {
	runs := zeroBubble(t)
	var e engine.Evaluator
	type point struct{ predicted, measured float64 }
	base := map[string]point{}
	for _, r := range runs {
		if r.setup.Schedule == schedule.OneFOneB {
			base[fmt.Sprint(r.family, r.setup.MicroBatches)] = point{predict(&e, r.setup), r.step}
		}
	}
	gaps := map[schedule.Kind][]float64{}
	for _, r := range runs {
		b, ok := base[fmt.Sprint(r.family, r.setup.MicroBatches)]
		if !ok || r.setup.Schedule == schedule.OneFOneB {
			continue
		}
		predicted, measured := b.predicted/predict(&e, r.setup)-1, b.measured/r.step-1
		gaps[r.setup.Schedule] = append(gaps[r.setup.Schedule], predicted-measured)
		t.Logf("    %-24s gain measured %+5.1f predicted %+5.1f points", r.id, 100*measured, 100*predicted)
	}
	var all []float64
	for kind, g := range gaps {
		t.Logf("5 Zero Bubble %-12s n %2d  mean error of the gain %4.1f points", kind, len(g),
			100*scoreOf(g).mean)
		all = append(all, g...)
	}
	t.Logf("5 Zero Bubble, all schedules        n %2d  mean error of the gain %4.1f points; vocabulary of "+
		"50,304 assumed", len(all), 100*scoreOf(all).mean)
	for kind, g := range gaps {
		limit(t, string(kind), scoreOf(g).mean, 0.04)
	}
}
