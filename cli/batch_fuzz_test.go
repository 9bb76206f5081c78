package cli_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"meshscope/cli"
)

// FuzzBatch answers any lines: one JSON document for each line that is not empty, in order, without
// an internal error or anything that steers a terminal.
func FuzzBatch(f *testing.F) {
	for _, seed := range []string{
		`{"model":"llama3.1-8b","gpus":8,"tp":2}`, "{}", "[]", "null", "{\"tp\":1e400}",
		"{\"tp\":-1}\n{\"pp\":\"x\"}", "{\"model\":\"/etc/passwd\"}",
		`{"model":"\u009b31m"}`, `{"tp":2,"tp":4}`, `{"set":{"model.layers":3}}`, "{\"split\":\"1,2\"}",
		"\xff\xfe{}", "{\"gpus\":8}\r\n\r\n{\"gpus\":16}", "ms1:AAAA",
		`{"recompute":"modules:norm","schedule":"zb-v","pp":4,"gpus":8,"tp":1,"dp":2}`,
		strings.Repeat("[", 5000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		if strings.Count(lines, "\n") > 20 {
			return
		}
		var stdout, stderr bytes.Buffer
		code := cli.Run([]string{"eval", "--batch", "-", "--model=llama3.1-8b", "--gpus=8", "--tp=1"},
			strings.NewReader(lines), &stdout, &stderr)
		if strings.Contains(stderr.String()+stdout.String(), "internal error") {
			t.Fatalf("%q: %s%s", lines, stderr.String(), stdout.String())
		}
		if strings.ContainsAny(stdout.String()+stderr.String(), "\x1b\a\u009b\u202e") {
			t.Fatalf("%q: %q", lines, stdout.String())
		}
		answers := 0
		for line := range strings.Lines(stdout.String()) {
			if answers++; !json.Valid([]byte(line)) {
				t.Fatalf("%q: no JSON: %q", lines, line)
			}
		}
		asked := strings.Count(strings.TrimSuffix(lines, "\n"), "\n") + 1
		if code == 0 && answers > asked {
			t.Fatalf("%q: %d answers to %d lines", lines, answers, asked)
		}
	})
}

// FuzzCosts draws a timeline of any unit costs: a refused one is a usage error.
func FuzzCosts(f *testing.F) {
	f.Add("1", "2", "0.1", "1f1b", uint8(4), uint8(8))
	f.Add("1e12", "1e-12", "0", "zb-v", uint8(4), uint8(8))
	f.Add("-1", "x", "NaN", "interleaved", uint8(0), uint8(1))
	f.Add("0x1p4", "1_0", "Inf", "dualpipe", uint8(2), uint8(20))
	f.Fuzz(func(t *testing.T, forward, backward, hop, kind string, ranks, microBatches uint8) {
		args := []string{
			"timeline", "--json", "--tf=" + forward, "--tb=" + backward, "--p2p=" + hop, "--schedule=" + kind,
			"--pp=" + strconv.Itoa(int(ranks%9)), "--microbatches=" + strconv.Itoa(int(microBatches%33)),
		}
		var stdout, stderr bytes.Buffer
		code := cli.Run(args, strings.NewReader(""), &stdout, &stderr)
		switch {
		case strings.Contains(stderr.String(), "internal error"),
			strings.ContainsAny(stderr.String(), "\x1b\a\u009b\u202e"):
			t.Fatalf("%q: %q", args, stderr.String())
		case code == 0 && !json.Valid(stdout.Bytes()), code != 0 && stderr.Len() == 0:
			t.Fatalf("%q: exit code %d, %q, %q", args, code, stdout.String(), stderr.String())
		}
	})
}
