package scan

import (
	"strings"
	"testing"

	enginescan "meshscope/engine/scan"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// TestThereAndBack: who leaves a scan, or turns it, and comes back before the stopped
// work has reported gets the scan, and no work begins itself again.
func TestThereAndBack(t *testing.T) {
	for name, away := range map[string]func(v *View, in *screen.Context, p *screentest.Program){
		"left": func(v *View, _ *screen.Context, p *screentest.Program) { v.Forget(); p.Stop() },
		"turned": func(v *View, in *screen.Context, p *screentest.Program) {
			v.turn(in, 1)
			p.Ask()
			v.turn(in, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, colorprofile.ASCII, true)
			v := New()
			p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
			p.Ask()
			away(v, in, p)
			p.Ask()
			p.Finish(t, 3)
			if v.grid == nil || v.drawn.setup != *in.Setup || v.drawn.figure != v.figure {
				t.Error("the scan is not there")
			}
		})
	}
}

// TestOldScan: while another scan is computed the old one stands under its own
// name, says so, and is not written to a file.
func TestOldScan(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	v.Refresh(in).Work(t.Context())()
	v.inChart = true
	frame := func() string { return ansi.Strip(strings.Join(v.Render(in.At(118, 30))[choiceLines:], "\n")) }
	before, said := frame(), v.Status(in.At(200, 1))
	v.figure = "memory.peak"
	work := v.Refresh(in).Work
	after := frame()
	heading, body, _ := strings.Cut(after, "\n")
	_, was, _ := strings.Cut(before, "\n")
	if !strings.Contains(heading, "Time of a step") || !strings.Contains(heading, "working") || body != was {
		t.Errorf("the old scan is drawn as\n%s", after)
	}
	if v.Status(in.At(200, 1)) != said {
		t.Errorf("the status says %q of a point of which it said %q", v.Status(in.At(200, 1)), said)
	}
	if len(v.Tables(in)) != 0 {
		t.Error("the old scan is written to a file")
	}
	work(t.Context())()
	if heading, _, _ := strings.Cut(frame(), "\n"); !strings.Contains(heading,
		"Memory of the fullest rank") || strings.Contains(heading, "working") {
		t.Errorf("the new scan is headed %q", heading)
	}
	if tables := v.Tables(in); len(tables) != 1 || !strings.Contains(tables[0].Title, "memory") {
		t.Error("the new scan is not written to a file")
	}
	// A point of an old scan is taken under the knob that it turned.
	turned := label(v.drawn.x)
	v.x = "pp"
	v.Refresh(in)
	v.column = 0
	if do := v.take(); do.Setup == nil || !strings.Contains(do.Text, turned+" ") {
		t.Errorf("taken as %q", do.Text)
	}
}

// TestFind: what is typed or pasted is one line that finds at once; what finds nothing
// says so; esc goes back to the figure before.
func TestFind(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	v.Refresh(in).Work(t.Context())()
	before := v.figure
	v.press(in, "/")
	v.Paste("memory\nfoo\tbar\x1b[31m" + strings.Repeat("x", 1<<16))
	lines := v.Render(in.At(118, 30))
	if n := strings.Count(strings.Join(lines, "\n"), "\n"); n != 29 || len(v.find.part.Value()) > 40 {
		t.Errorf("%d line breaks in 30 lines, %d bytes taken", n, len(v.find.part.Value()))
	}
	if text := ansi.Strip(lines[1]); !v.find.none || !strings.Contains(text, "no figure name contains this") {
		t.Errorf("nothing matches: %q", text)
	}
	v.press(in, "ctrl+u")
	v.Paste("Memory.Peak")
	if v.figure != "memory.peak" || v.find.none {
		t.Errorf("pasted, it finds %s", v.figure)
	}
	v.press(in, "ctrl+a", "ctrl+k", "é", "backspace")
	if v.find.part.Value() != "" {
		t.Errorf("é and backspace leave %q", v.find.part.Value())
	}
	v.press(in, "c", "o")
	if v.figure == before || v.find.none {
		t.Errorf("co finds %s", v.figure)
	}
	v.press(in, "s", "t")
	if text := ansi.Strip(v.Render(in.At(118, 30))[1]); v.figure != before ||
		!strings.Contains(text, "cost of the whole run needs tokens") {
		t.Errorf("cost leaves %s and says %q", v.figure, text)
	}
	v.press(in, "ctrl+u", "p", "e", "a", "k", "esc")
	if v.figure != before || v.Typing() {
		t.Errorf("esc leaves %s", v.figure)
	}
}

// TestPointsSayWhatTheyAre: what does not fit has a sign of its own in the line, a map
// has the unit of its cells in the heading, and what GPUs two knobs move is said.
func TestPointsSayWhatTheyAre(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	v.figure = "throughput.tokens-per-second-per-gpu"
	v.Refresh(in).Work(t.Context())()
	tooLarge := 0
	for i := range v.grid.Rows[0] {
		if p := &v.grid.Rows[0][i]; p.Verdict == enginescan.DoesNotFit && !p.Current {
			tooLarge++
		}
	}
	drawn := ansi.Strip(strings.Join(v.curve(in, 118, 24)[1:11], "\n"))
	if tooLarge == 0 || strings.Count(drawn, "!") != tooLarge {
		t.Errorf("%d points do not fit, %d are drawn so:\n%s", tooLarge, strings.Count(drawn, "!"), drawn)
	}
	v.figure, v.by = "memory.peak", "dp"
	v.Refresh(in).Work(t.Context())()
	heading := ansi.Strip(v.Render(in.At(160, 30))[choiceLines])
	for _, want := range []string{"memory of the fullest rank, GiB", "GPUs "} {
		if !strings.Contains(heading, want) {
			t.Errorf("the heading %q does not say %q", heading, want)
		}
	}
	v.inChart, v.row, v.column = true, len(v.grid.Rows)-1, 0
	if p := v.point(); p.Verdict != enginescan.Illegal && p.Setup.GPUs != in.Setup.GPUs &&
		!strings.Contains(v.Status(in.At(300, 1)), figure.Comma(p.Setup.GPUs)+" GPUs") {
		t.Errorf("the point on %d GPUs says %q", p.Setup.GPUs, v.Status(in.At(300, 1)))
	}
}
