package export

import (
	"encoding/json"
	"math"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/report/figure"
)

// Table is one table of a screen. The first cell of a row names it.
type Table struct {
	Title string   `json:"title"`
	Head  []string `json:"head"`
	Rows  [][]Cell `json:"rows"`
}

// Cell is a figure, or a word.
type Cell struct {
	Text   string  // as a screen writes it
	Value  float64 // with all digits, in the unit; read when Number
	Unit   engine.Unit
	Number bool
}

// Word is a cell that is no figure.
func Word(text string) Cell { return Cell{Text: text} }

// Figure is a cell with a figure.
func Figure(u engine.Unit, value float64) Cell {
	return Cell{Text: figure.Of(u, value), Value: value, Unit: u, Number: true}
}

// Ratio is a cell with a factor.
func Ratio(value float64) Cell {
	return Cell{Text: figure.Three(value), Value: value, Unit: engine.UnitShare, Number: true}
}

// Maybe is a figure that there may not be.
func Maybe(u engine.Unit, value *float64) Cell {
	if value == nil {
		return Word("")
	}
	return Figure(u, *value)
}

// MarshalJSON writes a figure as a number and a word as text.
func (c Cell) MarshalJSON() ([]byte, error) {
	if c.Number {
		return json.Marshal(c.Value)
	}
	return json.Marshal(c.Text)
}

// exact is the cell with all digits.
func (c Cell) exact() string {
	if c.Number {
		return Digits(c.Value)
	}
	return c.Text
}

// Digits writes a number with all digits, without a power of ten where it is read
// by people: bytes and tokens.
func Digits(v float64) string {
	if a := math.Abs(v); a >= 1 && a < 1e21 || v == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// screenCSV writes the tables as the other figures are: the table, the row, the
// column, the value and its unit.
func screenCSV(d *Document, row func(cells ...string)) {
	for i := range d.Screen {
		t := &d.Screen[i]
		for _, cells := range t.Rows {
			for j := 1; j < len(cells); j++ {
				if cells[j].exact() != "" {
					row(t.Title, cells[0].Text, t.Head[j], cells[j].exact(), unitWord(cells[j].Unit))
				}
			}
		}
	}
}

// screen writes the tables of the screen before those of the report.
func (m *markdown) screen() {
	for i := range m.doc.Screen {
		t := &m.doc.Screen[i]
		m.sayf("## %s\n", escape.Markdown(t.Title))
		head := make([]string, len(t.Head))
		for j, name := range t.Head {
			if head[j] = name; j > 0 && len(t.Rows) > 0 && t.Rows[0][j].Number {
				head[j] = ">" + name
			}
		}
		rows := make([][]string, len(t.Rows))
		for r, cells := range t.Rows {
			for _, c := range cells {
				rows[r] = append(rows[r], c.Text)
			}
		}
		m.table(head, rows)
	}
}
