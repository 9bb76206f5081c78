package timeline

import (
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Text is a timeline in signs of ASCII, for text.
type Text struct {
	Rows      []string // of all ranks
	PerColumn float64  // time of a column
	LeftOut   float64  // time that is not shown
	Shares    bool     // columns hold several operations, and letters are their shares of the time
}

// NewText draws a timeline in some columns, as a Chart that folds does.
func NewText(line *schedule.Timeline, columns int) Text {
	chart := Chart{Timeline: line, Fold: true, Plain: true}
	if columns <= 0 || !drawable(line) {
		return Text{}
	}
	p := chart.newPainter(&themes.Theme{}, widget.NewGlyphs(false), columns)
	frame := chart.axis.Frame(0, 1, columns)
	t := Text{
		PerColumn: frame.PerColumn(), LeftOut: chart.axis.Whole - chart.axis.Length,
		Shares: p.perOp < 1,
	}
	for rank := range line.Ranks {
		p.row(rank)
		var b strings.Builder
		for i := range p.cells {
			b.WriteString(p.cells[i].sign)
		}
		t.Rows = append(t.Rows, b.String())
	}
	return t
}

// Legible reports whether letter and micro-batch fit into every operation of a whole step that is
// so many columns wide.
func Legible(line *schedule.Timeline, columns int) bool {
	axis := NewAxis([]*schedule.Timeline{line}, false, columns, 0)
	frame := axis.Frame(0, 1, columns)
	return frame.Legible()
}
