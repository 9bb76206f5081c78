package engine_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// described returns setups that together use what the engine models: every stack, dense models
// and mixtures of experts, every dimension, recompute, precision and a whole run.
func described(t *testing.T) []engine.Setup {
	t.Helper()
	var out []engine.Setup
	for _, text := range []string{
		`{"model":"llama3.1-70b","gpus":64,"tp":8,"pp":2,"gbs":512,"recompute":"selective","tokens":"15T","price":2,"power":700}`,
		`{"model":"llama3.1-70b","gpus":64,"tp":4,"pp":4,"vpp":2,"cp":2,"gbs":64,"seq":32768,"recompute":"full:2","zero":2}`,
		`{"model":"deepseek-v3","gpus":256,"cluster":"dgx-h100","tp":2,"pp":8,"ep":16,"etp":1,"gbs":512,"seq":4096,"precision":"fp8:deepseek","recompute":"modules:norm,mla-up,moe-act","mtp":true,"schedule":"dualpipe","imbalance":120}`,
		`{"model":"mixtral-8x22b","gpus":64,"tp":4,"pp":2,"ep":8,"etp":2,"gbs":128,"schedule":"zb-h1","dispatcher":"deepep"}`,
		`{"model":"mixtral-8x7b","gpus":32,"tp":2,"pp":2,"ep":4,"gbs":128,"zero":3,"hsdp":2,"calibration":"torchtitan"}`,
		`{"model":"llama3.1-8b","gpus":16,"tp":2,"pp":2,"gbs":64,"calibration":"textbook","attention":"standard","recompute":"selective"}`,
		`{"model":"gpt3-175b","gpus":64,"tp":8,"pp":8,"gbs":64,"calibration":"megatron-2022","recompute":"selective"}`,
		`{"model":"gpt3-175b","gpus":64,"tp":8,"pp":8,"gbs":64,"calibration":"megatron-2021","recompute":"full"}`,
		`{"model":"llama3.1-8b","gpus":16,"tp":2,"pp":2,"gbs":64,"calibration":"nanotron","zero":1}`,
		`{"model":"llama3.1-8b","gpus":16,"gbs":64,"calibration":"llm-foundry","zero":3}`,
		`{"model":"llama3.1-70b","gpus":64,"tp":8,"pp":2,"gbs":64,"offload":"optimizer","grad_dtype":"bf16","schedule":"afab"}`,
		`{"model":"llama3.1-70b","gpus":64,"tp":16,"gbs":64,"seq":4096,"sp":false,"precision":"fp8:te"}`,
		`{"model":"llama3.1-8b","gpus":16,"tp":2,"gbs":64,"calibration":"torchtitan","recompute":"selective"}`,
		`{"model":"deepseek-v3","gpus":256,"tp":2,"ep":16,"gbs":512,"calibration":"torchtitan","recompute":"selective"}`,
		`{"model":"deepseek-v3","gpus":256,"tp":2,"pp":8,"ep":16,"gbs":512,"seq":4096,"recompute":"modules:mlp,moe"}`,
		`{"model":"qwen3-next-80b-a3b","gpus":64,"tp":2,"pp":2,"cp":2,"ep":8,"gbs":64}`,
		`{"model":"nemotron3-nano-30b-a3b","gpus":16,"tp":2,"cp":2,"ep":4,"gbs":64}`,
		`{"model":"granite-4.0-h-tiny","gpus":8,"ep":4,"cp":2,"gbs":64}`,
		`{"model":"qwen3.5-27b","gpus":8,"tp":2,"gbs":64}`,
		`{"model":"nemotron-nano-9b-v2","gpus":8,"tp":2,"gbs":64}`,
		`{"model":"minimax-m1","gpus":64,"tp":2,"cp":2,"ep":8,"gbs":64}`,
		`{"model":"kimi-linear-48b-a3b","gpus":64,"tp":2,"pp":2,"cp":2,"ep":8,"gbs":64}`,
		`{"model":"lfm2-8b-a1b","gpus":16,"tp":2,"cp":2,"ep":4,"gbs":64}`,
		`{"model":"glm-5.2","gpus":256,"tp":2,"pp":2,"cp":2,"ep":16,"gbs":256}`,
		`{"model":"deepseek-v4-flash","gpus":64,"tp":2,"pp":2,"cp":2,"ep":8,"gbs":64}`,
		`{"model":"jamba-v0.1","gpus":16,"ep":4,"gbs":64}`,
		`{"model":"falcon-h1-0.5b","gpus":8,"gbs":64}`,
		`{"model":"zamba2-1.2b","gpus":8,"pp":2,"gbs":64}`,
		`{"model":"gpt-oss-120b","cluster":"dgx-b200","gpus":32,"ep":8,"gbs":256,"precision":"nvfp4"}`,
		`{"model":"llama3.1-8b","gpus":8,"cp":8,"gbs":64,"cp_comm":"a2a"}`,
	} {
		doc, err := setupdoc.Parse("", []byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		s, err := doc.Setup(presets.Default())
		if err != nil {
			t.Fatal(text, err)
		}
		if !engine.Legal(s) {
			t.Fatalf("%s\n%+v", text, engine.Check(s))
		}
		out = append(out, s)
	}
	return out
}

// law is a formula with the figures that it gives: a matrix product stands in many layers.
type law struct {
	id, symbol    string
	figures       []string // their names
	forms         []string // the right sides, one for each way to compute them
	source, omits string
}

// mixerIDs are the IDs of kinds of mixers.
const mixerIDs = "sliding|lightning|kimi|conv|sparse|reselected|near|far|beside|block|mamba1|full|delta|" +
	"mamba2"

var (
	ordinal = regexp.MustCompile(`\b(rank|stage|chunk)([ _])\d+`)
	numeral = regexp.MustCompile(`\.\d+`)
	braces  = regexp.MustCompile(`\{[^}]*\}`)
	kinds   = regexp.MustCompile(
		`^(layer|recompute)\.(?:(?:[a-z0-9]+_)?(?:dense|moe|hash)|` + mixerIDs + `)\b`,
	)
	mixers = regexp.MustCompile(
		`^layer\.(?:` + mixerIDs + `|none)\.(attention|cp-hop|cp-attention-[a-z]+-heads)\b`,
	)
	ops  = regexp.MustCompile(`^layer\.kind\.[a-z-]+\.(parameters|flops|saved|time)$`)
	kind = regexp.MustCompile(
		`(?:(?:` + mixerIDs + `)_)?(?:dense|moe|hash|MoE) layer|(?:` + mixerIDs + `) layer`,
	)
	joined = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)+`)
)

// general returns a text without the number of its rank or stage.
func general(s string) string {
	s = kind.ReplaceAllString(s, "layer")
	s = strings.NewReplacer("EXPERT-DP", "expert DP", "MIRROR", "mirror").Replace(s)
	return ordinal.ReplaceAllString(s, "$1${2}i")
}

// generalID returns the identifier of a figure without the number of its rank or stage and the
// kind of its layer.
func generalID(id string) string {
	id = numeral.ReplaceAllString(id, ".i")
	id = kinds.ReplaceAllString(mixers.ReplaceAllString(id, "layer.$1"), "$1.kind")
	id = strings.ReplaceAll(ops.ReplaceAllString(id, "layer.kind.operation.$1"), "data.i.expert.",
		"data.i.dense.")
	if dimension, ok := strings.CutPrefix(id, "communication."); ok && !strings.HasPrefix(dimension, "pp.") {
		_, of, _ := strings.Cut(dimension, ".")
		return "communication.x." + of
	}
	return id
}

// form returns the right side of a recorded formula as one reads it.
func form(rec *record.Record, e *record.Entry) string {
	text := braces.ReplaceAllStringFunc(general(e.Formula), func(ref string) string {
		of, ok := rec.Entry(strings.Trim(ref, "{}"))
		if !ok {
			return ref
		}
		return general(of.Symbol)
	})
	text = joined.ReplaceAllStringFunc(text, func(name string) string { return record.Words(name) })
	return strings.ReplaceAll(text, " * ", " x ")
}

// sourceOf returns the source of a formula without what one calibration was fitted to.
func sourceOf(e *record.Entry) string {
	for _, mark := range []string{"fitted constants", "constants fitted to", "constants of the calibration"} {
		if before, _, ok := strings.Cut(e.Source, mark); ok {
			return strings.TrimLeft(strings.TrimRight(before, "; ,")+"; constants of the calibration", "; ")
		}
	}
	if strings.HasPrefix(e.Source, "simulated in the order of") {
		return "simulated in the order of the schedule"
	}
	return general(e.Source)
}

// terms splits a formula at its outer plus signs. A term that stands there several times, once
// for each stage or rank, is one.
func terms(form string) []string {
	var out []string
	depth, start := 0, 0
	add := func(term string) {
		if !slices.Contains(out, term) {
			out = append(out, term)
		}
	}
	for i := range form {
		switch {
		case form[i] == '(':
			depth++
		case form[i] == ')':
			depth--
		case depth == 0 && strings.HasPrefix(form[i:], " + "):
			add(form[start:i])
			start = i + len(" + ")
		}
	}
	add(form[start:])
	return out
}

// add adds a right side unless another one has all its terms, and drops those whose terms it has.
func (l *law) add(form string) {
	have := terms(form)
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(term string) bool { return !slices.Contains(b, term) })
	}
	for _, f := range l.forms {
		if within(have, terms(f)) {
			return
		}
	}
	l.forms = slices.DeleteFunc(l.forms, func(f string) bool { return f == "0" || within(terms(f), have) })
	if form != "0" || len(l.forms) == 0 {
		l.forms = append(l.forms, strings.Join(have, " + "))
	}
}

// lawsOf returns the formulas that evaluations of the setups record, in the order of the sections.
func lawsOf(setups []engine.Setup) []*law {
	var all []*law
	byFigure, byForm := map[string]*law{}, map[string]*law{}
	for _, s := range setups {
		_, rec := engine.EvaluateRecorded(s)
		for _, id := range rec.IDs() {
			e, _ := rec.Entry(id)
			if id == "pipeline.closed-form-idle" {
				continue // by schedule: see closedForms
			}
			id, right, source := generalID(id), form(rec, e), sourceOf(e)
			l := byFigure[id]
			if l == nil {
				l = byForm[right+source]
			}
			if l == nil {
				l = &law{id: id, symbol: record.Words(general(e.Symbol)), source: source, omits: e.LeavesOut}
				all = append(all, l)
				byForm[right+source] = l
			}
			byFigure[id] = l
			if name := general(e.Name); !slices.Contains(l.figures, name) {
				l.figures = append(l.figures, name)
			}
			l.add(right)
		}
	}
	return all
}

// sections are the parts of the document, with the beginnings of the identifiers that stand in each.
var sections = []struct {
	title, about string
	ids          []string
}{
	{
		"Model", "Parameters and FLOPs follow from the configuration alone.",
		[]string{
			"model.", "layer.attention.parameters", "layer.mlp.parameters", "layer.shared.parameters",
			"layer.experts.parameters", "layer.kind.parameters", "layer.attention.score-flops",
			"layer.kind.flops",
		},
	},
	{"Work of a GPU", "What one GPU does on one micro-batch: matrix products, attention, and operations " +
		"that memory limits.", []string{
		"layout.", "gpu.", "embedding.", "layer.attention", "layer.experts",
		"layer.kind.", "head.", "mtp-projection.", "recompute.",
	}},
	{
		"Memory", "Bytes of one pipeline rank at its peak, term by term.",
		[]string{
			"layer.kind.activations", "layer.kind.parameters-per", "layer.kind.expert-parameters-per",
			"memory.", "stage.i.activations", "stage.i.weight-inputs", "stage.i.logits",
			"stage.i.forward-temp", "stage.i.backward-temp", "model.embedding-per", "model.padded",
		},
	},
	{"Stages", "What a pipeline stage does on one micro-batch: the sums of its layers.", []string{"stage."}},
	{
		"Communication", "What each dimension sends, how long it takes, and how much of it is exposed.",
		[]string{
			"layer.tp", "layer.cp", "layer.ep", "layer.kind.tp", "layer.kind.cp", "layer.kind.ep",
			"layer.kind.etp", "data.", "communication.",
		},
	},
	{"Pipeline", "The order of the schedule is simulated, operation by operation; closed forms are shown " +
		"next to it.", []string{"pipeline."}},
	{
		"Step time and throughput", "The parts of the pipeline rank with the most work add up to the step.",
		[]string{"time.", "throughput."},
	},
	{"The whole run", "Only with --tokens.", []string{"run."}},
}

// sectionOf returns the section that names a figure by the longest beginning.
func sectionOf(id string) int {
	best, length := -1, 0
	for i, s := range sections {
		for _, prefix := range s.ids {
			if strings.HasPrefix(id, prefix) && len(prefix) > length {
				best, length = i, len(prefix)
			}
		}
	}
	return best
}

const physicsFile = "../docs/physics.md"

// TestPhysicsDocument holds docs/physics.md to what evaluations record. MESHSCOPE_UPDATE=1 writes it.
func TestPhysicsDocument(t *testing.T) {
	kept, err := os.ReadFile(physicsFile)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- From here on go test writes it: MESHSCOPE_UPDATE=1 go test ./engine_test -run " +
		"PhysicsDocument -->\n"
	preface, _, ok := strings.Cut(string(kept), mark)
	if !ok {
		t.Fatal("docs/physics.md lacks the mark where the formulas begin")
	}
	var out strings.Builder
	out.WriteString(preface + mark)
	all := lawsOf(described(t))
	for i, section := range sections {
		out.WriteString("\n## " + section.title + "\n\n" + section.about + "\n")
		for _, l := range all {
			if sectionOf(l.id) == i {
				out.WriteString(l.markdown())
			}
		}
		if section.title == "Pipeline" {
			out.WriteString(closedForms())
		}
	}
	for _, l := range all {
		if sectionOf(l.id) < 0 {
			t.Errorf("no section has %s", l.id)
		}
	}
	if out.String() == string(kept) {
		return
	}
	if os.Getenv("MESHSCOPE_UPDATE") == "" {
		t.Fatal("docs/physics.md is not what evaluations record; MESHSCOPE_UPDATE=1 go test ./engine_test " +
			"-run PhysicsDocument writes it anew")
	}
	if err := os.WriteFile(physicsFile, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// markdown returns the law as a part of the document.
func (l *law) markdown() string {
	const shown = 4
	var out strings.Builder
	name := strings.Join(l.figures[:min(shown, len(l.figures))], "; ")
	out.WriteString("\n**" + strings.ToUpper(name[:1]) + name[1:] + "**")
	if more := len(l.figures) - shown; more > 0 {
		fmt.Fprintf(&out, " and %d more", more)
	}
	out.WriteString("\n\n```text\n")
	symbol := l.symbol
	if len(l.figures) > 1 {
		symbol, _, _ = strings.Cut(symbol, "(")
	}
	for i, form := range l.forms {
		if i > 0 {
			symbol = "or"
		}
		out.WriteString(symbol + " = " + form + "\n")
	}
	out.WriteString("```\n\nSource: " + l.source + ".")
	if l.omits != "" {
		out.WriteString(" Leaves out: " + l.omits + ".")
	}
	out.WriteString("\n")
	return out.String()
}

// closedForms returns a table of the schedules, each with its source and the idle time of its worst
// rank where that has a closed form.
func closedForms() string {
	var out strings.Builder
	out.WriteString("\n### Schedules\n\nThe idle time of the worst rank for equal stages and free " +
		"messages; tF, tB, tI and tW are the times of " +
		"forward, backward, input gradient and weight gradient.\n\n| schedule | idle time | source |\n| " +
		"--- | --- | --- |\n")
	for _, k := range schedule.Kinds() {
		idle := "simulated only"
		if k.Idle != "" {
			idle = "`" + k.Idle + "`"
		}
		out.WriteString("| `" + string(k.Kind) + "` | " + idle + " | " + k.Paper + " |\n")
	}
	return out.String()
}

// TestPhysicsComplete: docs/physics.md has every figure that an evaluation of any setup records, or
// the formula that gives it.
func TestPhysicsComplete(t *testing.T) {
	known := map[string]bool{}
	for _, s := range described(t) {
		_, rec := engine.EvaluateRecorded(s)
		for _, id := range rec.IDs() {
			e, _ := rec.Entry(id)
			known[generalID(id)], known[form(rec, e)] = true, true
		}
	}
	whole := wholeWorld()
	draws.CheckFew(t, 8, func(t *rapid.T) {
		s, ok := whole.likely(t)
		for range 20 { // most draws are illegal
			if ok {
				break
			}
			s, ok = whole.likely(t)
		}
		if !ok {
			return
		}
		_, rec := engine.EvaluateRecorded(s)
		for _, id := range rec.IDs() {
			if e, _ := rec.Entry(id); !known[generalID(id)] && !known[form(rec, e)] {
				t.Fatalf("docs/physics.md lacks %s = %s: no setup of described has it\n%+v", id, form(rec, e),
					s)
			}
		}
	})
}
