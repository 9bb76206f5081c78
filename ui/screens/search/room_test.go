package search

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/report"
)

// TestMayNotFit: a first place whose memory is within its error band of the capacity
// says so, next to the others that are; one that is farther does not.
func TestMayNotFit(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	for _, c := range []struct {
		gib, band float64
		doubt     bool
	}{
		{75, 0.1, true},   // 75 + 7.5 is beyond 79
		{70, 0.1, false},  // 70 + 7 is not
		{75, 0.01, false}, // 75 + 0.75
	} {
		v := prepared(in)
		r := roundReport(50, c.gib)
		r.Memory.ErrorBand = c.band
		r.Memory.Fit = engine.FitWithin(r.Memory.Peak, r.Memory.Usable, c.band)
		v.answer.rows[0] = report.NewCandidate(in.Setup, &r, r.Time.Step, 1)
		v.answer.room = report.NewRoom(r.Memory)
		v.answer.result.near.Least, v.answer.result.near.Most = 3, 3
		for _, size := range [][2]int{{80, 20}, {120, 32}} {
			text := ansi.Strip(strings.Join(append(v.Render(in.At(size[0], size[1])),
				v.Status(in.At(200, 1))), "\n"))
			sure, _, _ := strings.Cut(text[strings.Index(text, "CONFIDENCE"):], "\n")
			if strings.Contains(sure, "tight") != c.doubt {
				t.Errorf("%v: the confidence says %q", c, sure)
			}
			if strings.Contains(text, "?75.0") != c.doubt {
				t.Errorf("%v: the table marks it: %t", c, !c.doubt)
			}
			if want := "tight: 4.0 GiB free ±7.5"; strings.Contains(v.Status(in.At(200, 1)),
				want) != c.doubt {
				t.Errorf("%v: %q", c, v.Status(in.At(200, 1)))
			}
		}
	}
}

// TestBesideOwn: a layout on another number of GPUs is compared by each GPU and by all
// together, each called so.
func TestBesideOwn(t *testing.T) {
	in := input(t, colorprofile.ASCII, true) // 64 GPUs, 1,000 tokens a second and GPU
	v := prepared(in)
	r := v.answer.rows[0]
	r.Current, r.PerGPU = false, 1200
	if got := v.besideOwn(in, &r); got != "20.0 % more tokens/s than yours; " {
		t.Errorf("the same GPUs: %q", got)
	}
	r.Setup.GPUs = 128
	if got := v.besideOwn(in,
		&r); got != "20.0 % more tokens/s per GPU and 140.0 % more in total than yours on 64 GPUs; " {
		t.Errorf("twice the GPUs: %q", got)
	}
	tooBig := roundReport(60, 92)
	in.Report = &tooBig
	r.Setup.GPUs, r.PerGPU = 64, 900
	if got := v.besideOwn(in, &r); got != "10.0 % fewer tokens/s than yours, which does not fit; " {
		t.Errorf("yours does not fit: %q", got)
	}
}

// TestPlotOfWhatFits: a setup that does not fit leaves the window of the plot to what
// does, and stands at its edge with its figures said.
func TestPlotOfWhatFits(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	w, want := 100, ""
	plot := func(gib float64) []string {
		r := roundReport(60, gib)
		in.Report = &r
		v := prepared(in)
		v.inKnob = true // no cursor in the plot
		var lines []string
		for _, line := range v.scatter(in, v.shown(in), w, 20) {
			lines = append(lines, ansi.Strip(line))
		}
		return lines
	}
	inside, beyond := plot(60), plot(604)
	if axis := inside[len(inside)-2]; axis != beyond[len(beyond)-2] {
		t.Errorf("the axis is squashed:\n%s\n%s", axis, beyond[len(beyond)-2])
	}
	edge := 0
	for _, line := range beyond[1 : len(beyond)-2] {
		if strings.HasSuffix(strings.TrimRight(line, " "), in.Glyphs.Here) &&
			len([]rune(strings.TrimRight(line, " "))) == 100 {
			edge++
		}
	}
	if edge != 1 {
		t.Errorf("it stands %d times at the edge:\n%s", edge, strings.Join(beyond, "\n"))
	}
	if legend := beyond[len(beyond)-1]; !strings.Contains(legend,
		"beyond the edge: 604.0 GiB, 1,000 tokens/s/GPU") {
		t.Errorf("legend %q", legend)
	}
	for w, want = range map[int]string{66: "your setup, beyond: 604.0 GiB", 54: "yours: 604.0 GiB"} {
		if legend := plot(604); !strings.Contains(legend[len(legend)-1], want) {
			t.Errorf("%d cells: legend %q", w, legend[len(legend)-1])
		}
	}
	if legend := inside[len(inside)-1]; strings.Contains(legend, "beyond") {
		t.Errorf("legend %q", legend)
	}
}
