package steps_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"meshscope/engine_test/shared"
	"meshscope/presets/steps"
)

// bounds are the largest mean and single errors that are allowed; 0: none.
type bounds struct {
	name          string
	of            func(*steps.Step) steps.Pair
	mean, largest float64
}

// TestMeasured: 56 whole training steps on one H100, of which no record is left out.
func TestMeasured(t *testing.T) {
	file, err := os.Open(shared.Path(t, "validation", "h100", "steps.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, unmapped, notes, err := steps.Compare(file)
	if err != nil || len(unmapped) > 0 || len(notes) > 0 || len(rows) != 56 {
		t.Fatal(len(rows), unmapped, notes, err)
	}
	for _, b := range []bounds{
		{"peak allocated", func(s *steps.Step) steps.Pair { return s.PeakAllocated }, .0005, .001},
		{"after forward", func(s *steps.Step) steps.Pair { return s.AfterForward }, .0005, .001},
		{"reserved", func(s *steps.Step) steps.Pair { return s.Reserved }, .03, 0},
		{"forward", func(s *steps.Step) steps.Pair { return s.Forward }, .035, .12},
		{"backward", func(s *steps.Step) steps.Pair { return s.Backward }, .025, .07},
		{"optimizer", func(s *steps.Step) steps.Pair { return s.Optimizer }, .03, .15},
		{"step", func(s *steps.Step) steps.Pair { return s.Step }, .015, .036},
	} {
		sum := 0.0
		for i := range rows {
			e := math.Abs(b.of(&rows[i]).Error())
			if sum += e; b.largest > 0 && e > b.largest {
				t.Errorf("%s of %s: %.2f %% off", b.name, rows[i].Name, 100*e)
			}
		}
		if mean := sum / float64(len(rows)); mean > b.mean {
			t.Errorf("%s: %.3f %% off in the mean, allowed are %.3f %%", b.name, 100*mean, 100*b.mean)
		}
	}
	for i := range rows {
		p := rows[i].Phases
		if first, last := p[0], p[len(p)-1]; first.Predicted != last.Predicted {
			t.Errorf("%s: a later step begins with %.0f bytes and ends with %.0f", rows[i].Name,
				first.Predicted, last.Predicted)
		}
	}
}

// example is a record whose figures are made up.
func example() map[string]any {
	memory := map[string]any{}
	for _, key := range strings.Fields("start after_forward peak_forward after_backward peak_backward " +
		"after_optimizer peak_optimizer") {
		memory[key] = 1e9
	}
	return map[string]any{
		"kind": "step", "name": "example", "way": "fsdp2", "L": 2, "h": 512, "heads": 8, "kv": 2, "d": 64,
		"f": 1024, "V": 1000, "seq": 256, "mbs": 1, "ac": "none",
		"memory": map[string]any{"later": memory}, "reserved": 2e9, "forward_ms": 1, "backward_ms": 2,
		"optimizer_ms": 1, "step_ms": 4,
	}
}

// TestLeftOut: what cannot be compared is named with its reason, and the rest is compared.
func TestLeftOut(t *testing.T) {
	line := func(change map[string]any) string {
		r := example()
		maps.Copy(r, change)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	class := func(c string) map[string]any { return map[string]any{"way": "hf", "cls": c} }
	for _, c := range []struct{ line, reason string }{
		{"not JSON", "no record"},
		{"[1]", "no record"},
		{line(map[string]any{"kind": "oom"}), `kind is "oom"`},
		{line(map[string]any{"step_ms": -1}), "step_ms is -1; allowed: more than 0, at most 1e+09"},
		{line(map[string]any{"reserved": nil}), "reserved is missing or 0"},
		{line(map[string]any{"memory": nil}), "memory.later.start is missing"},
		{line(map[string]any{"h": "wide"}), "no record of a step"},
		{line(map[string]any{"h": -512}), "h is -512; allowed: 0 to"},
		{line(map[string]any{"m": 0}), "m is missing or 0; allowed"},
		{line(map[string]any{"L": 1 << 20}), "layers is 1048576"},
		{line(map[string]any{"seq": 1 << 29, "mbs": 1 << 29}), "a micro-batch has tensors"},
		{line(map[string]any{"base": 2_000_000_000}), "is 1e+09, less than base, 2000000000"},
		{line(map[string]any{"parameters": 7}), "parameters is 7; allowed: "},
		{line(map[string]any{"trainable": 7}), "trainable is 7; allowed: "},
		{line(map[string]any{"step_ms": 1e300}), "step_ms is 1e+300; allowed: "},
		{line(map[string]any{"moe": 1 << 40}), "moe is 1099511627776; allowed: 0 to"},
		{
			line(map[string]any{"way": "fsdp3"}),
			`no way "fsdp3"; allowed: autocast, bf16, fsdp2, hf, hf-autocast, lora`,
		},
		{line(map[string]any{"ac": "half"}), "allowed: none, selective, full"},
		{line(map[string]any{"opt": "sgd"}), "allowed: fused, foreach"},
		{line(class("Mamba")), `no class "Mamba" of transformers; allowed: Llama`},
		{line(map[string]any{"cls": "Llama"}), "does not run the class"},
		{
			line(map[string]any{"way": "lora", "targets": []string{"w1"}}),
			`no product "w1" for adapters; allowed: q, k, v, o, gate, up, down`,
		},
		{
			line(map[string]any{"way": "hf", "ac": "selective"}),
			"no rules for selective checkpointing in transformers",
		},
		{line(map[string]any{"way": "lora", "targets": []string{}}), "nothing is trained"},
		{line(map[string]any{"way": "lora", "targets": []string{}, "ac": "full"}), "nothing is trained"},
		{line(map[string]any{"way": "lora", "rank": 1 << 62}), "adapters of rank 4611686018427387904"},
		{
			line(map[string]any{
				"E": 8, "top": 2, "moe": 64, "shared": 1 << 24, "seq": 1 << 28,
				"mbs": 1 << 10,
			}),
			"tensors",
		},
		{line(map[string]any{"way": "hf", "cls": "GPT2", "seq": 1 << 30}), "allowed"},
		{strings.Repeat("x", 2<<20), "longer than"},
	} {
		rows, unmapped, _, err := steps.Compare(strings.NewReader(c.line + "\n" + line(nil) + "\n"))
		if err != nil || len(rows) != 1 || len(unmapped) != 1 ||
			!strings.Contains(unmapped[0].Reason, c.reason) {
			t.Errorf("%.60s: %d compared, left out %v, error %v; want the reason %q", c.line, len(rows),
				unmapped, err, c.reason)
		}
	}
	for _, change := range []map[string]any{
		class("Mistral"), class("Gemma"), class("Phi3"), class("Qwen2"),
		class("Qwen3"),
		{"way": "lora", "rank": 4},
		{"cpu": true},
		{"acts_cpu": true},
		{"tied": true},
		{"m": 1000},
	} {
		if rows, unmapped, _, err := steps.Compare(strings.NewReader(line(change))); err != nil ||
			len(rows) != 1 {
			t.Errorf("%v: left out %v, error %v", change, unmapped, err)
		}
	}
	granite := map[string]any{"way": "hf", "cls": "Granite", "parameters": 5_483_008}
	for _, change := range []map[string]any{{"chunks": 8}, granite} {
		if rows, unmapped, notes, _ := steps.Compare(strings.NewReader(line(change))); len(notes) != 1 ||
			len(rows) != 1 || (rows[0].ComparedAs == "Llama") != (change["cls"] == "Granite") {
			t.Errorf("%v: noted %v, left out %v", change, notes, unmapped)
		}
	}
	granite["parameters"] = 6_000_000
	if _, unmapped, _, _ := steps.Compare(strings.NewReader(line(granite))); len(unmapped) != 1 ||
		!strings.Contains(unmapped[0].Reason, "parameters of Llama") {
		t.Errorf("another number of parameters: left out %v", unmapped)
	}
}
