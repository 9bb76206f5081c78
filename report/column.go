package report

import (
	"math"
	"slices"

	"meshscope/engine/record"
	"meshscope/report/figure"
)

// Column is one column of a list of rows: a screen draws, sorts and filters by it, files are written from it.
type Column[R any] struct {
	ID     string   // in filters and files
	Head   string   // above it
	Names  []string // other names for it in a filter
	Help   string
	Figure string // the figure of the report that it shows

	Unit    record.Unit          // of its values
	Units   func(*R) record.Unit // where rows differ in it: what stands below the head has it
	Signed  bool                 // a change, which has a plus too
	Value   func(*R) float64     // NaN: there is none; nil: a column of words
	Text    func(*R) string      // the word; of a figure what a list shows, nil: as its unit is written
	Choices []string             // words that it can have, those with more behind them with a colon; nil: any
	Mark    func(*R) string      // what stands before a figure; nil: nothing
	Down    bool                 // large values first

	Drop       int  // of columns that say as much, the larger leaves a list that is too narrow; 0: never
	Aside      bool // only where somebody asks for it
	Cut        bool // words that are cut where there is less room, not left out
	OnlyVaried bool // no column where all rows agree
	Knob       bool // a part of the layout, not a figure of it
	Degree     bool // of GPUs: 1 says nothing
	Named      bool // a knob that a search leaves as it is: only a comparison asks for it
}

// Words reports whether the column has words, which start at the left.
func (c *Column[R]) Words() bool { return c.Value == nil }

// Brief returns what stands below the head, which has the unit.
func (c *Column[R]) Brief(r *R) string {
	if c.Text != nil {
		return c.Text(r)
	}
	text := figure.Bare(c.Unit, c.Value(r))
	switch {
	case c.Units != nil:
		text = c.Cell(r).Text // its sign too
	case c.Signed:
		text = figure.Change(text, c.Value(r))
	}
	if c.Mark != nil {
		text = c.Mark(r) + text
	}
	return text
}

// Number returns a value as people type it in a filter: in the unit that Brief leaves out.
func (c *Column[R]) Number(r *R) float64 { return c.Value(r) / figure.Base(c.Unit) }

// Cell returns what a file has of a row.
func (c *Column[R]) Cell(r *R) Cell {
	if c.Words() {
		return Word(c.Text(r))
	}
	v, unit := c.Value(r), c.Unit
	if c.Units != nil {
		unit = c.Units(r)
	}
	if math.IsNaN(v) {
		return Word("")
	}
	cell := Figure(unit, v)
	switch {
	case c.Text != nil:
		cell.Text = c.Text(r)
	case c.Signed:
		cell.Text = figure.Change(cell.Text, v)
	}
	return cell
}

// ValueOf returns the value of a column that may have none: NaN.
func ValueOf(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// ColumnOf returns the place of a column by any of its names; -1: there is none.
func ColumnOf[R any](all []Column[R], name string) int {
	return slices.IndexFunc(all,
		func(c Column[R]) bool { return c.ID == name || slices.Contains(c.Names, name) })
}

// line returns what a line of text has of a row: more digits of a time than a screen.
func (c *Column[R]) line(r *R) Cell {
	text := c.Brief(r)
	if c.Words() || text == "" {
		return right(text)
	}
	if c.Unit == record.Seconds {
		text = figure.Fine(c.Unit, c.Value(r))
	}
	return written(text, c.Unit, c.Value(r))
}

// List returns a table of all columns.
func List[R any](title string, columns []Column[R], rows []R) Table {
	t := Table{Title: title}
	for i := range columns {
		t.Head = append(t.Head, columns[i].ID)
	}
	for i := range rows {
		cells := make([]Cell, len(columns))
		for j := range columns {
			cells[j] = columns[j].Cell(&rows[i])
		}
		t.add(cells...)
	}
	t.Spare = spare(columns, t.Head)
	return t
}

// spare returns the heads of columns that a narrow terminal leaves out, the first one first.
func spare[R any](columns []Column[R], heads []string) []string {
	var out []string
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return columns[b].Drop - columns[a].Drop })
	for _, i := range order {
		if columns[i].Drop > 0 {
			out = append(out, heads[i])
		}
	}
	return out
}
