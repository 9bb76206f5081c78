package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// page collects text for a stream. The first error of writing is kept and comes
// out of Flush, as of every bufio.Writer.
type page struct{ *bufio.Writer }

func newPage(to io.Writer) page { return page{bufio.NewWriterSize(to, 1<<16)} }

func (p page) printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// table prints rows with their cells under each other, from the left.
func (p page) table(rows [][]string) { p.align(rows, 2, "", 0) }

// tight is table for numbers: from the right, one space apart.
func (p page) tight(rows [][]string) { p.align(rows, 1, "\t", tabwriter.AlignRight) }

// trimmed is tight without blanks at the ends of lines, for rows whose last cells
// may be empty.
func (p page) trimmed(rows [][]string) {
	var text bytes.Buffer
	inner := newPage(&text)
	inner.tight(rows)
	_ = inner.Flush() // a buffer takes everything
	_, _ = p.Write(trimBlanks(text.Bytes()))
}

func (p page) align(rows [][]string, gap int, ending string, flags uint) {
	t := tabwriter.NewWriter(p, 0, 0, gap, ' ', flags)
	for _, row := range rows {
		_, _ = io.WriteString(t, strings.Join(row, "\t")+ending+"\n")
	}
	_ = t.Flush() // its error is the page's
}

// sayf prints a message for people on standard error. Where that is closed there
// is nobody to tell.
func (a *app) sayf(format string, args ...any) {
	_, _ = io.WriteString(a.stderr, fmt.Sprintf(format, args...))
}
