package engine_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

// run is one published run as a setup, with its measured step time.
type run struct {
	id, group string
	row       map[string]string
	setup     engine.Setup
	step      float64 // seconds, measured
	stated    bool    // recomputation is stated
	complete  bool    // so is every degree
	family    string  // what is left out together when a group is held out
}

// sharedRows reads a CSV of the shared folder, or skips the test.
func validationRows(t testing.TB, name string) []map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "shared", "validation", name))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("MESHSCOPE_REQUIRE_SHARED") != "1" {
		t.Skipf("no shared folder: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]map[string]string, 0, len(lines))
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, key := range lines[0] {
			row[key] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func integer(row map[string]string, key string) *int {
	v, err := strconv.ParseFloat(row[key], 64)
	if err != nil {
		return nil
	}
	return ptr(int(v))
}

func cell(row map[string]string, key string) float64 {
	v, err := strconv.ParseFloat(row[key], 64)
	if err != nil {
		return 0
	}
	return v
}

// machineOf is the cluster that a published run was measured on: that of the
// paper, else the typical node of the GPU.
func machineOf(group, gpu string) string {
	switch {
	case strings.HasPrefix(group, "sc21"), strings.HasPrefix(group, "korthikanti"),
		strings.HasPrefix(group, "megascale"), group == "mt-nlg":
		return "selene"
	case strings.HasPrefix(group, "bloom"):
		return "jean-zay-a100"
	case strings.HasPrefix(group, "simumax-b200"):
		return "b200-8x-simumax"
	case group == "llm-foundry" && strings.HasPrefix(gpu, "a100"):
		return "llmfoundry-a100-roce"
	case group == "llama3-405b":
		return "meta-roce-24k"
	case group == "deepseek-v3":
		return "deepseek-h800"
	case group == "uci-4xa100", strings.HasPrefix(group, "simumax-a100"):
		return "a100-pcie-8x"
	}
	return ""
}

// publishedRun turns a row of published-runs.csv into a setup; the error says
// what is missing.
func publishedRun(row map[string]string) (run, error) {
	out := run{id: row["id"], group: row["group"], row: row, family: row["model"]}
	lib := presets.Default()
	model, err := lib.Model(row["model_id"])
	if row["model_id"] == "" && strings.HasPrefix(row["group"], "bloom-sweep") {
		model, err = lib.Model("bloom-176b")
		model.Heads, model.KVHeads = 64, 64 // where the note has no others, see presets/published
		if row["n_gpus"] == "8" {           // its table says 2048, the heading 512
			row["gbs_sequences"] = "512"
		}
		for _, part := range strings.Split(row["note"], ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(part), " ")
			n, bad := strconv.Atoi(value)
			switch {
			case bad != nil:
			case key == "hidden":
				model.Hidden, model.FFN = n, 4*n
			case key == "heads":
				model.Heads, model.KVHeads = n, n
			}
		}
		model.HeadDim = model.Hidden / model.Heads
	}
	if err != nil {
		return out, err
	}
	for _, part := range strings.Split(row["set"], ";") {
		key, value, ok := strings.Cut(part, "=")
		n, bad := strconv.Atoi(value)
		if !ok || bad != nil {
			continue
		}
		switch key {
		case "model.layers":
			model.Layers = n
		case "model.kv_heads":
			model.KVHeads = n
		case "model.first_k_dense_layers":
			model.FirstDense = n
		default:
			return out, fmt.Errorf("unknown change %s", key)
		}
	}
	if seq := integer(row, "seq_len"); seq != nil && strings.HasPrefix(row["model_id"], "mpt-") {
		model.MaxSeq = max(model.MaxSeq, *seq) // the position table, or ALiBi, goes with the run
	}
	cluster, err := lib.GPU(row["gpu_id"])
	if err != nil {
		return out, err
	}
	machine := lib.NodeOf(cluster)
	if id := machineOf(row["group"], row["gpu_id"]); id != "" {
		if machine, err = lib.Cluster(id); err != nil {
			return out, err
		}
		if machine.GPU.ID != row["gpu_id"] {
			machine = lib.NodeOf(cluster) // the other half of a table of two GPUs
		}
	}
	d := knob.DraftOf(model, machine, given(knob.Given{
		knob.GPUs: integer(row, "n_gpus"), knob.TP: integer(row, "tp"), knob.PP: integer(row, "pp"),
		knob.VPP: integer(row, "vpp"),
		knob.CP:  integer(row, "cp"), knob.EP: integer(row, "ep"), knob.MBS: integer(row, "mbs"),
		knob.GBS: integer(row, "gbs_sequences"), knob.Seq: integer(row, "seq_len"),
	}))
	out.complete = d.Has(knob.GPUs) && d.Has(knob.TP) && d.Has(knob.PP) && d.Has(knob.GBS) && d.Has(knob.Seq)
	if !out.complete {
		return out, errors.New("the layout is not stated")
	}
	if pp := integer(row, "pp"); !d.Has(knob.MBS) && row["calibration"] == "torchtitan" && *pp > 1 {
		d.With(knob.Given{knob.MicroBatches: *pp}) // its default: as many micro-batches as ranks
		if dp := integer(row, "dp"); dp != nil {
			d.With(knob.Given{knob.MBS: max(1, *integer(row, "gbs_sequences") / *dp / *pp)})
		}
	}
	if v := integer(row, "vpp"); v != nil && *v**integer(row, "pp") == model.Layers+2 {
		// embedding and head count as layers
		d.With(knob.Given{knob.Split: thinEnds(model.Layers, model.Layers+2)})
	}
	out.recipe(&d, row)
	if out.setup, err = d.Resolve(); err != nil {
		return out, err
	}
	out.asTyped()
	if out.setup.Schedule == schedule.Interleaved && out.setup.MicroBatches%out.setup.PP != 0 {
		out.setup.Schedule, out.setup.VPP = schedule.OneFOneB, 1
	}
	out.step = measuredStep(row, &out.setup)
	if out.step <= 0 {
		return out, errors.New("no time is stated")
	}
	if !engine.Legal(out.setup) {
		return out, fmt.Errorf("illegal: %s", engine.Check(out.setup)[0].Message)
	}
	return out, nil
}

// recipe takes over precision, recomputation, sharding and stack.
func (r *run) recipe(d *knob.Draft, row map[string]string) {
	stack := recipe.Stack(row["calibration"])
	switch {
	case row["group"] == "llm-foundry": // the file speaks of FSDP alone
		stack = recipe.LLMFoundry
	case stack == "":
		stack = recipe.DefaultStack
	}
	d.With(knob.Given{knob.Calibration: stack})
	old := stack == recipe.Megatron2021 || stack == recipe.Megatron2022
	if old {
		d.With(knob.Given{knob.Attention: recipe.Standard})
		d.With(knob.Given{knob.SP: strings.Contains(row["recompute"], "sequence parallel")})
	}
	switch word := strings.ToLower(row["precision"]); {
	case strings.Contains(word, "fp8"), strings.Contains(word, "float8"), strings.Contains(word, "nvfp4"):
		d.With(knob.Given{knob.Precision: recipe.FP8})
	case word == "fp16":
		d.With(knob.Given{knob.Precision: recipe.FP16})
	default:
		d.With(knob.Given{knob.Precision: recipe.BF16})
	}
	if strings.HasPrefix(row["group"], "mbridge") || strings.Contains(row["precision"], "PURE") {
		// grad_reduce_in_fp32 is off in all of its performance recipes; PURE is FSDP in 16 bits
		d.With(knob.Given{knob.GradDtype: recipe.GradBF16})
	}
	r.stated = true
	mode := recipe.RecomputeNone
	switch word := row["recompute"]; {
	case word == "full":
		mode = recipe.RecomputeFull
	case strings.HasPrefix(word, "selective"):
		mode = recipe.RecomputeSelective
	case word == "select", word == "none", strings.Contains(word, "SwiGLU"):
	default:
		r.stated = false
	}
	d.With(knob.Given{knob.Recompute: recipe.Recompute{Mode: mode}})
	zero := 1
	switch word := strings.ToLower(row["sharding"]); {
	case strings.HasPrefix(word, "not stated"):
	case strings.Contains(word, "zero2"), strings.Contains(word, "shard-grad"):
		zero = 2
	case strings.Contains(word, "zero3"), strings.Contains(word, "fsdp"):
		zero = 3
	case strings.HasPrefix(word, "none"), strings.Contains(word, "zero0"):
		zero = 0
	}
	d.With(knob.Given{knob.ZeRO: zero})
}

// measuredStep is the step time that a row states or implies.
func measuredStep(row map[string]string, s *engine.Setup) float64 {
	if v := cell(row, "step_time_s"); v > 0 {
		return v
	}
	for _, key := range []string{"tokens_per_s_per_gpu", "derived_tokens_per_s_per_gpu"} {
		if v := cell(row, key); v > 0 {
			return s.Tokens() / v / float64(s.GPUs)
		}
	}
	return cell(row, "derived_step_time_s")
}

// publishedRuns are the rows that can be evaluated; skipped counts the others
// by reason.
func publishedRuns(t testing.TB) (runs []run, skipped map[string]int) {
	t.Helper()
	skipped = map[string]int{}
	for _, row := range validationRows(t, "published-runs.csv") {
		if row["mode"] == "memory model" || row["mode"] == "layer microbenchmark" || row["mode"] == "lora" ||
			row["mode"] == "sft" || row["status"] != "ok" {
			continue
		}
		correct(row)
		r, err := publishedRun(row)
		if err != nil {
			skipped[row["group"]+": "+err.Error()]++
			continue
		}
		runs = append(runs, r)
	}
	return runs, skipped
}

// sweepRun turns a row of playbook-sweep.csv into a setup of its own era.
func sweepRun(t testing.TB, row map[string]string) run {
	t.Helper()
	lib := presets.Default()
	model, err := lib.Model("playbook-" + strings.ToLower(row["model"]))
	if err != nil {
		t.Fatal(err)
	}
	model.KVHeads, model.Vocab = *integer(row, "kv_heads"), *integer(row, "vocab")
	id := "hf-p5-playbook"
	if row["era"] == "early" {
		id += "-early"
	}
	cluster, err := lib.Cluster(id)
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(model, cluster, given(knob.Given{
		knob.GPUs: integer(row, "gpus"), knob.TP: integer(row, "tp"), knob.PP: integer(row, "pp"),
		knob.MBS: integer(row, "mbs"), knob.MicroBatches: integer(row, "gas"), knob.Seq: 4096,
		knob.ZeRO: integer(row, "zero"), knob.Calibration: recipe.Nanotron,
	}))
	s, err := d.Resolve()
	if err != nil {
		t.Fatalf("%v: %v", row["job_id"], err)
	}
	out := run{
		id: row["job_id"], group: row["model"] + "/" + row["nodes"] + "/" + row["era"], row: row,
		setup: s, family: row["model"], stated: true, complete: true,
	}
	if v := cell(row, "tok_s_gpu"); v > 0 {
		out.step = s.Tokens() / v / float64(s.GPUs)
	}
	return out
}

// simumaxA100 are the A100-PCIe rows: TFLOP/s of full-attention model FLOPs.
func simumaxA100(t testing.TB) []run {
	t.Helper()
	var runs []run
	lib := presets.Default()
	for _, row := range validationRows(t, "simumax_a100_pcie.csv") {
		if row["measured_metric"] != "achieved_tflops_per_gpu" {
			continue
		}
		id := map[string]string{
			"llama3 70b": "llama3-70b", "llama3 8b": "llama3-8b",
			"ds 236b": "deepseek-v2",
		}[strings.Split(row["model"], " reduced")[0]]
		model, err := lib.Model(id)
		if err != nil {
			t.Fatal(err)
		}
		model.Layers = *integer(row, "layers")
		cluster, err := lib.Cluster("a100-pcie-8x")
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(model, cluster, given(knob.Given{
			knob.GPUs: integer(row, "n_gpus"), knob.TP: integer(row, "tp"), knob.PP: integer(row, "pp"),
			knob.EP:  integer(row, "ep"),
			knob.MBS: integer(row, "micro_batch_size"), knob.MicroBatches: integer(row, "num_microbatches"),
			knob.Seq: integer(row, "seq"), knob.ZeRO: integer(row, "zero"),
			knob.Calibration: recipe.MegatronCore, knob.MFU: recipe.MFUFull, knob.Loss: recipe.FusedLoss,
		}))
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		flops := float64(model.TrainingFLOPs(s.Seq, false, false))
		out := run{
			id: row["id"], group: "simumax-a100-pcie", row: row, setup: s, family: id, stated: true,
			complete: true,
		}
		out.step = s.Tokens() * flops / (cell(row, "measured_value") * 1e12 * float64(s.GPUs))
		runs = append(runs, out)
	}
	return runs
}

func skippedRuns(t testing.TB) map[string]int {
	_, skipped := publishedRuns(t)
	return skipped
}
