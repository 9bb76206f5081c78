package cli

import (
	"bufio"
	"fmt"
	"io"
)

// page buffers text for a stream. Flush returns the first error of writing.
type page struct{ *bufio.Writer }

func newPage(to io.Writer) page { return page{bufio.NewWriterSize(to, 1<<16)} }

func (p page) printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// sayf prints a message on standard error and ignores errors of writing it.
func (a *app) sayf(format string, args ...any) {
	_, _ = io.WriteString(a.stderr, fmt.Sprintf(format, args...))
}
