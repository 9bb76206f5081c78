package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/report"
)

// page buffers text for a stream. Flush returns the first error of writing.
type page struct{ *bufio.Writer }

func newPage(to io.Writer) page { return page{bufio.NewWriterSize(to, 1<<16)} }

func (p page) printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// sayf prints a message on standard error, its lines broken between words on a terminal, and ignores
// errors of writing it.
func (a *app) sayf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.prompt != nil {
		text = breakLines(text, widthOf(a.prompt, unknownWidth))
	}
	_, _ = io.WriteString(a.stderr, text)
}

// breakLines breaks the lines of a message that are wider than a terminal.
func breakLines(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		text, ended := strings.CutSuffix(line, "\n")
		if ansi.StringWidth(text) > width {
			text = strings.ReplaceAll(report.Wrap(text, width-2), "\n", "\n  ")
		}
		out.WriteString(text)
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
