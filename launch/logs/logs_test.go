package logs_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"meshscope/launch/logs"
)

// job returns a log of some iterations in the words of a launcher.
func job(line func(iteration int) string, from, to, by int) string {
	var b strings.Builder
	for i := from; i <= to; i += by {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

func megatron(ms float64) func(int) string {
	return func(i int) string {
		t := ms
		if i == 1 {
			t *= 12 // kernels are tuned
		}
		return fmt.Sprintf(" [2025-04-01 10:11:12.345678] iteration %8d/%8d | consumed samples: %12d | "+
			"elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning "+
			"rate: 1.500000E-04 | global batch size: %5d | lm loss: 1.1E+01 | loss scale: 1.0 |", i, 50,
			128*i, t, 401.5, 128)
	}
}

// TestFormats: the lines of every launcher, as their sources write them.
func TestFormats(t *testing.T) {
	batch := logs.Batch{GBS: 128, Seq: 4096, GPUs: 64}
	for name, c := range map[string]struct {
		text, launcher  string
		want            float64 // seconds
		alloc, reserved float64 // GiB
	}{
		"Megatron-LM": {
			job(megatron(2500), 1, 20, 1) + "[Rank 0] (after 1 iterations) memory (MB) | allocated: " +
				"20480.00 | max allocated: 40960.00 | reserved: 45056.00 | max reserved: 46080.00\n" +
				"[Rank 8] (after 1 iterations) memory (MB) | allocated: 20480.00 | max allocated: 38912.00 " +
				"| reserved: 45056.00 | max reserved: 47104.00\n",
			"megatron", 2.5, 40, 46,
		},
		"torchtitan": {
			job(func(i int) string {
				return fmt.Sprintf("[rank0]:[titan] 2025-06-11 10:00:00,123 - root - INFO - \x1b[31mstep: "+
					"%2d  \x1b[32mloss:  7.5432  \x1b[38;2;180;60;0mgrad_norm:  1.2345  "+
					"\x1b[38;2;54;234;195mmemory: 61.41GiB(64.63%%)  \x1b[34mtps: 4,096  \x1b[36mtflops: "+
					"1,234.56  \x1b[35mmfu: 41.23%%\x1b[39m", i)
			}, 10, 100, 10) + "[rank0]: validate step: 100  loss: 7.0  memory: 70.00GiB(73.1%)  tps: 9\n",
			"torchtitan", 2, 0, 61.41,
		},
		"nanotron": {
			job(func(i int) string {
				return fmt.Sprintf("\x1b[2;3m11/23 10:00:00 [INFO|DP=0|PP=1|TP=0]\x1b[0m: iteration: %d / "+
					"100 | consumed_tokens: 5.2M | elapsed_time_per_iteration_ms: 2.35K | tokens_per_sec: "+
					"223K | tokens_per_sec_per_gpu: 3.49K | global_batch_size: 128 | lm_loss: 11.3 | lr: "+
					"0.0003 | model_tflops_per_gpu: 214 | hardware_tflops_per_gpu: 214 | grad_norm: 0.46 | "+
					"cuda_memory_allocated: 5.68G | cuda_max_memory_reserved: 64.4B", i)
			}, 1, 20,
				1) + " Memory usage: 2048.00MiB. Peak allocated 40960.00MiB. Peak reserved: 41984.00MiB\n",
			"nanotron", 2.35, 40, 64.4e9 / (1 << 30),
		},
		"DeepSpeed": {
			job(func(i int) string {
				return fmt.Sprintf("[2023-11-07 02:14:06,396] [INFO] [timer.py:260:stop] "+
					"epoch=0/micro_step=%d/global_step=%d, RunningAvgSamplesPerSec=25.722348807434297, "+
					"CurrSamplesPerSec=25.6, MemAllocated=4.32GB, MaxMemAllocated=38.49GB", 4*i, i)
			}, 10, 100, 10),
			"deepspeed", 5, 38.49, 0,
		},
		"DeepSpeed's pipeline": {
			job(func(i int) string {
				return fmt.Sprintf("steps: %d loss: 3.1415 iter time (s): 4.125 samples/sec: 31.030", i)
			}, 10, 100, 10),
			"deepspeed", 4.125, 0, 0,
		},
	} {
		jobs, problems, err := logs.Read("log", strings.NewReader(c.text))
		if err != nil || len(problems) > 0 || len(jobs) != 1 {
			t.Fatalf("%s: %d jobs, %v, %v", name, len(jobs), problems, err)
		}
		j := &jobs[0]
		m, left, err := j.Measure(batch)
		if err != nil || len(left) > 0 || j.Launcher != c.launcher || math.Abs(m.Seconds-c.want) > 1e-6 {
			t.Errorf("%s: %s, %+v, %v, %v; want %v s", name, j.Launcher, m, left, err, c.want)
		}
		if math.Abs(j.Allocated-c.alloc) > 1e-6 || math.Abs(j.Reserved-c.reserved) > 1e-6 {
			t.Errorf("%s: %.3f GiB allocated, %.3f reserved; want %.3f, %.3f", name, j.Allocated, j.Reserved,
				c.alloc, c.reserved)
		}
	}
}

// TestJobs: jobs of one log are told apart; what went wrong is named by its line.
func TestJobs(t *testing.T) {
	arguments := "------------------------ arguments ------------------------\n  global_batch_size " +
		"............................... 128\n  tensor_model_parallel_size ...................... 8\n-------------------- end of arguments ---------------------\n"
	text := `meshscope-setup: {"model":"llama3.1-8b"}` + "\n" + job(megatron(2000), 1, 12, 1) + // 1-13
		`0: meshscope-setup: {"model":"llama3.1-70b"}` + "\n" + job(megatron(3000), 1, 12, 1) + // 14-26
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" + // 27
		arguments + job(megatron(4000), 1, 12, 1) + job(megatron(4100), 5, 20, 1) + // 28-31, 32-43, 44-59
		arguments + "Traceback (most recent call last):\n" // 60-64
	jobs, problems, err := logs.Read("log", strings.NewReader(text))
	if err != nil || len(jobs) != 5 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	if len(problems) != 1 || problems[0].Line != 44 ||
		!strings.Contains(problems[0].Message, "from 12 to 5") {
		t.Errorf("problems: %+v", problems)
	}
	batch := logs.Batch{GBS: 128, Seq: 4096, GPUs: 64}
	for i, want := range []struct {
		line    int
		seconds float64
		err     string
	}{
		{1, 2, ""},
		{14, 0, "line 27: out of memory"},
		{28, 4, ""},
		{44, 4.1, ""},
		{60, 0, "line 64: the job crashed"},
	} {
		m, _, err := jobs[i].Measure(batch)
		if jobs[i].Line != want.line || math.Abs(m.Seconds-want.seconds) > 1e-9 ||
			(err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("job %d: line %d, %v s, %v; want %+v", i, jobs[i].Line, m.Seconds, err, want)
		}
	}
	if a := jobs[2].Arguments; a["tensor_model_parallel_size"] != "8" || len(a) != 2 || !jobs[3].Restart {
		t.Errorf("arguments %v, restart %v", a, jobs[3].Restart)
	}
}

// TestLines: a warm-up, a clock that jumps, another batch and a stall do not count and are named.
func TestLines(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(job(megatron(2000), 1, 20, 1)), "\n")
	lines[9] = megatron(-3_600_000)(10)
	lines[10] = megatron(900_000)(11)
	lines[11] = strings.Replace(megatron(1000)(12), "global batch size:   128", "global batch size:    64", 1)
	jobs, _, err := logs.Read("log", strings.NewReader(strings.Join(lines, "\n")))
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	m, left, err := jobs[0].Measure(logs.Batch{GBS: 128, Seq: 4096, GPUs: 64})
	if err != nil || m.Warm != 5 || m.Lines != 12 || m.Seconds != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	if len(left) != 3 || left[0].Line != 10 || left[1].Line != 12 || left[2].Line != 11 {
		t.Errorf("left out: %+v", left)
	}
	if _, _, err := jobs[0].Measure(logs.Batch{GBS: 256, Seq: 4096, GPUs: 64}); !errors.Is(err, logs.ErrFew) {
		t.Errorf("another batch: %v", err)
	}
}

// TestHostile: what is no log, or breaks off, gives an error with its line and keeps the rest.
func TestHostile(t *testing.T) {
	good := job(megatron(2000), 1, 12, 1)
	for name, c := range map[string]struct {
		text, want string
		jobs       int
	}{
		"UTF-16": {"\xff\xfei\x00t\x00", "log:1:1: this is UTF-16", 0},
		"gzip":   {"\x1f\x8b\x08\x00", "log:1:1: this is gzip", 0},
		"binary": {good + "ab\x00cd", "log:13:3: a zero byte", 1},
		"too long": {
			good + strings.Repeat("nothing to see in this line\n", 400_000), "longer than 10 MB",
			1,
		},
		"one line":   {strings.Repeat("x", 12<<20), "longer than 10 MB", 0},
		"Latin-1":    {good + "caf\xe9\n", "", 1},
		"breaks off": {good[:len(good)-90], "", 1},
		"nothing":    {"", "", 0},
		"long line":  {strings.Repeat("y", 2<<20) + "\n" + good, "", 1},
		"many jobs": {
			strings.Repeat("--- arguments ---\n"+megatron(1)(3)+"\n", 1200),
			"more than 1000 jobs", 1000,
		},
		"no numbers":  {"elapsed time per iteration (ms): nan | iteration inf", "", 0},
		"huge number": {strings.ReplaceAll(good, "2000.0", strings.Repeat("9", 400)), "", 1},
	} {
		jobs, _, err := logs.Read("log", strings.NewReader(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) ||
			len(jobs) != c.jobs {
			t.Errorf("%s: %d jobs, %v; want %d, %q", name, len(jobs), err, c.jobs, c.want)
		}
	}
}

// FuzzRead: whatever a log holds, no panic, and a median that is a positive number.
func FuzzRead(f *testing.F) {
	f.Add(job(megatron(2500), 1, 12, 1))
	f.Add("step: 10  loss: 7.5  memory: 61.41GiB(64.63%)  tps: 4,096  tflops: 1.5  mfu: 41%\n")
	f.Add("iteration: 1 / 9 | elapsed_time_per_iteration_ms: 2.35K | global_batch_size: 128 | " +
		"cuda_max_memory_reserved: 64.4B\n")
	f.Add("global_step=10, CurrSamplesPerSec=25.6, MaxMemAllocated=38.49GB\nsteps: 3 iter time (s): 4.1 " +
		"samples/sec: 31\n")
	f.Add("meshscope-setup: {}\n--- arguments ---\n a ... 1\n--- end of arguments ---\nCUDA out of memory\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, _, err := logs.Read("log", strings.NewReader(text))
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		for i := range jobs {
			m, _, err := jobs[i].Measure(logs.Batch{GBS: 128, Seq: 4096, GPUs: 64})
			if err == nil && !(m.Seconds > 0 && !math.IsInf(m.Seconds, 0)) {
				t.Errorf("%v seconds", m.Seconds)
			}
		}
	})
}
