package evidence

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/band"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/published"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

func input(t testing.TB, profile colorprofile.Profile, unicode bool) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	s := presets.DefaultSetup()
	const width, typical = 0.126, 0.04
	near := presets.DefaultSetup()
	near.GPUs, near.DP = 64, 4
	cell := band.Cell{
		Group: "first-table", Title: "first table", Example: "Llama-3.1 70B on 64 H100",
		Runs: 4, Off: 0.03, Fitted: true, Traits: engine.Traits(&near, new(engine.Report), false),
	}
	step := engine.Evidence{
		ErrorBand: width, TypicalError: typical, Runs: 12, ValidatedBy: "first-table",
		Nearest: engine.RunsOf(&cell),
	}
	r := engine.Report{
		Legal: true, Time: &engine.Time{Evidence: step}, Throughput: &engine.Throughput{Evidence: step},
		Memory: &engine.Memory{Evidence: engine.Evidence{
			ErrorBand: 0.05, TypicalError: 0.01,
			ValidatedBy: "second-table", Nearest: engine.NearestRuns{
				Title:   "second table",
				Example: "Llama-3 70B on 64 H100", Runs: 1, Off: 0.03,
			},
		}},
	}
	return &screen.Context{
		Setup: &s, Report: &r, Theme: p.Resolve(profile),
		Glyphs: widget.NewGlyphs(unicode),
	}
}

// invented are runs with round figures: frames are about what is drawn where,
// and must not change when a prediction gets better.
func invented() *data {
	d := &data{}
	for g, id := range []string{"first-table", "second-table", "blog-of-someone"} {
		group := published.Group{
			ID: id, Source: "table " + strconv.Itoa(g+1) + " of a paper", Fitted: g == 0,
			FittedTo: "none",
		}
		result := published.Result{
			Name: id, Metric: published.StepSeconds, Rows: 9,
			Mean: 0.05 * float64(g+1), Median: 0.04, Max: 0.2, Fitted: g == 0, Constant: 0.15, LeftOut: 0.17,
		}
		if g == 1 {
			result.Peer, result.PeerMean = "Another Tool", 0.056
		}
		d.results = append(d.results, lineOf(result, g))
		for i := range 9 {
			s := presets.DefaultSetup()
			s.GPUs, s.DP = 16<<(i/2), 1<<(i/2)
			if g == 2 {
				s.Model.ID, s.Model.Name = "other", "Other 7B"
			}
			run := &published.Run{
				ID: fmt.Sprintf("%s-%03d", id, i+1), Setup: s,
				Step: 0.3 * math.Pow(2.3, float64(i+g)),
			}
			group.Runs = append(group.Runs, *run)
			off := 0.01 * float64((i*7+g*5)%40-20)
			d.rows = append(d.rows, row{group: g, Row: published.Row{
				ID: run.ID, Run: run, Place: i, Group: id, Source: group.Source,
				Metric:   published.StepSeconds,
				Measured: run.Step, Predicted: run.Step * (1 + off), Error: off,
			}})
		}
		if g == 0 {
			result.Metric, result.Rows, result.Constant, result.LeftOut = published.MemoryGiB, 1, 0, 0
			d.results = append(d.results, lineOf(result, g))
			d.rows = append(d.rows,
				row{Row: published.Row{
					ID: group.Runs[0].ID, Run: &group.Runs[0], Group: id, Metric: published.MemoryGiB,
					Measured: 60, Predicted: 66, Error: 0.1,
				}})
		}
		d.groups = append(d.groups, group)
	}
	return d
}

func lineOf(r published.Result, group int) result { return result{Result: r, group: group} }

// drawn is a screen whose second run is open.
func drawn(in *screen.Context, w, h int) []string {
	v := &View{data: invented()}
	for _, key := range []string{"down", "enter", "down"} {
		screen.Press(v, in.At(w, h), key)
	}
	return append(v.Render(in.At(w, h)), v.Status(in.At(w, 1)))
}

// TestFrames draws the screen without colours.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			in := input(t, colorprofile.ASCII, true)
			golden.RequireEqual(t, ansi.Strip(strings.Join(drawn(in, size[0], size[1]-4), "\n")+"\n"))
		})
	}
}

// TestResidualFrames draws the errors by scale and by release, the cursor on a run.
func TestResidualFrames(t *testing.T) {
	for name, presses := range map[string]int{"gpus": 1, "release": 2} {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				in, v := input(t, colorprofile.ASCII, true), &View{data: invented()}
				v.Refresh(in)
				for range presses {
					screen.Press(v, in.At(size[0], size[1]-4), "p")
				}
				for _, key := range []string{"down", "enter", "down"} {
					screen.Press(v, in.At(size[0], size[1]-4), key)
				}
				golden.RequireEqual(t,
					ansi.Strip(strings.Join(v.Render(in.At(size[0], size[1]-4)), "\n")+"\n"))
			})
		}
	}
}

// TestNearestGroupsFirst: the group of the runs most like the setup leads.
func TestNearestGroupsFirst(t *testing.T) {
	in, v := input(t, colorprofile.ASCII, true), &View{data: invented()}
	for i := range v.data.rows {
		r := &v.data.rows[i]
		if r.Group != "blog-of-someone" {
			continue
		}
		in.Setup = &r.Run.Setup
		v.Refresh(in)
		if got := v.listed()[1].Name; got != r.Group {
			t.Fatalf("%s: %s leads", r.ID, got)
		}
	}
}

// TestMeanings: errors are good or a warning by their size.
func TestMeanings(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true)
	lines := drawn(in, 120, 32)
	screentest.Meant(t, lines, in.Theme, themes.Good, "+8.0", "-6.0", "+1.0", "-4.0")
	screentest.Meant(t, lines, in.Theme, themes.Warn, "+15.0", "-18.0", "-11.0", "-20.0", "-13.0")
	screentest.Meant(t, lines, in.Theme, themes.Bad)
}

// TestLooks: the screen in every theme and with few colours.
func TestLooks(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
			in := input(t, colorprofile.ASCII, true)
			in.Theme, in.Glyphs = theme, glyphs
			return drawn(in, size[0], size[1]-4)
		})
	}
}

// TestSaysWhatIsHidden: a list that does not fit says which of its lines are shown,
// one that does says nothing.
func TestSaysWhatIsHidden(t *testing.T) {
	for _, c := range []struct {
		w, h int
		want []string
		not  string
	}{
		{80, 10, []string{"GROUPS 1-2 of 4", "RUNS 1-2 of 27"}, ""},
		{120, 30, []string{"RUNS 1-", " of 27 nearest to yours first"}, "GROUPS 1"},
		{200, 80, nil, " of "},
	} {
		in := input(t, colorprofile.ASCII, true)
		v := &View{data: invented()}
		lines := v.Render(in.At(c.w, c.h))[bandLines:]
		text := ansi.Strip(strings.Join(lines, "\n"))
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%dx%d: %q is not in\n%s", c.w, c.h, want, text)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%dx%d: %q is in\n%s", c.w, c.h, c.not, text)
		}
	}
}

// TestAnySizeAndKey: every frame has its size, whatever was pressed before and
// whatever the figures are.
func TestAnySizeAndKey(t *testing.T) {
	odd := invented()
	odd.rows[3].Predicted, odd.rows[4].Measured, odd.rows[5].Predicted = math.NaN(), 0, math.Inf(1)
	one := &data{groups: odd.groups, rows: odd.rows[:1], results: odd.results[:1]}
	keys := []string{
		"up", "down", "left", "right", "pgup", "pgdown", "home", "end", "enter", "esc", "m", "f",
		"s", "n", "p", "x",
	}
	draws.Check(t, func(r *rapid.T) {
		in := input(t, colorprofile.ANSI256, rapid.Bool().Draw(r, "unicode"))
		v := &View{data: rapid.SampledFrom([]*data{invented(), odd, one, {}, nil}).Draw(r, "data")}
		if rapid.Bool().Draw(r, "no report") {
			in.Report = nil
		}
		if v.data == nil {
			v.fault = rapid.SampledFrom([]string{"", "a file is not right and this is why it is not"}).Draw(r,
				"fault")
		}
		screentest.Play(r, in, v, keys)
	})
}

// TestEveryRunLoads: all built-in runs are compared once, and entering any of
// them gives its own legal setup with its source.
func TestEveryRunLoads(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New(presets.Default())
	do := v.Refresh(in)
	if do.Work == nil || v.Refresh(in).Work != nil {
		t.Fatal("the runs must be compared once")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	do.Work(stopped)()
	if v.data != nil {
		t.Fatal("it was stopped")
	}
	v.Refresh(in).Work(t.Context())()
	if v.data == nil || v.Refresh(in).Work != nil {
		t.Fatal("no data, or asked twice")
	}
	screen.Press(v, in.At(120, 32), "enter")
	rows := v.shown()
	if len(rows) < 150 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, at := range rows {
		_, do := screen.Press(v, in.At(120, 32), "enter")
		r := &v.data.rows[at]
		if do.Setup == nil || *do.Setup != r.Run.Setup || !engine.Legal(*do.Setup) ||
			!strings.Contains(do.Text, r.ID) || !strings.Contains(do.Text, r.Source) {
			t.Fatalf("row %d %s: %q", i, r.ID, do.Text)
		}
		if v.cursor(rows) != i {
			t.Fatalf("the cursor is at %d, not %d", v.cursor(rows), i)
		}
		screen.Press(v, in.At(120, 32), "down")
	}
}

// TestPointsStandWhereTheyShould: an exact prediction lies on the line, one that
// is too high above it.
func TestPointsStandWhereTheyShould(t *testing.T) {
	d := invented()
	d.rows = d.rows[:3]
	for i, p := range []float64{1, 10, 100} {
		d.rows[i].Measured, d.rows[i].Predicted = p, p
	}
	d.rows[1].Predicted = 60
	in := input(t, colorprofile.ASCII, false)
	in.Setup = nil
	v := &View{data: d, group: "first-table"}
	lines := v.scatter(in, nil, 60, 30)
	column := func(line string) int { return strings.IndexByte(ansi.Strip(line), 'o') }
	var found [][2]int
	for y, l := range lines[1 : len(lines)-2] { // without heading, axis and legend
		if x := column(l); x >= 0 {
			found = append(found, [2]int{x, y})
		}
	}
	if len(found) != 3 || found[0][0] <= found[1][0] || found[1][0] <= found[2][0] {
		t.Fatalf("points at %v", found)
	}
	if middle := float64(found[0][1]+found[2][1]) / 2; !(float64(found[1][1]) < middle-4) {
		t.Errorf("a prediction that is too high stands at %v", found)
	}
}

func BenchmarkRender(b *testing.B) {
	in := input(b, colorprofile.ANSI256, true)
	v := New(presets.Default())
	v.Refresh(in).Work(b.Context())()
	for _, size := range [][2]int{{80, 20}, {200, 56}} {
		b.Run(strconv.Itoa(size[0]), func(b *testing.B) {
			for b.Loop() {
				v.Render(in.At(size[0], size[1]))
			}
		})
	}
}

// BenchmarkCompare is the work behind the screen, once per session.
func BenchmarkCompare(b *testing.B) {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		compare(b.Context(), groups)
	}
}

// TestNearestSaysWhatDiffers: that the nearest run had another GPU or stack is said at
// every width, by name where there is room.
func TestNearestSaysWhatDiffers(t *testing.T) {
	a, b := presets.DefaultSetup(), presets.DefaultSetup()
	b.Cluster.GPU.ID, b.Cluster.GPU.Name, b.Stack = "other", "Other 96GB (of somebody)", "torchtitan"
	if got := other(&a, &b, false); got != "; another GPU (Other 96GB), another stack (torchtitan)" {
		t.Errorf("%q", got)
	}
	if got := other(&a, &b, true); got != "; another GPU, another stack" {
		t.Errorf("%q", got)
	}
	if got := other(&a, &a, false); got != "" {
		t.Errorf("%q", got)
	}
}

// TestExplainsWhatIsFocused: e explains the band where groups are listed, and the step of the run
// under the cursor; at 80 columns no line about the setup is cut.
func TestExplainsWhatIsFocused(t *testing.T) {
	in, v := input(t, colorprofile.ASCII, true), &View{data: invented()}
	if id := v.Figure(in); id != "time.error-band" {
		t.Errorf("in the groups: %s", id)
	}
	v.enter(0)
	s, name := v.SetupAtCursor(in)
	if id := v.Figure(in); s == nil || id != "time.step" || !strings.HasPrefix(name, "published run ") {
		t.Errorf("in the runs: %s, %q", id, name)
	}
	for _, line := range v.bands(in, 80)[1:] {
		if strings.Contains(line, "…") {
			t.Errorf("cut: %s", line)
		}
	}
}

// TestRunIsNamedWhole holds that a run's model is whole at every size, and a long identifier where there
// is room.
func TestRunIsNamedWhole(t *testing.T) {
	for _, size := range [][2]int{{80, 20}, {118, 32}, {198, 56}} {
		in, v := input(t, colorprofile.ASCII, true), &View{data: invented()}
		for i := range v.data.rows {
			v.data.rows[i].ID = "long-name-of-a_" + v.data.rows[i].ID
		}
		text := ansi.Strip(strings.Join(v.Render(in.At(size[0], size[1])), "\n"))
		if !strings.Contains(text, "Llama-3.1 70B ") && !strings.Contains(text, "Llama-3.1 70B, ") {
			t.Errorf("%v: the model is cut\n%s", size, text)
		}
		if size[0] == 198 && !strings.Contains(text, "long-name-of-a_first-table-001  ") {
			t.Errorf("%v: the identifier is cut\n%s", size, text)
		}
	}
}
