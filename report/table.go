package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Table has rows of figures and words. The first cell of a row names it.
type Table struct {
	Title string   `json:"title"`
	Head  []string `json:"head"`
	Rows  [][]Cell `json:"rows"`

	// Short are the names of the columns if the full ones do not fit.
	Short []string `json:"-"`
	// Spare are the names of the columns that a narrow terminal leaves out, the first one first.
	Spare []string `json:"-"`
	// Folds tells that a terminal shows only the first rows of a long table and row
	// Pinned; with Ends also the last rows.
	Folds  bool `json:"-"`
	Ends   bool `json:"-"`
	Pinned int  `json:"-"`
	// Width is what text may take: the second column is cut, then columns on the right are
	// left out; 0: text has all of it.
	Width int `json:"-"`

	err error // why rows are missing
}

// add appends a row.
func (t *Table) add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Cell is a figure, a word, or a drawing.
type Cell struct {
	Text   string  // as shown in a table
	Value  float64 // with all digits, in the unit; used if Number
	Unit   record.Unit
	Number bool

	many    bool // Text has more digits than a sentence has
	right   bool // a word aligned to the right
	picture bool // for the eye only
}

// Cells returns a row of words and counts.
func Cells(values ...any) []Cell {
	row := make([]Cell, len(values))
	for i, v := range values {
		if n, ok := v.(int); ok {
			row[i] = Figure(record.Count, float64(n))
		} else {
			row[i] = Word(fmt.Sprint(v))
		}
	}
	return row
}

// narrow is how wide a column of values is that gives way, in cells.
const narrow = 16

// within returns the table in the width that text may take.
func (t *Table) within() *Table {
	const gap = 2
	widths, total := make([]int, len(t.Head)), 0
	for j, head := range t.Head {
		widths[j] = ansi.StringWidth(head)
		for _, row := range t.Rows {
			widths[j] = max(widths[j], ansi.StringWidth(row[j].Text))
		}
		total += widths[j] + gap
	}
	count, total := len(widths), total-gap
	for total-max(widths[1]-narrow, 0) > t.Width && count > 2 {
		count--
		total -= widths[count] + gap
	}
	second := max(widths[1]-max(total-t.Width, 0), 4)
	out := &Table{Head: t.Head[:count]}
	for _, row := range t.Rows {
		row = slices.Clone(row[:count])
		row[1].Text = ansi.Truncate(row[1].Text, second, "...")
		out.add(row...)
	}
	return out
}

// without returns a table and its rows without a column that it has.
func (t *Table) without(name string, rows [][]Cell) (*Table, [][]Cell) {
	at := slices.Index(t.Head, name)
	out := &Table{Head: slices.Delete(slices.Clone(t.Head), at, at+1), Spare: t.Spare}
	if len(t.Short) > 0 {
		out.Short = slices.Delete(slices.Clone(t.Short), at, at+1)
	}
	for _, row := range rows {
		out.add(slices.Delete(slices.Clone(row), at, at+1)...)
	}
	return out, out.Rows
}

// Word returns a cell that is no figure.
func Word(text string) Cell { return Cell{Text: text} }

// YesNo returns a cell with the answer to a question.
func YesNo(yes bool) Cell { return Word(figure.YesNo(yes)) }

// Figure returns a cell with a figure.
func Figure(u record.Unit, value float64) Cell {
	return Cell{Text: figure.Of(u, value), Value: value, Unit: u, Number: true}
}

// Memory returns a cell with memory, in smaller units than GiB if it is little.
func Memory(b units.Bytes) Cell {
	return Cell{Text: figure.Memory(b), Value: float64(b), Unit: record.Memory, Number: true}
}

// Ratio returns a cell with a factor.
func Ratio(value float64) Cell {
	return Cell{Text: figure.Three(value), Value: value, Unit: record.Share, Number: true}
}

// Maybe returns a cell with a figure, or an empty one.
func Maybe(u record.Unit, value *float64) Cell {
	if value == nil {
		return Word("")
	}
	return Figure(u, *value)
}

// fine returns a figure with the digits of a table, for the text formats.
func fine[T ~float64](u record.Unit, value T) Cell {
	return Cell{
		Text: figure.Fine(u, float64(value)), Value: float64(value), Unit: u, Number: true,
		many: true,
	}
}

// written returns a figure with its own text.
func written[T ~float64](text string, u record.Unit, value T) Cell {
	return Cell{Text: text, Value: float64(value), Unit: u, Number: true, many: u != record.Count}
}

// right returns a word that is aligned to the right, like the figures of its column.
func right(text string) Cell { return Cell{Text: text, right: true} }

// picture returns a drawing, which speech and the formats for programs leave out.
func picture(text string) Cell { return Cell{Text: text, picture: true} }

// MarshalJSON writes a figure as a number and a word as text.
func (c Cell) MarshalJSON() ([]byte, error) {
	if c.Number {
		return json.Marshal(c.Value)
	}
	return json.Marshal(c.Text)
}

// exact returns the text of a cell with all digits.
func (c Cell) exact() string {
	if c.Number {
		return figure.Digits(c.Value)
	}
	return c.Text
}

// spoken returns the text of a cell with few digits and its unit.
func (c Cell) spoken() string {
	switch {
	case c.many:
		return figure.Of(c.Unit, c.Value)
	case c.Number && c.Text == figure.Digits(c.Value) && c.Value != math.Trunc(c.Value):
		return figure.Three(c.Value)
	}
	return c.Text
}

// column reports whether any cell of a column has a property.
func (t *Table) column(j int, is func(c *Cell) bool) bool {
	return slices.ContainsFunc(t.Rows, func(row []Cell) bool { return j < len(row) && is(&row[j]) })
}

// onRight reports whether a column is aligned to the right.
func (t *Table) onRight(j int) bool {
	return t.column(j, func(c *Cell) bool { return c.Number || c.right })
}

// drawn reports whether a column is a drawing.
func (t *Table) drawn(j int) bool { return t.column(j, func(c *Cell) bool { return c.picture }) }

// maxRows is the number of rows that a terminal shows of a table that folds.
const maxRows = 32

// shown returns the rows that a terminal shows, and the number of those it does not.
func (t *Table) shown() (rows [][]Cell, folded int) {
	if !t.Folds || len(t.Rows) <= maxRows {
		return t.Rows, 0
	}
	for i, row := range t.Rows {
		if i < maxRows/2 || t.Ends && i >= len(t.Rows)-maxRows/2 || i == t.Pinned {
			rows = append(rows, row)
		}
	}
	return rows, len(t.Rows) - len(rows)
}
