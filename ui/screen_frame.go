package ui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/knob"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/frame"
	"meshscope/ui/knobs"
	"meshscope/ui/screen"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// screenFrame draws the tab that is shown: title, tabs, the screen's area, what
// is under its cursor, and its keys.
func (m *Model) screenFrame() ([]string, *tea.Cursor) {
	w, h := m.caps.Width, m.caps.Height
	in, at := m.context(), m.area()
	current := &screen.Context{
		Setup: &m.state.Setup, Report: &m.now.report, Theme: m.look.theme,
		Glyphs: m.look.glyphs,
	}
	f := frame.New(w, h)
	x, inner := m.margin(), w-2*m.margin()
	f.Put(frame.Rect{X: x, Y: 0, W: inner, H: 1}, []string{m.titled(current, inner)})
	f.Put(frame.Rect{X: x, Y: 1, W: inner, H: 1}, []string{m.tabLine(inner)})
	var cursor *tea.Cursor
	if row := m.stripRow(); m.stripped() {
		line, _, caret := m.strip(row.W)
		f.Put(row, []string{line})
		if caret >= 0 {
			cursor = tea.NewCursor(row.X+caret, row.Y)
		}
	}
	if m.shows() {
		f.Put(at, m.screen().Render(in))
	} else {
		f.Put(at, m.nothingYet(at.W, at.H))
	}
	f.Put(frame.Rect{X: x, Y: h - 2, W: inner, H: 1}, []string{m.screenStatus(in, inner)})
	f.Put(frame.Rect{X: x, Y: h - 1, W: inner, H: 1}, []string{m.footLine(inner)})
	return f.Lines(), cursor
}

// screenStatus returns the problems, the last message, or the item under the cursor.
func (m *Model) screenStatus(in *screen.Context, w int) string {
	t := m.look.theme
	l := widget.NewLine(w)
	switch errs, typing := state.Errors(m.now.report.Problems), m.typing(); {
	case typing != nil && typing.Wrong != "":
		return l.Put(t.Paint(themes.Bad), widget.CutText(m.look.glyphs.Cross+" "+typing.Wrong, w,
			m.look.glyphs.Ellipsis)).String()
	case typing != nil:
		p, _ := knob.Find(typing.Knob)
		text, _ := typing.Text()
		return l.Put(t.Paint(themes.Text),
			widget.CutText(state.Preview(&m.state.Setup, &p, text), w, m.look.glyphs.Ellipsis)).String()
	case len(errs) > 0 && m.viewsIllegal():
		return l.Put(t.Paint(themes.Muted), m.screen().Status(in.At(w, 1))).String()
	case len(errs) > 0 && !m.legal.report.Legal:
		return l.Put(t.Paint(themes.Bad), m.look.glyphs.Cross+" illegal: nothing to show yet").String()
	case len(errs) > 0:
		return l.Put(t.Paint(themes.Bad),
			widget.CutText(m.look.glyphs.Cross+" illegal, figures of the last legal setup: "+errs[0].Message,
				w, m.look.glyphs.Ellipsis)).String()
	case m.slow.pending:
		return l.Put(t.Paint(themes.Accent), workingText+m.look.glyphs.Ellipsis).Put(t.Paint(themes.Muted),
			"  figures: previous setup").String()
	case m.state.Note.Text != "":
		role := themes.Text
		if m.state.Note.Tone == state.Trouble {
			role = themes.Bad
		}
		return l.Put(t.Paint(role), widget.CutText(m.state.Note.Text, w, m.look.glyphs.Ellipsis)).String()
	case !m.shows():
		return l.String()
	}
	return l.Put(t.Paint(themes.Muted), m.screen().Status(in.At(w, 1))).String()
}

// nothingYet stands in the place of a screen while no setup has been legal: every
// violated rule in full, with its nearest legal value.
func (m *Model) nothingYet(w, h int) []string {
	f := footer{w: w, h: h, theme: m.look.theme}
	errs := state.Errors(m.now.report.Problems)
	f.say(themes.Strong, "", "This setup is illegal: there is nothing to show yet.", 1)
	for i := range errs {
		f.lines = append(f.lines, widget.Blank(w))
		f.say(themes.Bad, m.look.glyphs.Cross+" ", errs[i].Message, f.left())
		if words := state.NearestWords(&errs[i]); words != "" {
			f.say(themes.Text, "  ", "nearest legal: "+words, f.left())
		}
	}
	if words := state.FixWords(m.now.report.Problems); words != "" {
		f.lines = append(f.lines, widget.Blank(w))
		f.say(themes.Text, "", "enter sets "+words, f.left())
	}
	return widget.Height(f.lines, w, h)
}

// workingText stands while a slow setup is computed.
const workingText = "evaluating this setup"

// footLine returns the last line: what can be done now, most needed first. The order is
// that of being dropped from the right on narrow screens. It is empty while a list or
// card is open, which says its own keys.
func (m *Model) footLine(w int) string {
	l, t := widget.NewLine(w), m.look.theme
	for _, hint := range m.placedHints(w) {
		l.To(hint.x).Put(t.Paint(themes.Key), hint.Key).Gap(1).Put(t.Paint(themes.Muted), hint.Text)
	}
	return l.String()
}

// hints returns the keys of the footer: those that are needed first on every screen, then
// those of the screen.
func (m *Model) hints() []widget.Hint {
	switch {
	case m.typing() != nil:
		return []widget.Hint{{Key: "enter", Text: "take the value"}, {Key: "esc", Text: "cancel"}}
	case !m.overlays.Empty():
		return nil
	case m.writing(): // every other key is a letter
		return screen.Hints(m.screen(), m.context())
	}
	var first, own []widget.Hint
	words := state.FixWords(m.now.report.Problems)
	switch {
	case m.state.Tab == state.ExploreTab:
		words = m.fixText()
	case m.viewsIllegal():
		words = ""
	}
	switch {
	case m.rechooses():
		first = append(first, widget.Hint{Key: "enter", Text: m.rechooseText()})
	case words != "":
		first = append(first, widget.Hint{Key: "enter", Text: "sets " + words})
	}
	first = append(first, widget.Hint{Key: m.shown("?", "help"), Text: "help"},
		widget.Hint{Key: m.shown("q", "quit"), Text: "quit"})
	if m.hasLesson() {
		first = append(first, widget.Hint{Key: m.shown("B", "lesson"), Text: "lesson"})
	}
	if m.state.Tab != state.ExploreTab { // which has them further on
		first = append(first, widget.Hint{Key: m.shown("tab", "next-screen"), Text: m.neighbour(1)},
			widget.Hint{Key: m.shown("e", "explain"), Text: "explain"})
	}
	if m.shows() {
		own = screen.Hints(m.screen(), m.context())
	}
	return append(first, own...)
}

// tabLine names the screens, the one that is shown in brackets.
func (m *Model) tabLine(w int) string {
	l := widget.NewLine(w)
	t := m.look.theme
	for i, s := range m.screens.all {
		name, role := " "+s.Name()+" ", themes.Muted
		if state.Tab(i) == m.state.Tab {
			name, role = "["+s.Name()+"]", themes.Accent
		}
		if l.Left() < widget.Width(name) {
			break
		}
		l.Put(t.Paint(role), name)
	}
	return l.String()
}

func (m *Model) margin() int { return frame.Margin(m.caps.Width) }

// tabRow returns where the names of the screens stand.
func (m *Model) tabRow() frame.Rect {
	if m.state.Tab == state.ExploreTab {
		return frame.Layout(m.caps.Width, m.caps.Height, m.content()).Tabs
	}
	return frame.Rect{X: m.margin(), Y: screenTop - 1, W: m.caps.Width - 2*m.margin(), H: 1}
}

// tabAt returns the tab whose name stands in a column of the tab line.
func (m *Model) tabAt(x int) (state.Tab, bool) {
	for i, s := range m.screens.all {
		if x -= len(s.Name()) + 2; x < 0 {
			return state.Tab(i), true
		}
	}
	return state.ExploreTab, false
}

// stripped reports whether the focused knob has a line of its own on the screen in front, which
// has no knobs itself.
func (m *Model) stripped() bool {
	_, own := m.screen().(screen.KnobHolder)
	return !own
}

// stripGap is the room between two figures of the strip.
const stripGap = 2

// turnable reports whether the focused knob is in sight.
func (m *Model) turnable() bool { return m.stripped() || m.state.Tab == state.ExploreTab }

// stripRow returns where the strip lies.
func (m *Model) stripRow() frame.Rect {
	return frame.Rect{X: m.margin(), Y: 2, W: m.caps.Width - 2*m.margin(), H: 1}
}

// strip draws the focused knob and, against the right end, what it gives: fit, step and MFU with
// the last change of each.
func (m *Model) strip(w int) (line string, hits []knobs.Hit, caret int) {
	c := knobs.Column{Rows: m.rows, Focus: m.state.Focus, Theme: m.look.theme, Glyphs: m.look.glyphs}
	if v := m.typing(); v != nil {
		c.IsTyping = true
		c.Typing, c.Caret = v.Text()
	}
	in := &screen.Context{
		Setup: &m.legal.setup, Report: &m.legal.report, Theme: m.look.theme,
		Glyphs: m.look.glyphs,
	}
	in.Glow = m.glow != nil
	figures := explore.Brief(in, m.before)
	key := func(id string) string { return m.shown(m.binding(id).Keys()[0], id) }
	keys := knobs.Keys{
		Before: key("knob-before"), After: key("knob-after"), Down: key("knob-turn-down"),
		Up: key("knob-turn-up"),
	}
	l, hits, caret := c.Strip(keys, w, max(min(w/2-28, 44), 0))
	if !m.now.report.Legal { // whose figures the screen shows, in the place of them
		for _, text := range explore.StaleWords(in, m.slow.pending) {
			if l.Left() < widget.Width(text)+stripGap {
				continue
			}
			role := themes.Bad
			if m.slow.pending {
				role = themes.Accent
			}
			l.To(w-widget.Width(text)).Put(m.look.theme.Paint(role), text)
			break
		}
		return l.String(), hits, caret
	}
	for n := len(figures); n > 0; n-- { // as many as there is room for
		need := -stripGap
		for i := range figures[:n] {
			need += figures[i].Width() + stripGap
		}
		if need+stripGap > l.Left() {
			continue
		}
		l.To(w - need)
		for i := range figures[:n] {
			f := &figures[i]
			l.Gap(stripGap*min(i, 1)).Put(in.Paint(f.Role), f.Name).Gap(1).Put(in.Paint(f.Stands), f.Value)
			if f.Change != "" {
				l.Gap(1).Put(in.Paint(f.Changed), f.Change)
			}
		}
		break
	}
	return l.String(), hits, caret
}

// stripMouse takes a click on a value of the strip, or the wheel, which turns the knob.
func (m *Model) stripMouse(x int, button string) tea.Cmd {
	switch button {
	case "wheelup":
		return m.do(state.Action{Verb: state.TurnKnob, N: 1})
	case "wheeldown":
		return m.do(state.Action{Verb: state.TurnKnob, N: -1})
	}
	_, hits, _ := m.strip(m.stripRow().W)
	for _, hit := range hits {
		if hit.Key != "" && x >= hit.X && x < hit.X+hit.W {
			return m.handleScreenKey(hit.Key)
		}
		if hit.Value != "" && x >= hit.X && x < hit.X+hit.W {
			return m.do(state.Action{Verb: state.SetKnob, ID: hit.ID, Text: hit.Value})
		}
	}
	return nil
}

// stripKeys returns the keys that choose and turn a knob on every screen, and those that go
// to a screen by its place in the row of tabs.
func (m *Model) stripKeys() []screen.Key {
	move := func(n int) func() screen.Request { return m.act(state.Action{Verb: state.MoveFocus, N: n}) }
	turn := func(n int) func() screen.Request { return m.act(state.Action{Verb: state.TurnKnob, N: n}) }
	in := m.turnable
	keys := []screen.Key{
		{
			ID: "knob-turn-down", Group: screen.Turn, Keys: "(",
			Help: "turn the knob in the line above down, on every screen",
			When: in, Blind: true, Ask: turn(-1),
		},
		{
			ID: "knob-turn-up", Group: screen.Turn, Keys: ")",
			Help:  "turn the knob in the line above up, on every screen",
			When:  in,
			Blind: true, Ask: turn(1),
		},
		{
			ID: "knob-before", Group: screen.Move, Keys: "{",
			Help: "knob before, on every screen", When: in, Blind: true,
			Ask: move(-1),
		},
		{
			ID: "knob-after", Group: screen.Move, Keys: "}",
			Help: "knob after, on every screen", When: in, Blind: true,
			Ask: move(1),
		},
		{
			ID: "knob-type", Group: screen.Turn, Keys: "#",
			Help: "type a value for the knob, on every screen", When: in,
			Ask: m.act(state.Action{Verb: state.Type}),
		},
	}
	for i, s := range m.screens.all {
		number := strconv.Itoa(i + 1)
		keys = append(keys, screen.Key{
			ID: "screen-" + number, Group: screen.Screens, Keys: "alt+" + number,
			Help: s.Name() + " screen", Also: screenWords(s.Name()), Blind: true,
			Ask: m.act(state.Action{Verb: state.GoTab, N: i}),
		})
	}
	return keys
}

// choosingFrame says what is searched for and how to go on without waiting for it.
func (m *Model) choosingFrame() []string {
	w, h := m.caps.Width, m.caps.Height
	f := frame.New(w, h)
	t := m.look.theme
	s := &m.choosing.of.Query.Setup
	in := &screen.Context{Setup: s, Theme: t, Glyphs: m.look.glyphs}
	f.Put(frame.Rect{W: w, H: 1},
		[]string{widget.NewLine(w).Put(t.Paint(themes.Title), "meshscope").String()})
	how := []string{"enter takes the best one so far"}
	switch n := len(m.choosing.held); {
	case n == 1:
		how[0] = "1 key waits for it"
	case n > 1:
		how[0] = figure.Comma(n) + " keys wait for it"
	}
	if m.choosing.note != "" {
		how = append(how, "esc goes back")
	}
	lines := []string{
		"searching for the best layout of " + s.Model.Name + " on " + figure.Comma(s.GPUs) + " " +
			m.look.glyphs.Times + " " + s.Cluster.GPU.Name,
		strings.Join(how, ", "),
	}
	for i, role := range []themes.Role{themes.Strong, themes.Muted} {
		text := in.Cut(lines[i], w)
		l := widget.NewLine(w).Gap(max(0, (w-widget.Width(text))/2)).Put(t.Paint(role), text)
		f.Put(frame.Rect{Y: h/2 - 1 + i, W: w, H: 1}, []string{l.String()})
	}
	return f.Lines()
}
