package ui

import (
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"meshscope/report"
	"meshscope/ui/state"
)

// TestExport: x lists the formats, enter writes the figures that are on the
// screen and says where; a folder that refuses is named.
func TestExport(t *testing.T) {
	var written []report.Format
	var last *report.Evaluation
	var refuse error
	m := sample(t, 80, 24, func(o *Options) {
		o.Version = "1.2.3"
		o.Export = func(f report.Format, d *report.Evaluation) (string, error) {
			written, last = append(written, f), d
			return "some/where/meshscope-x" + f.Extension(), refuse
		}
	})
	keys(m, "left", "x")
	golden.RequireEqual(t, page(m))
	for i, f := range report.Formats() {
		_, cmd := m.Update(press("enter"))
		finishAll(m, cmd)
		if len(written) != i+1 || written[i] != f || !m.overlays.Empty() {
			t.Fatalf("written %v", written)
		}
		if last.Version != "1.2.3" || last.Setup.TP != 4 || last.Memory.Peak != m.now.report.Memory.Peak ||
			!strings.Contains(last.Command, "--tp 4") {
			t.Errorf("%s: %q of TP %d", last.Version, last.Command, last.Setup.TP)
		}
		if !strings.Contains(screenText(m), "wrote meshscope-x"+f.Extension()+" into the current folder") {
			t.Errorf("no word of it:\n%s", screenText(m))
		}
		keys(m, "x")
		for range i + 1 {
			keys(m, "down")
		}
	}
	keys(m, "esc")
	refuse = &report.FileError{Folder: "/read/only", Err: &fs.PathError{
		Op: "open", Path: "/read/only/x",
		Err: fs.ErrPermission,
	}}
	keys(m, "x")
	_, cmd := m.Update(press("enter"))
	finishAll(m, cmd)
	flat := strings.Join(strings.Fields(screenText(m)), " ")
	if !strings.Contains(flat, "nothing written: /read/only: permission denied; start meshscope in a "+
		"folder that can be written to") {
		t.Errorf("no reason:\n%s", screenText(m))
	}
	keys(m, "3", "enter", "x")
	if !m.overlays.Empty() || !strings.Contains(screenText(m), "an illegal setup has no figures to write") {
		t.Errorf("an illegal setup:\n%s", screenText(m))
	}
	none := sample(t, 80, 24)
	if keys(none, "x"); !none.overlays.Empty() ||
		!strings.Contains(screenText(none), "writing files is not possible here") {
		t.Errorf("without files:\n%s", screenText(none))
	}
}

// TestExportLaunch: x lists the files of launchers, each with its first lines; enter writes one,
// ctrl+y copies it, and a launcher that refuses the layout says why.
func TestExportLaunch(t *testing.T) {
	var name, text string
	m := sample(t, 120, 50, func(o *Options) {
		o.Export = func(report.Format, *report.Evaluation) (string, error) { return "", nil }
		o.Save = func(base, extension string, write func(io.Writer) error) (string, error) {
			var b strings.Builder
			err := write(&b)
			name, text = base+extension, b.String()
			return name, err
		}
	})
	keys(m, "x")
	if shown := screenText(m); !strings.Contains(shown, "launch by torchtitan main of 2026") ||
		!strings.Contains(shown, "launch by torchtitan 0.2.2") {
		t.Errorf("two launchers with one name:\n%s", shown)
	}
	for _, r := range "megatron-lm" {
		m.Update(press(string(r)))
	}
	if shown := screenText(m); !strings.Contains(shown, "launch by Megatron-LM") ||
		!strings.Contains(shown, "#!/usr/bin/env bash") {
		t.Errorf("no preview:\n%s", shown)
	}
	_, cmd := m.Update(press("ctrl+y"))
	finishAll(m, cmd)
	if !strings.Contains(screenText(m), "meshscope-megatron.sh copied") {
		t.Errorf("not copied:\n%s", screenText(m))
	}
	m.overlays.Clear()
	keys(m, "x")
	for _, r := range "megatron-lm" {
		m.Update(press(string(r)))
	}
	_, cmd = m.Update(press("enter"))
	finishAll(m, cmd)
	if name != "meshscope-megatron.sh" || !strings.Contains(text, "--tensor-model-parallel-size 8 # --tp") {
		t.Errorf("wrote %s: %s", name, text)
	}
	keys(m, "x")
	for _, r := range "accelerate" {
		m.Update(press(string(r)))
	}
	shown := screenText(m)
	for _, want := range []string{
		"refused", "refuses --pp: ", "refuses --sp: ", "refuses --zero: ",
		"the nearest layout that it runs: --dp 8, --pp 1",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("accelerate runs a pipeline, without %q:\n%s", want, shown)
		}
	}
}

// TestLongNameWritten: the name of a file that was written can be read and copied whole.
func TestLongNameWritten(t *testing.T) {
	name := "meshscope-decision-llama3.1-70b-256gpus-tp4-pp4-cp2-zero1.html"
	m := sample(t, 120, 36)
	a, ok := m.filing(func() (string, error) { return name, nil })().(state.Action)
	if !ok || a.Text != "wrote "+name+" into the current folder" {
		t.Errorf("%q", a.Text)
	}
}
