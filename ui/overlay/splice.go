package overlay

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// splice replaces width cells of a line from column x by others. Both carry
// their looks in sequences, so they are cut by cells, not by bytes.
func splice(line, insert string, x, width int) string {
	const off = "\x1b[m"
	left := ansi.Truncate(line, x, "")
	pad := strings.Repeat(" ", max(x-ansi.StringWidth(left), 0))
	return left + off + pad + insert + off + ansi.TruncateLeft(line, x+width, "")
}
