//go:build unix

package cli_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meshscope/cli/terminal"
)

// session is what a person does in the explorer: a model and a cluster from
// the pickers, then values typed into knobs.
type session struct {
	model, cluster string // typed into the filters
	values         [][2]string
	flags          []string // the same setup as flags of eval
}

// TestTerminalPublishedRuns turns the explorer, in the smallest terminal, to
// layouts of published runs, and compares what it shows with eval.
func TestTerminalPublishedRuns(t *testing.T) {
	t.Parallel()
	program := build(t)
	for name, s := range map[string]session{
		// arXiv 2407.21783 table 4: 16,384 H100, TP 8, PP 16, DP 128, 16 M tokens.
		"Llama 3.1 405B": {
			model: "llama 405", cluster: "meta roce",
			values: [][2]string{
				{"global batch", "2048"},
				{"GPUs", "16384"},
				{"PP", "16"},
				{"CP", "1"},
				{"ZeRO", "1"},
				{"recompute", "none"},
			},
			flags: []string{
				"--model=llama3.1-405b", "--cluster=meta-roce-24k", "--gpus=16384",
				"--tp=8", "--pp=16", "--dp=128", "--gbs=2048", "--seq=8192",
			},
		},
		// arXiv 2412.19437: 2,048 H800, PP 16, EP 64, ZeRO 1, 15,360 sequences of
		// 4,096 tokens. The real run needed its own schedule and recomputation.
		"DeepSeek-V3": {
			model: "deepseek-v3", cluster: "deepseek h800",
			values: [][2]string{
				{"TP", "1"},
				{"sequence", "4096"},
				{"GPUs", "2048"},
				{"global batch", "15360"},
				{"schedule", "1f1b"},
				{"VPP", "1"},
				{"CP", "1"},
				{"PP", "16"},
				{"EP", "64"},
				{"ZeRO", "1"},
				{"recompute", "none"},
			},
			flags: []string{
				"--model=deepseek-v3", "--cluster=deepseek-h800", "--gpus=2048", "--tp=1", "--pp=16",
				"--ep=64", "--dp=128", "--gbs=15360", "--seq=4096", "--sp=off", "--precision=bf16",
				"--dispatcher=auto",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := openWith(t, program, 80, 24, []string{"--tp=8", "--pp=2", "--gbs=512"})
			choose(t, screen, "m", s.model)
			choose(t, screen, "g", s.cluster)
			for _, value := range s.values {
				focus(t, screen, value[0])
				press(t, screen, "#")
				press(t, screen, value[1])
				press(t, screen, terminal.Enter)
			}
			screen.AwaitQuiet(frameGap)
			t.Logf("\n%s", screen.Text())
			for _, figure := range answersOf(t, program, s.flags) {
				see(t, screen, figure)
			}
			press(t, screen, "q")
			restored(t, screen, 0)
		})
	}
}

// choose takes the one model or machine that a filter leaves, and waits for the layout that is
// searched for it.
func choose(t *testing.T, screen *terminal.Terminal, key, filter string) {
	t.Helper()
	press(t, screen, key)
	see(t, screen, "type to filter")
	press(t, screen, filter)
	press(t, screen, terminal.Enter)
	if err := screen.WaitFor("the layout for "+filter, func(text string) bool {
		return strings.Contains(text, "[Explore]") && !strings.Contains(text, "type to filter")
	}); err != nil {
		t.Fatal(err)
	}
}

// focus goes to the first knob and down until the one with a label is marked. It
// waits for every move to be seen: on a busy machine a frame may be late.
func focus(t *testing.T, screen *terminal.Terminal, label string) {
	t.Helper()
	press(t, screen, "\x1b[H") // home
	see(t, screen, "▸ nodes ")
	for at := "nodes"; at != label; {
		press(t, screen, terminal.Down)
		before := at
		if err := screen.WaitFor("the knob below "+before, func(text string) bool {
			at = marked(text)
			return at != "" && at != before
		}); err != nil {
			t.Fatalf("no knob %q: %v", label, err)
		}
	}
}

// marked is the label of the knob that the screen marks; empty: none.
func marked(text string) string {
	_, after, _ := strings.Cut("\n"+text, "\n▸ ")
	label, _, _ := strings.Cut(after, "  ")
	return label
}

// answersOf is what eval answers, as the explorer writes it.
func answersOf(t *testing.T, program string, flags []string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program,
		append([]string{"eval", "--json"}, flags...)...).Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 4) { // 4: does not fit
		t.Fatalf("eval: %v", err)
	}
	var report struct {
		Memory struct {
			Peak float64 `json:"peak_bytes"`
			Fit  string  `json:"state"`
		} `json:"memory"`
		Throughput struct {
			MFU float64 `json:"mfu"`
		} `json:"throughput"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	return []string{
		report.Memory.Fit,
		fmt.Sprintf("%.1f", report.Memory.Peak/(1<<30)),
		fmt.Sprintf("%.1f ", 100*report.Throughput.MFU),
	}
}

// TestTerminalKeepsPlace leaves the explorer and starts it again.
func TestTerminalKeepsPlace(t *testing.T) {
	t.Parallel()
	program := build(t)
	const moved = "[Memory]"
	leave := func(t *testing.T, screen *terminal.Terminal) {
		t.Helper()
		press(t, screen, "q")
		if end := restored(t, screen, 0); end.Stderr != "" {
			t.Errorf("standard error: %s", end.Stderr)
		}
	}
	start := func(t *testing.T, home string, args ...string) *terminal.Terminal {
		t.Helper()
		screen, err := terminal.Start(t.Context(), terminal.Options{
			Columns: 80, Rows: 24, Env: []string{
				"HOME=" + home, "XDG_STATE_HOME=" + home,
				"XDG_CONFIG_HOME=" + home,
			},
		}, program, args...)
		if err != nil {
			t.Fatal(err)
		}
		see(t, screen, "Llama")
		if err := screen.WaitFor("the end of the search for a layout",
			func(text string) bool { return !strings.Contains(text, "searching for") }); err != nil {
			t.Fatal(err)
		}
		screen.AwaitQuiet(frameGap)
		return screen
	}

	t.Run("restored", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		const hint = "esc hides this"
		if once := start(t, home, "--no-state"); strings.Contains(once.Text(), hint) {
			t.Errorf("a hint that cannot be remembered:\n%s", once.Text())
		} else {
			leave(t, once)
		}
		screen := start(t, home)
		see(t, screen, hint)
		press(t, screen, "\x1b")
		if err := screen.WaitFor("no hint after esc",
			func(text string) bool { return !strings.Contains(text, hint) }); err != nil {
			t.Fatal(err)
		}
		focus(t, screen, "sequence")
		press(t, screen, "4096")
		press(t, screen, terminal.Enter)
		press(t, screen, "\t")
		see(t, screen, moved)
		leave(t, screen)

		again := start(t, home)
		for _, want := range []string{moved, "sequence } 4,096"} {
			see(t, again, want)
		}
		leave(t, again)

		for _, args := range [][]string{{"--no-state"}, {"--seq", "8192"}} {
			fresh := start(t, home, args...)
			// where no degree is given a layout is searched first
			if err := fresh.WaitFor("a fresh start", func(text string) bool {
				return strings.Contains(strings.Join(strings.Fields(text), " "), "sequence 8,192")
			}); err != nil {
				t.Fatal(err)
			}
			if text := fresh.Text(); strings.Contains(text, moved) || strings.Contains(text, hint) {
				t.Errorf("%v does not start afresh:\n%s", args, text)
			}
			leave(t, fresh)
		}
	})

	t.Run("a home that cannot be written", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		// A file where the folder belongs: nobody can write there, not even root.
		if err := os.WriteFile(filepath.Join(home, "meshscope"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		screen := start(t, home)
		press(t, screen, terminal.Right)
		press(t, screen, "q")
		if end := restored(t, screen, 0); strings.Count(end.Stderr, "\n") != 1 ||
			!strings.Contains(end.Stderr, "meshscope: the session is not kept: ") {
			t.Errorf("said at the end: %q", end.Stderr)
		}
		unsaved := start(t, home, "--no-state")
		press(t, unsaved, terminal.Right)
		leave(t, unsaved)
	})

	t.Run("a file that is not a session", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		if err := os.MkdirAll(filepath.Join(home, "meshscope"), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home, "meshscope", "session.json")
		if err := os.WriteFile(path, []byte(`{"version": 1, "setup": {"tp": -3`), 0o600); err != nil {
			t.Fatal(err)
		}
		screen := start(t, home)
		see(t, screen, "set aside")
		leave(t, screen)
	})
}

// TestTerminalCopy copies the setup on one screen and evaluates what came out.
func TestTerminalCopy(t *testing.T) {
	t.Parallel()
	program, home := build(t), t.TempDir()
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: 120, Rows: 36, Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "TMUX=/tmp/none"},
	}, program, "--model", "mixtral-8x7b", "--tp", "2", "--ep", "8", "--sp=off")
	if err != nil {
		t.Fatal(err)
	}
	see(t, screen, "Mixtral")
	press(t, screen, "\t")
	press(t, screen, "y")
	see(t, screen, "command copied (tmux: set -g set-clipboard on)")
	text, err := os.ReadFile(filepath.Join(home, "meshscope", "copied"))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(text))
	if clip := base64.StdEncoding.EncodeToString([]byte(line)); !strings.Contains(string(screen.Raw()),
		"\x1b]52;c;"+clip) {
		t.Errorf("%q is not in the clipboard", line)
	}
	press(t, screen, "q") // closes what shows the command
	press(t, screen, "q")
	restored(t, screen, 0)

	flags := strings.Fields(strings.TrimPrefix(line, "meshscope "))
	if got, want := answersOf(t, program, flags),
		answersOf(t, program, []string{
			"--model=mixtral-8x7b", "--tp=2", "--ep=8",
			"--sp=off",
		}); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", line, got, want)
	}
}

// TestTerminalFile opens the explorer with a config.json: it says what the file leaves out, and y
// twice leaves a share string that opens it again.
func TestTerminalFile(t *testing.T) {
	t.Parallel()
	program, home := build(t), t.TempDir()
	config := filepath.Join(home, "tiny-llama", "config.json")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config,
		[]byte(
			`{"model_type":"llama","hidden_size":512,"num_hidden_layers":4,"num_attention_heads":8,"intermediate_size":1536,"vocab_size":32000}`,
		), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(words ...string) *terminal.Terminal {
		screen, err := terminal.Start(t.Context(), terminal.Options{
			Columns: 120, Rows: 36, Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home},
		}, program, words...)
		if err != nil {
			t.Fatal(err)
		}
		see(t, screen, "tiny-llama")
		return screen
	}
	screen := open(config, "--gpus", "8", "--tp", "2")
	see(t, screen, "max_position_embeddings")
	press(t, screen, "y")
	see(t, screen, "share string copied") // its model is of a file, which no command names elsewhere
	press(t, screen, "q")
	press(t, screen, "q")
	restored(t, screen, 0)
	text, err := os.ReadFile(filepath.Join(home, "meshscope", "copied"))
	if err != nil || !strings.HasPrefix(string(text), "ms1:") {
		t.Fatalf("copied %q, %v", text, err)
	}
	screen = open(strings.TrimSpace(string(text)))
	press(t, screen, "q")
	restored(t, screen, 0)
}

// TestTerminalExport writes the figures of a session to files and compares them
// with what eval prints.
func TestTerminalExport(t *testing.T) {
	t.Parallel()
	program, folder := build(t), t.TempDir()
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: 80, Rows: 24, Env: []string{"HOME=" + folder}, Folder: folder,
	}, program, "--no-state", "--gpus", "64", "--tp", "8", "--pp", "2", "--gbs", "512")
	if err != nil {
		t.Fatal(err)
	}
	see(t, screen, "Llama")
	for _, name := range []string{
		"meshscope-llama3.1-70b-64gpus-tp8-pp2-zero1.csv",
		"meshscope-llama3.1-70b-64gpus-tp8-pp2-zero1-2.csv",
	} {
		press(t, screen, "x")
		press(t, screen, terminal.Enter)
		see(t, screen, "wrote "+name+" into the current folder")
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program, "eval", "--gpus", "64", "--tp", "8",
			"--pp", "2", "--gbs", "512", "--format", "csv").Output()
		if err != nil || string(out) != string(text) {
			t.Errorf("%s differs from eval: %v\n%s", name, err, text)
		}
	}
	press(t, screen, "q")
	restored(t, screen, 0)
}

// TestTerminalOwnKeys gives actions other keys in a file: the sound lines count,
// the others are named with file, line and key.
func TestTerminalOwnKeys(t *testing.T) {
	t.Parallel()
	program, home := build(t), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "meshscope"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "meshscope", "keys.toml")
	if err := os.WriteFile(file, []byte("next-screen = 'n'\nundo = 'q'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: 120, Rows: 36, Env: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}, Folder: home,
	}, program, "--no-state")
	if err != nil {
		t.Fatal(err)
	}
	see(t, screen, `keys.toml:2:1: undo: "q" is the key of quit`)
	press(t, screen, "n")
	see(t, screen, "[Memory]")
	press(t, screen, "q")
	restored(t, screen, 0)
}
