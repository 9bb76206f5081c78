package engine_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/shared"
	"meshscope/presets"
)

// publishedRows reads the rows of one group of the published runs.
func publishedRows(t *testing.T, group string) []shared.Row {
	t.Helper()
	var rows []shared.Row
	for _, row := range shared.CSV(t, "validation", "published-runs.csv") {
		if row["group"] == group {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no rows of group %s", group)
	}
	return rows
}

func count(t *testing.T, row map[string]string, key string, otherwise int) *int {
	t.Helper()
	if row[key] == "" {
		return &otherwise
	}
	n, err := strconv.Atoi(row[key])
	if err != nil {
		t.Fatalf("%s: %s is %q", row["id"], key, row[key])
	}
	return &n
}

// publishedDraft builds a setup from a published row: model with the row's changes,
// degrees, batch, sequence.
func publishedDraft(t *testing.T, row map[string]string) knob.Draft {
	t.Helper()
	library := presets.Default()
	m, err := library.Model(row["model_id"])
	if err != nil {
		t.Fatal(err)
	}
	changeModel(t, &m, row["set"])
	gpu, err := library.GPU(row["gpu_id"])
	if err != nil {
		t.Fatal(err)
	}
	cluster := library.NodeOf(gpu)
	return knob.DraftOf(m, cluster, knob.Given{
		knob.GPUs: *count(t, row, "n_gpus", 1),
		knob.TP:   *count(t, row, "tp", 1), knob.PP: *count(t, row, "pp", 1),
		knob.VPP: *count(t, row, "vpp", 1),
		knob.CP:  *count(t, row, "cp", 1), knob.EP: *count(t, row, "ep", 1),
		knob.MBS: *count(t, row, "mbs", 1), knob.GBS: *count(t, row, "gbs_sequences", 1),
		knob.Seq: *count(t, row, "seq_len", 1),
	})
}

func changeModel(t *testing.T, m *model.Model, changes string) {
	t.Helper()
	if changes == "" {
		return
	}
	for _, change := range strings.Split(changes, ";") {
		key, value, _ := strings.Cut(change, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("change %q", change)
		}
		switch key {
		case "model.layers":
			m.Layers = n
		case "model.kv_heads":
			m.KVHeads = n
		case "model.first_k_dense_layers":
			m.FirstDense = n
		default:
			t.Fatalf("change %q is not known here", change)
		}
	}
}

func evaluate(t *testing.T, d knob.Draft) engine.Report {
	t.Helper()
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatalf("illegal: %+v", r.Problems)
	}
	return r
}

// TestMegatronCoreAgainstB200 compares peak allocated memory with SimuMax's
// published measurements on B200 (MooreThreads/SimuMax at 4dcaae5, docs/b200).
func TestMegatronCoreAgainstB200(t *testing.T) {
	var sum, worst float64
	rows := publishedRows(t, "simumax-b200")
	for _, row := range rows {
		d := publishedDraft(t, row)
		d.With(knob.Given{knob.Loss: recipe.FusedLoss}) // the runs' names end in cef: cross-entropy fused
		r := evaluate(t, d)
		measured, err := strconv.ParseFloat(row["mem_per_gpu_GiB"], 64)
		if err != nil {
			t.Fatal(err)
		}
		peak := 0.0
		for _, rank := range r.Memory.Ranks {
			peak = max(peak, rank.Allocated.GiB())
		}
		e := peak/measured - 1
		t.Logf("%s  %-16s tp%s pp%s cp%s ep%s  measured %7.2f  predicted %7.2f  %+5.2f %%", row["id"],
			row["model_id"], row["tp"], row["pp"], row["cp"], row["ep"], measured, peak, 100*e)
		sum += math.Abs(e)
		worst = max(worst, math.Abs(e))
	}
	mean := sum / float64(len(rows))
	t.Logf("%d rows: mean error %.2f %%, worst %.2f %%", len(rows), 100*mean, 100*worst)
	if mean > 0.005 || worst > 0.015 {
		t.Errorf("mean %.4f (at most 0.005), worst %.4f (at most 0.015)", mean, worst)
	}
}

// TestTextbookAgainstKorthikanti compares with the figures behind Figure 1 of
// arXiv 2205.05198: layers alone, first pipeline stage.
func TestTextbookAgainstKorthikanti(t *testing.T) {
	for _, row := range publishedRows(t, "korthikanti-fig1") {
		d := publishedDraft(t, row)
		d.With(knob.Given{knob.Calibration: recipe.Textbook})
		d.With(knob.Given{knob.Precision: recipe.FP16})
		none := row["recompute"] == "none"
		d.With(knob.Given{knob.SP: !none})
		d.With(knob.Given{knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeSelective}})
		if none {
			d.With(knob.Given{knob.Recompute: recipe.RecomputeNone})
		}
		if *count(t, row, "vpp", 1) > 1 {
			d.With(knob.Given{knob.Schedule: schedule.Interleaved})
		}
		rank := evaluate(t, d).Memory.Ranks[0]
		var static, acts float64
		if _, err := scanMemory(row["mem_kind"], &static, &acts); err != nil {
			t.Fatal(err)
		}
		perParam := float64(rank.Weights+rank.Gradients+rank.Optimizer) / rank.Parameters
		gotStatic := units.Bytes(perParam * (rank.Parameters - rank.EmbeddingParameters)).GiB()
		gotActs := rank.Activations.GiB()
		t.Logf("%s  static %7.3f of %7.3f  activations %8.4f of %8.4f", row["id"], gotStatic, static, gotActs,
			acts)
		if math.Abs(gotStatic/static-1) > 0.005 {
			t.Errorf("%s: static %.4f GiB, published %.4f", row["id"], gotStatic, static)
		}
		if math.Abs(gotActs/acts-1) > 0.01 {
			t.Errorf("%s: activations %.4f GiB, published %.4f", row["id"], gotActs, acts)
		}
	}
}

// scanMemory reads "...: parameters+optimizer 45.56, activations 59.25".
func scanMemory(text string, static, acts *float64) (int, error) {
	_, after, _ := strings.Cut(text, "parameters+optimizer ")
	first, second, _ := strings.Cut(after, ", activations ")
	var err error
	if *static, err = strconv.ParseFloat(first, 64); err != nil {
		return 0, err
	}
	*acts, err = strconv.ParseFloat(second, 64)
	return 2, err
}
