package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

func document() Evaluation {
	s := presets.DefaultSetup()
	d := NewEvaluation("1.2.3", s, engine.Evaluate(s))
	d.Command = "meshscope --tp 8"
	return d
}

func rendered(t testing.TB, f Format, d *Evaluation) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, d.Answer()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rows are the cells of a CSV, by part, item and figure.
func rows(t testing.TB, text string) map[[3]string][2]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(all[0], ",") != "part,item,figure,value,unit" {
		t.Errorf("head %v", all[0])
	}
	found := map[[3]string][2]string{}
	for _, r := range all[1:] {
		key := [3]string{r[0], r[1], r[2]}
		if _, twice := found[key]; twice {
			t.Errorf("%v is there twice", key)
		}
		found[key] = [2]string{r[3], r[4]}
	}
	return found
}

// TestCSV: every figure of the report is a row with all its digits and its unit.
func TestCSV(t *testing.T) {
	d := document()
	got := rows(t, rendered(t, CSV, &d))
	for _, want := range []struct {
		part, item, figure string
		value              float64
		unit               string
	}{
		{"memory", "", "peak_bytes", float64(d.Memory.Peak), "bytes"},
		{"memory", "ranks.1", "logits_bytes", float64(d.Memory.Ranks[1].Logits), "bytes"},
		{"time", "", "step_seconds", float64(d.Time.Step), "s"},
		{"throughput", "", "mfu", d.Throughput.MFU, "ratio"},
		{"throughput", "", "tokens_per_second_per_gpu", d.Throughput.TokensPerSecondPerGPU, "tokens/s"},
		{"throughput", "", "model_tflops_per_gpu", d.Throughput.ModelTFLOPSPerGPU, "TFLOP/s"},
		{"pipeline", "", "bubble_over_ideal", d.Pipeline.BubbleOverIdeal, "ratio"},
		{"communication", "tp", "exposed_seconds", float64((*d.Communication)[0].Exposed), "s"},
		{"communication", "dp", "bytes_per_gpu", float64((*d.Communication)[1].Bytes), "bytes"},
		{"setup", "", "tp", 8, ""},
		{"setup", "", "seq", 8192, "tokens"},
	} {
		cell := got[[3]string{want.part, want.item, want.figure}]
		if v, err := strconv.ParseFloat(cell[0], 64); err != nil || v != want.value || cell[1] != want.unit {
			t.Errorf("%+v: %v", want, cell)
		}
	}
	if cell := got[[3]string{"setup", "", "command"}]; cell[0] != d.Command {
		t.Errorf("command %v", cell)
	}
	d.Command = ""
	if cell := rows(t, rendered(t, CSV, &d))[[3]string{"setup", "model", "layers"}]; cell[0] != "80" {
		t.Errorf("a setup that no flags give: %v", cell)
	}
}

// TestMarkdown: every table has as many cells in each row as in its head, ranks
// and dimensions are there, and each prediction has its error band.
func TestMarkdown(t *testing.T) {
	d := document()
	text := rendered(t, Markdown, &d)
	cells := 0
	for line := range strings.Lines(text) {
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if n > 0 && cells > 0 && n != cells {
			t.Errorf("%d cells below %d: %s", n, cells, line)
		}
		cells = n
	}
	for _, want := range []string{
		"# Llama-3.1 70B on 64 x H100", "| TP | --tp | 8 |", "## Memory", "| rank | layers |",
		"| MFU (causal) |",
		"| tp | all-gather + reduce-scatter | 1 | 8 | node |", "## Assumed", "```sh\nmeshscope --tp 8\n```",
		"meshscope 1.2.3",
		"\n62.83 s " + d.Time.Band("±"), d.Memory.Band("±") + " of ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestIllegal: an illegal setup has its problems and no figures in every format.
func TestIllegal(t *testing.T) {
	s := presets.DefaultSetup()
	s.TP = 3
	d := NewEvaluation("1", s, engine.Evaluate(s))
	if text := rendered(t, Markdown, &d); !strings.Contains(text, "## Illegal") ||
		strings.Contains(text, "## Memory") {
		t.Errorf("%s", text)
	}
	for key := range rows(t, rendered(t, CSV, &d)) {
		if key[0] == "memory" || key[0] == "time" {
			t.Errorf("a figure: %v", key)
		}
	}
	var back map[string]any
	if err := json.Unmarshal([]byte(rendered(t, JSON, &d)), &back); err != nil || back["memory"] != nil {
		t.Errorf("%v, %v", back["memory"], err)
	}
}

// TestHostileNames: whatever a model is called, a CSV reads back, no cell is a
// formula, a Markdown row stays one row, and the file's name is one.
func TestHostileNames(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		d := document()
		d.Setup.Model.Name = rapid.String().Draw(t, "name")
		d.Setup.Model.ID = rapid.String().Draw(t, "id")
		d.Command = rapid.SampledFrom([]string{"", "=cmd"}).Draw(t, "command")
		var b bytes.Buffer
		if err := Write(&b, CSV, d.Answer()); err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			for _, cell := range r {
				if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && cell != "-" &&
					strings.ContainsAny(cell[:1], "=+-@") {
					t.Fatalf("a formula: %q", cell)
				}
			}
		}
		b.Reset()
		if err := Write(&b, Markdown, d.Answer()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "\n| TP | --tp | 8 |") {
			t.Fatal("the table is torn")
		}
		name := Name(&d)
		if name != filepath.Base(name) || len(name) > 100 ||
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
			t.Fatalf("name %q", name)
		}
	})
}

// TestFile: a file gets the next free name and never takes that of another; a
// folder that cannot be written to is named, with the reason.
func TestFile(t *testing.T) {
	folder := t.TempDir()
	d := document()
	for _, want := range []string{
		"meshscope-llama3.1-70b-64gpus-tp8-pp2-zero1.csv",
		"meshscope-llama3.1-70b-64gpus-tp8-pp2-zero1-2.csv",
		"meshscope-llama3.1-70b-64gpus-tp8-pp2-zero1-3.csv",
	} {
		path, err := File(folder, CSV, &d)
		if err != nil || filepath.Base(path) != want {
			t.Fatalf("%s, %v", path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != rendered(t, CSV, &d) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if path, err := File(folder, Markdown, &d); err != nil || filepath.Ext(path) != ".md" {
		t.Errorf("%s, %v", path, err)
	}
	// A file in place of the folder: nobody can write there, not even root.
	blocked := filepath.Join(folder, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := File(blocked, JSON, &d)
	full := &FileError{Folder: ".", Err: syscall.ENOSPC}
	if full.Elsewhere() || !strings.Contains(full.Error(), "the current folder: no space") {
		t.Errorf("%v, elsewhere %v", full, full.Elsewhere())
	}
	if refused := (&FileError{Folder: ".", Err: fs.ErrPermission}); !refused.Elsewhere() {
		t.Error("another folder would do")
	}
	if _, ok := errors.AsType[*FileError](err); !ok ||
		!strings.Contains(err.Error(), blocked+": not a directory") {
		t.Errorf("%v", err)
	}
	if _, err := File(filepath.Join(folder, "none"), JSON, &d); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	d.Throughput.MFU = math.NaN()
	if _, err := File(folder, JSON, &d); err == nil {
		t.Error("a figure that is none was written")
	}
}
