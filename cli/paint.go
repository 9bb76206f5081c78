package cli

import (
	"io"
	"regexp"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/ui/tty"
)

// paint is a row of the table of colours: what is found in a line, its first group in a style.
type paint struct {
	*regexp.Regexp
	ansi.Style
}

// paints returns the colours of text, those of verdicts as in the explorer; the verdict beside a heading
// comes before the heading, whose text it needs without colours.
func paints() []paint {
	style := func() ansi.Style { return ansi.NewStyle().Bold() }
	return []paint{
		{regexp.MustCompile(`^(OVER|ILLEGAL|NOTHING FOUND)\b`), style().ForegroundColor(ansi.Red)},
		{regexp.MustCompile(`^(TIGHT)\b`), style().ForegroundColor(ansi.Yellow)},
		{regexp.MustCompile(`^(FITS)\b`), style().ForegroundColor(ansi.Green)},
		{regexp.MustCompile(`^[A-Z ]+  (does not fit)\b`), style().ForegroundColor(ansi.Red)},
		{regexp.MustCompile(`^[A-Z ]+  (tight)\b`), style().ForegroundColor(ansi.Yellow)},
		{regexp.MustCompile(`^[A-Z ]+  (fits)\b`), style().ForegroundColor(ansi.Green)},
		{regexp.MustCompile(`^([A-Z][A-Z ]{2,})(?:  |\n|$)`), style()},
		{regexp.MustCompile(`^ +(meshscope [a-z]+ -.*?)\n?$`), ansi.NewStyle().ForegroundColor(ansi.Cyan)},
	}
}

// painted is text for a terminal in colours, line by line.
type painted struct {
	io.Writer
	paints []paint
	rest   string // of a line that has not ended
}

// paintedText returns a terminal that shows text in colours, or as it is where it has none or the
// environment asks for none.
func paintedText(screen io.Writer, env []string) io.Writer {
	if tty.NoColor(env) || colorprofile.Detect(screen, env) < colorprofile.ANSI {
		return screen
	}
	return &painted{Writer: screen, paints: paints()}
}

// Write colours the lines that have ended.
func (p *painted) Write(text []byte) (int, error) {
	lines := strings.SplitAfter(p.rest+string(text), "\n")
	p.rest = lines[len(lines)-1]
	var out strings.Builder
	for _, line := range lines[:len(lines)-1] {
		out.WriteString(p.line(line))
	}
	if _, err := io.WriteString(p.Writer, out.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (p *painted) line(line string) string {
	for _, row := range p.paints {
		if at := row.FindStringSubmatchIndex(line); at != nil {
			line = line[:at[2]] + row.Styled(line[at[2]:at[3]]) + line[at[3]:]
		}
	}
	return line
}
