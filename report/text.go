package report

import (
	"bufio"
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

// writeText writes a document for a terminal: headings in capitals, aligned tables, no
// colours.
func writeText(to io.Writer, d *Document) error {
	w := text{bufio.NewWriter(to)}
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
			w.linef("%s  %s", strings.ToUpper(s.Heading), s.Lead)
		}
		for _, b := range s.Blocks {
			w.block(b)
		}
	}
	return w.Flush()
}

// text is a buffer; Flush returns the first error of writing.
type text struct{ *bufio.Writer }

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
		w.linef("  %s", b)
	case Facts:
		w.facts(b)
	case Item:
		w.item(b.Text)
		for _, detail := range b.Details {
			w.linef("    %s", detail)
		}
	case *Table:
		w.table(b)
	case Command:
		w.linef("    %s", b)
	}
}

// item writes an entry of a list on one line, which tools read; wrapped where it is a list itself.
func (w text) item(content string) {
	if len(content) <= escape.Most {
		w.linef("  %s", content)
		return
	}
	w.broken("  ", content)
}

// broken writes a text after a prefix, wrapped.
func (w text) broken(begin, content string) {
	w.within(textWidth, begin, content)
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
		w.within(tableWidth, fmt.Sprintf("  %-*s%s", width, f.Name, gap), f.Value)
	}
}

// table writes a table with aligned columns, figures on the right.
func (w text) table(t *Table) {
	if t.Width > 0 {
		t = t.within()
		for _, line := range alignTable(t, t.Head, t.Rows, "  ") {
			w.linef("%s", line[2:]) // not indented: nothing stands above it
		}
		return
	}
	rows, folded := t.shown()
	lines := alignTable(t, t.Head, rows, "  ")
	if len(t.Short) > 0 && widest(lines) > tableWidth {
		lines = alignTable(t, t.Short, rows, "  ")
	}
	if widest(lines) > tableWidth {
		if tight := alignTable(t, slices.Concat(t.Short, t.Head)[:len(t.Head)], rows,
			" "); widest(tight) <= tableWidth {
			lines = tight
		}
	}
	for _, line := range lines {
		w.linef("%s", line)
	}
	if folded > 0 {
		w.linef("  (%s in between not shown; --json has all)", figure.Plural(folded, t.Head[0]))
	}
}

// alignTable returns the lines of a table. A table without column names has no head.
func alignTable(t *Table, head []string, rows [][]Cell, gap string) []string {
	widths := make([]int, len(head))
	for j := range head {
		widths[j] = utf8.RuneCountInString(head[j])
		for _, row := range rows {
			widths[j] = max(widths[j], utf8.RuneCountInString(row[j].Text))
		}
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

func widest(lines []string) (width int) {
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	return width
}

// Wrap breaks a text into lines between words; it keeps "micro-batches" and "9.7 %" whole.
func Wrap(text string, width int) string {
	const hyphen, blank = "\u2011", "\u00a0%" // signs that never break
	text = strings.NewReplacer("-", hyphen, " %", blank).Replace(text)
	return strings.NewReplacer(hyphen, "-", blank, " %").Replace(ansi.Wordwrap(text, width, ""))
}
