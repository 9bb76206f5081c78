package engine_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// likely draws a setup of the kind that people train with, of every word; false
// when it is illegal.
func (w world) likely(t *rapid.T) (engine.Setup, bool) {
	pick := func(name string, from ...int) int { return rapid.SampledFrom(from).Draw(t, name) }
	kinds := schedule.Kinds()
	info := kinds[pick("schedule", order(len(kinds))...)]
	s := engine.Setup{
		Model:   rapid.SampledFrom(w.models).Draw(t, "model"),
		Cluster: rapid.SampledFrom(w.clusters).Draw(t, "cluster"),
		Layout: layout.Layout{
			TP: pick("tp", 1, 2, 4, 8, 16), PP: pick("pp", 1, 2, 4, 8), CP: pick("cp", 1, 1, 2, 4),
			DP: pick("dp", 1, 2, 4, 16, 64),
			EP: pick("ep", 1, 2, 4, 8), ETP: pick("etp", 1, 1, 2), SP: rapid.Bool().Draw(t, "sp"),
			ZeRO: pick("zero", 0, 1, 2, 3), HSDP: pick("hsdp", 1, 1, 2), MBS: pick("mbs", 1, 2, 4),
			MicroBatches: pick("m", 4, 8, 16, 32), Seq: pick("seq", 2048, 4096, 4100, 8192, 32768), VPP: 1,
		},
		Recipe: knob.Recipe{
			Schedule: info.Kind, MFU: rapid.SampledFrom(recipe.MFUConventions()).Draw(t, "mfu"),
			Precision: rapid.SampledFrom(recipe.Precisions()).Draw(t, "precision"),
			GradDtype: rapid.SampledFrom(recipe.GradDtypes()).Draw(t, "grads"),
			Attention: rapid.SampledFrom(recipe.Attentions()).Draw(t, "attention"),
			Optimizer: rapid.SampledFrom(recipe.Optimizers()).Draw(t, "optimizer"),
			Loss:      rapid.SampledFrom(append(recipe.Losses(), "")).Draw(t, "loss"),
			Offload:   rapid.SampledFrom(append(recipe.Offloads(), "")).Draw(t, "offload"),
			Stack:     rapid.SampledFrom(recipe.Stacks()).Draw(t, "stack"),
			Imbalance: pick("imbalance", 0, 100, 150), TrainMTP: rapid.Bool().Draw(t, "mtp"),
			Recompute: rapid.SampledFrom([]recipe.Recompute{
				{Mode: "none"},
				{Mode: "full"},
				{Mode: "selective"},
				{Mode: "full", Layers: 3},
				{Mode: "modules", Modules: recipe.ModuleNorm},
				{Mode: "modules", Modules: recipe.AllModules},
			}).Draw(t, "recompute"),
		},
	}
	switch {
	case info.Chunks > 1:
		s.VPP = info.Chunks
	case info.Chunks == 0:
		s.VPP = pick("vpp", 2, 4)
	}
	if !s.Model.IsMoE() {
		s.EP, s.ETP = 1, 1
	}
	s.GPUs, s.GBS = s.Ranks(), s.MBS*s.MicroBatches*s.DP
	s.RunPlan = drawPlan(t)
	return s, engine.Legal(s)
}

// drawPlan draws a plan of a whole run, with things left out.
func drawPlan(t *rapid.T) knob.RunPlan {
	figure := func(id knob.ID) float64 {
		k, _ := knob.Find(id)
		return rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(k.Low, k.High)).Draw(t, string(id))
	}
	return knob.RunPlan{
		Budget: math.Round(figure(knob.Tokens)), Price: figure(knob.Price),
		Power: figure(knob.Power), PUE: figure(knob.PUE), Goodput: figure(knob.Goodput),
	}
}

// wholeWorld are all models and clusters that there are.
func wholeWorld() world {
	var w world
	for _, m := range presets.Default().Models() {
		w.models = append(w.models, m.Model)
	}
	for _, c := range presets.Default().Clusters() {
		w.clusters = append(w.clusters, c.Cluster)
	}
	return w
}

func order(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// book explains a setup that must be legal.
func book(t failer, s engine.Setup) *explain.Book {
	b, ok := explain.Of(s)
	if !ok {
		t.Fatalf("no figures: %+v", engine.Check(s))
	}
	return b
}

// drifts says whether an explanation is off the engine's figure. A time may be
// the difference of two, so it is compared with the step; the same for memory.
func drifts(b *explain.Book, e *explain.Explanation) bool {
	scale := 0.0
	switch e.Unit {
	case record.Seconds:
		scale = float64(b.Report().Time.Step)
	case record.Memory:
		scale = float64(b.Report().Memory.Peak)
	default:
	}
	if strings.HasPrefix(e.Figure, "pipeline.bubble") {
		scale = 1
	}
	difference := math.Abs(e.Result - e.Value)
	return math.IsNaN(e.Result) || math.IsInf(e.Result, 0) ||
		difference > 1e-9*math.Max(math.Abs(e.Value), scale)
}

// agrees fails unless every figure is explained by a formula that gives it.
func agrees(t failer, s engine.Setup) *explain.Book {
	b := book(t, s)
	for _, f := range b.Figures() {
		e, ok := b.Explain(f.ID)
		if !ok {
			t.Fatalf("%s is not explained", f.ID)
		}
		if !e.Reported || e.Value != f.Value || drifts(b, e) {
			t.Fatalf("%s: the engine says %.17g, the explanation %.17g\n%s\n%s\n%+v", f.ID, f.Value, e.Result,
				e.Formula, e.Numbers, s)
		}
		if f.Unit != e.Unit || e.Name == "" || e.Symbol == "" || e.Source == "" || e.Formula == "" ||
			e.Numbers == "" {
			t.Fatalf("%s is in %q, its explanation is incomplete: %+v", f.ID, f.Unit, e)
		}
	}
	return b
}

// Every figure of every setup is explained by a formula whose result is the
// engine's figure.
func TestExplanationsGiveTheEnginesFigures(t *testing.T) {
	w, whole := newWorld(t), wholeWorld()
	t.Run("any", func(t *testing.T) {
		draws.CheckFew(t, 8, func(t *rapid.T) { agrees(t, w.legalSetup(t)) })
	})
	t.Run("likely", func(t *testing.T) {
		draws.CheckFew(t, 8, func(t *rapid.T) {
			for range 20 {
				if s, ok := whole.likely(t); ok {
					agrees(t, s)
					return
				}
			}
			t.Skip("no legal setup drawn")
		})
	})
}

// Every schedule, stack, precision and ZeRO stage is met at least once.
func TestExplanationsOfEveryWord(t *testing.T) {
	base := presets.DefaultSetup()
	base.VPP = 1
	try := func(change func(*engine.Setup)) int {
		s := base
		change(&s)
		s.GPUs, s.GBS = s.Ranks(), s.MBS*s.MicroBatches*s.DP
		if !engine.Legal(s) {
			return 0
		}
		agrees(t, s)
		return 1
	}
	met := 0
	for _, info := range schedule.Kinds() {
		one := 0
		for _, vpp := range []int{1, 2} {
			one += try(func(s *engine.Setup) {
				s.Schedule, s.VPP, s.PP, s.MicroBatches = info.Kind, vpp, 4, 16
			})
		}
		if one == 0 {
			t.Errorf("schedule %s was not met", info.Kind)
		}
		met += one
	}
	want := len(schedule.Kinds()) + len(recipe.Precisions())
	for _, stack := range recipe.Stacks() {
		ledger := stack.Traits().Ledger
		for stage, offered := range knob.ZeROStages(&engine.Setup{Recipe: knob.Recipe{Stack: stack}}) {
			if ledger && !offered { // refused
				continue
			}
			want++
			met += try(func(s *engine.Setup) {
				if s.Stack, s.ZeRO = stack, stage; ledger {
					s.TP, s.PP, s.VPP, s.EP, s.ETP, s.SP, s.Schedule = 1, 1, 1, 1, 1, false, schedule.OneFOneB
				}
				if stack.Traits().LowGradients {
					s.GradDtype = recipe.GradBF16
				}
			})
		}
	}
	for _, p := range recipe.Precisions() {
		met += try(func(s *engine.Setup) { s.Precision = p })
	}
	if met < want {
		t.Errorf("%d setups met, want %d", met, want)
	}
}

// Every number of the JSON report has an explanation under its path, so a new
// one cannot be forgotten.
func TestEveryNumberOfTheReportIsExplained(t *testing.T) {
	for _, model := range []string{"llama3.1-70b", "deepseek-v3", "llama3.1-8b"} {
		s := presets.DefaultSetup()
		s.Model = presetModel(t, model)
		s.RunPlan = knob.RunPlan{Budget: 15e12, Goodput: 93, PUE: 1.25}
		if model == "llama3.1-8b" { // of a machine with a band for everything
			c, err := presets.Default().Cluster("b200-8x-simumax")
			if err != nil {
				t.Fatal(err)
			}
			s.Cluster = c
			s.TP, s.PP, s.DP, s.GPUs = 2, 2, 2, 8
			s.MicroBatches = s.GBS / s.DP
		}
		if s.Model.IsMoE() {
			s.TP, s.PP, s.DP, s.EP, s.MicroBatches = 1, 8, 32, 32, 16
			s.GPUs, s.GBS = s.Ranks(), s.MBS*s.MicroBatches*s.DP
		}
		b := agrees(t, s)
		text, err := json.Marshal(b.Report())
		if err != nil {
			t.Fatal(err)
		}
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		var numbers []float64
		for _, part := range []string{
			"memory", "pipeline", "communication", "time", "throughput", "run",
			"model",
		} {
			numbers = collect(document[part], numbers)
		}
		var have []float64
		for _, f := range b.Figures() {
			have = append(have, f.Value)
		}
		for _, n := range numbers {
			if !slices.Contains(have, n) {
				t.Errorf("%s: no figure has the value %v of the report", model, n)
			}
		}
		// peak_rank, and the rank of each row; the ranks' own numbers are collected apart. Layers of a kind
		// are numbers that formulas of their rank begin with.
		labels := 1 + len(b.Report().Communication)
		for i := range b.Report().Memory.Ranks {
			labels += len(b.Report().Memory.Ranks[i].Kinds)
		}
		if got := len(b.Figures()) + labels + s.PP - omitted(b); got != len(numbers) {
			t.Errorf("%s: the report has %d numbers, %d figures are explained (with labels)", model,
				len(numbers), got)
		}
	}
}

// omitted are figures that the document leaves out where they are 0.
func omitted(b *explain.Book) int {
	n := 0
	for _, f := range b.Figures() {
		if strings.HasSuffix(f.ID, ".offloaded") && f.Value == 0 {
			n++
		}
	}
	return n
}

func collect(v any, into []float64) []float64 {
	switch x := v.(type) {
	case float64:
		return append(into, x)
	case map[string]any:
		for _, e := range x {
			into = collect(e, into)
		}
	case []any:
		for _, e := range x {
			into = collect(e, into)
		}
	}
	return into
}

// Formulas go down to single products, and every part can be asked for.
func TestExplanationsGoDown(t *testing.T) {
	b := book(t, presets.DefaultSetup())
	for _, path := range [][]string{
		{
			"time.step", "time.compute", "stage.1.forward", "layer.dense.forward", "layer.dense.qkv.forward",
			"gpu.matmul-rate",
		},
		{
			"throughput.mfu", "throughput.tokens-per-second-per-gpu", "time.step", "time.exposed",
			"communication.tp.exposed", "stage.1.tp.exposed",
		},
		{
			"memory.peak", "memory.ranks.0.total", "memory.ranks.0.allocated", "memory.ranks.0.weights",
			"memory.ranks.0.dense-parameters", "layer.dense.parameters-per-gpu",
		},
	} {
		e, ok := b.Explain(path[0])
		for _, next := range path[1:] {
			if !ok {
				t.Fatalf("%v breaks off", path)
			}
			i := slices.IndexFunc(e.Parts, func(p *explain.Explanation) bool { return p.Figure == next })
			if i < 0 {
				t.Fatalf("%s has no part %s: %s", e.Figure, next, e.Formula)
			}
			e = e.Parts[i]
		}
	}
	for _, id := range b.IDs() {
		e, ok := b.Explain(id)
		if !ok || e.Figure != id || e.Name == "" || e.Source == "" || math.IsNaN(e.Result) {
			t.Errorf("%s: %+v", id, e)
		}
		if strings.Contains(e.Formula+e.Numbers, "NaN") || !ascii(e.Formula+e.Numbers+e.Name+e.Source) {
			t.Errorf("%s cannot be written plainly: %s", id, e)
		}
	}
	if _, ok := b.Explain("no.such.figure"); ok {
		t.Error("a figure that is not there is explained")
	}
	t.Logf("%d figures of the report, %d explanations", len(b.Figures()), len(b.IDs()))
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// An illegal setup has no figures and so no explanations.
func TestIllegalSetupsAreNotExplained(t *testing.T) {
	s := presets.DefaultSetup()
	s.TP = 3
	if _, ok := explain.Of(s); ok {
		t.Error("an illegal setup is explained")
	}
}
