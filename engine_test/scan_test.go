package engine_test

import (
	"errors"
	"testing"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/scan"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

func bothLocks() knob.Locks { return knob.Locks{GPUs: true, Batch: true} }

// Every point of a scan is what evaluating its setup gives: the value with its
// figure, the verdict, and one point is the setup that was asked about.
func TestScanIsEvaluate(t *testing.T) {
	w := newWorld(t)
	figures := []string{
		"time.step", "memory.peak", "memory.free", "throughput.mfu", "communication.tp.bytes",
		figures.FullestRank + "activations",
	}
	knobs := []knob.ID{
		"tp", "pp", "dp", "cp", "zero", "mbs", "gbs", "seq", "recompute", "sp", "schedule",
		"vpp", "nodes", "precision",
	}
	draws.CheckFew(t, 4, func(t *rapid.T) {
		c := scan.Query{
			Setup: w.legalSetup(t), X: scan.Axis{ID: rapid.SampledFrom(knobs).Draw(t, "x")},
			Figure: rapid.SampledFrom(figures).Draw(t, "figure"), Locks: bothLocks(),
		}
		if by := rapid.SampledFrom(append(knobs, "", "", "")).Draw(t, "by"); by != c.X.ID {
			c.By.ID = by
		}
		if rapid.Bool().Draw(t, "values") {
			c.X = scan.Axis{ID: "tp", Values: []string{"1", "3", "4", "1048576"}}
			if c.By.ID == "tp" {
				c.By.ID = ""
			}
		}
		if len(c.X.Values) == 0 && c.By.ID != "" {
			c.By.Values = someValues(t, &c)
		}
		g, err := c.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		current := 0
		for y, row := range g.Rows {
			if len(row) != len(g.X.Values) {
				t.Fatalf("%d points for %d values", len(row), len(g.X.Values))
			}
			for x := range row {
				p := &row[x]
				if p.X != g.X.Values[x] || c.By.ID != "" && p.By != g.By.Values[y] {
					t.Fatalf("point %q %q stands at %d, %d", p.X, p.By, x, y)
				}
				checkPoint(t, &c, p)
				if p.Current {
					current++
				}
			}
		}
		if len(c.X.Values) == 0 && current == 0 {
			t.Fatal("the setup in force is not among the points")
		}
	})
}

// someValues are the value in force of the second knob of a scan and up to three others:
// two whole ladders may be more points than a scan has.
func someValues(t *rapid.T, c *scan.Query) []string {
	var values []string
	for _, step := range knob.Steps(c.Setup, c.By.ID, c.Locks) {
		if step.Current {
			values = append(values, step.Text)
		}
	}
	for _, step := range knob.Steps(c.Setup, c.By.ID, c.Locks) {
		if len(values) < 4 && !step.Current && rapid.Bool().Draw(t, "takes "+step.Text) {
			values = append(values, step.Text)
		}
	}
	return values
}

func checkPoint(t *rapid.T, c *scan.Query, p *scan.Point) {
	r := engine.Evaluate(p.Setup)
	if p.Verdict == scan.Illegal {
		if p.Value != nil || p.Why == "" {
			t.Fatalf("illegal at %s, with value %v and reason %q", p.X, p.Value, p.Why)
		}
		return
	}
	if !r.Legal || r.Memory.Fits != (p.Verdict == scan.Fits) {
		t.Fatalf("%s at %s, but legal %v", p.Verdict, p.X, r.Legal)
	}
	f, has := figures.Find(&r, c.Figure)
	if has != (p.Value != nil) || has && f.Value != *p.Value {
		t.Fatalf("%s at %s is %v, want %v %v", c.Figure, p.X, p.Value, f.Value, has)
	}
}

// A scan that is stopped or too large has no answer, and says which it is.
func TestScanBounds(t *testing.T) {
	c := scan.Query{
		Setup: presets.DefaultSetup(), X: scan.Axis{ID: "tp"}, Figure: "time.step",
		Locks: bothLocks(),
	}
	if _, err := c.Run(func() bool { return true }); !errors.Is(err, scan.StoppedError{}) {
		t.Errorf("stopped, and the error is %v", err)
	}
	for range scan.MaxPoints + 1 {
		c.X.Values = append(c.X.Values, "1")
	}
	if _, err := c.Run(nil); !errors.Is(err, scan.PointsError{Points: scan.MaxPoints + 1}) {
		t.Errorf("too many points, and the error is %v", err)
	}
	// Two knobs whose ladders together are too long are refused, too.
	c.X.Values, c.By.ID = c.X.Values[:scan.MaxPoints/8], "gbs"
	if _, err := c.Run(nil); !errors.As(err, new(scan.PointsError)) {
		t.Errorf("two long ladders, and the error is %v", err)
	}
}
