package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// TestSwitchesOfYAML: yes, on and 1 are on as YAML has them, in files of trainers too; what is no switch is a
// problem, not off.
func TestSwitchesOfYAML(t *testing.T) {
	for word, on := range map[string]bool{
		"yes": true, "on": true, "1": true, "True": true, "no": false, "off": false, "0": false,
	} {
		o := launch.Open("axolotl.yaml", axolotlSwitches(word), presets.Default())
		want := map[bool]string{true: "bf16 full", false: "fp32 none"}[on]
		got := fmt.Sprint(o.Setup["precision"], " ", o.Setup["recompute"])
		if got != want || len(o.Problems) > 0 {
			t.Errorf("%s: %s, %v, not %s", word, got, o.Problems, want)
		}
	}
	for _, word := range []string{"junk", "[1]", "2"} {
		o := launch.Open("axolotl.yaml", axolotlSwitches(word), presets.Default())
		if text := fmt.Sprint(o.Problems); strings.Count(text, "is neither true nor false") != 2 {
			t.Errorf("%s: %s", word, text)
		}
	}
}

func axolotlSwitches(word string) []byte {
	return []byte("base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 2048\nmicro_batch_size: 1\n" +
		"bf16: " + word + "\ngradient_checkpointing: " + word + "\n")
}

// TestSwitchOfDoRA: off is said to be plain LoRA, and what is no switch is a problem.
func TestSwitchOfDoRA(t *testing.T) {
	for word, want := range map[string]string{
		"no": "off: plain LoRA", "junk": "allowed: true (on), false (off)",
	} {
		o := launch.Open("axolotl.yaml", []byte("base_model: NousResearch/Meta-Llama-3.1-8B\n"+
			"sequence_len: 2048\nmicro_batch_size: 1\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n"+
			"peft_use_dora: "+word+"\n"), presets.Default())
		text := fmt.Sprint(o.Ignored, o.Problems)
		if !strings.Contains(text, want) || o.Setup["dora"] == true {
			t.Errorf("%s: %s, dora %v", word, text, o.Setup["dora"])
		}
	}
}

// TestSwitchOfGradientsFreed: torchtune's switch is read in every word of YAML, a list is none, and where it
// has no effect the reason is one that the file has.
func TestSwitchOfGradientsFreed(t *testing.T) {
	for _, c := range []struct{ builder, word, more, want string }{
		{"llama3_8b", "True", "", "modelled in bf16 alone, without tp and cp: the file has no dtype"},
		{"llama3_8b", "[null, 1]", "", "is neither true nor false"},
		{"llama3_8b", "3", "", "is neither true nor false"},
		{"llama3_8b", "yes", "dtype: bf16\ntensor_parallel_dim: 2\n", "bf16 alone, without tp and cp "},
		{"lora_llama3_8b", "yes", "dtype: bf16\n", "its recipes of adapters do not read it"},
		{"lora_llama3_8b", "no", "dtype: bf16\n", "has no effect without the keys"},
	} {
		o := launch.Open("a.yaml", []byte("model:\n  _component_: torchtune.models.llama3."+c.builder+
			"\nbatch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\noptimizer_in_bwd: "+c.word+"\n"+
			c.more), presets.Default())
		if text := fmt.Sprint(o.Ignored, o.Problems); !strings.Contains(text, c.want) ||
			o.Setup["optimizer_in_backward"] == true {
			t.Errorf("%s %s: %s", c.builder, c.word, text)
		}
	}
}

// TestPrecisionGivenBesideTorchtune: a precision that is given beside a file counts for what torchtune trains
// in it as that of the file does.
func TestPrecisionGivenBesideTorchtune(t *testing.T) {
	const file = "model:\n  _component_: torchtune.models.llama3.llama3_8b\nbatch_size: 2\noptimizer:\n" +
		"  _component_: torch.optim.AdamW\noptimizer_in_bwd: True\n"
	for _, c := range []struct {
		dtype, given string
		inBackward   bool
	}{
		{"", "", false},
		{"", "bf16", true},
		{"dtype: bf16\n", "", true},
		{"dtype: bf16\n", "fp32", false},
		{"dtype: fp32\n", "bf16", true},
	} {
		beside := launch.Given{Over: map[string]string{}}
		if c.given != "" {
			beside.Over["precision"] = c.given
		}
		o := launch.OpenGiven("a.yaml", []byte(file+c.dtype), presets.Default(), beside)
		stack := map[bool]any{true: "pytorch"}[c.inBackward]
		if got := o.Setup["optimizer_in_backward"] == true; got != c.inBackward ||
			o.Setup["calibration"] != stack {
			t.Errorf("%q with %q: %v on %v, %v", c.dtype, c.given, got, o.Setup["calibration"], o.Ignored)
		}
	}
}
