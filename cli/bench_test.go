package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBenchRuns: a task of the array, run by bash with stand-ins for Slurm and the launcher,
// prints a log that calibrate reads as it is.
func TestBenchRuns(t *testing.T) {
	code, script, stderr := run(t, "bench", "--for", "megatron", "--model", "llama3.1-8b", "--gpus", "16",
		"--top", "2", "--spread", "3", "--steps", "20")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{
		"#SBATCH --array=1-5%1", "#SBATCH --nodes=2", "determine: matmul",
		"# 2 of the best: --model llama3.1-8b", "# of the spread: ", "--train-iters 20 ",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in\n%.2000s", want, script)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("scontrol", "#!/bin/sh\necho node-7\n")
	write("srun", "#!/bin/sh\nshift\nSLURM_NODEID=0 exec \"$@\"\n")
	gbs := regexp.MustCompile(`--global-batch-size ([0-9]+)`).FindStringSubmatch(script)[1]
	write("torchrun", "#!/bin/sh\necho \"$@\"\nfor i in 1 2 3 4 5 6 7 8 9 10 11; do echo \" iteration $i/ "+
		"20 | elapsed time per iteration (ms): 21000.0 | global batch size: "+gbs+" |\"; done\n")
	file := write("bench.sbatch", script)
	task := func(n int) (string, error) {
		cmd := exec.CommandContext(t.Context(), bash, file)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + dir + ":" + os.Getenv("PATH"), "SLURM_JOB_NODELIST=node-[7-8]",
			"SLURM_ARRAY_JOB_ID=9", fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", n),
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	log, err := task(1)
	if err != nil || !strings.Contains(log, "--nnodes 2 --nproc_per_node 8 --node_rank 0") ||
		!strings.Contains(log, "node-7:29500 pretrain_gpt.py") {
		t.Fatalf("%v: %s", err, log)
	}
	if out, err := task(6); err == nil || !strings.Contains(out, "no task 6") {
		t.Errorf("a task too many: %v, %s", err, out)
	}
	code, stdout, stderr := run(t, "calibrate", write("bench-9_1.out", log))
	if code != 0 || stderr != "" || !strings.Contains(stdout, "bench-9_1.out:1") ||
		!strings.Contains(stdout, "21") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}

// TestBenchRefusals: what cannot be measured is refused with the exit code of a search.
func TestBenchRefusals(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--model llama3.1-8b", 2, "bench needs --for"},
		{"--for slurm", 2, "--for"},
		{"--for megatron --gpus 8,16", 2, "one number of GPUs"},
		{
			"--for megatron --model llama3.1-70b --gpus 8 --tp 8 --pp 1", 4,
			"no layout that Megatron-LM runs was found",
		},
		{
			"--for megatron --model llama3.1-70b --gpus 64 --tp 8 --schedule dualpipe", 3,
			"no layout that Megatron-LM runs was found",
		},
		{"--for megatron --steps 2", 2, "10"},
	} {
		code, stdout, stderr := run(t, append([]string{"bench"}, strings.Fields(c.args)...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %s, want %d, %q", c.args, code, stderr, c.code, c.want)
		}
	}
}

// TestOwnStack: a launcher with a stack of its own is predicted as that where nothing gives one.
func TestOwnStack(t *testing.T) {
	args := []string{"--model", "llama3.1-8b", "--gpus", "16"}
	for _, command := range []string{"launch", "bench"} {
		args := append([]string{command, "--for", "torchtitan"}, args...)
		if command == "bench" {
			args = append(args, "--top", "1", "--spread", "0")
		}
		_, own, said := run(t, args...)
		if !strings.Contains(said, "predicted as torchtitan") || strings.Contains(said, "prediction is of") {
			t.Errorf("%s: %s", command, said)
		}
		_, given, said := run(t, append(args, "--calibration", "megatron-core")...)
		if strings.Contains(said, "which this starts") ||
			!strings.Contains(said, "prediction is of megatron-core; --calibration torchtitan") {
			t.Errorf("%s with a calibration: %s", command, said)
		}
		if command == "bench" && own == given {
			t.Error("the stack changes nothing")
		}
	}
	if code, _, said := run(t, "bench", "--for", "megatron", "--model", "llama3.1-8b", "--gpus",
		"250"); code != 3 || !strings.Contains(said, "nearest: 248 or 256") {
		t.Errorf("exit %d: %s", code, said)
	}
}
