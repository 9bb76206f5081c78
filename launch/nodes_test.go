package launch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/launch"
	"meshscope/presets"
)

// TestWholeNodes: written are the nodes that are predicted, and a node that is partly empty is
// refused with the nearest numbers of GPUs; a part of one node alone is not.
func TestWholeNodes(t *testing.T) {
	lib := presets.Default()
	m, _ := lib.Model("llama3.1-8b")
	c, _ := lib.Cluster("dgx-h100")
	for gpus, want := range map[int]string{
		4: "1 x 4", 250: "nearest: 248 or 256", 256: "32 x 8",
		10: "nearest: 8 or 16",
	} {
		s, err := knob.DraftOf(m, c, knob.Given{knob.GPUs: gpus, knob.TP: 2, knob.GBS: 2 * gpus}).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		l, _ := launch.Find("megatron")
		d, refused := l.Export(&s, "")
		if d != nil && fmt.Sprintf("%d x %d", d.Nodes, d.PerNode) != want ||
			d == nil && !strings.Contains(refused[0].Because, want) {
			t.Errorf("%d GPUs: %v %v, want %s", gpus, d, refused, want)
		}
	}
}

// TestForeignStack: a file says where its prediction is of another stack than it starts.
func TestForeignStack(t *testing.T) {
	lib := presets.Default()
	m, _ := lib.Model("llama3.1-8b")
	c, _ := lib.Cluster("dgx-h100")
	for _, of := range []struct {
		launcher string
		stack    recipe.Stack
		want     string
	}{
		{"torchtitan", recipe.TorchTitan, ""},
		{"torchtitan", recipe.MegatronCore, "the prediction is of megatron-core; --calibration torchtitan"},
		{"megatron", recipe.Megatron2022, ""},
		{
			"deepspeed", recipe.MegatronCore,
			"no calibration is of DeepSpeed itself: the prediction is of megatron-core; --calibration ",
		},
		{"deepspeed", recipe.DeepSpeed, ""},
	} {
		s, err := knob.DraftOf(m, c, knob.Given{
			knob.GPUs: 16, knob.ZeRO: 3, knob.GBS: 64,
			knob.Calibration: of.stack,
		}).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		l, _ := launch.Find(of.launcher)
		s.ZeRO = map[string]int{"megatron": 1}[of.launcher]
		if of.launcher != "megatron" {
			s.ZeRO = 3
		}
		d, refused := l.Export(&s, "")
		if d == nil {
			t.Errorf("%s: %v", of.launcher, refused)
			continue
		}
		said := strings.Join(d.Warnings, "\n")
		if !strings.Contains(said, of.want) || of.want == "" && strings.Contains(said, "prediction") {
			t.Errorf("%s with %s: %q", of.launcher, of.stack, said)
		}
	}
}

// TestGPUsBeyondWhatIsEvaluated: a number of processes that is too large is named, not called missing.
func TestGPUsBeyondWhatIsEvaluated(t *testing.T) {
	for _, n := range []string{"99999999999999999999", "16777217", "16777216", "8"} {
		r, ok := launch.Read("a.sh",
			[]byte("torchrun --nproc_per_node="+n+" pretrain_gpt.py --num-layers 4\n"))
		if !ok {
			t.Fatal("no launcher reads it")
		}
		named := slices.ContainsFunc(r.Unknown, func(u launch.Unknown) bool {
			return u.Key == "gpus" &&
				strings.Contains(u.Why, n+"\": more than the 16777216 GPUs that are evaluated")
		})
		if named != (len(n) > 8 || n == "16777217") {
			t.Errorf("%s: %+v", n, r.Unknown)
		}
	}
}
