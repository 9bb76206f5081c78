package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/launch"
)

// TestUlyssesRoundTrip: files of launchers that exchange the sequence for heads have it and are read back;
// those that have a ring refuse it, and say so of the other one.
func TestUlyssesRoundTrip(t *testing.T) {
	given := knob.Given{
		knob.GPUs: 16, knob.CP: 8, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3, knob.GBS: 8,
		knob.MBS: 1, knob.Seq: 65536,
	}
	heads := setup(t, "llama3-8b", given)
	ring := setup(t, "llama3-8b", knob.Given{
		knob.GPUs: 16, knob.CP: 8, knob.ZeRO: 3, knob.GBS: 8, knob.Seq: 65536,
	})
	mega := ring
	mega.CPComm, mega.ZeRO = recipe.Ulysses, 1
	for id, s := range map[string]*engine.Setup{
		"deepspeed": &heads, "accelerate-deepspeed": &heads, "megatron": &mega,
		"bridge": &mega,
	} {
		l, ok := launch.Find(id)
		if refused := l.Refusals(s); !ok || len(refused) > 0 {
			t.Fatalf("%s: %+v", id, refused)
		}
		doc, err := l.Export(s, "")
		if err != nil {
			t.Fatal(err)
		}
		text := string(doc.Text())
		want := map[string]string{
			"deepspeed":            `"sequence_parallel_size": 8`,
			"accelerate-deepspeed": "parallelism_config_sp_size: 8",
			"megatron":             "--cp-comm-type a2a",
			"bridge":               "model.cp_comm_type=a2a",
		}[id]
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %s:\n%s", id, want, text)
		}
		if got, _, _, err := backOf(t, l, s); err != nil || got.CP != 8 || !got.SharesHeads() || got.DP != 2 {
			t.Errorf("%s: cp %d of %s, dp %d; %v", id, got.CP, got.Exchanges(), got.DP, err)
		}
	}
	for id, s := range map[string]*engine.Setup{
		"torchtitan": &heads, "accelerate": &heads, "axolotl": &heads, "deepspeed": &ring,
		"accelerate-deepspeed": &ring,
	} {
		l, _ := launch.Find(id)
		if refused := l.Refusals(s); len(refused) == 0 || !strings.Contains(refused[0].Because, "ring") {
			t.Errorf("%s: %+v", id, refused)
		}
	}
	l, _ := launch.Find("llama-factory")
	ring = setup(t, "llama3-8b", knob.Given{
		knob.GPUs: 16, knob.CP: 8, knob.ZeRO: 3, knob.GBS: 16, knob.MBS: 1, knob.Seq: 4096,
	})
	if refused := l.Refusals(&ring); len(refused) != 1 || refused[0].Field != knob.CP {
		t.Errorf("%+v", refused)
	}
	if near, ok := l.Nearest(ring); !ok || near.CP != 1 {
		t.Errorf("nearest to cp 8: %+v, %v", near.Layout, ok)
	}
}

// TestBackendOfAccelerate: a word for what exchanges the sequence counts where it has an effect, with the
// plugin that it needs.
func TestBackendOfAccelerate(t *testing.T) {
	for _, c := range []struct{ kind, cp, word, comm, problem string }{
		{"DEEPSPEED", "2", "deepspeed", "a2a", ""},
		{"DEEPSPEED", "1", "deepspeed", "", ""},
		{"FSDP", "2", "torch", "p2p", ""},
		{"FSDP", "2", "deepspeed", "p2p", "deepspeed needs distributed_type DEEPSPEED"},
		{"FSDP", "2", "ulysses", "p2p", "allowed are torch, deepspeed"},
	} {
		const mesh = "  parallelism_config_"
		text := "compute_environment: LOCAL_MACHINE\ndistributed_type: " + c.kind + "\nnum_processes: 8\n" +
			"fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n" +
			"parallelism_config:\n" + mesh + "cp_size: " + c.cp + "\n" + mesh + "cp_backend: " + c.word + "\n"
		r, _ := launch.Read("accelerate.yaml", []byte(text))
		comm, _ := r.Setup["cp_comm"].(string)
		if got := fmt.Sprint(r.Problems); comm != c.comm || (c.problem == "") != (len(r.Problems) == 0) ||
			!strings.Contains(got, c.problem) {
			t.Errorf("%+v: %s, %q, problems %s", c, r.Launcher, comm, got)
		}
	}
}

// TestSwiftHasUlysses: ms-swift's sequence_parallel_size exchanges the sequence for heads, under DeepSpeed.
func TestSwiftHasUlysses(t *testing.T) {
	r, _ := launch.Read("sft.sh", []byte("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct "+
		"--sequence_parallel_size 4 --deepspeed zero3 --max_length 32768\n"))
	if r.Setup["cp"] != 4 || r.Setup["cp_comm"] != "a2a" || r.Setup["calibration"] != "deepspeed" {
		t.Errorf("%v", r.Setup)
	}
}

// TestContradictionsOfUlysses: a batch that data_parallel_size contradicts, a ring next to Ulysses and an
// exchange that Megatron-LM has not are problems.
func TestContradictionsOfUlysses(t *testing.T) {
	for want, file := range map[string][2]string{
		"64 is not micro-batch 1 x accumulation 1 x data_parallel_size 16": {
			"z.json", `{"zero_optimization":{"stage":3},"train_micro_batch_size_per_gpu":1,` +
				`"train_batch_size":64,"gradient_accumulation_steps":1,` +
				`"sequence_parallel_size":4,"data_parallel_size":16}`,
		},
		"4 next to a ring of 2": {
			"a.yaml", "distributed_type: FSDP\nnum_processes: 64\nparallelism_config:\n  " +
				"parallelism_config_cp_size: 2\n  parallelism_config_sp_size: 4\n",
		},
		`given "A2A", allowed are p2p, a2a, a2a+p2p, allgather`: {
			"t.sh", "torchrun --nproc-per-node 8 pretrain_gpt.py --context-parallel-size 2 " +
				"--cp-comm-type A2A\n",
		},
	} {
		r, _ := launch.Read(file[0], []byte(file[1]))
		if got := fmt.Sprint(r.Problems); !strings.Contains(got, want) {
			t.Errorf("%s: %s, not %s", file[0], got, want)
		}
	}
}
