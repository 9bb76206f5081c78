package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/escape"
	"meshscope/report/figure"
)

// Widths of text at a terminal, in columns.
const (
	textWidth  = 78
	tableWidth = 80
)

// writeText writes a document as aligned text, headings in capitals; width is that of a terminal,
// 0 for a pipe, where tools read a row as a line.
func writeText(to io.Writer, d *Document, width int) error {
	w := text{bufio.NewWriter(to), width}
	if d.Title != "" {
		w.linef("%s", d.Title)
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Filed {
			continue
		}
		if s.Heading != "" {
			if d.Title != "" || i > 0 {
				w.linef("")
			}
			w.item(strings.ToUpper(s.Heading)+"  ", s.Lead)
		}
		for _, b := range s.Blocks {
			w.block(b)
		}
	}
	return w.Flush()
}

// text is a buffer; Flush returns the first error of writing.
type text struct {
	*bufio.Writer
	width int // of a terminal; 0: a pipe
}

// most returns the width that a text takes, at most that of the terminal.
func (w text) most(width int) int {
	if w.width > 0 {
		return min(width, w.width)
	}
	return width
}

// linef writes a line without trailing blanks.
func (w text) linef(format string, args ...any) {
	_, _ = w.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (w text) block(b Block) {
	switch b := b.(type) {
	case Sentence:
		w.broken("  ", string(b))
	case Detail:
		w.broken("    ", string(b))
	case Line:
		w.line("  " + string(b))
	case Facts:
		w.facts(b)
	case Item:
		begin := "  "
		if w.width > 0 {
			begin = "  - " // it may take several lines
		}
		w.item(begin, b.Text)
		for _, detail := range b.Details {
			w.item("    ", detail)
		}
	case *Table:
		w.table(b)
	case Command:
		w.linef("    %s", b)
	}
}

// line writes a line as it is; a terminal that is narrower breaks it between words.
func (w text) line(line string) {
	content := strings.TrimLeft(line, " ")
	if indent := len(line) - len(content); w.width > 0 && utf8.RuneCountInString(line) > w.width {
		w.within(w.width, line[:indent], content)
		return
	}
	w.linef("%s", line)
}

// item writes an entry of a list on one line, which tools read; wrapped on a terminal, and where it
// is a list itself.
func (w text) item(begin, content string) {
	switch {
	case w.width > 0 && content != "":
		w.within(w.width, begin, content)
	case len(content) <= escape.Most:
		w.linef("%s%s", begin, content)
	default:
		w.broken(begin, content)
	}
}

// broken writes a text after a prefix, wrapped.
func (w text) broken(begin, content string) {
	w.within(w.most(textWidth), begin, content)
}

func (w text) within(width int, begin, content string) {
	for line := range strings.Lines(Wrap(strings.TrimSpace(content), width-len(begin))) {
		w.linef("%s%s", begin, strings.TrimSpace(line))
		begin = strings.Repeat(" ", len(begin))
	}
}

func (w text) facts(facts Facts) {
	width := 0
	for _, f := range facts {
		width = max(width, len(f.Name))
	}
	gap := "  "
	if width > 7 { // long names need a smaller gap
		gap = " "
	}
	for _, f := range facts {
		w.within(w.most(tableWidth), fmt.Sprintf("  %-*s%s", width, f.Name, gap), f.Value)
	}
}

// table writes a table with aligned columns, figures on the right.
func (w text) table(t *Table) {
	if t.Width > 0 {
		t = t.within()
		lines := alignTable(t, t.Head, t.Rows, "  ")
		if w.width > 0 && widest(lines) > w.width+2 {
			lines = wrapTable(t, t.Rows, w.width+2)
		}
		for _, line := range lines {
			w.linef("%s", strings.TrimPrefix(line, "  ")) // not indented: nothing stands above it
		}
		return
	}
	rows, folded := t.shown()
	limit, spare := cmp.Or(w.width, tableWidth), []string(nil)
	lines := fit(t, rows, limit)
	if w.width > 0 {
		for _, name := range t.Spare {
			if widest(lines) > limit && slices.Contains(t.Head, name) {
				spare = append(spare, name)
				t, rows = t.without(name, rows)
				lines = fit(t, rows, limit)
			}
		}
		if widest(lines) > limit {
			lines = wrapTable(t, rows, limit)
		}
	}
	for _, line := range lines {
		w.linef("%s", line)
	}
	if len(spare) > 0 {
		w.broken("  ", "no room for "+strings.Join(spare, ", ")+": a wider terminal or --json has them")
	}
	if folded > 0 {
		w.linef("  (%s in between not shown; --json has all)", figure.Plural(folded, t.Head[0]))
	}
}

// fit returns the lines of a table with the long names of its columns, else the short ones, else with
// narrow gaps: the first that takes a width, else the first with those names.
func fit(t *Table, rows [][]Cell, width int) []string {
	lines := alignTable(t, t.Head, rows, "  ")
	if len(t.Short) > 0 && widest(lines) > width {
		lines = alignTable(t, t.Short, rows, "  ")
	}
	if widest(lines) > width {
		if tight := alignTable(t, slices.Concat(t.Short, t.Head)[:len(t.Head)], rows,
			" "); widest(tight) <= width {
			return tight
		}
	}
	return lines
}

// alignTable returns the lines of a table. A table without column names has no head.
func alignTable(t *Table, head []string, rows [][]Cell, gap string) []string {
	widths := make([]int, len(head))
	for j := range head {
		widths[j] = max(utf8.RuneCountInString(head[j]), columnWidth(rows, j))
	}
	var lines []string
	put := func(cell func(j int) string) {
		line := " "
		if gap != " " {
			line = ""
		}
		for j := range head {
			blank := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell(j)))
			if t.onRight(j) {
				line += gap + blank + cell(j)
			} else {
				line += gap + cell(j) + blank
			}
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	if strings.Join(head, "") != "" {
		put(func(j int) string { return head[j] })
	}
	for _, row := range rows {
		put(func(j int) string { return row[j].Text })
	}
	return lines
}

// leastWord is how far a column of words gives way, in cells.
const leastWord = 12

// wrapTable returns the lines of a table in a width: the widest column of words breaks between words,
// then the next one, and gaps get narrow; what is wider even so stands in parts below each other, each
// with the first column. Nothing is cut.
func wrapTable(t *Table, rows [][]Cell, width int) []string {
	gap := "  "
	excess := widest(alignTable(t, t.Head, rows, gap)) - width
	widths, least := make([]int, len(t.Head)), make([]int, len(t.Head))
	for j, head := range t.Head {
		widths[j] = columnWidth(rows, j)
		least[j] = widths[j]
		if !t.column(j, func(c *Cell) bool { return c.Number || c.picture }) {
			least[j] = max(leastWord, len(head), longestWord(rows, j))
		}
	}
	for excess > 0 {
		column := -1
		for j := range t.Head {
			if widths[j] > least[j] && (column < 0 || widths[j] > widths[column]) {
				column = j
			}
		}
		if column < 0 {
			gap = " "
			break
		}
		widths[column]--
		excess--
	}
	rows = breakCells(rows, widths)
	lines := alignTable(t, t.Head, rows, gap)
	for last := len(t.Head) - 1; last > 1 && widest(lines) > width; last-- {
		first := alignTable(t.part(1, last), t.Head[:last], partOf(rows, 1, last), gap)
		if last == 2 || widest(first) <= width {
			rest := t.part(last, len(t.Head))
			return append(first, wrapTable(rest, partOf(rows, last, len(t.Head)), width)...)
		}
	}
	return lines
}

// part returns a table with its first column and others.
func (t *Table) part(from, to int) *Table {
	return &Table{
		Head: slices.Concat(t.Head[:1], t.Head[from:to]), Rows: partOf(t.Rows, from, to),
	}
}

// partOf returns rows with their first cell and others.
func partOf(rows [][]Cell, from, to int) [][]Cell {
	var out [][]Cell
	for _, row := range rows {
		cells := slices.Concat(row[:1], row[from:to])
		if slices.ContainsFunc(cells, func(c Cell) bool { return c.Text != "" }) { // not below a broken one
			out = append(out, cells)
		}
	}
	return out
}

// breakCells returns rows with cells of at most a width; what follows in a cell stands in the rows below.
func breakCells(rows [][]Cell, widths []int) (out [][]Cell) {
	for _, row := range rows {
		below := len(out)
		out = append(out, slices.Clone(row))
		for j, cell := range row {
			if utf8.RuneCountInString(cell.Text) <= widths[j] {
				continue
			}
			for i, line := range strings.Split(wrap(cell.Text, widths[j]-1, ","), "\n") {
				if below+i == len(out) {
					out = append(out, make([]Cell, len(row)))
				}
				out[below+i][j].Text = strings.TrimSpace(line)
			}
		}
	}
	return out
}

// longestWord returns the width of what does not break in a column.
func longestWord(rows [][]Cell, j int) (width int) {
	for _, row := range rows {
		width = max(width, widest(strings.Fields(strings.ReplaceAll(row[j].Text, ",", ", "))))
	}
	return width
}

// columnWidth returns the width of the widest cell of a column.
func columnWidth(rows [][]Cell, j int) (width int) {
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row[j].Text))
	}
	return width
}

func widest(lines []string) (width int) {
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	return width
}

// Wrap breaks a text into lines between words; it keeps "micro-batches" and "9.7 %" whole.
func Wrap(text string, width int) string { return wrap(text, width, "") }

// wrap is Wrap that breaks after some signs too.
func wrap(text string, width int, signs string) string {
	const hyphen, blank = "\u2011", "\u00a0%" // signs that never break
	text = strings.NewReplacer("-", hyphen, " %", blank).Replace(text)
	return strings.NewReplacer(hyphen, "-", blank, " %").Replace(ansi.Wordwrap(text, width, signs))
}
