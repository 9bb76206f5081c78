// Package table is a list on a screen, drawn, sorted and filtered by its columns.
package table

import (
	"cmp"
	"slices"

	"meshscope/report"
	"meshscope/ui/screen"
	"meshscope/ui/textbox"
	"meshscope/ui/widget"
)

// Table is how rows are listed: its first column names them and never leaves.
type Table[R any] struct {
	All    []report.Column[R]
	Wide   bool   // the first column takes the room that the others leave
	Hidden []bool // by the user, of All
	Column int    // under the cursor, of All
	Asked  bool   // the cursor came to the column last: the status says what it is
	Sort   int    // column that rows are ordered by
	Back   bool   // in reverse
	Row    int    // under the cursor, of those shown

	Input      textbox.Field
	Typing     bool
	Conditions []Condition
	Wrong      string // why the filter is not taken
}

// Gap is the width of the marks before a row: cursor and one more.
const Gap = 2

// New returns a list with these columns; those that somebody must ask for are hidden.
func New[R any](all []report.Column[R]) Table[R] {
	t := Plain(all, 0)
	t.Input, t.Sort = textbox.New(80), 0
	return *t
}

// Plain returns a list that is neither sorted nor filtered, with the cursor on a row.
func Plain[R any](all []report.Column[R], row int) *Table[R] {
	t := &Table[R]{All: all, Sort: -1, Row: row, Hidden: make([]bool, len(all))}
	for i := range all {
		t.Hidden[i] = all[i].Aside
	}
	return t
}

// Copy returns the list without what is typed.
func (t *Table[R]) Copy() Table[R] {
	c := *t
	c.Hidden, c.Conditions = slices.Clone(t.Hidden), slices.Clone(t.Conditions)
	c.Input, c.Typing = textbox.New(80), false
	return c
}

// Fresh puts the cursor on the best of new rows.
func (t *Table[R]) Fresh() { t.Row, t.Asked = 0, false }

// Listed returns the rows that pass the filter, in the order of a column, then by what they are worth.
func (t *Table[R]) Listed(rows []R, worth func(a, b *R) int) []R {
	rows = slices.DeleteFunc(rows, func(r R) bool { return !t.Passes(&r) })
	slices.SortStableFunc(rows, func(a, b R) int {
		n := 0
		switch c := &t.All[t.Sort]; {
		case t.Sort == 0:
			n = worth(&a, &b)
		case c.Words():
			n = cmp.Compare(c.Text(&a), c.Text(&b))
		case c.Down:
			n = cmp.Compare(c.Value(&b), c.Value(&a))
		default:
			n = cmp.Compare(c.Value(&a), c.Value(&b))
		}
		if t.Back {
			n = -n
		}
		return cmp.Or(n, worth(&a, &b))
	})
	return rows
}

// Move goes n of so many rows down.
func (t *Table[R]) Move(rows, n int) {
	t.Asked, t.Row = false, widget.Step(min(t.Row, rows-1), n, rows)
}

// Under returns the row under the cursor; nil where there is none.
func (t *Table[R]) Under(rows []R) *R {
	if len(rows) == 0 {
		return nil
	}
	return &rows[min(max(t.Row, 0), len(rows)-1)]
}

// Click puts the cursor on the column whose head is at a cell, and orders by it.
func (t *Table[R]) Click(form *Form, x int) bool {
	used := Gap
	for _, i := range form.Cols {
		used += form.widths[i]
		if x < used {
			t.Column = i
			t.order(i)
			return true
		}
	}
	return false
}

// Keys returns those that move in the list, of so many rows with so many on a page, and change its columns.
func (t *Table[R]) Keys(name string, form func() Form, rows, page func() int, hint func(string) string,
) []screen.Key {
	return []screen.Key{
		{
			ID: "order", Keys: "o", Help: "sort by this column, or in reverse", Hint: hint("order"),
			Do: func(int) { t.order(t.Column) },
		},
		{
			ID: name + "-up " + name + "-down", Keys: "up k | down j", Help: name + " above, below",
			Hint: hint(name), Do: func(n int) { t.Move(rows(), n) },
		},
		{
			ID: "column-before column-after", Keys: "left h | right l", Help: "column before, after",
			Hint: hint("column"), Do: func(n int) { t.moveColumn(form().Cols, n) },
		},
		{
			ID: "hide", Keys: "-", Help: "hide this column", Foot: "- +", Hint: hint("columns"),
			Do: func(int) { t.hide(form().Cols) },
		},
		{
			ID: "show", Keys: "+ =", Help: "show all columns that there is room for",
			Do: func(int) { t.Hidden = make([]bool, len(t.All)) },
		},
		{
			ID: "page-up page-down", Keys: "pgup | pgdown", Help: "a page up, down",
			Do: func(n int) { t.Move(rows(), n*max(page(), 1)) },
		},
		{
			ID: "top bottom", Keys: "home | end G", Help: "first, last",
			Do: func(n int) { t.Move(rows(), n<<20) },
		},
	}
}

func (t *Table[R]) moveColumn(cols []int, n int) {
	if len(cols) > 0 {
		at := max(slices.Index(cols, t.Column), 0)
		t.Column, t.Asked = cols[widget.Step(at, n, len(cols))], true
	}
}

// order sorts by a column; again turns it round.
func (t *Table[R]) order(column int) {
	if t.Sort == column {
		t.Back = !t.Back
		return
	}
	t.Sort, t.Back, t.Row = column, false, 0
}

// hide takes the column under the cursor away, one of those shown.
func (t *Table[R]) hide(cols []int) {
	at := slices.Index(cols, t.Column)
	if t.Column == 0 || at < 0 {
		return
	}
	t.Hidden[t.Column] = true
	if at+1 < len(cols) {
		t.Column = cols[at+1]
	} else {
		t.Column = cols[at-1]
	}
}
