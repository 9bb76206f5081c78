package search

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	find "meshscope/engine/search"
	"meshscope/presets"
)

// TestNothingFound: where nothing is found no line speaks of a layout that is not on
// the screen; it is said what can be done, and how many GPUs would do.
func TestNothingFound(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := prepared(in)
	v.answer.rows = nil
	v.answer.conflict = &find.Conflict{
		Fields: []string{"memory"},
		Least:  &find.Found{Setup: *in.Setup, Report: roundReport(60, 92)},
	}
	words := func() string {
		lines := append(v.Render(in.At(118, 32)), v.Status(in.At(118, 1)))
		for i := range lines {
			lines[i] = ansi.Strip(lines[i])
		}
		return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	}
	text := words()
	for _, want := range []string{
		"set best is to fewest-gpus", "enter loads the layout with the least memory; f changes the query",
		"no layout to draw",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q: %s", want, text)
		}
	}
	least := *in.Setup
	least.TP, least.DP = 16, in.Setup.DP/2
	v.answer.conflict.Least.Setup = least
	if do := v.press(in, "enter"); do.Setup == nil || *do.Setup != least {
		t.Errorf("enter loads %+v", do.Setup)
	}
	if strings.Contains(text, "exposed traffic") {
		t.Errorf("it speaks of a layout: %s", v.Status(in.At(118, 1)))
	}
	v.answer.of.chosen[objective] = string(find.FewestGPUs)
	v.answer.conflict.Fields = []string{"tp", "pp"}
	v.answer.conflict.Least = nil
	v.answer.of.chosen[tensor], v.answer.of.chosen[pipeline] = "8", "16"
	v.answer.of.chosen[objective] = ""
	if text = words(); !strings.Contains(text, "tp x pp = 8 x 16 = 128 does not divide the 64 GPUs") ||
		strings.Contains(text, "fewest-gpus.") || !strings.Contains(text, "a frees everything") {
		t.Errorf("the arithmetic: %s", text)
	}
}

// TestMeasuredPlaceOfWhatFits: a setup that does not fit has no place among runs that
// were run.
func TestMeasuredPlaceOfWhatFits(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	for gib, want := range map[float64]string{
		60: "your setup: 1,000 tok/s/GPU predicted",
		92: "your setup does not fit, so it is not ranked here (would reach 1,000 tok/s/GPU)",
	} {
		r := roundReport(60, gib)
		in.Report = &r
		v := prepared(in)
		v.measured.done = true
		v.measured.runs = []run{{
			id: "one", source: "a paper", setup: *in.Setup, measured: 900,
			predicted: 910,
		}}
		if text := v.standingWords(in); !strings.Contains(text, "it is run 1") ||
			strings.Contains(text, "although it is predicted not to fit") != (gib > 80) {
			t.Errorf("%v GiB, the run itself: %q", gib, text)
		}
		v.measured.runs[0].setup.ZeRO = 3 - in.Setup.ZeRO
		if text := ansi.Strip(v.standing(in, 100)); !strings.Contains(text, want) {
			t.Errorf("%v GiB: %q", gib, text)
		}
	}
}

// TestMissedDeadline: a deadline that nothing meets is told with how far off it is and what would meet it, as
// the command line does; GPUs at the batch of the setup, or another batch.
func TestMissedDeadline(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.refreshValues(&query{base: base(in.Setup)})
	v.set(deadline, "30 days")
	v.set(budget, "1T")
	v.answer = (&job{of: query{base: base(in.Setup), chosen: v.chosen}}).search(t.Context())
	text := strings.Join(v.conflictWords(in.At(118, 32)), " ")
	m := v.answer.missed
	if m == nil || m.GPUs <= in.Setup.GPUs || !strings.Contains(text, "The fastest layout takes ") ||
		!strings.Contains(text, " the deadline; ") || !strings.Contains(text, " would meet it.") {
		t.Fatalf("%+v: %s", m, text)
	}
	more := *in.Setup
	more.GPUs, more.GBS, more.Budget = m.GPUs, m.GPUsBatch, 1e12
	p := find.Problem{Setup: base(&more), Top: 1, Deadline: 30 * secondsPerDay, Tokens: 1e12}
	if len(find.Run(t.Context(), p, nil).Best) == 0 {
		t.Errorf("%d GPUs with a batch of %d do not meet it", m.GPUs, m.GPUsBatch)
	}
	p.Setup.GPUs -= in.Setup.Cluster.Node()
	if r := find.Run(t.Context(), p, nil); len(r.Best) > 0 {
		t.Errorf("%d GPUs meet it too", p.Setup.GPUs)
	}
}
