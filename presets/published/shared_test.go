package published_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine_test/shared"
	"meshscope/presets"
	"meshscope/presets/published"
)

// source is one row of the reference material and the group that it belongs to.
type source struct {
	shared.Row
	group *published.Group
}

// whole returns an integer column; blank is 0.
func (s source) whole(key string) int {
	v, err := strconv.ParseFloat(s.Row[key], 64)
	if err != nil {
		return 0
	}
	return int(v)
}

// or returns a column, or what a blank one means.
func (s source) or(key string, blank int) string {
	if s.Row[key] == "" {
		return strconv.Itoa(blank)
	}
	return strconv.Itoa(s.whole(key))
}

func (s source) bridge() bool { return strings.HasPrefix(s.group.ID, "mbridge") }

// field is one thing that a row of the reference material states of a run: want reads it
// from the row, "" where the row does not state it; got reads it from the typed run, and
// alter changes it there.
type field struct {
	name  string
	want  func(source) string
	got   func(*published.Run) string
	alter func(*published.Run)
}

// close says that two texts are equal, or numbers that differ by rounding alone.
func (f *field) agrees(s source, r *published.Run) bool {
	want, got := f.want(s), f.got(r)
	if want == "" || want == got {
		return true
	}
	a, errA := strconv.ParseFloat(want, 64)
	b, errB := strconv.ParseFloat(got, 64)
	const digits = 1e-5 // of the figures of the sweep, which are typed with six digits
	return errA == nil && errB == nil && math.Abs(a-b) <= digits*math.Abs(a)
}

// number is a field that is a whole number on both sides.
func number(name string, want func(source) string, of func(*published.Run) *int) field {
	return field{
		name: name, want: want,
		got:   func(r *published.Run) string { return strconv.Itoa(*of(r)) },
		alter: func(r *published.Run) { *of(r) += 1 + *of(r) },
	}
}

// excepted are the cells that are typed otherwise on purpose: the printed table
// contradicts itself, and the recipe that ran says what was meant (see the note of the
// run).
func excepted() map[string][]string {
	return map[string][]string{
		// the table says 2048, its heading and the rates in it 512
		"bloom-sweep-038": {"micro-batches", "batch"}, "bloom-sweep-039": {"micro-batches", "batch"},

		"mbridge-25.09-004":    {"mbs", "micro-batches"},
		"mbridge-25.11-030":    {"mbs", "micro-batches"},
		"mbridge-26.02.01-003": {"mbs", "micro-batches", "vpp", "split", "schedule"},
		"mbridge-26.02.01-001": {"mbs", "micro-batches", "pp", "vpp", "dp", "split", "schedule"},
		// the recipe of H100 computes norms again, the table says nothing
		"mbridge-26.02.01-035": {"recompute"},
		"mbridge-26.04-035":    {"recompute"},
		"mbridge-26.04.01-039": {"recompute"},
		"mbridge-26.04.01-046": {"recompute"}, // of B200
		"mbridge-26.04-043":    {"recompute"},
	}
}

// rowsOf returns the rows that groups were typed from, by group and run.
func rowsOf(t *testing.T, list []published.Group) map[string]map[string]source {
	t.Helper()
	at := map[string]*published.Group{}
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	out := map[string]map[string]source{}
	add := func(group, id string, row shared.Row) {
		if at[group] == nil {
			t.Fatalf("no group %s", group)
		}
		if out[group] == nil {
			out[group] = map[string]source{}
		}
		if _, twice := out[group][id]; twice {
			t.Fatalf("%s %s is there twice", group, id)
		}
		out[group][id] = source{row, at[group]}
	}
	for _, row := range shared.CSV(t, "validation", "published-runs.csv") {
		if row["model"] == "Nemotron_3_Nano" { // of three releases, whose other runs decide other constants
			row["group"], row["model_id"] = "mbridge-nemotron3-nano", "nemotron3-nano-30b-a3b"
			if row["gpu_id"] == "h100-sxm" {
				row["group"] += "-h100"
			}
		}
		if row["model"] == "Nemotron_3_Super" {
			row["group"], row["model_id"] = "mbridge-nemotron3-super", "nemotron3-super-120b-a12b"
		}
		add(row["group"], row["id"], row)
	}
	for _, row := range shared.CSV(t, "validation", "playbook-sweep.csv") {
		if row = sweepRow(row); row != nil {
			add("playbook-sweep", row["id"], row)
		}
	}
	return out
}

// sweepRow gives a row of the sweep the columns of the other table; nil for one that
// does not count: a run that failed otherwise, or with a pipeline of older, slower code,
// or with more pipeline ranks than layers.
func sweepRow(row shared.Row) shared.Row {
	ran := row["status"] == "ok" && row["oom_logged"] == "false" &&
		(row["pp"] == "1" || row["after_pp_fix"] == "true")
	layers := source{Row: row}.whole("layers")
	if !ran && row["status"] != "oom" || (source{Row: row}).whole("pp") > layers {
		return nil
	}
	out := shared.Row{
		"model_id": "playbook-" + strings.ToLower(row["model"]), "gpu_id": "h100-sxm", "n_gpus": row["gpus"],
		"grad_accum":    row["gas"],
		"gbs_sequences": row["gbs_samples"], "seq_len": "4096", "sharding": "zero" + row["zero"],
		"precision": "bf16", "recompute": "none",
		"schedule": "1F1B", "calibration": "nanotron", "mem_kind": "max reserved", "era": row["era"],
		"status": "ok",
		"id":     sweepID(row["job_id"], row["model"], row["tp"], row["pp"], row["zero"], row["mbs"]),
	}
	for _, key := range []string{"tp", "pp", "dp", "mbs"} {
		out[key] = row[key]
	}
	if ran {
		out["tokens_per_s_per_gpu"], out["mem_per_gpu_GiB"] = row["tok_s_gpu"], row["mem_reserved_gib"]
	} else {
		out["status"] = "OOM"
	}
	return out
}

// sweepID names a run of the sweep: one job ran several layouts.
func sweepID(job string, parts ...string) string {
	return job + " " + strings.ToLower(strings.Join(parts, " "))
}

// rowID is what a run is called in rowsOf.
func rowID(group string, r *published.Run) string {
	if group != "playbook-sweep" {
		return r.ID
	}
	s := &r.Setup
	return sweepID(r.ID, strings.TrimPrefix(s.Model.ID, "playbook-"), strconv.Itoa(s.TP), strconv.Itoa(s.PP),
		strconv.Itoa(s.ZeRO), strconv.Itoa(s.MBS))
}

// compared returns the groups of the two tables, with their runs out of memory.
func compared(t *testing.T) []published.Group {
	t.Helper()
	list := slices.DeleteFunc(groups(t),
		func(g published.Group) bool { return g.ID == "simumax-a100-pcie" || g.ID == "zero-bubble" })
	for i := range list {
		failed, err := list[i].OutOfMemory(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		list[i].Runs = append(list[i].Runs, failed...)
	}
	return list
}

// TestTypedRunsAreTheirRows compares every typed run with its row of the reference
// material, field by field, and sees that every row is typed or left out with a reason.
func TestTypedRunsAreTheirRows(t *testing.T) {
	list := compared(t)
	rows, fields := rowsOf(t, list), fields()
	typed, left := 0, 0
	for i := range list {
		g := &list[i]
		missing := maps.Clone(rows[g.ID])
		for k := range g.Runs {
			r := &g.Runs[k]
			row, ok := missing[rowID(g.ID, r)]
			if !ok {
				t.Errorf("%s %s: no such row, or typed twice", g.ID, rowID(g.ID, r))
				continue
			}
			delete(missing, rowID(g.ID, r))
			typed++
			for n := range fields {
				f := &fields[n]
				if !f.agrees(row, r) && !slices.Contains(excepted()[r.ID], f.name) {
					t.Errorf("%s: %s is %s, the row says %s", r.ID, f.name, f.got(r), f.want(row))
				}
			}
		}
		for _, l := range g.LeftOut {
			for _, id := range l.Runs {
				if _, ok := missing[id]; !ok {
					t.Errorf("%s is left out, and is no row or typed", id)
				}
				delete(missing, id)
				left++
			}
		}
		for id := range missing {
			t.Errorf("%s %s is neither typed nor left out", g.ID, id)
		}
	}
	t.Logf("%d runs typed, %d rows left out with a reason", typed, left)
}

// TestEveryTypedFieldIsNoticed alters each field of every typed run in turn: the
// comparison above must see it wherever the row states the field.
func TestEveryTypedFieldIsNoticed(t *testing.T) {
	list := compared(t)
	rows := rowsOf(t, list)
	for _, f := range fields() {
		stated := 0
		for i := range list {
			for k := range list[i].Runs {
				r := list[i].Runs[k]
				row := rows[list[i].ID][rowID(list[i].ID, &r)]
				if f.want(row) == "" || slices.Contains(excepted()[r.ID], f.name) {
					continue
				}
				stated++
				f.alter(&r)
				if f.agrees(row, &r) {
					t.Errorf("%s: %s is now %s, and nothing noticed it", r.ID, f.name, f.got(&r))
				}
			}
		}
		t.Logf("%-22s stated by %4d rows", f.name, stated)
		if stated == 0 {
			t.Errorf("%s: no row states it", f.name)
		}
	}
}

// modelOf returns the model that a row ran: its preset with the row's changes.
func modelOf(s source) model.Model {
	id := s.Row["model_id"]
	if s.group.ID == "bloom-sweep" {
		id = "bloom-176b"
	}
	m, err := presets.Default().Model(id)
	if err != nil {
		return model.Model{}
	}
	for part := range strings.SplitSeq(s.Row["set"], ";") {
		key, value, _ := strings.Cut(part, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "model.layers":
			m.Layers = n
		case "model.kv_heads":
			m.KVHeads = n
		case "model.vocab":
			m.Vocab = n
		case "model.first_k_dense_layers":
			m.FirstDense = n
		}
	}
	if n := s.whole("layers_run"); n > 0 {
		m.Layers = n
	}
	if s.group.ID == "bloom-sweep" {
		m.Heads, m.KVHeads = 64, 64 // "all NHEADS=64 (above too)", its line 680; the note has others
		for _, found := range regexp.MustCompile(`(hidden|heads) (\d+)`).FindAllStringSubmatch(s.Row["note"],
			-1) {
			n, _ := strconv.Atoi(found[2])
			if found[1] == "hidden" {
				m.Hidden, m.FFN = n, 4*n
			} else {
				m.Heads, m.KVHeads = n, n
			}
		}
		m.HeadDim = m.Hidden / m.Heads
	}
	if strings.HasPrefix(id, "mpt-") {
		m.MaxSeq = max(m.MaxSeq, s.whole("seq_len"))
	}
	return m
}

// splitOf returns the layers of each stage: even, or, where Megatron-Core could not
// divide them otherwise, with embedding and loss counted as a layer each.
func splitOf(s source) string {
	layers, stages := modelOf(s).Layers, max(1, s.whole("pp"))*max(1, s.whole("vpp"))
	if s.Row["calibration"] != "megatron-core" || layers%stages == 0 || (layers+2)%stages != 0 {
		return layout.BalancedSplit(layers, stages)
	}
	each := (layers + 2) / stages
	parts := slices.Repeat([]string{strconv.Itoa(each)}, stages)
	parts[0], parts[stages-1] = strconv.Itoa(each-1), strconv.Itoa(each-1)
	return strings.Join(parts, ",")
}

// machineOf returns the cluster that a row ran on: that of its paper, else the typical
// node of its GPU.
func machineOf(s source) string {
	id, gpu := s.group.ID, s.Row["gpu_id"]
	switch {
	case strings.HasPrefix(id, "sc21"), strings.HasPrefix(id, "korthikanti"), id == "megascale",
		id == "mt-nlg":
		return "selene"
	case strings.HasPrefix(id, "bloom"):
		return "jean-zay-a100"
	case id == "simumax-b200":
		return "b200-8x-simumax"
	case id == "llm-foundry" && gpu == "a100-sxm-80g":
		return "llmfoundry-a100-roce"
	case id == "deepseek-v3":
		return "deepseek-h800"
	case id == "uci-4xa100":
		return "a100-pcie-8x"
	case id == "playbook-sweep" && s.Row["era"] == "early":
		return "hf-p5-playbook-early"
	case id == "playbook-sweep":
		return "hf-p5-playbook"
	case id == "playbook-best":
		return "" // see TestPlaybookBestNetworks
	}
	return "node-of-" + gpu
}

// TestPlaybookBestNetworks compares the network of each best run with that of the sweep's
// run of the same job, or of the nearest job on as many GPUs.
func TestPlaybookBestNetworks(t *testing.T) {
	sweep := shared.CSV(t, "validation", "playbook-sweep.csv")
	job := regexp.MustCompile(`job (\d+)`)
	for _, g := range groups(t) {
		if g.ID != "playbook-best" {
			continue
		}
		for i := range g.Runs {
			r := &g.Runs[i]
			id, err := strconv.Atoi(job.FindStringSubmatch(r.Source)[1])
			if err != nil {
				t.Fatal(err)
			}
			far, era := math.MaxInt, ""
			for _, row := range sweep {
				s := source{Row: row}
				if away := max(id-s.whole("job_id"), s.whole("job_id")-id); s.whole("gpus") == r.Setup.GPUs &&
					away < far {
					far, era = away, row["era"]
				}
			}
			want := map[string]string{"early": "hf-p5-playbook-early", "late": "hf-p5-playbook"}[era]
			if r.ID == "playbook-best-014" { // the nearest job is 5,451 numbers away
				want = "hf-p5-playbook-early"
			}
			if r.Setup.Cluster.ID != want || far > 0 && !strings.Contains(r.Note, "network") &&
				!strings.Contains(r.Note, "all-reduce") {
				t.Errorf("%s ran on %s, want %s; note %q", r.ID, r.Setup.Cluster.ID, want, r.Note)
			}
		}
	}
}

func text(v float64) string { return fmt.Sprintf("%.9g", v) }
