// Package wiretest holds what a renderer draws against what arrives through the
// writer of package wire.
package wiretest

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"meshscope/ui/wire"
)

// Both is a renderer that writes to two terminals: to one as it is, to the other
// shortened.
type Both struct {
	plain, short  *vt.Emulator
	writer        *wire.Writer
	columns, rows int
	sent          bytes.Buffer // by the renderer, of the last frame
	came, passed  int          // bytes from the renderer, and on to the second terminal

	render *uv.TerminalRenderer
	buffer uv.ScreenBuffer
}

// New is a renderer for a terminal that it takes for such a one.
func New(columns, rows int, term string) *Both {
	b := &Both{columns: columns, rows: rows, plain: vt.NewEmulator(columns, rows), short: vt.NewEmulator(columns, rows)}
	b.writer = wire.New(b, func() (int, int) { return b.columns, b.rows })
	b.render = uv.NewTerminalRenderer(&b.sent, []string{"TERM=" + term})
	b.render.SetColorProfile(colorprofile.TrueColor)
	b.render.SetFullscreen(true)
	b.render.SetRelativeCursor(false)
	b.render.SetScrollOptim(true)
	b.render.SetBackspace(true)
	b.buffer = uv.NewScreenBuffer(columns, rows)
	b.send(ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable)
	b.render.Erase()
	return b
}

// Write is the way to the second terminal.
func (b *Both) Write(p []byte) (int, error) {
	b.passed += len(p)
	return b.short.Write(p)
}

func (b *Both) send(text string) {
	b.came += len(text)
	_, _ = b.plain.WriteString(text)
	_, _ = b.writer.Write([]byte(text))
}

// Show draws a frame on both.
func (b *Both) Show(draw func(uv.ScreenBuffer)) {
	b.buffer.Clear()
	draw(b.buffer)
	b.render.Render(b.buffer.RenderBuffer)
	_ = b.render.Flush()
	b.send(b.sent.String())
	b.sent.Reset()
}

// ShowText draws a frame of the program.
func (b *Both) ShowText(text string) {
	b.Show(func(s uv.ScreenBuffer) { uv.NewStyledString(text).Draw(s, s.Bounds()) })
}

// Bytes are how many the renderer has written, and how many of them have gone on.
func (b *Both) Bytes() (came, passed int) { return b.came, b.passed }

// ShowCursor puts the cursor somewhere and says where the two terminals have it.
func (b *Both) ShowCursor(x, y int) (plain, short uv.Position) {
	b.render.MoveTo(x, y)
	_ = b.render.Flush()
	b.send(b.sent.String() + ansi.SetModeTextCursorEnable)
	b.sent.Reset()
	plain, short = b.plain.CursorPosition(), b.short.CursorPosition()
	b.send(ansi.ResetModeTextCursorEnable)
	return plain, short
}

// Resize changes the size of both terminals.
func (b *Both) Resize(columns, rows int) {
	b.columns, b.rows = columns, rows
	b.plain.Resize(columns, rows)
	b.short.Resize(columns, rows)
	b.render.Erase()
	b.buffer.Touched = nil
	b.buffer.Resize(columns, rows)
	b.render.Resize(columns, rows)
}

// Difference is the first cell that does not look the same; empty where there is
// none.
func (b *Both) Difference() string {
	for y := range b.rows {
		for x := range b.columns {
			if one, two := seen(b.plain.CellAt(x, y)), seen(b.short.CellAt(x, y)); one != two {
				return fmt.Sprintf("column %d of line %d: %s, through the writer %s", x, y, one, two)
			}
		}
	}
	return ""
}

// seen is what one sees of a cell.
func seen(c *uv.Cell) string {
	if c == nil {
		return "blank"
	}
	lines := c.Style.Underline != 0 || c.Style.Attrs&(uv.AttrReverse|uv.AttrStrikethrough) != 0
	if strings.TrimSpace(c.Content) == "" && !lines {
		return fmt.Sprintf("blank on %s", hex(c.Style.Bg))
	}
	return fmt.Sprintf("%q %s on %s, %d %d", c.Content, hex(c.Style.Fg), hex(c.Style.Bg), c.Style.Attrs, c.Style.Underline)
}

func hex(c color.Color) string {
	if c == nil {
		return "default"
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("%04x%04x%04x", r, g, b)
}
