package report

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/report/figure"
)

// Comparison is two setups compared, with the path from A to B.
type Comparison struct {
	*compare.Comparison
	Way   []compare.Move
	Words []string // how A and B were given; "": by the flags
	Held  []string // what a side has from the other, in sentences

	Chosen [2]*search.Chosen // how the setups that A and B start from were found where no degree was given

	Library *presets.Library
}

// Document returns the comparison for people.
func (c *Comparison) Document() *Document {
	out := &Document{}
	var sides []string
	for i, side := range []*compare.Side{&c.A, &c.B} {
		s := &side.Setup
		text := fmt.Sprintf("%c  %s on %s x %s, dp %d tp %d pp %d", 'A'+i, name(s.Model.Name, s.Model.ID),
			figure.Comma(s.GPUs), name(s.Cluster.GPU.Name, s.Cluster.GPU.ID), s.DP, s.TP, s.PP)
		if c.Words[i] != "" {
			text += "  (" + escape.Line(c.Words[i]) + ")"
		}
		sides = append(sides, text)
	}
	sides = append(sides, c.Held...)
	if work := c.otherWork(); work != "" {
		sides = append(sides, work)
	}
	out.Title = strings.Join(sides, "\n")
	out.Sections = append(out.Sections, c.changed())
	for i, side := range []*compare.Side{&c.A, &c.B} {
		if !side.Report.Legal {
			out.Sections = append(out.Sections, Section{
				Heading: fmt.Sprintf("%c is illegal", 'A'+i),
				Lead:    "nothing to compare",
			})
			out.Sections = append(out.Sections, problems(&side.Report)...)
		}
	}
	if !c.A.Report.Legal || !c.B.Report.Legal {
		return out
	}
	for _, g := range []struct {
		group         compare.Group
		heading, lead string
	}{
		{compare.GroupMemory, "Memory", c.fullest()},
		{compare.GroupTime, "Step", ""},
		{compare.GroupRun, "Whole run", c.runWords()},
		{compare.GroupCommunication, "Communication", "per GPU and step"},
		{compare.GroupThroughput, "Throughput", ""},
		{compare.GroupPipeline, "Pipeline", ""},
	} {
		if t := c.figures(g.group); len(t.Rows) > 0 {
			out.Sections = append(out.Sections,
				Section{Heading: g.heading, Lead: g.lead, Blocks: append([]Block{t}, c.bands(g.group)...)})
		}
	}
	if len(c.Way) > 0 {
		out.Sections = append(out.Sections, c.path())
	}
	var idle []string
	for i, side := range []*compare.Side{&c.A, &c.B} {
		idle = append(idle, noEffects(string(rune('A'+i))+": ", &side.Setup, &side.Report,
			unchosen(c.Chosen[i]))...)
	}
	out.sayNoEffects(idle)
	return out
}

// otherWork tells in what the work of a step differs; empty where it does not.
func (c *Comparison) otherWork() string {
	var words []string
	for _, x := range c.Changes {
		if slices.Contains(compare.Work(), knob.ID(x.Field)) {
			words = append(words, fmt.Sprintf("%s %s in A, %s in B", x.Field, orNone(x.A), orNone(x.B)))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "Not the same work a step: " + strings.Join(words, "; ")
}

// runWords says of how many tokens the whole run is.
func (c *Comparison) runWords() string {
	a, b := c.A.Report.Run, c.B.Report.Run
	switch {
	case a == nil || b == nil:
		return ""
	case a.Tokens == b.Tokens:
		return figure.FineCount(a.Tokens) + " tokens"
	}
	return fmt.Sprintf("A: %s tokens; B: %s", figure.FineCount(a.Tokens), figure.FineCount(b.Tokens))
}

// changed lists the differences, each with its rule.
func (c *Comparison) changed() Section {
	if len(c.Changes) == 0 {
		return Section{Heading: "No changes", Lead: "A and B are the same setup"}
	}
	out := Section{Heading: "Changed"}
	for _, x := range c.Changes {
		rule := x.Rule
		if x.Follows != "" {
			rule = "auto: " + x.Follows
		}
		out.add(Item{Text: fmt.Sprintf("%-12s %s -> %s", x.Field, orNone(x.A), orNone(x.B))}, Detail(rule))
	}
	return out
}

// orNone returns a text, or "none".
func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return escape.Line(text)
}

func (c *Comparison) fullest() string {
	rank := func(m *engine.Memory) string { return fmt.Sprintf("rank %d, %s", m.PeakRank, fitWord(m)) }
	return fmt.Sprintf("of the fullest rank (A: %s; B: %s)", rank(c.A.Report.Memory), rank(c.B.Report.Memory))
}

// compareRoom is the width of the names of figures, so that the tables of all groups align.
const compareRoom = 26

// figures returns the figures of a group on both sides.
func (c *Comparison) figures(group compare.Group) *Table {
	t := &Table{Head: []string{strings.Repeat(" ", compareRoom-1), "A", "B", "B - A", "ratio"}}
	for i := range c.Deltas {
		d := &c.Deltas[i]
		if d.Group == group && (!nothing(d.A) || !nothing(d.B)) {
			t.add(Word(shortName(d)), side(d.Unit, d.A), side(d.Unit, d.B), difference(d), right(ratio(d)))
		}
	}
	return t
}

// side returns a figure, or a dash if a side has none.
func side(u record.Unit, v *float64) Cell {
	if v == nil {
		return right("-")
	}
	return written(writtenAs(u, *v), u, *v)
}

// writtenAs writes a figure; those of a whole run as the run's own table does.
func writtenAs(u record.Unit, v float64) string {
	switch u {
	case record.Days, record.Hours, record.Dollars, record.Energy:
		return figure.Of(u, v)
	default:
	}
	return figure.Fine(u, v)
}

func nothing(v *float64) bool { return v == nil || *v == 0 }

// shortName returns a name that fits the column.
func shortName(d *compare.Delta) string {
	switch d.ID {
	case "time.bubble-share":
		return "bubble of the step"
	case "pipeline.bubble-closed-form":
		return "(p-1)/m, over ideal"
	}
	return d.Name
}

// difference returns B - A with its sign; shares differ by points.
func difference(d *compare.Delta) Cell {
	v, ok := d.Change()
	switch {
	case !ok:
		return right("-")
	case d.Same(), figure.Fine(d.Unit, *d.A) == figure.Fine(d.Unit, *d.B):
		return right("=")
	case d.Unit == record.Share:
		return right(fmt.Sprintf("%+.2f pts", 100*v))
	}
	return right(figure.Change(writtenAs(d.Unit, v), v))
}

// ratio returns B / A as a change in percent.
func ratio(d *compare.Delta) string {
	r, ok := d.Ratio()
	if !ok || difference(d).Text == "=" || d.Unit == record.Share || r < 0 {
		return ""
	}
	if r >= 10 {
		return fmt.Sprintf("x %.0f", r)
	}
	return fmt.Sprintf("%+.1f %%", 100*(r-1))
}

// bands returns the error bands of both sides.
func (c *Comparison) bands(group compare.Group) []Block {
	of := func(r *engine.Report) string {
		switch group {
		case compare.GroupMemory:
			return r.Memory.Words()
		case compare.GroupTime:
			return r.Time.Words()
		case compare.GroupRun:
			return layoutOnly(r.Run)
		case compare.GroupCommunication, compare.GroupThroughput, compare.GroupPipeline:
		}
		return ""
	}
	a, b := of(&c.A.Report), of(&c.B.Report)
	var out []Block
	if group == compare.GroupTime && c.A.Report.Time.TooClose(c.B.Report.Time) {
		out = append(out,
			Sentence("too close to call: the step times differ by less than a quarter of the error band"))
	}
	switch a {
	case "":
		return nil
	case b:
		return append(out, Sentence(a))
	}
	return append(out, Sentence("A: "+a), Sentence("B: "+b))
}

// mostChange is the number of characters of a change that fit on a line.
const mostChange = 44

// path lists what each change gains on the path from A to B.
func (c *Comparison) path() Section {
	out := Section{Heading: "Path", Lead: "from A to B, one change at a time, with the knobs that adapt"}
	if len(c.Way) > 1 {
		out.say("The gain of each change depends on the order, the total does not.")
	}
	peak, step := c.A.Report.Memory.Peak, c.A.Report.Time.Step
	t := &Table{Head: []string{strings.Repeat(" ", compareRoom-1), "GiB", "", "step", ""}}
	row := func(text, more, faster string) {
		t.add(Word(text), written(fmt.Sprintf("%.1f", peak.GiB()), record.Memory, peak), right(more),
			fine(record.Seconds, step), right(faster))
	}
	row("A", "", "")
	tooLarge := false
	for i := range c.Way {
		m := &c.Way[i]
		more, faster := fmt.Sprintf("%+.1f", (m.Peak-peak).GiB()),
			fmt.Sprintf("%+.1f %%", 100*(float64(m.Step)/float64(step)-1))
		if !m.Fits {
			more += " !"
			tooLarge = true
		}
		peak, step = m.Peak, m.Step
		row(cut(changeWords(m), mostChange), more, faster)
	}
	out.add(t)
	if tooLarge {
		out.say("! does not fit")
	}
	return out
}

// changeWords lists the changes of a move.
func changeWords(m *compare.Move) string {
	words := make([]string, len(m.Changes))
	for i, c := range m.Changes {
		words[i] = c.Field + " " + orNone(c.B)
	}
	return strings.Join(words, ", ")
}

// cut shortens a text to a number of characters.
func cut(text string, room int) string {
	if r := []rune(text); len(r) > room {
		return string(r[:room-3]) + "..."
	}
	return text
}

// Records returns the changes, then a row for each figure.
func (c *Comparison) Records() *Table {
	t := &Table{Head: []string{
		"part", "name", "a", "b", "change", "ratio", "unit", "error_band_a",
		"error_band_b",
	}}
	for _, x := range c.Changes {
		t.add(Word("setup"), Word(x.Field), Word(x.A), Word(x.B), Word(""), Word(""), Word(""), Word(""),
			Word(""))
	}
	for i := range c.Deltas {
		d := &c.Deltas[i]
		change, ratio := Word(""), Word("")
		bandA, bandB := c.errorBands(d)
		if v, ok := d.Change(); ok {
			change = exactly(v)
		}
		if v, ok := d.Ratio(); ok {
			ratio = exactly(v)
		}
		t.add(Word(string(d.Group)), Word(d.Name), perhaps(d.A), perhaps(d.B), change, ratio,
			Word(string(d.Unit)), perhaps(bandA), perhaps(bandB))
	}
	return t
}

// exactly returns a number with all its digits, for records.
func exactly[T ~float64](v T) Cell { return Word(figure.Digits(float64(v))) }

// perhaps returns a number, or an empty cell, for records.
func perhaps(v *float64) Cell {
	if v == nil {
		return Word("")
	}
	return exactly(*v)
}
