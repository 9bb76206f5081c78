package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/scan"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// In a scan over two knobs every legal point has the values of both that it is named
// by, leaves alone all that no identity moves, and has the figure of that setup; the
// point is the same where the two knobs are exchanged.
func TestScanOfTwoKnobsHoldsBoth(t *testing.T) {
	w := newWorld(t)
	params := knob.All()
	var knobs []knob.ID
	for i := range params {
		if params[i].Kind != knob.List {
			knobs = append(knobs, params[i].ID)
		}
	}
	related := []knob.ID{
		"dp", "tp", "pp", "cp", "gpus", "nodes", "mbs", "microbatches", "gbs", "vpp",
		"schedule", "sp",
	}
	legal := 0
	draws.CheckFew(t, 8, func(t *rapid.T) {
		from := knobs
		if rapid.Bool().Draw(t, "related") {
			from = related
		}
		s := w.legalSetup(t)
		pair := rapid.SliceOfNDistinct(rapid.SampledFrom(from), 2, 2, rapid.ID).Draw(t, "knobs")
		locks := knob.Locks{
			GPUs:  rapid.Bool().Draw(t, "keep gpus"),
			Batch: rapid.Bool().Draw(t, "keep batch"),
		}
		axis := func(id knob.ID) scan.Axis {
			a := scan.Axis{ID: id}
			for _, step := range knob.Steps(s, id, locks) {
				a.Values = append(a.Values, step.Text)
			}
			if p, _ := knob.Find(id); p.Kind == knob.Number {
				a.Values = append(a.Values, "1", "3", "8", "64")
			}
			a.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(a.Values), 1, 4, rapid.ID).Draw(t, string(id))
			return a
		}
		c := scan.Query{Setup: s, X: axis(pair[0]), By: axis(pair[1]), Figure: "memory.peak", Locks: locks}
		g, err := c.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		c.X, c.By = c.By, c.X
		turned, err := c.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		for y := range g.Rows {
			for x := range g.Rows[y] {
				p, q := &g.Rows[y][x], &turned.Rows[x][y]
				if p.Verdict != q.Verdict || p.Verdict != scan.Illegal && p.Setup != q.Setup {
					t.Fatalf("%s %s, %s %s: %s %+v, exchanged %s %+v", pair[0], p.X, pair[1], p.By, p.Verdict,
						p.Setup.Layout, q.Verdict, q.Setup.Layout)
				}
				if p.Verdict == scan.Illegal {
					checkNoOrderDoes(t, s, pair, p, locks)
					continue
				}
				legal++
				checkHolds(t, s, pair, p)
			}
		}
	})
	if legal == 0 {
		t.Error("no point is legal")
	}
}

// checkHolds holds a legal point against both its names and against the setup that was
// asked about.
func checkHolds(t *rapid.T, s engine.Setup, pair []knob.ID, p *scan.Point) {
	for i, text := range []string{p.X, p.By} {
		knob, _ := knob.Find(pair[i])
		if is := knob.Text(p.Setup); is != text {
			t.Fatalf("the point %s %s, %s %s has %s %s", pair[0], p.X, pair[1], p.By, pair[i], is)
		}
	}
	want := s
	want.DP, want.GPUs, want.MicroBatches, want.GBS = p.Setup.DP, p.Setup.GPUs, p.Setup.MicroBatches,
		p.Setup.GBS
	for i, text := range []string{p.X, p.By} {
		switch knob, _ := knob.Find(pair[i]); pair[i] {
		case "gpus", "nodes", "dp", "microbatches", "gbs":
		default:
			var err error
			if want, err = knob.Set(want, text); err != nil {
				t.Fatal(err)
			}
		}
		switch pair[i] {
		case "tp":
			want.SP = p.Setup.SP
		case "vpp":
			want.Schedule = p.Setup.Schedule
		case "schedule":
			want.VPP = p.Setup.VPP
		default:
		}
	}
	if want != p.Setup {
		t.Fatalf("the point %s %s, %s %s moved more than what follows: %+v, from %+v", pair[0], p.X, pair[1],
			p.By, p.Setup, s)
	}
	r := engine.Evaluate(want)
	if f, ok := figures.Find(&r, "memory.peak"); !ok || p.Value == nil || f.Value != *p.Value {
		t.Fatalf("the point %s %s, %s %s is %v, its setup has %v", pair[0], p.X, pair[1], p.By, p.Value,
			f.Value)
	}
}

// checkNoOrderDoes: where a point is illegal, turning one knob after the other does not
// end at a legal setup with both values either.
func checkNoOrderDoes(t *rapid.T, s engine.Setup, pair []knob.ID, p *scan.Point, l knob.Locks) {
	if p.Why == "" {
		t.Fatal("illegal without a reason")
	}
	texts := []string{p.X, p.By}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		out, err := knob.Turn(s, pair[order[0]], texts[order[0]], l)
		if err == nil {
			out, err = knob.Turn(out, pair[order[1]], texts[order[1]], l)
		}
		if err != nil {
			continue
		}
		held := true
		for i := range pair {
			knob, _ := knob.Find(pair[i])
			held = held && knob.Text(out) == texts[i]
		}
		if r := engine.Evaluate(out); held && r.Legal {
			t.Fatalf("%s %s, %s %s is said to be illegal (%s), but is %+v", pair[0], p.X, pair[1], p.By,
				p.Why, out.Layout)
		}
	}
}

// A value that another knob's following had rounded to is turned to all the same.
func TestScanFollowsWhatIsAlreadyThere(t *testing.T) {
	c := scan.Query{
		Setup: presets.DefaultSetup(), X: scan.Axis{ID: "mbs", Values: []string{"96"}},
		By: scan.Axis{ID: "microbatches", Values: []string{"1", "2"}}, Figure: "memory.peak",
		Locks: bothLocks(),
	}
	g, err := c.Run(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{384, 768} {
		if p := &g.Rows[i][0]; p.Verdict == scan.Illegal || p.Setup.GBS != want {
			t.Errorf("mbs 96, microbatches %s: %s %s, global batch %d, want %d", p.By, p.Verdict, p.Why,
				p.Setup.GBS, want)
		}
	}
}

// What two knobs cannot both be is said with both and with what follows.
func TestScanSaysContradictions(t *testing.T) {
	c := scan.Query{
		Setup: presets.DefaultSetup(), X: scan.Axis{ID: "gpus", Values: []string{"64", "128"}},
		By: scan.Axis{ID: "nodes", Values: []string{"8", "16"}}, Figure: "memory.peak", Locks: bothLocks(),
	}
	g, err := c.Run(nil)
	if err != nil {
		t.Fatal(err)
	}
	for y, row := range g.Rows {
		for x := range row {
			p := &row[x]
			if (p.Verdict != scan.Illegal) != (x == y) {
				t.Errorf("gpus %s on %s nodes is %s: %s", p.X, p.By, p.Verdict, p.Why)
			}
			if x != y && (!strings.Contains(p.Why, "gpus "+p.X) || !strings.Contains(p.Why, "nodes "+p.By)) {
				t.Errorf("gpus %s on %s nodes: %q does not name both", p.X, p.By, p.Why)
			}
		}
	}
	if got, want := g.GPUs(), (scan.Spread{Low: 64, High: 128}); got != want {
		t.Errorf("GPUs %+v, want %+v", got, want)
	}
}
