package ui

import (
	"bytes"
	"slices"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/ui/knobs"
)

// renderer is what the terminal program draws frames with, set as it sets it, and what
// it has sent so far.
type renderer struct {
	sent   bytes.Buffer
	render *uv.TerminalRenderer
	buffer uv.ScreenBuffer
}

func newRenderer(columns, rows int) *renderer {
	r := &renderer{buffer: uv.NewScreenBuffer(columns, rows)}
	r.render = uv.NewTerminalRenderer(&r.sent, []string{"TERM=xterm-256color"})
	r.render.SetColorProfile(colorprofile.ANSI256)
	r.render.SetFullscreen(true)
	r.render.SetRelativeCursor(false)
	r.render.SetScrollOptim(true)
	r.render.SetBackspace(true)
	_, _ = r.sent.WriteString(ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable)
	r.render.Erase()
	return r
}

// show draws a frame and gives the number of bytes that this takes.
func (r *renderer) show(t *testing.T, frame string) int {
	t.Helper()
	r.buffer.Clear()
	uv.NewStyledString(frame).Draw(r.buffer, r.buffer.Bounds())
	r.render.Render(r.buffer.RenderBuffer)
	if err := r.render.Flush(); err != nil {
		t.Fatal(err)
	}
	defer r.sent.Reset()
	return r.sent.Len()
}

// TestBytesOfATurn: the turn of a slider, the chart that follows included, sends a
// median of at most 3 KB over all knobs, and never more than 8 KB, to a terminal of
// 160x50 with 256 colours.
func TestBytesOfATurn(t *testing.T) {
	m := sample(t, 160, 50, func(o *Options) { o.Evaluate = engine.Evaluate })
	r := newRenderer(160, 50)
	first := r.show(t, m.View().Content)
	keys(m, "home")
	var sent []int
	for range knobs.Order() {
		for _, name := range []string{"right", "left", "left", "right"} {
			setup := m.state.Setup
			m.Update(press(name))
			n := r.show(t, m.View().Content)
			settle(m)
			n += r.show(t, m.View().Content)
			if m.state.Setup != setup {
				sent = append(sent, n)
			}
		}
		m.Update(press("down"))
	}
	slices.Sort(sent)
	median, most := sent[len(sent)/2], sent[len(sent)-1]
	t.Logf("first frame %d bytes; %d turns, median %d, at most %d", first, len(sent), median, most)
	if median > 3000 || most > 8000 {
		t.Errorf("a turn sends a median of %d bytes, at most %d", median, most)
	}
}
