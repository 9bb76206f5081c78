// Package picture draws the cells of a screen as SVG.
package picture

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strconv"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
)

// Sizes of the picture in SVG user units. A cell is close to the proportions
// of common monospace fonts; runs of text are stretched to it, so that the
// columns hold with any font.
const (
	cellWidth  = 8
	cellHeight = 17
	fontSize   = 13.3
	baseline   = 13 // from the top of a cell
	margin     = 12
)

// look is how a run of cells is drawn.
type look struct {
	foreground, background string // #rrggbb; background "" is the picture's own
	bold, italic, faint    bool
	underline, strike      bool
}

// Picture turns a screen into an SVG document. Text becomes text; blocks,
// lines and Braille dots become shapes, because fonts leave gaps between them.
type Picture struct {
	Columns, Rows          int
	Foreground, Background color.Color
	Title                  string
	Cells                  func(x, y int) *uv.Cell // nil is a blank

	rectangles strings.Builder
	text       strings.Builder
	shapes     map[string]*strings.Builder // path data by fill attributes
}

// SVG draws the picture. The same cells give the same bytes.
func (p *Picture) SVG() string {
	p.shapes = map[string]*strings.Builder{}
	for y := range p.Rows {
		p.row(y)
	}
	width := p.Columns*cellWidth + 2*margin
	height := p.Rows*cellHeight + 2*margin

	var out strings.Builder
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n", escape(p.Title))
	fmt.Fprintf(&out, `<rect width="%d" height="%d" rx="8" fill="%s"/>`+"\n", width, height,
		hex(p.Background))
	fmt.Fprintf(&out, `<g transform="translate(%d %d)" font-size="%g" `+
		`font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace">`+"\n",
		margin, margin, fontSize)
	out.WriteString(p.rectangles.String())
	for _, fill := range slices.Sorted(maps.Keys(p.shapes)) {
		fmt.Fprintf(&out, "<path %s d=\"%s\"/>\n", fill, p.shapes[fill].String())
	}
	out.WriteString(p.text.String())
	out.WriteString("</g>\n</svg>\n")
	return out.String()
}

// Frame returns the picture of a frame: lines of text with their sequences.
func Frame(lines []string, columns int, foreground, background color.Color, title string) *Picture {
	screen := uv.NewScreenBuffer(columns, len(lines))
	uv.NewStyledString(strings.Join(lines, "\n")).Draw(screen, screen.Bounds())
	return &Picture{
		Columns: columns, Rows: len(lines), Foreground: foreground, Background: background, Title: title,
		Cells: func(x, y int) *uv.Cell { return screen.CellAt(x, y) },
	}
}

// row draws one row as runs of equal look.
func (p *Picture) row(y int) {
	for x := 0; x < p.Columns; {
		style := p.lookAt(x, y)
		end := x + 1
		for end < p.Columns && p.lookAt(end, y) == style {
			end++
		}
		if style.background != "" {
			fmt.Fprintf(&p.rectangles, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n",
				x*cellWidth, y*cellHeight, (end-x)*cellWidth, cellHeight, style.background)
		}
		p.run(x, end, y, style)
		x = end
	}
}

// run draws the characters of cells that look alike: words as text elements,
// the rest as shapes.
func (p *Picture) run(x, end, y int, style look) {
	var word strings.Builder
	start := x
	flush := func(to int) {
		if text := strings.TrimRight(word.String(), " "); text != "" {
			p.word(start, y, text, style)
		}
		word.Reset()
		start = to
	}
	for x < end {
		content, width := " ", 1
		if cell := p.Cells(x, y); cell != nil && cell.Content != "" {
			content, width = cell.Content, max(cell.Width, 1)
		}
		drawn := p.shape(x, y, content, style)
		blank := content == " " && !style.underline && !style.strike
		switch {
		case drawn, blank && word.Len() == 0:
			flush(x + width)
		case blank && x+1 < end && p.blankAt(x+1, y):
			flush(x + width)
		default:
			word.WriteString(content)
		}
		x += width
	}
	flush(end)
}

// blankAt says whether a cell shows nothing.
func (p *Picture) blankAt(x, y int) bool {
	cell := p.Cells(x, y)
	return cell == nil || cell.Content == "" || cell.Content == " "
}

// word writes one text element, stretched to its cells.
func (p *Picture) word(x, y int, text string, style look) {
	cells := uv.NewStyledString(text).Bounds().Dx()
	fmt.Fprintf(&p.text, `<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs" fill="%s"`,
		x*cellWidth, y*cellHeight+baseline, cells*cellWidth, style.foreground)
	if style.bold {
		p.text.WriteString(` font-weight="bold"`)
	}
	if style.italic {
		p.text.WriteString(` font-style="italic"`)
	}
	if style.faint {
		p.text.WriteString(` opacity="0.6"`)
	}
	switch {
	case style.underline:
		p.text.WriteString(` text-decoration="underline"`)
	case style.strike:
		p.text.WriteString(` text-decoration="line-through"`)
	}
	fmt.Fprintf(&p.text, ` xml:space="preserve">%s</text>`+"\n", escape(text))
}

// lookAt is the look of one cell, reverse video resolved.
func (p *Picture) lookAt(x, y int) look {
	foreground, background := p.Foreground, color.Color(nil)
	var attributes uint8
	underlined := false
	if cell := p.Cells(x, y); cell != nil {
		if cell.Style.Fg != nil {
			foreground = cell.Style.Fg
		}
		background = cell.Style.Bg
		attributes = cell.Style.Attrs
		underlined = cell.Style.Underline != uv.UnderlineNone
	}
	if attributes&uv.AttrReverse != 0 {
		if background == nil {
			background = p.Background
		}
		foreground, background = background, foreground
	}
	style := look{
		foreground: hex(foreground),
		bold:       attributes&uv.AttrBold != 0,
		italic:     attributes&uv.AttrItalic != 0,
		faint:      attributes&uv.AttrFaint != 0,
		strike:     attributes&uv.AttrStrikethrough != 0,
		underline:  underlined,
	}
	if background != nil && hex(background) != hex(p.Background) {
		style.background = hex(background)
	}
	return style
}

// fill collects shapes of one colour in one path.
func (p *Picture) fill(style look, opacity float64) *strings.Builder {
	if style.faint {
		opacity *= 0.6
	}
	key := `fill="` + style.foreground + `"`
	if opacity < 1 {
		key += ` fill-opacity="` + strconv.FormatFloat(opacity, 'g', 2, 64) + `"`
	}
	if p.shapes[key] == nil {
		p.shapes[key] = &strings.Builder{}
	}
	return p.shapes[key]
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
