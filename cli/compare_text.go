package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/units"
)

// writeComparison prints a comparison for people.
func writeComparison(to io.Writer, c *engine.Comparison, way []engine.Move, words []string) error {
	t := newPage(to)
	for i, side := range []*engine.Side{&c.A, &c.B} {
		s := &side.Setup
		t.printf("%c  %s on %s x %s, dp %d tp %d pp %d", 'A'+i, name(s.Model.Name, s.Model.ID), commas(s.GPUs), name(s.Cluster.GPU.Name, s.Cluster.GPU.ID), s.DP, s.TP, s.PP)
		if words[i] != "" {
			t.printf("  (%s)", escape.Line(words[i]))
		}
		t.printf("\n")
	}
	writeChanges(t, c.Changes)
	for i, side := range []*engine.Side{&c.A, &c.B} {
		if !side.Report.Legal {
			t.printf("\n%c IS ILLEGAL, so there is nothing to compare with\n", 'A'+i)
			r := &textReport{page: t, setup: &side.Setup, report: &side.Report}
			r.problems()
		}
	}
	if !c.A.Report.Legal || !c.B.Report.Legal {
		return t.Flush()
	}
	for _, g := range []struct {
		group engine.Group
		title string
	}{
		{engine.GroupMemory, "MEMORY  " + fullest(c)},
		{engine.GroupTime, "STEP"},
		{engine.GroupCommunication, "COMMUNICATION  per GPU and step"},
		{engine.GroupThroughput, "THROUGHPUT"},
		{engine.GroupPipeline, "PIPELINE"},
	} {
		writeDeltas(t, c, g.group, g.title)
	}
	writeWay(t, c, way)
	return t.Flush()
}

func writeChanges(t page, changes []engine.Change) {
	if len(changes) == 0 {
		t.printf("\nNOTHING CHANGED  A and B are the same setup\n")
		return
	}
	t.printf("\nCHANGED\n")
	for _, c := range changes {
		t.printf("  %-12s %s -> %s\n", c.Field, value(c.A), value(c.B))
		if c.Follows != "" {
			t.printf("    follows: %s\n", c.Follows)
			continue
		}
		t.lines("    " + c.Rule)
	}
}

// value is a text that may be empty.
func value(text string) string {
	if text == "" {
		return "none"
	}
	return escape.Line(text)
}

func fullest(c *engine.Comparison) string {
	rank := func(m *engine.Memory) string {
		verdict := "fits"
		if !m.Fits {
			verdict = "DOES NOT FIT"
		}
		return fmt.Sprintf("rank %d, %s", m.PeakRank, verdict)
	}
	return fmt.Sprintf("of the fullest rank (A: %s; B: %s)", rank(c.A.Report.Memory), rank(c.B.Report.Memory))
}

// nameRoom is how wide the names of figures are, so that all groups stand under
// each other.
const nameRoom = 26

// writeDeltas prints the figures of a group on both sides.
func writeDeltas(t page, c *engine.Comparison, group engine.Group, title string) {
	var rows [][]string
	for i := range c.Deltas {
		d := &c.Deltas[i]
		if d.Group != group || nothing(d.A) && nothing(d.B) {
			continue
		}
		rows = append(rows, []string{
			fmt.Sprintf("  %-*s", nameRoom, shortName(d)), cell(d.Unit, d.A), cell(d.Unit, d.B), difference(d), ratio(d),
		})
	}
	if len(rows) == 0 {
		return
	}
	t.printf("\n%s\n", title)
	t.trimmed(append([][]string{{strings.Repeat(" ", nameRoom), "A", "B", "B - A", ""}}, rows...))
	switch group {
	case engine.GroupMemory:
		writeBands(t, c, func(r *engine.Report) *engine.Evidence { return &r.Memory.Evidence })
	case engine.GroupTime:
		writeBands(t, c, func(r *engine.Report) *engine.Evidence { return &r.Time.Evidence })
	case engine.GroupCommunication, engine.GroupThroughput, engine.GroupPipeline:
	}
}

// writeBands says how far the figures of both sides can be trusted.
func writeBands(t page, c *engine.Comparison, of func(*engine.Report) *engine.Evidence) {
	a, b := of(&c.A.Report).Words(), of(&c.B.Report).Words()
	if a == b {
		t.lines("  " + a)
		return
	}
	t.lines("  A: " + a)
	t.lines("  B: " + b)
}

func nothing(v *float64) bool { return v == nil || *v == 0 }

// shortName fits the column.
func shortName(d *engine.Delta) string {
	switch d.ID {
	case "pipeline.bubble-over-ideal":
		return "bubble over busiest rank"
	case "pipeline.bubble-over-total":
		return "bubble over all ranks"
	}
	return d.Name
}

// cell is a figure with its unit.
func cell(u engine.Unit, v *float64) string {
	if v == nil {
		return "-"
	}
	switch u {
	case engine.UnitMemory:
		return fmt.Sprintf("%.2f GiB", units.Bytes(*v).GiB())
	case engine.UnitTraffic:
		return fmt.Sprintf("%.3f GB", units.Bytes(*v).GB())
	case engine.UnitSeconds:
		return seconds(units.Seconds(*v))
	case engine.UnitShare:
		return percent(*v)
	case engine.UnitTokens:
		return count(*v)
	case engine.UnitTFLOPS:
		return fmt.Sprintf("%.1f", *v)
	case engine.UnitCount:
		return trim(*v)
	default:
		return u.Text(*v)
	}
}

// difference is B - A with its sign; shares differ by points.
func difference(d *engine.Delta) string {
	v, ok := d.Change()
	switch {
	case !ok:
		return "-"
	case d.Same(), cell(d.Unit, d.A) == cell(d.Unit, d.B):
		return "="
	case d.Unit == engine.UnitShare:
		return fmt.Sprintf("%+.2f pts", 100*v)
	}
	size := math.Abs(v)
	sign := "+"
	if v < 0 {
		sign = "-"
	}
	return sign + cell(d.Unit, &size)
}

// ratio is how many times A B is, as a change in percent.
func ratio(d *engine.Delta) string {
	r, ok := d.Ratio()
	if !ok || difference(d) == "=" || d.Unit == engine.UnitShare || r < 0 {
		return ""
	}
	if r >= 10 {
		return fmt.Sprintf("x %.0f", r)
	}
	return fmt.Sprintf("%+.1f %%", 100*(r-1))
}

// mostMove is how much of the words of a move a line has room for.
const mostMove = 44

// moveWords are the changes of a move.
func moveWords(m *engine.Move) string {
	words := make([]string, len(m.Changes))
	for i, c := range m.Changes {
		words[i] = c.Field + " " + value(c.B)
	}
	return strings.Join(words, ", ")
}

func longestMove(way []engine.Move) (n int) {
	for i := range way {
		n = max(n, len([]rune(moveWords(&way[i]))))
	}
	return n
}

// writeWay prints what each change is worth on the way from A to B.
func writeWay(t page, c *engine.Comparison, way []engine.Move) {
	if len(way) == 0 {
		return
	}
	t.printf("\nTHE WAY  from A to B, one change after the other; what follows moves along\n")
	if len(way) > 1 {
		t.printf("  what each is worth depends on this order, the sum does not\n")
	}
	peak, step := c.A.Report.Memory.Peak, c.A.Report.Time.Step
	nameRoom := max(nameRoom, min(longestMove(way), mostMove))
	rows := [][]string{{strings.Repeat(" ", nameRoom), "GiB", "", "step", ""}, {fmt.Sprintf("  %-*s", nameRoom, "A"), fmt.Sprintf("%.1f", peak.GiB()), "", seconds(step), ""}}
	for i := range way {
		m := &way[i]
		mark := ""
		if !m.Fits {
			mark = " !"
		}
		text := moveWords(m)
		if r := []rune(text); len(r) > nameRoom {
			text = string(r[:nameRoom-3]) + "..."
		}
		rows = append(rows, []string{
			fmt.Sprintf("  %-*s", nameRoom, text), fmt.Sprintf("%.1f", m.Peak.GiB()), fmt.Sprintf("%+.1f%s", (m.Peak - peak).GiB(), mark),
			seconds(m.Step), fmt.Sprintf("%+.1f %%", 100*(float64(m.Step)/float64(step)-1)),
		})
		peak, step = m.Peak, m.Step
	}
	t.trimmed(rows)
	for i := range way {
		if !way[i].Fits {
			t.printf("  ! does not fit\n")
			return
		}
	}
}
