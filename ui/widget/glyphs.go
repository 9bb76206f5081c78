// Package widget draws bars, sliders, gauges and charts in terminal cells. It
// knows cells and looks, not physics: the meaning of a bar is its caller's matter.
package widget

// Glyphs are the signs that a terminal can show.
type Glyphs struct {
	Unicode   bool
	Rule      string // horizontal line of headings
	Track     string // line that joins the values of a slider
	HandleL   string // ends of a slider's handle, left and right
	HandleR   string
	Limit     string // capacity line across a bar
	Dash      string // capacity line across a chart
	Pointer   string // in front of the focused row
	More      string // more values or rows on this side: left, right
	MoreLeft  string
	Up, Down  string // a figure rose, fell
	Times     string
	Dot       string // separates remarks
	Point     string // a value in a chart
	Here      string // the current value in a chart
	Ellipsis  string
	Cut       string // a stretch of time left out
	Cross     string // in front of a problem
	Arrow     string // from a value to another
	None      string // a figure that cannot be had
	About     string // in front of a figure that is a rough one
	PlusMinus string // in front of its typical error
}

// NewGlyphs gives the signs for terminals with and without Unicode.
func NewGlyphs(unicode bool) Glyphs {
	if !unicode {
		return Glyphs{
			Rule: "-", Track: "-", HandleL: "[", HandleR: "]", Limit: "|", Dash: "-", Pointer: ">", More: ">",
			MoreLeft: "<",
			Up:       "^", Down: "v", Times: "x", Dot: "|", Point: "o", Here: "@", Ellipsis: "~", Cut: "~",
			Cross: "x", Arrow: "->", None: "-", About: "~", PlusMinus: "+-",
		}
	}
	return Glyphs{
		Unicode: true,
		Rule:    "─", Track: "─", HandleL: "┤", HandleR: "├", Limit: "│", Dash: "╌",
		Pointer: "▸", More: "›", MoreLeft: "‹",
		Up: "▲", Down: "▼", Times: "×", Dot: "·", Point: "•", Here: "●", Ellipsis: "…",
		Cut: "⋯", Cross: "✗", Arrow: "→", None: "–", About: "≈", PlusMinus: "±",
	}
}

// eighth returns the block that fills n eighths of a cell from the left, 1 to 7.
func eighth(n int) string {
	return [8]string{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[n&7]
}
