package ui

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/report/figure"
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
// median of at most 5 KB over all knobs, and never more than 10 KB, to a terminal of
// 160x50 with 256 colours.
func TestBytesOfATurn(t *testing.T) {
	m := sample(t, 160, 50, func(o *Options) { o.Evaluate, o.Calm = engine.Evaluate, false })
	r := newRenderer(160, 50)
	first := r.show(t, m.View().Content)
	keys(m, "home")
	var sent []int
	for range knobs.Order(&m.state.Setup) {
		for _, name := range []string{"right", "left", "left", "right"} {
			setup := m.state.Setup
			m.Update(press(name))
			n := r.show(t, m.View().Content)
			finishWork(m)
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
	if median > 5000 || most > 10000 {
		t.Errorf("a turn sends a median of %d bytes, at most %d", median, most)
	}
	focus, screens := bytesOfMoves(t)
	documented(t, []measured{
		{"a step of a knob at 160x50, median over all knobs", median},
		{"a step of a knob at 160x50, at most", most},
		{"the focus on the next knob at 120x40, median", focus[len(focus)/2]},
		{"the focus on the next knob at 120x40, at most: the column scrolls", focus[len(focus)-1]},
		{"the next screen at 120x40, at least", screens[0]},
		{"the next screen at 120x40, at most", screens[len(screens)-1]},
	})
}

// bytesOfMoves returns what it takes to move the focus over all knobs, and to go through all screens, sorted.
func bytesOfMoves(t *testing.T) (focus, screens []int) {
	t.Helper()
	m := sample(t, 120, 40, func(o *Options) { o.Evaluate = engine.Evaluate })
	r := newRenderer(120, 40)
	moves := func(key string, n int) (sent []int) {
		for range n {
			m.Update(press(key))
			finishWork(m)
			sent = append(sent, r.show(t, m.View().Content))
		}
		slices.Sort(sent)
		return sent
	}
	keys(m, "home")
	r.show(t, m.View().Content)
	focus = moves("down", len(knobs.Order(&m.state.Setup))-1)
	return focus, moves("tab", len(m.screens.all))
}

// measured is a figure of docs/terminal.md, in bytes.
type measured struct {
	what  string
	bytes int
}

// documented holds the figures that docs/terminal.md gives to within a fifth of what was measured, so that
// words of a frame may change; MESHSCOPE_UPDATE=1 writes them anew.
func documented(t *testing.T, figures []measured) {
	t.Helper()
	const file = "../docs/terminal.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(f.what) + ` \| ([0-9,]+) \|$`)
		if os.Getenv("MESHSCOPE_UPDATE") != "" {
			text = row.ReplaceAll(text, []byte("| "+f.what+" | "+figure.Comma(f.bytes)+" |"))
		}
		found := row.FindSubmatch(text)
		if found == nil {
			t.Errorf("%s has no row %q", file, f.what)
			continue
		}
		if n, _ := strconv.Atoi(strings.ReplaceAll(string(found[1]), ",", "")); 5*max(n-f.bytes,
			f.bytes-n) > f.bytes {
			t.Errorf("%s: %s: %d, measured %d; MESHSCOPE_UPDATE=1 go test ./ui -run BytesOfATurn writes it",
				file, f.what, n, f.bytes)
		}
	}
	if os.Getenv("MESHSCOPE_UPDATE") != "" {
		if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a document of the repository
			t.Fatal(err)
		}
	}
}
