package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"meshscope/cli"
)

// Whatever stands where a list, a share, a time or a knob is wanted: no internal
// error, nothing that steers a terminal, and a usage error says what was wrong.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"tp=4,pp=2", "split=40,40,tp=2", "recompute=modules:norm,act,tp=4", "model=llama3.1-8b",
		"model.layers=40", "=", ",", "a=b=c", "tp=4,tp=8",
		"5%", "0.5", "100%", "30d", "6w", "1e9d", ".d", "%", "10s", "-1s", "tp", "tp=2..8", "seq=1..1000000",
		"gpus=8,dp=8,tp=8", "\x1b[2J", "\xff=1",
	} {
		for which := range uint8(8) {
			f.Add(seed, which)
		}
	}
	f.Fuzz(func(t *testing.T, word string, which uint8) {
		all := [][]string{
			{"compare", "tp=2", "--gpus=8", "--model=llama3.1-8b", word},
			{"search", "--time=1ns", "--headroom=" + word},
			{"search", "--time=1ns", "--tokens=1T", "--deadline=" + word},
			{"search", "--time=1ns", "--objective=" + word},
			{"search", "--time=1ns", "--set=" + word},
			{
				"search", "--gpus=8", "--model=llama3.1-8b", "--tp=2", "--pp=1", "--cp=1", "--top=1",
				"--time=" + word,
			},
			{"scan", "--gpus=8", "--model=llama3.1-8b", "--x=" + word},
			{"scan", "--gpus=8", "--model=llama3.1-8b", "--x=tp", "--y=" + word},
		}
		args := all[int(which)%len(all)]
		var stdout, stderr bytes.Buffer
		code := cli.Run(args, strings.NewReader(""), &stdout, &stderr)
		if strings.Contains(stderr.String(), "internal error") {
			t.Fatalf("%q: %s", args, stderr.String())
		}
		if code == 2 && (stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "meshscope: ")) {
			t.Fatalf("%q: exit code 2 with %q and %q", args, stdout.String(), stderr.String())
		}
		if text := stdout.String() + stderr.String(); strings.ContainsAny(text, "\x1b\a\u009b") {
			t.Fatalf("%q: %q", args, text)
		}
	})
}
