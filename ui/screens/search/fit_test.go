package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report/figure"
)

// TestColumnsStandApart: whatever the numbers are, and however wide the table is,
// every head and every value of a row is a word of its own.
func TestColumnsStandApart(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	draws.Check(t, func(r *rapid.T) {
		v := prepared(in)
		for i := range v.answer.rows {
			s := &v.answer.rows[i].Setup
			s.DP = 1 << rapid.IntRange(0, 17).Draw(r, "dp")
			s.MicroBatches = 1 << rapid.IntRange(0, 20).Draw(r, "m")
			s.CP, s.VPP = 1<<rapid.IntRange(0, 6).Draw(r, "cp"), 1<<rapid.IntRange(0, 5).Draw(r, "vpp")
			s.GPUs = s.DP * s.CP
		}
		w := rapid.IntRange(40, 180).Draw(r, "w")
		form := v.form(in, w)
		rows := v.found(in)
		lines := v.lines(in, rows, w, len(rows)+1)
		for n := range rows {
			// marks
			want := []string{
				in.Glyphs.Point, in.Glyphs.Here, in.Glyphs.Pointer,
				in.Glyphs.Pointer + in.Glyphs.Point,
			}
			words := slices.DeleteFunc(strings.Fields(ansi.Strip(lines[n+1])),
				func(word string) bool { return slices.Contains(want, word) })
			var texts []string
			for _, i := range form.Cols {
				texts = append(texts, strings.Fields(v.cellText(in, &v.table.All[i], &rows[n]))...)
			}
			if !slices.Equal(words, texts) {
				r.Fatalf("%d cells: %q shows %q, want %q", w, lines[n+1], words, texts)
			}
		}
		if heads := strings.Fields(ansi.Strip(lines[0])); len(heads) < len(form.Cols) {
			r.Fatalf("heads run together: %q", lines[0])
		}
	})
}

// TestRowsDiffer: on the smallest screen no two of the best layouts look alike, as
// long as one more column could tell them apart.
func TestRowsDiffer(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	// the fifteenth differs from the first in recompute alone, for which 54 cells have no room
	rows := v.shown(in)[:14]
	for _, w := range []int{54, 90, 140} {
		lines := v.lines(in, rows, w, len(rows)+1)
		layouts := map[string]int{}
		for n, line := range lines[1:] {
			var knobs []string
			for _, i := range v.form(in, w).Cols {
				if c := &v.table.All[i]; c.Knob {
					knobs = append(knobs, c.Brief(&rows[n]))
				}
			}
			text := strings.Join(knobs, " ")
			if before, twice := layouts[text]; twice {
				t.Errorf("%d cells: rows %d and %d look alike: %s", w, before+1, n+1, ansi.Strip(line))
			}
			layouts[text] = n
		}
	}
}

// TestStatusSaysTheRest: knobs that have no column stand in the line of the layout
// under the cursor, and those that have one do not.
func TestStatusSaysTheRest(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := prepared(in)
	for _, w := range []int{80, 120, 200} {
		status := v.Status(in.At(1000, 1))
		shown := v.form(in, v.arrange(w, plotFrom).w)
		r := v.shown(in)[0]
		rest := v.rowStatus(in, &r, w)
		for _, c := range []struct{ id, text string }{
			{"schedule", string(r.Setup.Schedule)},
			{"recompute", "recompute " + r.Setup.Recompute.String()},
			{"microbatches", figure.Comma(r.Setup.MicroBatches) + " micro-batches"},
		} {
			column := slices.ContainsFunc(shown.Cols, func(i int) bool { return v.table.All[i].ID == c.id })
			if said := strings.Contains(rest, c.text); said == column &&
				(c.id != "schedule" || r.Setup.PP > 1) {
				t.Errorf("%d cells: %q in the table: %t, in %q: %t", w, c.text, column, rest, said)
			}
		}
		if !strings.Contains(status, "exposed traffic 5.0 % (yours") {
			t.Errorf("the status does not say what the time goes to: %q", status)
		}
	}
}

// TestIllegalSetup: a setup that cannot run is searched all the same, with its model,
// GPUs and batch; the screen says so, and what is taken can run.
func TestIllegalSetup(t *testing.T) {
	in := small(t)
	s := *in.Setup
	s.TP = 3
	r := engine.Evaluate(s)
	if r.Legal {
		t.Fatal("tp 3 is legal")
	}
	in.Setup, in.Report, in.Problems = &s, &r, r.Problems
	v := New(presets.Default())
	do := v.Refresh(in)
	if do.Work == nil {
		t.Fatal("nothing is searched")
	}
	do.Work(t.Context())()
	text := ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n"))
	if v.ranked() == 0 ||
		!strings.Contains(text, "your setup is illegal; these have its model, GPUs and batch") {
		t.Fatalf("%d layouts:\n%s", v.ranked(), text)
	}
	took := v.press(in, "down", "enter")
	if took.Setup == nil || !engine.Legal(*took.Setup) || took.Setup.GBS != s.GBS ||
		took.Setup.GPUs != s.GPUs || took.Setup.Model != s.Model {
		t.Errorf("enter gives %+v", took.Setup)
	}
}
