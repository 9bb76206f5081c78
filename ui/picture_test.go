package ui

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/report"
	"meshscope/ui/state"
)

// TestFilesOfAScreen: x writes a picture of every screen, well-formed and with its words, and, where
// there is a pipeline, its timeline as SVG and as a trace.
func TestFilesOfAScreen(t *testing.T) {
	for tab := range tabs {
		written := map[string]string{}
		m := live(t, 120, 36)
		m.options.Export = func(report.Format, *report.Evaluation) (string, error) { return "", nil }
		m.options.Timeline = func(to io.Writer, trace bool, r *engine.Report) error {
			_, err := io.WriteString(to, map[bool]string{false: "<svg/>", true: "{}"}[trace])
			return err
		}
		m.options.Save = func(name, extension string, write func(io.Writer) error) (string, error) {
			var b strings.Builder
			err := write(&b)
			written[name+extension] = b.String()
			return name + extension, err
		}
		m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		for _, typed := range []string{"picture", "timeline", "trace"} {
			keys(m, "x")
			for _, r := range typed {
				m.Update(press(string(r)))
			}
			_, cmd := m.Update(press("enter"))
			finishAll(m, cmd)
		}
		if len(written) != 3 {
			t.Errorf("%s: %d files", tabName(tab), len(written))
		}
		for name, text := range written {
			if !strings.Contains(name, strings.ToLower(tabName(tab))+".svg") {
				continue
			}
			if !strings.Contains(text, "["+tabName(tab)+"]") {
				t.Errorf("%s is not in its picture", tabName(tab))
			}
			for x := xml.NewDecoder(strings.NewReader(text)); ; {
				if _, err := x.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
