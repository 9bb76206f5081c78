package cli_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/measured"
)

// benchSetups returns layouts of three models on up to 16 nodes of DGX H100 that fit.
func benchSetups(t *testing.T) (out []engine.Setup) {
	t.Helper()
	c, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	e := engine.Evaluator{SkipTimeline: true}
	for i := range 3 * 3 * 3 * 2 * 2 * 2 * 2 {
		pick := func(n int) int {
			v := i % n
			i /= n
			return v
		}
		m, err := presets.Default().Model([]string{"llama3.2-1b", "llama3.1-8b", "llama3.1-70b"}[pick(3)])
		if err != nil {
			t.Fatal(err)
		}
		gpus, tp, pp := []int{8, 32, 128}[pick(3)], []int{1, 2, 8}[pick(3)], []int{1, 4}[pick(2)]
		zero, seq, batch := []int{1, 3}[pick(2)], []int{4096, 32768}[pick(2)], []int{1, 8}[pick(2)]
		if pp > 1 && zero == 3 || gpus < tp*pp {
			continue
		}
		s, err := knob.DraftOf(m, c, knob.Given{
			knob.GPUs: gpus, knob.TP: tp, knob.PP: pp, knob.ZeRO: zero,
			knob.Seq: seq, knob.GBS: gpus / tp * batch,
		}).Resolve()
		if err != nil {
			continue
		}
		if r := e.Evaluate(s); r.Legal && r.Memory.Fits {
			out = append(out, s)
		}
	}
	return out
}

// elsewhere are the constants of another machine: its figures that differ from those of
// dgx-h100, by their part in a fit.
func elsewhere() (truth map[string]float64, leads map[string]string) {
	const links, network = 0.8, 0.7
	truth = map[string]float64{
		"gemm_efficiency": 0.62, "attention_forward_efficiency": 0.688 * 0.82,
		"attention_backward_efficiency": 0.606 * 0.82, "memory_efficiency": 0.765,
		"gather_efficiency": 0.8 * links, "all_reduce_efficiency": links,
		"all_to_all_efficiency": 0.7 * links, "send_efficiency": 0.7 * links,
		"dispatch_efficiency":   0.9 * links,
		"inter_ring_efficiency": 0.85 * network, "inter_all_to_all_efficiency": 0.8 * network,
		"host_step_us": 15_000,
	}
	leads = map[string]string{
		"matmul": "gemm_efficiency", "attention": "attention_forward_efficiency",
		"memory":     "memory_efficiency",
		"intra-node": "gather_efficiency", "inter-node": "inter_ring_efficiency", "step": "host_step_us",
	}
	return truth, leads
}

// TestConstantsComeBack: from logs of a machine with other constants, every iteration with 2 %
// noise, the constants come back within 5 % by the preset that is written, and the error on
// layouts that are not in the logs falls at least threefold.
func TestConstantsComeBack(t *testing.T) {
	setups, dir := benchSetups(t), t.TempDir()
	e := engine.Evaluator{SkipTimeline: true}
	truth, leads := elsewhere()
	real := func(s engine.Setup) float64 {
		c, err := presets.WithFigures(s.Cluster, s.Stack, truth)
		if err != nil {
			t.Fatal(err)
		}
		s.Cluster = c
		return float64(e.Evaluate(s).Time.Step)
	}
	chosen, _, err := measured.Plan(&e, setups, 0, 16)
	if err != nil {
		t.Fatal(err)
	}
	random, in := rand.New(rand.NewPCG(1, 2)), map[int]bool{}
	args := []string{"calibrate"}
	for n, i := range chosen {
		in[i] = true
		s, seconds := &setups[i], real(setups[i])
		var b strings.Builder
		fmt.Fprintf(&b, "meshscope-setup: "+
			"{\"model\":%q,\"cluster\":\"dgx-h100\",\"gpus\":%d,\"tp\":%d,\"pp\":%d,\"zero\":%d,\"seq\":%d,\"gbs\":%d}\n", s.Model.ID, s.GPUs, s.TP, s.PP, s.ZeRO, s.Seq, s.GBS)
		for k := 1; k <= 25; k++ {
			step := seconds * math.Exp(0.02*random.NormFloat64())
			if k == 1 {
				step *= 9
			}
			fmt.Fprintf(&b, " iteration %8d/      25 | consumed samples: %12d | elapsed time per iteration "+
				"(ms): %.1f | global batch size: %5d |\n", k, k*s.GBS, 1000*step, s.GBS)
		}
		name := filepath.Join(dir, fmt.Sprintf("slurm-%d.out", n))
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	preset := filepath.Join(dir, "elsewhere.toml")
	code, stdout, stderr := run(t, append(args, "--out", preset, "--json")...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var got struct {
		Constants []measured.Constant `json:"constants"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	fitted := map[string]bool{}
	for _, c := range got.Constants {
		if lead, other := leads[c.ID]; other {
			fitted[c.ID] = c.Fitted
			t.Logf("%-10s %.4g -> %.4g ± %.2g, is %.4g (%+.1f %%)", c.ID, c.Before, c.After, c.Error,
				truth[lead], 100*(c.After/truth[lead]-1))
			if math.Abs(c.After/truth[lead]-1) > 0.05 {
				t.Errorf("%s is %.4g, want %.4g", c.ID, c.After, truth[lead])
			}
		} else if c.Fitted || c.Why == "" {
			t.Errorf("%s was fitted: %.4g", c.ID, c.After)
		}
	}
	if len(fitted) != len(leads) {
		t.Errorf("constants: %v", fitted)
	}
	text, err := os.ReadFile(preset)
	if err != nil {
		t.Fatal(err)
	}
	lib, _, err := presets.WithFitted(preset, text, presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	before, after := 0.0, 0.0
	for i, s := range setups {
		if in[i] {
			continue
		}
		want := real(s)
		before += math.Abs(float64(e.Evaluate(s).Time.Step)/want - 1)
		s.Cluster = lib.Calibrate(s.Cluster)
		after += math.Abs(float64(e.Evaluate(s).Time.Step)/want - 1)
	}
	n := float64(len(setups) - len(in))
	t.Logf("%.0f layouts that are not in the logs: mean error %.1f %% before, %.1f %% after", n, 100*before/n,
		100*after/n)
	if 3*after > before {
		t.Errorf("mean error %.3f before, %.3f after", before/n, after/n)
	}
	// The preset is a calibration: eval takes it by its file.
	_, plain, _ := run(t, "eval", "--tp", "8", "--pp", "2", "--gbs", "512", "--json")
	code, with, stderr := run(t, "eval", "--tp", "8", "--pp", "2", "--gbs", "512", "--json", "--calibration",
		preset)
	var a, b evaluated
	if json.Unmarshal([]byte(plain), &a) != nil || json.Unmarshal([]byte(with), &b) != nil || code != 0 ||
		b.Time.Step < 1.1*a.Time.Step {
		t.Errorf("--calibration FILE: exit %d, %v s, %v before: %s", code, b.Time.Step, a.Time.Step, stderr)
	}
}

// TestLogsOfOneKind: a log that comes twice counts once, logs of two launchers are not fitted
// together, and one that is predicted as another stack than its launcher's does not count.
func TestLogsOfOneKind(t *testing.T) {
	dir := t.TempDir()
	write := func(name, calibration, format string) string {
		text := "meshscope-setup: {\"model\":\"llama3.1-8b\",\"gpus\":8,\"zero\":3,\"gbs\":16" + calibration +
			"}\n"
		for i := range 12 {
			text += fmt.Sprintf(format, i+1)
		}
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const megatron = " iteration %d/ 12 | elapsed time per iteration (ms): 3000.0 | global batch size: 16 |\n"
	const titan = "step: %d  loss: 8.1  memory: 61.41GiB(64.63%%)  tps: 5,123\n"
	a, b := write("a.out", "", megatron), write("b.out", "", megatron)
	own, foreign := write("own.out", `,"calibration":"torchtitan"`, titan), write("foreign.out", "", titan)
	for _, c := range []struct {
		files []string
		code  int
		want  string
	}{
		{[]string{a, a}, 0, "the same text as a.out, which counts once"},
		{[]string{a, b}, 0, "the same text as a.out, which counts once"},
		{[]string{a, own}, 2, "logs of megatron and of torchtitan (own.out:1)"},
		{[]string{foreign}, 1, "give --calibration torchtitan"},
		{[]string{foreign, "--calibration", "torchtitan"}, 0, "1 runs on dgx-h100 with torchtitan"},
	} {
		code, stdout, stderr := run(t, append([]string{"calibrate"}, c.files...)...)
		said := strings.Join(strings.Fields(stdout+stderr), " ")
		if code != c.code || !strings.Contains(said, c.want) || c.files[0] == a && c.code == 0 &&
			!strings.Contains(said, "step time of 1 runs") {
			t.Errorf("%v: exit %d\n%s%s", c.files, code, stdout, stderr)
		}
	}
}

// TestPrintedArgumentsRefused: a job whose printed arguments are not all modelled is left out with
// the reason, unless a file next to its log gives the setup.
func TestPrintedArgumentsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("------------------------ arguments ------------------------\n")
	for _, a := range []string{
		"num_layers 32", "hidden_size 4096", "num_attention_heads 32", "seq_length 4096",
		"micro_batch_size 1", "global_batch_size 64", "vocab_size 32000", "bf16 True",
		"fp8 None", "fp8_recipe delayed", "use_torch_fsdp2 True", "world_size 8",
	} {
		name, value, _ := strings.Cut(a, " ")
		fmt.Fprintf(&b, "  %s ............... %s\n", name, value)
	}
	b.WriteString("-------------------- end of arguments ---------------------\n")
	for k := 1; k <= 12; k++ {
		fmt.Fprintf(&b, " iteration %8d/      25 | elapsed time per iteration (ms): 5000.0 | global batch "+
			"size:    64 |\n", k)
	}
	name := filepath.Join(t.TempDir(), "slurm.out")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "calibrate", name); code != 1 ||
		!strings.Contains(stderr, "use-torch-fsdp2") || !strings.Contains(stderr, "no setup") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if err := os.WriteFile(name+".toml",
		[]byte("model = \"llama3.1-8b\"\ngpus = 8\ngbs = 64\nseq = 4096\nzero = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := run(t, "calibrate", name); code != 0 ||
		!strings.Contains(stdout, "llama3.1-8b") {
		t.Errorf("with a file, exit %d: %s%s", code, stdout, stderr)
	}
}
