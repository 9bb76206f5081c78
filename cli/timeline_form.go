package cli

import (
	"fmt"
	"io"

	"meshscope/report"
	"meshscope/report/figure"
)

// timelineFormats returns the formats of a timeline.
func timelineFormats() []string {
	return []string{textFormat, string(report.JSON), svgFormat, traceFormat}
}

// write prints the drawing in a format; width is that of the text, in columns.
func (d *drawing) write(format string, to io.Writer, width int) error {
	switch format {
	case string(report.JSON):
		return d.writeJSON(to)
	case svgFormat:
		return d.writeSVG(to, svgColumns, d.timeline.Order.Spec.Ranks)
	case traceFormat:
		return d.writeTrace(to)
	}
	return d.writeText(to, width)
}

// maxTraceOps bounds a format that has every operation: viewers cannot show more.
const maxTraceOps = 1_000_000

// atMost returns an error if a timeline has more operations than a format takes.
func (d *drawing) atMost(most int, format string) error {
	if n := len(d.timeline.Order.Ops); n > most {
		return &usageError{fmt.Sprintf("%s takes at most %s operations, this timeline has %s; text and "+
			"--json take any number", format, figure.Comma(most), figure.Comma(n))}
	}
	return nil
}
