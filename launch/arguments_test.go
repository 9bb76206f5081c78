package launch_test

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/launch"
	"meshscope/launch/logs"
	"meshscope/presets"
)

// defaults are what Megatron-LM prints for arguments that nobody gives
// (megatron/training/arguments.py@000c4ac2).
//
//go:embed testdata/megatron-arguments.txt
var defaults string

// printed returns what Megatron-LM prints when it is started with the flags of a document: every
// argument by the name of its field.
func printed(t *testing.T, d *launch.Document, gpus int) map[string]string {
	t.Helper()
	fields := map[string]string{
		"disable-bias-linear":               "add_bias_linear",
		"no-check-for-nan-in-loss-and-grad": "check_for_nan_in_loss_and_grad",
		"fp8-format":                        "fp8", "fp4-format": "fp4",
		"microbatch-group-size-per-virtual-pipeline-stage": "microbatch_group_size_per_vp_stage",
	}
	var log strings.Builder
	fmt.Fprintf(&log, "------------------------ arguments ------------------------\n  world_size "+
		"..................................... %d\n", gpus)
	lines := strings.Split(strings.TrimSpace(defaults), "\n")
	for _, e := range d.Entries {
		name, value := strings.ReplaceAll(e.Key, "-", "_"), fmt.Sprint(e.Value)
		if list, ok := e.Value.([]any); ok {
			value = fmt.Sprintf("['%s']", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), "', '"),
				"[]"))
		}
		if e.Value == nil {
			value = "True"
		}
		if field := fields[e.Key]; field != "" {
			name = field
			if strings.HasPrefix(e.Key, "disable-") || strings.HasPrefix(e.Key, "no-") {
				value = "False"
			}
		}
		if name == "attention_backend" {
			value = "AttnBackend." + value
		}
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") })
		lines = append(lines, name+" "+value)
	}
	tokenizer := ""
	for _, l := range lines {
		name, value, _ := strings.Cut(l, " ")
		if name == "vocab_size" { // which the tokenizer knows, not the arguments
			tokenizer, value = value, "None"
		}
		fmt.Fprintf(&log, "  %s %s %s\n", name, strings.Repeat(".", max(3, 48-len(name))), value)
	}
	log.WriteString("-------------------- end of arguments ---------------------\n > padded vocab (size: " +
		tokenizer + ") with 0 dummy tokens (new size: " + tokenizer + ")\n")
	jobs, _, err := logs.Read("log", strings.NewReader(log.String()))
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	return jobs[0].Arguments
}

// TestPrintedArguments: what Megatron-LM prints, defaults of all arguments included, is read as the
// setup that its flags were written from.
func TestPrintedArguments(t *testing.T) {
	l, _ := launch.Find("megatron")
	dense := knob.Given{knob.GPUs: 64, knob.TP: 4, knob.PP: 4, knob.GBS: 512}
	experts := knob.Given{
		knob.GPUs: 1024, knob.TP: 2, knob.PP: 16, knob.VPP: 2, knob.EP: 64, knob.GBS: 4096,
		knob.Seq: 4096,
	}
	for name, c := range map[string]struct {
		model  string
		given  knob.Given
		change func(*engine.Setup)
	}{
		"dense": {"llama3.1-70b", dense, nil},
		"context parallel": {"llama3.1-70b", knob.Given{
			knob.GPUs: 64, knob.TP: 4, knob.CP: 4, knob.GBS: 64,
			knob.Seq: 32768,
		}, nil},
		"all heads": {"gpt3-175b", knob.Given{
			knob.GPUs: 64, knob.TP: 8, knob.PP: 4, knob.GBS: 512,
			knob.Seq: 2048,
		}, nil},
		"biases":  {"qwen2.5-7b", knob.Given{knob.GPUs: 8, knob.TP: 2, knob.GBS: 64}, nil},
		"experts": {"deepseek-v3", experts, func(s *engine.Setup) { s.TrainMTP = true }},
		"flex":    {"deepseek-v3", experts, func(s *engine.Setup) { s.Dispatcher = recipe.DeepEP }},
		"hybrid flex": {"qwen3-235b-a22b", knob.Given{
			knob.GPUs: 256, knob.PP: 8, knob.VPP: 4,
			knob.EP: 32, knob.GBS: 512,
		}, func(s *engine.Setup) { s.Dispatcher = recipe.HybridEP }},
		"8 bits": {"llama3.1-70b", dense, func(s *engine.Setup) { s.Precision = recipe.FP8Tensor }},
		"full recompute": {
			"llama3.1-70b", dense,
			func(s *engine.Setup) { _ = s.Recompute.UnmarshalText([]byte("full:4")) },
		},
		"core recomputed": {
			"llama3.1-70b", dense,
			func(s *engine.Setup) { s.Recompute.Mode = recipe.RecomputeSelective },
		},
		"modules": {
			"deepseek-v3", experts,
			func(s *engine.Setup) { _ = s.Recompute.UnmarshalText([]byte("modules:mla-up,moe-act")) },
		},
		"offload": {
			"llama3.1-70b", dense,
			func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizer },
		},
		"Megatron-FSDP": {"llama3.1-70b", knob.Given{knob.GPUs: 64, knob.ZeRO: 3, knob.GBS: 64}, nil},
		"graph of a step": {
			"llama3.1-70b", dense,
			func(s *engine.Setup) { s.CUDAGraphs = recipe.GraphsIteration },
		},
		"fused loss": {"llama3.1-70b", dense, func(s *engine.Setup) { s.Loss = recipe.NativeLoss }},
		"groups of stages": {"llama3.1-70b", knob.Given{
			knob.GPUs: 64, knob.TP: 4, knob.PP: 4, knob.VPP: 5,
			knob.GBS: 512,
		}, func(s *engine.Setup) { s.GroupSize = 8 }},
	} {
		s := setup(t, c.model, c.given)
		if c.change != nil {
			c.change(&s)
		}
		d, refused := l.Export(&s, "")
		if len(refused) > 0 {
			t.Errorf("%s: %+v", name, refused)
			continue
		}
		r, _ := launch.Read("arguments.sh", logs.CommandLine(printed(t, d, s.GPUs)))
		if len(r.Problems) > 0 {
			t.Errorf("%s: %+v", name, r.Problems)
			continue
		}
		got := resolved(t, r.Flat(presets.Default()), &s)
		if diff := compare(s, got, d); len(diff) > 0 {
			t.Errorf("%s: %v\n%s", name, diff, logs.CommandLine(printed(t, d, s.GPUs)))
		}
	}
}
