//go:build unix

package cli_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/cli/terminal"
)

// explorerJob is what somebody comes to the explorer with. The keys are those that led somewhere when the
// program was first tried, counted then; missing then: with these keys no answer came.
type explorerJob struct {
	name, start string
	keys        []string // each is one, or the letters of a text
	most        int      // presses that it took
	sees        []string
}

// await begins what is no key, but a text that the next key answers: it may come later than what the last key
// changed at once.
const await = "\x00"

// explorerJobs are done from a cold start.
func explorerJobs() []explorerJob {
	text := func(s string) []string { return strings.Split(s, "") }
	with := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	key := func(names ...string) []string { return names }
	return []explorerJob{
		{"first ten seconds", "", nil, 0, []string{"Fits with", "step 14.8 s", "PIPELINE", "IF TP", "F0"}},
		{
			"2T tokens, a page to send", "", key("r", "2", "T", terminal.Enter, terminal.Esc, "R", "x"), 7,
			[]string{"2.00 T tokens", "days", "GPU-hours", "wrote"},
		},
		{"32k tokens in a sequence", "", with(key("?"), text("sequence"), key(terminal.Enter), text("32k"),
			key(terminal.Enter, await+"enter takes the best layout", terminal.Enter)), 15, []string{
			"128 × 32,768 = 4.19 M tokens", "Fits with",
			"sequence 32,768, best of",
		}},
		{
			"another model", "", with(key("m"), text("deepseek-v3"), key(terminal.Enter)), 13,
			[]string{"DeepSeek-V3 / R1 671B, best of", "Fits with", "dispatcher"},
		},
		{
			"a model of one's own",
			"--gpu a100-sxm-40g --nodes 12 --gpus-per-node 4 --node-bandwidth 100Gb/s --model llama2-13b",
			nil, 0,
			[]string{"48 × A100", "12 nodes", "Fits with"},
		},
		{
			"out of memory: why", "--gpus 64 --tp 4 --pp 8 --mbs 2 --gbs 512", key("\t"), 1,
			[]string{"over", "does not fit:", "rank 0, the fullest", "activations"},
		},
		{
			"out of memory: fixes", "--gpus 64 --tp 4 --pp 8 --mbs 2 --gbs 512", key("a"), 1,
			[]string{"what would make it fit", "tp 8"},
		},
		{
			"two schedules on one axis", "--gpus 64 --tp 8 --pp 4 --gbs 64",
			with(key("\t", "\t", "b", await+"enter compares"), slices.Repeat(key(terminal.Down), 6), key(terminal.Enter)), 10,
			[]string{"zb-h1", "A ", "B "},
		},
		{"a share string", "", key("y"), 1, []string{"copied"}},
		{
			"tokens with a comma", "", with(key("r"), text("2,5T"), key(terminal.Enter)), 6,
			[]string{"2.5T", "103 days"},
		},
		{"128k on one node", "--model llama3.1-8b --gpus 8 --seq 128k", nil, 0, []string{"Fits with"}},
		{
			"one word for tight", "--gpu mi300x --gpus 64 --zero 3 --calibration torchtitan --dp 64", nil, 0,
			[]string{"Tight: 27.0 GiB over, less than the error band"},
		},
	}
}

// TestJobsInTerminal does every job with no more keys than when the program was first tried.
func TestJobsInTerminal(t *testing.T) {
	t.Parallel()
	for _, job := range explorerJobs() {
		t.Run(job.name, func(t *testing.T) {
			t.Parallel()
			screen := start(t, build(t), 120, 36, append(strings.Fields(job.start), "--no-state"))
			see(t, screen, "[Explore]")
			presses := 0
			for _, key := range job.keys {
				if text, ok := strings.CutPrefix(key, await); ok {
					see(t, screen, text)
					continue
				}
				press(t, screen, key)
				presses++
			}
			if presses > job.most {
				t.Errorf("%d keys, it took %d", presses, job.most)
			}
			for _, text := range job.sees {
				see(t, screen, text)
			}
			press(t, screen, terminal.CtrlC)
			restored(t, screen, 0)
		})
	}
}
