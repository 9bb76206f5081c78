package scan

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	enginescan "meshscope/engine/scan"
	"meshscope/presets"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// TestOpensOnTwoCurves: on whatever setup it is opened the screen draws step time and peak memory over a
// knob that moves both, with the capacity line, words for names, and round values at even distances.
func TestOpensOnTwoCurves(t *testing.T) {
	lib := presets.Default()
	knobs := map[knob.ID]bool{}
	for _, c := range []struct {
		model string
		given knob.Given
	}{
		{"llama3.1-70b", knob.Given{knob.Nodes: 32, knob.TP: 4, knob.PP: 4, knob.GBS: 512}},
		{"mixtral-8x22b", knob.Given{knob.Nodes: 16, knob.EP: 8, knob.PP: 4, knob.GBS: 512}},
		{"llama3.1-8b", knob.Given{knob.GPUs: 8, knob.TP: 2, knob.GBS: 64}},
		{"llama3.1-8b", knob.Given{knob.GPUs: 1, knob.GBS: 7}},
	} {
		in := input(t, colorprofile.ASCII, true)
		m, errM := lib.Model(c.model)
		cluster, errC := lib.Cluster("dgx-h100")
		s, err := knob.DraftOf(m, cluster, c.given).Resolve()
		if err := errors.Join(errM, errC, err); err != nil {
			t.Fatal(err)
		}
		r := engine.Evaluate(s)
		in.Setup, in.Report = &s, &r
		v := New()
		v.Refresh(in).Work(t.Context())()
		if v.grid == nil || v.other == nil || len(v.grid.Rows[0]) < leastPoints {
			t.Fatalf("%s, %v opens without two curves", c.model, c.given)
		}
		knobs[v.x] = true
		for _, size := range [][2]int{{80, 19}, {118, 31}, {198, 55}} {
			evenAxes(t, v.Render(in.At(size[0], size[1])), size)
		}
	}
	if len(knobs) < 2 {
		t.Errorf("every setup opens over %v", knobs)
	}
}

// evenAxes looks at both charts of a frame.
func evenAxes(t *testing.T, lines []string, size [2]int) {
	t.Helper()
	charts, rows, limit := 0, []int{}, -1
	end := func() {
		each := 1 << 20
		for i := 1; i < len(rows); i++ {
			each = min(each, rows[i]-rows[i-1])
		}
		for i := 1; i < len(rows); i++ { // the limit may stand in the place of a round value
			if gap := rows[i] - rows[i-1]; gap != each && (gap != 2*each || limit != rows[i-1]+each) {
				t.Errorf("%v: the numbers next to chart %d stand in lines %v, the limit in %d", size, charts,
					rows, limit)
			}
		}
		if n := len(rows); charts > 0 && n < 2 && (n < 1 || limit < 0) {
			t.Errorf("%v: %d numbers next to chart %d", size, n, charts)
		}
		charts, rows, limit = charts+1, nil, -1
	}
	frame := ansi.Strip(strings.Join(lines, "\n"))
	for i, line := range strings.Split(frame, "\n") {
		label, plot, axis := strings.Cut(line, "│")
		if !axis {
			if strings.Contains(line, "────") && i >= choiceLines {
				end()
			}
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(label), " ")
		if strings.Contains(plot, "╌╌") {
			limit = i
		}
		if v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64); err == nil &&
			!strings.Contains(plot, "╌╌") {
			digits := strings.TrimRight(strings.Trim(strings.ReplaceAll(number, ".", ""), "0,"), "0")
			if v != 0 && len(strings.TrimLeft(digits, "0")) > 2 {
				t.Errorf("%v: %s is not round", size, number)
			}
			rows = append(rows, i)
		}
	}
	end()
	if charts -= 1; charts != 2 {
		t.Errorf("%v: %d charts:\n%s", size, charts, frame)
	}
	for _, want := range []string{"Time of a step over ", "Memory of the fullest rank", "usable"} {
		if !strings.Contains(frame, want) {
			t.Errorf("%v: no %q:\n%s", size, want, frame)
		}
	}
	if strings.Contains(frame, "time.step") || strings.Contains(frame, "memory.peak") {
		t.Errorf("%v: names of the report:\n%s", size, frame)
	}
}

// TestPicksWhatTrades: of the layout's knobs the one is picked whose values change step and peak most, and
// what the reader chooses stays.
func TestPicksWhatTrades(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	picked := pick(context.Background(), in.Setup, "")
	trade := func(id knob.ID) float64 {
		var step, peak extent
		for _, s := range knob.Steps(*in.Setup, id, locks()) {
			if r := engine.Evaluate(s.Setup); r.Legal {
				step.add(float64(r.Time.Step))
				peak.add(r.Memory.Peak.GiB())
			}
		}
		return step.ratio() * peak.ratio()
	}
	for _, id := range []knob.ID{knob.TP, knob.PP, knob.CP, knob.ZeRO, knob.MBS} {
		if trade(id) > trade(picked)*(1+1e-9) {
			t.Errorf("%s trades more than %s", id, picked)
		}
	}
	v := New()
	v.Refresh(in).Work(t.Context())()
	v.press(in, "down", "right")
	chosen := v.x
	in.Setup.MBS *= 2
	if v.Refresh(in); chosen == picked || v.x != chosen || !slices.Contains(knobsOf(in.Setup), chosen) {
		t.Errorf("chosen %s, then %s", chosen, v.x)
	}
}

// TestSaysOfOneValue: of a single number of GPUs that fits there is one step, and none that it goes to.
func TestSaysOfOneValue(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	s := presets.DefaultSetup()
	r := engine.Evaluate(s)
	in.Setup, in.Report = &s, &r
	v := New()
	v.x = knob.GPUs
	v.Refresh(in).Work(t.Context())()
	for _, g := range []*enginescan.Grid{v.grid, v.other} {
		for i := range g.Rows[0] {
			if p := &g.Rows[0][i]; !p.Current {
				p.Verdict, p.Tight = enginescan.DoesNotFit, false
			}
		}
	}
	want := "Fits at GPUs " + strconv.Itoa(s.GPUs) + " alone; the step is at "
	if said := ansi.Strip(v.says(in, 198)); !strings.HasPrefix(strings.TrimSpace(said), want) ||
		strings.Contains(said, " to ") {
		t.Errorf("%q, want %q", said, want)
	}
}

// TestSaysOfThisSetup: above the curves a sentence says where the setup fits and where its step is shortest,
// of figures that a reader finds by hand, and nothing while a question is open.
func TestSaysOfThisSetup(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	for id, change := range map[knob.ID]func(s *engine.Setup){
		knob.TP: func(*engine.Setup) {}, knob.Seq: func(*engine.Setup) {},
		knob.MBS: func(s *engine.Setup) { s.Recompute.Mode = recipe.RecomputeFull },
	} {
		s := presets.DefaultSetup()
		change(&s)
		r := engine.Evaluate(s)
		in.Setup, in.Report = &s, &r
		v.x, v.by = id, ""
		v.Refresh(in).Work(t.Context())()
		var fit []enginescan.Point
		steps := slices.DeleteFunc(slices.Clone(v.grid.Rows[0]),
			func(p enginescan.Point) bool { return p.Value == nil })
		for i := range steps {
			if r := engine.Evaluate(steps[i].Setup); r.Memory.Fit == engine.Fits {
				fit = append(fit, steps[i])
			}
		}
		least := slices.MinFunc(fit, byValue)
		want := []string{"shortest step at " + valueText(&least)}
		if fit[0].X != steps[0].X {
			want = append(want, "Fits from "+label(id)+" "+valueText(&fit[0]))
		}
		if last := fit[len(fit)-1]; last.X != steps[len(steps)-1].X {
			want = append(want, "Fits up to "+label(id)+" "+valueText(&last))
		}
		for _, w := range []int{78, 118, 198} {
			said := ansi.Strip(v.Render(in.At(w, 31))[choiceLines-1])
			for _, want := range want {
				if !strings.Contains(said, want) {
					t.Errorf("%d columns: no %q in %q", w, want, said)
				}
			}
		}
		asked := in.At(118, 31)
		if asked.Asks = true; strings.TrimSpace(ansi.Strip(v.Render(asked)[choiceLines-1])) != "" {
			t.Error("the sentence answers an open question")
		}
	}
}
