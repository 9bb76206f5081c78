package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"meshscope/report/figure"
)

// outputForm is in which form a timeline is written: text unless a flag says
// otherwise.
type outputForm struct{ json, svg, trace bool }

func (f *outputForm) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print a JSON document")
	cmd.Flags().BoolVar(&f.svg, "svg", false, "print a picture as SVG")
	cmd.Flags().BoolVar(&f.trace, "chrome-trace", false, "print a Chrome trace, which ui.perfetto.dev opens")
}

// check refuses two forms at once: all of them go to standard output.
func (f *outputForm) check() error {
	switch {
	case f.json && f.svg:
		return &usageError{"--json and --svg contradict each other: standard output takes one of them"}
	case f.json && f.trace:
		return &usageError{"--json and --chrome-trace contradict each other: standard output takes one of them"}
	case f.svg && f.trace:
		return &usageError{"--svg and --chrome-trace contradict each other: standard output takes one of them"}
	}
	return nil
}

// write puts the drawing out; width is that of the text.
func (f *outputForm) write(d *drawing, to io.Writer, width int) error {
	switch {
	case f.json:
		return d.writeJSON(to)
	case f.svg:
		return d.writeSVG(to)
	case f.trace:
		return d.writeTrace(to)
	}
	return d.writeText(to, width)
}

// Bounds of forms that draw every operation: beyond them no viewer keeps up.
const (
	maxPictureOps = 200_000
	maxTraceOps   = 1_000_000
)

// atMost refuses a timeline with more operations than a form takes.
func (d *drawing) atMost(most int, form string) error {
	if n := len(d.timeline.Order.Ops); n > most {
		return &usageError{fmt.Sprintf("%s operations are more than the %s of %s; text and --json take them all", figure.Comma(n), figure.Comma(most), form)}
	}
	return nil
}
