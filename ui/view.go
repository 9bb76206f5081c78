package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/knob"
	"meshscope/report/figure"
	"meshscope/ui/frame"
	"meshscope/ui/knobs"
	"meshscope/ui/screen"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// View returns the frame: a function of the model alone.
func (m *Model) View() tea.View {
	v := tea.View{AltScreen: true}
	if m.state.Mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.caps.Width == 0 {
		return v // the size is not known yet
	}
	v.Content = m.shared(func() string {
		var lines []string
		lines, v.Cursor = m.frame()
		if !m.caps.Unicode {
			plainASCII(lines, m.caps.Width)
		}
		if m.state.Theme != state.ThemeAuto { // the terminal's own ground may be another one
			m.look.theme.Base().On(lines, m.caps.Width)
		}
		return strings.Join(lines, "\n")
	})
	return v
}

// frame draws every line of the screen and says where the caret is.
func (m *Model) frame() ([]string, *tea.Cursor) {
	w, h := m.caps.Width, m.caps.Height
	r := frame.Layout(w, h, m.content())
	if m.noted() {
		return m.desk.Notes(m.look.theme, m.look.glyphs, w, h), nil
	}
	if m.desk.Dark() {
		return m.dark(), nil
	}
	if s := m.onStage(); s != nil {
		box := s.Render(m.look.theme, m.look.glyphs)
		lines := m.stagedPage(s, box, r.Tiny)
		if m.staged() == nil { // a card lies over it
			box = m.overlays.Render(m.look.theme, m.look.glyphs)
			lines = box.Over(lines)
		}
		return lines, caretOf(box)
	}
	if r.Tiny {
		return m.tiny(w, h), nil
	}
	if m.choosing != nil {
		return m.choosingFrame(), nil
	}
	box := m.overlays.Render(m.look.theme, m.look.glyphs)
	if len(box.Lines) == 0 {
		return m.page(r)
	}
	look := m.look
	if look.theme.Blends() || !look.theme.Colours { // with 16 colours a dimmed picture has other signs
		m.look.theme, m.look.serial = look.dim, -look.serial
	}
	lines, _ := m.page(r)
	m.look = look
	return m.withOverlay(box, lines, r)
}

// page returns the screen in front, and where its caret is.
func (m *Model) page(r frame.Rects) ([]string, *tea.Cursor) {
	if m.state.Tab != state.ExploreTab {
		return m.screenFrame()
	}
	return m.explore(r)
}

// explore returns the Explore screen, which has the whole window.
func (m *Model) explore(r frame.Rects) ([]string, *tea.Cursor) {
	f := frame.New(m.caps.Width, m.caps.Height)
	t := m.look.theme
	current := &screen.Context{Setup: &m.state.Setup, Report: &m.now.report, Theme: t, Glyphs: m.look.glyphs}
	task, _ := m.taskLine(r.Title.W)
	f.Put(r.Title, m.cached("title", r.Title, m.serial, 0, 0, m.desk.Says()+task, func() []string {
		return []string{m.titled(current, r.Title.W)}
	}))
	if r.Tabs.Shown() {
		f.Put(r.Tabs, []string{m.tabLine(r.Tabs.W)})
	}
	column := m.column(r.Knobs)
	f.Put(r.Knobs, column.Lines)
	m.picture(f, r)
	f.Put(r.Foot, m.foot(r.Foot.W, r.Foot.H))
	f.Put(r.Help, []string{m.footLine(r.Help.W)})
	var cursor *tea.Cursor
	if column.CaretX >= 0 {
		cursor = tea.NewCursor(r.Knobs.X+column.CaretX, r.Knobs.Y+column.CaretY)
	}
	return f.Lines(), cursor
}

// picture draws the panels of the last legal setup, dimmed while the one in
// force is illegal.
func (m *Model) picture(f *frame.Frame, r frame.Rects) {
	in := &screen.Context{
		Setup: &m.legal.setup, Report: &m.legal.report, Theme: m.look.theme,
		Glyphs: m.look.glyphs,
	}
	if !m.now.report.Legal {
		in.Theme = m.look.dim
	}
	if !m.legal.report.Legal { // there has never been a legal one
		f.Put(r.Gauges, explore.Stale(in, m.look.theme, false, r.Gauges.W))
		in.Theme = m.look.theme
		at := frame.Rect{
			X: r.Memory.X, Y: r.Memory.Y, W: r.Foot.X + r.Foot.W - r.Memory.X,
			H: r.Foot.Y - r.Memory.Y,
		}
		f.Put(at, explore.Problems(in, m.wrong(), at.W, at.H))
		return
	}
	serial, page := m.legal.serial, m.state.Page
	panel := func(name string, at frame.Rect, a, b int, text string, draw func(w, h int) []string) {
		if at.Shown() {
			f.Put(at, m.cached(name, at, serial, a, b, text, func() []string { return draw(at.W, at.H) }))
		}
	}
	in.Prices = m.prices()
	panel("headline", r.Headline, 0, 0, strings.Join(in.Prices, ", "), func(w, _ int) []string {
		if !m.now.report.Legal { // of which the line below says so
			return []string{widget.Blank(w)}
		}
		return []string{explore.Headline(in, w)}
	})
	panel("gauges", r.Gauges, m.serialOfBefore(), m.glowing(), "", func(w, h int) []string {
		if !m.now.report.Legal {
			return explore.Stale(in, m.look.theme, m.slow.pending, w)
		}
		in.Glow = m.glow != nil
		return explore.Gauges(in, m.before, w, h)
	})
	panel("memory", r.Memory, page, 0, "", func(w, h int) []string { return explore.Memory(in, page, w, h) })
	panel("pipeline", r.Pipeline, page, 0, "",
		func(w, h int) []string { return explore.Pipeline(in, page, w, h) })
	panel("step", r.Step, 0, 0, "", func(w, h int) []string { return explore.Step(in, w, h) })
	panel("run", r.Run, 0, 0, "", func(w, h int) []string { return explore.Run(in, w, h) })
	panel("traffic", r.Traffic, 0, 0, "", func(w, h int) []string { return explore.Traffic(in, w, h) })
	// The chart is of the current setup, not of the last legal one.
	chart := in.At(0, 0)
	chart.Theme = m.look.theme
	panel("chart", r.Chart, m.sweep.generation, m.sweepState(), string(m.sweep.id), func(w, h int) []string {
		return explore.Chart(chart, m.chart(), w, h)
	})
	panel("assumed", r.Assumed, 0, 0, m.noEffectKey(),
		func(w, h int) []string { return explore.Assumed(in, m.idle(), w, h) })
}

// wrong returns the errors of the current setup; enter takes the first remedy.
func (m *Model) wrong() []explore.Wrong {
	var out []explore.Wrong
	key := "enter"
	for _, p := range state.Errors(m.now.report.Problems) {
		one := explore.Wrong{Text: p.Message}
		if len(p.Nearest) > 0 {
			one.Fix, one.Key, key = state.NearestWords(&p), key, ""
		}
		out = append(out, one)
	}
	return out
}

func (m *Model) serialOfBefore() int { return m.now.serial }

func (m *Model) cached(name string, at frame.Rect, serial, a, b int, text string,
	draw func() []string,
) []string {
	key := panelKey{
		serial: serial, look: m.look.serial, dimmed: !m.now.report.Legal,
		w: at.W, h: at.H, a: a, b: b, text: text,
	}
	return m.cache.lines(name, key, draw)
}

// column draws the knobs.
func (m *Model) column(at frame.Rect) knobs.Drawn {
	key := panelKey{
		serial: m.serial, look: m.look.serial, w: at.W, h: at.H,
		text: string(m.state.Focus) + m.noEffectKey(), a: -1, b: m.glowing(),
	}
	c := knobs.Column{
		Rows: m.rows, NoEffect: m.idle(), Focus: m.state.Focus, Theme: m.look.theme,
		Glyphs: m.look.glyphs, Glow: m.glow,
	}
	if v := m.typing(); v != nil {
		c.IsTyping = true
		c.Typing, c.Caret = v.Text()
		key.text += "=" + c.Typing
		key.a = c.Caret
	}
	return m.cache.knobs(key, func() knobs.Drawn { return c.Render(at.W, at.H) })
}

// pages returns how many positions the ranks can be scrolled to.
func (m *Model) pages() int {
	c := m.content()
	r := frame.Layout(m.caps.Width, m.caps.Height, c)
	fullest := 0
	if memory := m.legal.report.Memory; memory != nil {
		fullest = memory.PeakRank
	}
	return max(explore.Pages(c.Ranks, fullest, r.Memory.H-2), explore.Pages(c.Ranks, 0, r.Pipeline.H-2))
}

// content returns the input of the layout.
func (m *Model) content() frame.Content {
	c := frame.Content{Ranks: m.legal.setup.PP, Traffic: len(m.legal.report.Communication)}
	if c.Ranks == 0 {
		c.Ranks = m.state.Setup.PP
	}
	if m.legal.report.Run != nil {
		c.Run = explore.RunRows
	}
	return c
}

// tiny answers the question in the lines of a very small screen.
func (m *Model) tiny(w, h int) []string {
	s := &m.state.Setup
	r := &m.now.report
	texts := make([]string, 0, 5)
	switch {
	case !r.Legal && len(state.Errors(r.Problems)) > 0:
		texts = append(texts, m.look.glyphs.Cross+" "+state.Errors(r.Problems)[0].Message)
	case r.Memory != nil && r.Throughput != nil:
		verdict := r.Memory.FitWord()
		g := m.look.glyphs
		peak := figure.Band{Evidence: &r.Memory.Evidence, PlusMinus: g.PlusMinus}
		rate := figure.Band{Evidence: &r.Throughput.Evidence, PlusMinus: g.PlusMinus}
		texts = append(texts,
			fmt.Sprintf("%s %s of %s, MFU %s", verdict, peak.Of(figure.GiB(r.Memory.Peak)+" GiB"),
				figure.GiB(r.Memory.Usable), rate.Of(figure.Percent(r.Throughput.MFU))))
	}
	p, _ := knob.Find(m.state.Focus)
	texts = append(texts,
		fmt.Sprintf("%s %s %s", m.look.glyphs.Pointer, p.Label, knobs.Show(&p, p.Text(*s))),
		fmt.Sprintf("%s, %s %s %s", s.Model.Name, figure.Comma(s.GPUs), m.look.glyphs.Times,
			s.Cluster.GPU.Name),
		need(w),
	)
	if l := r.Pipeline; l != nil && l.Ranks > 1 && r.Time != nil {
		texts = append(texts, fmt.Sprintf("%s on %d ranks: bubble %s of the %s step",
			l.Schedule, l.Ranks, figure.Percent(float64(r.Time.Bubble/r.Time.Step)),
			figure.Seconds(r.Time.Step)))
	}
	// What the screen needs is said in the last line, where it has none of its own
	// behind what stands there or in its place.
	if at := slices.Index(texts, need(w)); h > 1 && at >= h {
		last := widget.Width(texts[h-1]) + 3
		if room := w - last; room >= len(need(0)) {
			texts[h-1] += "   " + need(room)
		} else {
			texts[h-1] = texts[at]
		}
	}
	lines := make([]string, 0, h)
	for _, text := range texts {
		if len(lines) < h {
			lines = append(lines, widget.Cut(text, w))
		}
	}
	return lines
}

// need says how large a window the whole screen needs, as long as w cells allow.
func need(w int) string {
	size := fmt.Sprintf("%d x %d", frame.MinWidth, frame.MinHeight)
	for _, text := range []string{"the full screen needs " + size, "needs " + size, size} {
		if len(text) <= w {
			return text
		}
	}
	return strings.ReplaceAll(size, " ", "")
}

// plainASCII replaces what slipped through beyond ASCII, in names and notes, in
// lines of w cells.
func plainASCII(lines []string, w int) {
	replace := strings.NewReplacer("…", "~", "→", "->", "×", "x", "·", "-", "–", "-", "—", "-",
		"─", "-")
	for i, line := range lines {
		if strings.Contains(line, "→") { // which takes a cell more
			line = ansi.Truncate(replace.Replace(line), w, "")
		}
		line = replace.Replace(line)
		lines[i] = strings.Map(func(r rune) rune {
			if r > 0x7e {
				return '?'
			}
			return r
		}, line)
	}
}

// panelKey is everything a panel's lines depend on. Two equal keys draw the
// same lines.
type panelKey struct {
	serial int // of the report or of the rows
	look   int
	dimmed bool
	w, h   int
	a, b   int    // what else: a page, a generation
	text   string // a focus, typed text
}

// cache keeps the drawn lines of each panel, so that a key press redraws only
// what it changed. It never changes the drawing.
type cache struct {
	panels map[string]cached
	column map[panelKey]knobs.Drawn // one entry, the last
}

type cached struct {
	key   panelKey
	lines []string
}

func newCache() *cache { return &cache{panels: map[string]cached{}} }

// lines returns the panel's, drawn if its key changed.
func (c *cache) lines(panel string, key panelKey, draw func() []string) []string {
	if have, ok := c.panels[panel]; ok && have.key == key {
		return have.lines
	}
	lines := draw()
	c.panels[panel] = cached{key: key, lines: lines}
	return lines
}

// knobs returns the drawn knobs column.
func (c *cache) knobs(key panelKey, draw func() knobs.Drawn) knobs.Drawn {
	if have, ok := c.column[key]; ok {
		return have
	}
	d := draw()
	c.column = map[panelKey]knobs.Drawn{key: d}
	return d
}
