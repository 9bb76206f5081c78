package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"meshscope/engine/escape"
)

// writeMarkdown writes a document with headings, lists and tables.
func writeMarkdown(to io.Writer, d *Document) error {
	m := &markdown{Writer: bufio.NewWriter(to)}
	if d.Title != "" {
		m.parf("# %s", escape.Markdown(d.Title))
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Heading != "" {
			m.parf("## %s", escape.Markdown(s.Heading))
		}
		if s.Lead != "" {
			m.parf("%s", escape.Markdown(s.Lead))
		}
		for j, b := range s.Blocks {
			m.block(b, j+1 < len(s.Blocks) && isItem(s.Blocks[j+1]))
		}
	}
	if err := m.Flush(); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

type markdown struct {
	*bufio.Writer
	gap bool // the next line needs an empty line before it
}

// linef writes a line; the writer keeps the first error for Flush.
func (m *markdown) linef(format string, args ...any) {
	if m.gap {
		_, _ = m.WriteString("\n")
		m.gap = false
	}
	_, _ = fmt.Fprintf(m, format+"\n", args...)
}

// parf writes a paragraph.
func (m *markdown) parf(format string, args ...any) {
	m.linef(format, args...)
	m.gap = true
}

func isItem(b Block) bool { _, ok := b.(Item); return ok }

// block writes a block followed by an empty line, except between the items of a list.
func (m *markdown) block(b Block, goesOn bool) {
	switch b := b.(type) {
	case Sentence:
		m.parf("%s", escape.Markdown(string(b)))
	case Detail:
		m.parf("%s", escape.Markdown(string(b)))
	case Line:
		m.parf("%s", escape.Markdown(string(b)))
	case Facts:
		for _, f := range b {
			m.linef("- %s", escape.Markdown(named(f.Name, f.Value)))
		}
		m.gap = true
	case Item:
		m.linef("- %s", escape.Markdown(b.Text))
		for _, detail := range b.Details {
			m.linef("  - %s", escape.Markdown(detail))
		}
		if !goesOn {
			m.gap = true
		}
	case *Table:
		m.table(b)
		m.gap = true
	case Command:
		m.parf("```sh\n%s\n```", strings.ReplaceAll(string(b), "`", "'"))
	}
}

// table writes the columns that are not empty, or all if there are no rows. Figures are
// aligned to the right.
func (m *markdown) table(t *Table) {
	var columns []int
	rule := make([]Cell, len(t.Head))
	head := make([]Cell, len(t.Head))
	for j := range t.Head {
		head[j], rule[j] = Word(t.Head[j]), Word("---")
		if t.column(j, func(c *Cell) bool { return c.Number }) {
			rule[j] = Word("--:")
		}
		if len(t.Rows) == 0 || t.column(j, func(c *Cell) bool { return c.Text != "" && !c.picture }) {
			columns = append(columns, j)
		}
	}
	m.row(head, columns)
	m.row(rule, columns)
	for _, row := range t.Rows {
		m.row(row, columns)
	}
}

func (m *markdown) row(cells []Cell, columns []int) {
	var line strings.Builder
	for _, j := range columns {
		line.WriteString("| " + escape.Markdown(cells[j].Text) + " ")
	}
	m.linef("%s|", line.String())
}
