package ui

import (
	tea "charm.land/bubbletea/v2"

	"meshscope/ui/frame"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// opening is what opens an overlay: pushes it, or says why there is none.
func (m *Model) opening(id overlay.ID) overlay.Action {
	switch id {
	case overlay.HelpID:
		return overlay.Push{ID: id, Overlay: m.keyList()}
	case overlay.ModelID, overlay.ClusterID:
		return m.presetList(id)
	case overlay.FiguresID:
		return m.figureList()
	case overlay.NoteID:
		return overlay.Push{ID: id, Overlay: m.noteCard()}
	case overlay.GlossaryID:
		return overlay.Push{ID: id, Overlay: m.glossaryList()}
	case overlay.ExportID:
		return m.exportList(m.screen().Name(), m.tables())
	case overlay.TerminalID:
		return overlay.Push{ID: id, Overlay: m.terminalCard()}
	case overlay.RunID:
		return overlay.Push{ID: id, Overlay: m.runList()}
	case overlay.AdviceID:
		return m.advice()
	}
	return nil
}

// closing closes all overlays and does something else after.
func closing(then ...overlay.Action) overlay.Action {
	return append(overlay.Sequence{overlay.Close{}}, then...)
}

// carry does what an overlay asks for.
func (m *Model) carry(a overlay.Action) tea.Cmd {
	switch a := a.(type) {
	case overlay.Close:
		m.overlays.Clear()
	case overlay.Back:
		m.overlays.Pop()
	case overlay.Push:
		m.overlays.Push(a.ID, a.Overlay)
	case overlay.Sequence:
		cmds := make([]tea.Cmd, 0, len(a))
		for _, one := range a {
			cmds = append(cmds, m.carry(one))
		}
		return tea.Batch(cmds...)
	case state.Action:
		return m.do(a)
	case later:
		return a()
	case tea.Cmd:
		return a
	}
	return nil
}

// later is an overlay's action that is worked out when its turn comes.
type later func() tea.Cmd

// readMsg brings the list that an overlay waits for, which makes it when it is taken.
type readMsg struct {
	waiting *overlay.Waiting
	list    func() overlay.Overlay
}

// takeRead puts a list in the place where it is waited for, if it still is, and gives it
// the keys that came before.
func (m *Model) takeRead(msg readMsg) tea.Cmd {
	if !m.overlays.Replace(msg.waiting, msg.list()) {
		return nil
	}
	var cmds []tea.Cmd
	for _, k := range msg.waiting.Keys() {
		cmds = append(cmds, m.handleKey(k))
	}
	return tea.Batch(cmds...)
}

// typing is the value that is being typed; nil where none is.
func (m *Model) typing() *overlay.Value {
	v, _ := m.overlays.Top().(*overlay.Value)
	return v
}

// follow keeps what is open in step with the state: a note goes with its knob, and a
// value that is typed is dropped where the focus leaves its knob.
func (m *Model) follow() {
	switch v := m.typing(); {
	case v != nil && (v.Knob != m.state.Focus || m.state.Tab != state.ExploreTab):
		m.overlays.Clear()
	case m.overlays.ID() == overlay.NoteID:
		m.overlays.Replace(m.overlays.Top(), m.noteCard())
	}
}

// withOverlay lays a box over the page. Its keys are not those of the page, and half a
// sentence of the foot says nothing: below the box both are left out.
func (m *Model) withOverlay(d overlay.Drawn, lines []string, r frame.Rects) ([]string, *tea.Cursor) {
	h := m.caps.Height
	foot := h - screenFoot
	if m.state.Tab == state.ExploreTab {
		foot = r.Foot.Y
	}
	if end := d.Y + len(d.Lines); end <= foot {
		foot = h - 1
	}
	for y := max(foot, 0); y < len(lines); y++ {
		lines[y] = widget.Blank(m.caps.Width)
	}
	var cursor *tea.Cursor
	if d.CaretX >= 0 {
		cursor = tea.NewCursor(d.CaretX, d.CaretY)
	}
	return d.Over(lines), cursor
}
