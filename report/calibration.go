package report

import (
	"fmt"
	"math"
	"strings"

	"meshscope/engine/record"
	"meshscope/presets/measured"
	"meshscope/report/figure"
)

// Calibration compares measured runs with their predictions and tells which constants were fitted
// to them.
type Calibration struct {
	Header
	*measured.Fit
	LeftOut []LeftOutLine `json:"left_out"`
	Preset  string        `json:"preset,omitempty"` // the file that was written
	Search  string        `json:"search,omitempty"` // the command that searches with it
	Ranking []Ranked      `json:"ranking,omitempty"`
}

// LeftOutLine is a place of a file that does not count, and why.
type LeftOutLine struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// Ranked is a layout of the search with the fitted constants and its place with those before.
type Ranked struct {
	Rank   int     `json:"rank"`
	Was    int     `json:"was,omitempty"` // 0: not among those compared
	Layout string  `json:"layout"`
	Step   float64 `json:"step_seconds"`
	Before float64 `json:"step_seconds_before"`
}

// Document returns the runs, the constants, what was left out and the new ranking.
func (c *Calibration) Document() *Document {
	out := &Document{}
	add := func(heading, lead string, t *Table) {
		if len(t.Rows) > 0 {
			out.Sections = append(out.Sections, Section{Heading: heading, Lead: lead, Blocks: []Block{t}})
		}
	}
	lead := "no run could be compared"
	if c.Fitted > 0 {
		lead = fmt.Sprintf("step time of %d runs on %s with %s: mean error %s", c.Fitted, c.Machine, c.Stack,
			share(c.Before))
	}
	if c.Changed() {
		lead += fmt.Sprintf(" before, %s after the fit, %s of each run predicted by a fit without it",
			share(c.After), share(c.Fit.LeftOut))
	}
	add("Runs", lead, c.runs())
	add("Constants", "plus or minus one standard error, of a spread of at least 2 % between runs",
		c.constants())
	left := &Table{Head: []string{"line", "why"}}
	for _, l := range c.LeftOut {
		at := l.File
		if l.Line > 0 {
			at = fmt.Sprintf("%s:%d", l.File, l.Line)
		}
		left.add(Word(at), Word(l.Message))
	}
	add("Left out", "lines and runs that do not count", left)
	add("Search with the fitted constants", "", c.ranking())
	return out
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// signed returns by how much a prediction is off.
func signed(predicted, measured float64) Cell {
	if predicted <= 0 || measured <= 0 {
		return right("-")
	}
	return right(fmt.Sprintf("%+.1f %%", 100*(predicted/measured-1)))
}

func (c *Calibration) runs() *Table {
	t := &Table{Head: []string{"run", "measured s", "predicted s", "error"}}
	if c.Changed() {
		t.Head = append(t.Head, "fitted", "left out")
	}
	t.Head = append(t.Head, "reserved GiB", "predicted", "layout")
	for i := range c.Runs {
		r := &c.Runs[i]
		row := []Cell{
			Word(r.Name), right(fmt.Sprintf("%.4g", r.Measured)),
			right(fmt.Sprintf("%.4g", r.Before)), signed(r.Before, r.Measured),
		}
		if c.Changed() {
			row = append(row, signed(r.After, r.Measured), signed(r.LeftOut, r.Measured))
		}
		gib, of := r.Reserved, r.ReservedPredicted
		if gib == 0 {
			gib, of = r.Allocated, r.AllocatedPredicted
		}
		memory := []Cell{right("-"), right("-")}
		if gib > 0 {
			memory = []Cell{right(fmt.Sprintf("%.1f", gib)), right(fmt.Sprintf("%.1f", of))}
		}
		layout := r.Layout
		if r.Why != "" {
			layout = "not fitted: " + r.Why
		}
		t.add(append(append(row, memory...), Word(layout))...)
	}
	return t
}

func (c *Calibration) constants() *Table {
	t := &Table{Head: []string{"constant", "before", "fitted", "", "why not, and what would tell"}}
	for _, k := range c.Constants {
		after, deviation, why := "-", "", k.Why
		if k.Fitted {
			after, deviation = number(k.After), "± "+number(k.Error)
		}
		if k.Tells != "" {
			why += "; would tell: " + k.Tells
		}
		t.add(Word(k.What), right(number(k.Before)), right(after), right(deviation), Word(why))
	}
	return t
}

// number returns the value of a constant.
func number(v float64) string {
	if v >= 1000 {
		return figure.Comma(int(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}

func (c *Calibration) ranking() *Table {
	t := &Table{Head: []string{"rank", "was", "step s", "before s", "layout"}}
	for _, r := range c.Ranking {
		was := "-"
		if r.Was > 0 {
			was = fmt.Sprint(r.Was)
		}
		t.add(Figure(record.Count, float64(r.Rank)), right(was), right(fmt.Sprintf("%.4g", r.Step)),
			right(fmt.Sprintf("%.4g", r.Before)), Word(strings.TrimSpace(r.Layout)))
	}
	return t
}
