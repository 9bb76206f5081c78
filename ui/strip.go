package ui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"meshscope/ui/frame"
	"meshscope/ui/knobs"
	"meshscope/ui/screen"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
)

// stripped reports whether the focused knob has a line of its own on the screen in front, which
// has no knobs itself.
func (m *Model) stripped() bool {
	_, own := m.screen().(screen.Knobbed)
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
	in := &screen.Context{Setup: &m.legal.setup, Report: &m.legal.report, Theme: m.look.theme, Glyphs: m.look.glyphs}
	if !m.now.report.Legal {
		in.Theme = m.look.dim
	}
	in.Glow = m.glow != nil
	figures := explore.Brief(in, m.before)
	key := func(id string) string { return m.shown(m.binding(id).Keys()[0], id) }
	keys := knobs.Keys{Before: key("knob-before"), After: key("knob-after"), Down: key("knob-turn-down"), Up: key("knob-turn-up")}
	l, hits, caret := c.Strip(keys, w, max(min(w/2-28, 44), 0))
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
		{ID: "knob-turn-down", Keys: "(", Help: "turn the knob in the line above down, on every screen", When: in, Blind: true, Ask: turn(-1)},
		{ID: "knob-turn-up", Keys: ")", Help: "turn the knob in the line above up, on every screen", When: in, Blind: true, Ask: turn(1)},
		{ID: "knob-before", Keys: "{", Help: "knob before, on every screen", When: in, Blind: true, Ask: move(-1)},
		{ID: "knob-after", Keys: "}", Help: "knob after, on every screen", When: in, Blind: true, Ask: move(1)},
		{ID: "knob-type", Keys: "#", Help: "type a value for the knob, on every screen", When: in, Ask: m.act(state.Action{Verb: state.Type})},
	}
	for i, s := range m.screens.all {
		number := strconv.Itoa(i + 1)
		keys = append(keys, screen.Key{ID: "screen-" + number, Keys: "alt+" + number, Help: s.Name() + " screen", Also: screenWords(s.Name()), Blind: true, Ask: m.act(state.Action{Verb: state.GoTab, N: i})})
	}
	return keys
}
