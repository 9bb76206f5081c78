package ui

import (
	"io"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// TestDecisionPage: R opens the page on every screen, which then gets its alternatives; x and M
// write it.
func TestDecisionPage(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}, {200, 60}} {
		written, files := map[string]string{}, 0
		m := sample(t, size[0], size[1], func(o *Options) {
			o.Evaluate = engine.Evaluate
			o.Setup = setupOf(t, "llama3.1-8b", "dgx-h100",
				knob.Given{knob.GPUs: 8, knob.TP: 2, knob.GBS: 64})
			o.Save = func(name, extension string, write func(io.Writer) error) (string, error) {
				var b strings.Builder
				files++
				err := write(&b)
				written[extension] = b.String()
				return name + extension, err
			}
		})
		keys(m, "tab", "R")
		if m.overlays.ID() != overlay.ReportID || !strings.Contains(screenText(m), "Fits with") {
			t.Fatalf("%v: no page:\n%s", size, screenText(m))
		}
		keys(m, "esc")
		finishAll(m, m.do(state.Action{Verb: state.Open, Overlay: overlay.ReportID}))
		checkFrame(t, m)
		for range 6 {
			keys(m, "pgdown")
		}
		if text := screenText(m); !strings.Contains(text, "meshscope eval --model llama3.1-8b") {
			t.Errorf("%v: the end of the page:\n%s", size, text)
		}
		for _, want := range []string{"wrote meshscope-decision-", "already wrote meshscope-decision-"} {
			finishAll(m, m.handleKey(press("x")))
			text := screenText(m)
			foot := strings.Join(strings.FieldsFunc(text[strings.LastIndex(text, "├"):], func(r rune) bool {
				return r == '\n' || r == '│' || r == ' '
			}), "")
			if said := strings.ReplaceAll(want, " ", ""); m.overlays.ID() != overlay.ReportID ||
				!strings.Contains(foot, said) || !strings.Contains(foot, ".htmlintothecurrentfolder") {
				t.Errorf("%v: x does not say %q:\n%s", size, want, text)
			}
		}
		finishAll(m, m.handleKey(press("M")))
		if files != 2 {
			t.Errorf("%v: x, x and M write %d files", size, files)
		}
		if strings.Contains(written[".html"], "Searching for other layouts") ||
			!strings.Contains(written[".html"], "GiB free<br>") ||
			!strings.Contains(written[".md"], "## Alternatives") {
			t.Errorf("%v: written %d and %d bytes", size, len(written[".html"]), len(written[".md"]))
		}
	}
}

// TestDecisionWaits: x while the search runs writes one page, the whole one, when it has ended, also where
// the page was closed meanwhile; without x a closed page writes nothing.
func TestDecisionWaits(t *testing.T) {
	for _, typed := range [][]string{{"x", "x"}, {"x", "esc"}, {"esc"}} {
		var written []string
		m := sample(t, 120, 36, func(o *Options) {
			o.Evaluate = engine.Evaluate
			o.Setup = setupOf(t, "llama3.1-8b", "dgx-h100",
				knob.Given{knob.GPUs: 8, knob.TP: 2, knob.GBS: 64})
			o.Save = func(name, extension string, write func(io.Writer) error) (string, error) {
				var b strings.Builder
				err := write(&b)
				written = append(written, b.String())
				return name + extension, err
			}
		})
		search := m.do(state.Action{Verb: state.Open, Overlay: overlay.ReportID})
		for _, name := range typed {
			finishAll(m, m.handleKey(press(name)))
			if text := screenText(m); name == "x" && !strings.Contains(text, "once the search has ended") {
				t.Errorf("%v: x says nothing of waiting:\n%s", typed, text)
			}
		}
		if len(written) > 0 {
			t.Errorf("%v: written before the search has ended", typed)
		}
		finishAll(m, search)
		want := len(typed) - 1
		if len(written) != min(want, 1) {
			t.Errorf("%v: %d files", typed, len(written))
			continue
		}
		for _, page := range written {
			if strings.Contains(page, "Searching for other layouts") {
				t.Errorf("%v: the page is not whole", typed)
			}
		}
		if text := screenText(m); want > 0 && !strings.Contains(text, "wrote meshscope-decision-") {
			t.Errorf("%v: not said:\n%s", typed, text)
		}
	}
}
