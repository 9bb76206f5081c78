package report

import (
	"fmt"
	"io"

	"meshscope/engine/escape"
)

// writeCSV writes a table with all digits, below a row with the names of its columns.
func writeCSV(to io.Writer, t *Table) error {
	if t.err != nil {
		return fmt.Errorf("write CSV: %w", t.err)
	}
	w := escape.NewCSV(to)
	w.Write(t.Head...)
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for j := range row {
			cells[j] = row[j].exact()
		}
		w.Write(cells...)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
