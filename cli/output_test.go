package cli_test

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
)

// TestFormats: --format means the same on every command that has it: JSON is that
// of --json, the Markdown table has the rows of CSV, and what contradicts is refused.
func TestFormats(t *testing.T) {
	setup := []string{"--model", "llama3.1-8b", "--gpus", "8", "--tp", "1", "--gbs", "32"}
	for name, words := range map[string][]string{
		"scan":    append([]string{"scan", "--x", "zero", "--y", "peak"}, setup...),
		"compare": append([]string{"compare", "zero=2"}, setup...),
		"advise":  append([]string{"advise"}, setup...),
		"search": {
			"search", "--model", "llama3.2-1b", "--gpus", "8", "--pp", "1", "--cp", "1", "--top",
			"3",
		},
		"eval": append([]string{"eval"}, setup...),
	} {
		ask := func(more ...string) (string, int) {
			code, out, _ := runWords(t, append(append([]string(nil), words...), more...)...)
			return out, code
		}
		document, code := ask("--format", "json")
		if !json.Valid([]byte(document)) || code != 0 && code != 4 {
			t.Errorf("%s: exit %d, no JSON:\n%.300s", name, code, document)
		}
		table, _ := ask("--format", "csv")
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil || len(rows) < 3 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
			continue
		}
		text, _ := ask("--format", "markdown")
		if !strings.Contains(text, "| ---") && !strings.Contains(text, "| --- |") {
			t.Errorf("%s: no table:\n%.300s", name, text)
		}
		if name != "eval" { // which writes several tables
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if len(lines) != len(rows)+1 {
				t.Errorf("%s: %d lines of Markdown, %d rows of CSV", name, len(lines), len(rows))
			}
			for i, line := range lines {
				if strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != strings.Count(lines[1], "|") {
					t.Errorf("%s: line %d has other columns: %s", name, i, line)
				}
			}
		}
		if _, _, stderr := runWords(t, append(append([]string(nil), words...), "--format",
			"cvs")...); !strings.Contains(stderr, "nearest csv") {
			t.Errorf("%s: no nearest word for cvs: %s", name, stderr)
		}
		for _, wrong := range [][]string{{"--format", "xml"}, {"--json", "--format", "csv"}} {
			if _, code := ask(wrong...); code != 2 {
				t.Errorf("%s %v: exit %d", name, wrong, code)
			}
		}
	}
}

// TestFormatsOfNothing: where there are no figures the format holds all the same: an
// illegal setup is told as eval tells it, and an empty table keeps its columns, with
// the reason beside it.
func TestFormatsOfNothing(t *testing.T) {
	for _, format := range []string{"csv", "markdown", "json"} {
		illegal := []string{"--tp", "7", "--gpus", "64", "--format", format}
		code, advice, _ := runWords(t, append([]string{"advise"}, illegal...)...)
		_, report, _ := runWords(t, append([]string{"eval"}, illegal...)...)
		if code != 3 || advice != report {
			t.Errorf("%s: exit %d, advise and eval tell an illegal setup apart:\n%.300s\n%.300s", format,
				code, advice, report)
		}
	}
	for _, format := range []string{"csv", "markdown"} {
		code, out, stderr := runWords(t, "search", "--tp", "3", "--format", format)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if code != 3 || !strings.Contains(lines[0], "microbatches") ||
			!strings.Contains(stderr, "--tp 3 excludes every layout") {
			t.Errorf("%s: exit %d\n%s\n%s", format, code, out, stderr)
		}
	}
}
