package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

// TestNoEffectIsSaid: a value that changes nothing is named with its stack and what gives the
// same; of one that changes something nothing is said.
func TestNoEffectIsSaid(t *testing.T) {
	for _, c := range []struct{ model, given, want string }{
		{"deepseek-v2-lite", "calibration=torchtitan ep=8 dp=8 recompute=selective", ""},
		{"llama3-8b", "calibration=torchtitan dp=8 recompute=selective", ""},
		{"llama3-8b", "calibration=torchtitan dp=8 precision=fp8:te", "precision fp8:te has no effect on " +
			"memory on torchtitan: every rank needs as much as with bf16"},
		{
			"llama3-8b", "calibration=torchtitan dp=8 grad-dtype=bf16",
			"grad-dtype bf16 has no effect on memory on torchtitan: every rank needs as much as with fp32",
		},
		{"llama3-8b", "calibration=megatron-core dp=8 grad-dtype=bf16", ""},
		{"llama3-8b", "calibration=torchtitan dp=8 optimizer=adam-no-master", "optimizer adam-no-master " +
			"has no effect on torchtitan: memory, time and traffic are as with adam"},
		{"llama3-8b", "calibration=torchtitan dp=8 optimizer=sgd", ""},
		{
			"qwen3-235b-a22b", "pp=8 ep=8 dp=8 calibration=megatron-core@2025.09 dispatcher=alltoall",
			"calibration megatron-core@2025.09 has no effect: memory, time and traffic are as with " +
				"megatron-core",
		},
		{"qwen3-235b-a22b", "pp=8 ep=8 dp=8 calibration=megatron-core@2023.06 dispatcher=alltoall", ""},
		{"qwen3-235b-a22b", "pp=8 ep=8 dp=8 calibration=megatron-core dispatcher=alltoall", ""},
		{"llama3-8b", "dp=8 imbalance=150", "imbalance 150 has no effect on megatron-core (dense model): " +
			"memory, time and traffic are as with 100"},
		{"llama3-8b", "dp=8 dispatcher=deepep", "dispatcher deepep has no effect on megatron-core (dense " +
			"model): memory, time and traffic are as with auto"},
		{
			"llama3-8b", "dp=1 gpus=1 zero=3 precision=fp32",
			"zero 3 has no effect on megatron-core: memory, time and traffic are as with 1",
		},
		{
			"llama3-8b", "calibration=pytorch dp=8 zero=3 optimizer=adam-no-master weight-dtype=bf16",
			"optimizer adam-no-master has no effect on pytorch: memory, time and traffic are as with adam" +
				"weight-dtype bf16 has no effect on pytorch (adam-no-master trains in bf16): memory, time " +
				"and traffic are as with fp32",
		},
		{
			"llama3-8b", "pp=4 dp=2 split=8,8,8,8",
			"split 8,8,8,8 has no effect on megatron-core: memory, time and traffic are as with balanced",
		},
		{
			"llama3-8b", "pp=5 dp=2 split=6,7,7,6,6",
			"balanced gives split 6,7,7,6,6 already; a file of Megatron-LM needs it written",
		},
		{"llama3-8b", "dp=8 price=3", "price 3 has no effect without --tokens"},
		{"llama3-8b", "dp=8 price=2.5 tokens=1T", "price 2.5 has no effect: the run is as with none"},
		{"llama3-8b", "dp=8 price=3 tokens=1T", ""},
	} {
		d := knob.DraftOf(presetModel(t, c.model), presetCluster(t, "dgx-h100"), nil)
		for word := range strings.FieldsSeq(c.given) {
			id, value, _ := strings.Cut(word, "=")
			if err := d.Set(knob.ID(id), value); err != nil {
				t.Fatal(err)
			}
		}
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatalf("%s %s: %+v", c.model, c.given, r.Problems)
		}
		got := ""
		for _, n := range engine.NoEffects(&s, &r) {
			got += n.Message
		}
		if got != c.want {
			t.Errorf("%s %s: said is %q, want %q", c.model, c.given, got, c.want)
		}
	}
}

// TestNoSilentKnob: each value of each knob changes a figure on each stack, or is said not to.
func TestNoSilentKnob(t *testing.T) {
	rng := rand.New(rand.NewPCG(draws.Seeds()[len(draws.Seeds())-1], 28))
	models, deadline := 40, time.Time{}
	if draws.Deep() {
		models, deadline = 200, time.Now().Add(30*time.Second)
	}
	all := presets.Default().Models()
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	said, silent := 0, 0
	for i := range models {
		if !deadline.IsZero() && time.Now().After(deadline) {
			t.Logf("%d of %d models in time", i, models)
			break
		}
		for j, stack := range recipe.Stacks() {
			if !draws.Deep() && (i+j)%5 != 0 {
				continue
			}
			if s, r, ok := baseOf(t, rng, &all[i%len(all)], stack); ok {
				none, some := knobsOf(t, rng, &s, &r, draws.Deep())
				said, silent = said+none, silent+some
			}
		}
	}
	if said < 100 || silent < 500 {
		t.Errorf("%d values change nothing, %d do: too few of either to tell", said, silent)
	}
}

// baseOf draws a layout of a model on a stack, with the software's defaults; false where none is legal.
func baseOf(t *testing.T, rng *rand.Rand, p *presets.ModelPreset, stack recipe.Stack) (s engine.Setup,
	r engine.Report, ok bool,
) {
	t.Helper()
	for range 4 {
		d := knob.DraftOf(p.Model,
			presetCluster(t, []string{"dgx-h100", "dgx-a100", "dgx-b200"}[rng.IntN(3)]), nil)
		for id, values := range map[knob.ID]string{
			knob.TP: "12", knob.PP: "124", knob.DP: "128",
			knob.CP: "112",
		} {
			if err := d.Set(id, values[rng.IntN(len(values)):][:1]); err != nil {
				t.Fatal(err)
			}
		}
		_ = d.Set(knob.Calibration, string(stack))
		_ = d.Set(knob.Seq, "2048")
		if k, _ := knob.Find(knob.Dispatcher); p.IsMoE() && stack.Has(string(k.ID), string(recipe.AllToAll)) {
			_ = d.Set(k.ID, string(recipe.AllToAll)) // as eval and the explorer have it
		}
		if p.IsMoE() && rng.IntN(2) == 0 {
			_ = d.Set(knob.EP, "2")
		}
		if rng.IntN(4) == 0 {
			_ = d.Set(knob.Tokens, "1T")
		}
		var err error
		if s, err = d.Resolve(); err != nil {
			continue
		}
		if r = engine.Evaluate(s); r.Legal {
			return s, r, true
		}
	}
	return s, r, false
}

// knobsOf tries values of every knob on a setup that has all others at their defaults: all of
// them, or one. It returns how many change nothing, and how many do.
func knobsOf(t *testing.T, rng *rand.Rand, base *engine.Setup, was *engine.Report, all bool) (none,
	some int,
) {
	t.Helper()
	e := engine.Evaluator{SkipTimeline: true}
	for _, k := range knob.All() {
		if k.Lock != knob.NoLock || k.ID == knob.Nodes || k.ID == knob.Calibration {
			continue
		}
		values := valuesOf(&k, base)
		if !all && len(values) > 0 {
			values = values[rng.IntN(len(values)):][:1]
		}
		for _, v := range values {
			s, err := k.Set(*base, v)
			if err != nil || k.Text(s) == k.Text(*base) || k.ID == knob.Dispatcher && v == recipe.Auto &&
				s.Model.IsMoE() || layout.HasErrors(engine.Check(s)) {
				continue
			}
			r := e.Evaluate(s)
			if !r.Legal {
				continue
			}
			list := engine.NoEffects(&s, &r)
			i := slices.IndexFunc(list, func(n engine.NoEffect) bool { return n.Field == k.ID && !n.Memory })
			differs := firstDifference(was, &r)
			equal := differs == ""
			if equal != (i >= 0) {
				t.Errorf("%s on %s, tp %d pp %d dp %d cp %d: %s %s for %s: differs %q, said %+v", s.Model.ID,
					s.Stack, s.TP, s.PP, s.DP, s.CP, k.ID, v, k.Text(*base), differs, list)
			}
			if equal {
				none++
			} else {
				some++
			}
		}
	}
	return none, some
}

// valuesOf lists values of a knob.
func valuesOf(k *knob.Knob, s *engine.Setup) []string {
	switch {
	case k.ID == knob.Recompute:
		out := slices.Concat(k.Choices, []string{"full:1"})
		for _, m := range recipe.ModuleWords() {
			out = append(out, "modules:"+m)
		}
		return out
	case k.Kind == knob.List:
		return []string{layout.BalancedSplit(s.Model.Layers, s.Stages())}
	case k.Kind != knob.Number:
		return k.Choices
	}
	var out []string
	for _, step := range k.Steps(*s, knob.Locks{}) {
		out = append(out, step.Text)
	}
	if top := min(len(out), 6); top > 0 {
		out = out[:top]
	}
	return append(out, strconv.Itoa(k.Min), strconv.Itoa(k.Min+3))
}

// firstDifference names a figure of two reports that differs. How exact they are, and which closed
// form a bubble is compared with, is none.
func firstDifference(a, b *engine.Report) string {
	values := func(r *engine.Report) map[string]float64 {
		of := map[string]float64{}
		for _, f := range figures.List(r) {
			if !strings.Contains(f.ID, "error") && !strings.HasSuffix(f.ID, "-runs") &&
				f.ID != "pipeline.bubble-closed-form" && f.ID != "pipeline.bubble-span-over-ideal" {
				of[f.ID] = f.Value
			}
		}
		return of
	}
	x, y := values(a), values(b)
	for id, f := range x {
		if g, ok := y[id]; !ok || math.Abs(f-g) > 1e-9*math.Max(math.Abs(f), math.Abs(g)) {
			return fmt.Sprintf("%s: %v, %v", id, f, g)
		}
	}
	if len(x) != len(y) {
		return "their number"
	}
	return ""
}

func presetCluster(t testing.TB, id string) hardware.Cluster {
	t.Helper()
	c, err := presets.Default().Cluster(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
