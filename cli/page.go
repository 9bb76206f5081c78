package cli

import (
	"bufio"
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

// Alignments of a table.
const (
	left  = 0
	right = tabwriter.AlignRight
)

// table prints rows with their cells under each other.
func (p page) table(align uint, rows [][]string) {
	t := tabwriter.NewWriter(p, 0, 0, 2, ' ', align)
	for _, row := range rows {
		line := strings.Join(row, "\t")
		if align == right {
			line += "\t" // the last cell is aligned too
		}
		_, _ = io.WriteString(t, line+"\n")
	}
	_ = t.Flush() // its error is the page's
}

// sayf prints a message for people on standard error. Where that is closed there
// is nobody to tell.
func (a *app) sayf(format string, args ...any) { _, _ = fmt.Fprintf(a.stderr, format, args...) }
