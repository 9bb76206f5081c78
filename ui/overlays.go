package ui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/presets/setupdoc"
	"meshscope/report"
	"meshscope/ui/frame"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// opening returns what opens an overlay: pushes it, or says why there is none.
func (m *Model) opening(id overlay.ID) overlay.Action {
	switch id {
	case overlay.HelpID:
		return m.palette()
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
		return overlay.Push{ID: id, Overlay: m.wholeRun().List()}
	case overlay.AdviceID:
		return m.advice()
	case overlay.ReportID:
		return m.decision()
	default: // opened from one of these, or by typing
		return nil
	}
}

// wholeRun returns the run of the current setup; choosing an input of it leads to its knob.
func (m *Model) wholeRun() *overlay.WholeRun {
	return &overlay.WholeRun{
		Setup: &m.state.Setup, Run: m.now.report.Run,
		Typical: engine.TypicalRun(&m.now.setup, m.now.report.Time), Glyphs: m.look.glyphs,
		Explain: func(figure string) overlay.Action {
			if book, ok := explain.Of(m.now.setup); ok {
				return overlay.Explanation(book, figure, m.explainKeys())
			}
			return overlay.Close{}
		},
		Edit: func(id knob.ID) overlay.Action {
			return closing(state.Action{Verb: state.GoTab, N: int(state.ExploreTab)},
				state.Action{Verb: state.FocusKnob, ID: id}, state.Action{Verb: state.Type})
		},
		Set: func(id knob.ID, text string) overlay.Action {
			return closing(state.Action{Verb: state.SetKnob, ID: id, Text: text},
				state.Action{Verb: state.FocusKnob, ID: m.state.Focus},
				state.Action{Verb: state.Open, Overlay: overlay.RunID})
		},
	}
}

// closing closes all overlays and does something else after.
func closing(then ...overlay.Action) overlay.Action {
	return append(overlay.Sequence{overlay.Close{}}, then...)
}

// carry does what an overlay asks for.
func (m *Model) carry(a overlay.Action) tea.Cmd {
	switch a := a.(type) {
	case overlay.Close:
		if s := m.onStage(); s != nil && m.staged() == nil { // what lies over a lesson closes down to it
			for m.staged() == nil {
				m.overlays.Pop()
			}
			return nil
		}
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

// later is an overlay's action that is computed when its turn comes.
type later func() tea.Cmd

// readMsg brings the list that an overlay waits for, which makes it when it is taken; or,
// without one, why there is none.
type readMsg struct {
	waiting *overlay.Waiting
	list    func() overlay.Overlay
	why     string
}

// takeRead puts a list in the place where it is waited for, if it still is, and gives it
// the keys that came before.
func (m *Model) takeRead(msg readMsg) tea.Cmd {
	if msg.list == nil {
		if m.overlays.Top() != overlay.Overlay(msg.waiting) {
			return nil
		}
		m.overlays.Pop()
		return m.carry(refusal(msg.why))
	}
	if !m.overlays.Replace(msg.waiting, msg.list()) {
		return nil
	}
	var cmds []tea.Cmd
	for _, held := range msg.waiting.Held() {
		_, cmd := m.update(held)
		cmds = append(cmds, cmd)
	}
	return tea.Batch(cmds...)
}

// typing returns the value that is being typed; nil where none is.
func (m *Model) typing() *overlay.Value {
	v, _ := m.overlays.Top().(*overlay.Value)
	return v
}

// follow keeps the open overlays in step with the state: a note goes with its knob, and a
// value that is typed is dropped where the focus leaves its knob.
func (m *Model) follow() {
	switch v := m.typing(); {
	case v != nil && (v.Knob != m.state.Focus || !m.turnable()):
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
	return d.Over(lines), caretOf(d)
}

// caretOf returns the caret of a box; nil where it has none.
func caretOf(d overlay.Drawn) *tea.Cursor {
	if d.CaretX < 0 {
		return nil
	}
	return tea.NewCursor(d.CaretX, d.CaretY)
}

// presetList offers models or clusters, which are read when they are first asked for.
func (m *Model) presetList(id overlay.ID) overlay.Action {
	list := func() overlay.Overlay {
		if id == overlay.ModelID {
			p := m.catalog.Models(m.look.glyphs, m.state.Setup.Model.ID,
				func(chosen *model.Model) overlay.Action {
					return closing(state.Action{Verb: state.UseModel, Model: chosen})
				})
			p.Typed = func(text string) (overlay.Action, string) {
				if !isPath(text) || !m.options.Library.ReadsModels() {
					return nil, ""
				}
				return m.modelFile(p, text), "enter reads this file"
			}
			return p
		}
		p := m.catalog.Clusters(m.look.glyphs, m.state.Setup.Cluster.ID,
			func(chosen *hardware.Cluster) overlay.Action {
				return closing(state.Action{Verb: state.UseCluster, Cluster: chosen})
			})
		p.Typed = func(text string) (overlay.Action, string) {
			id, fields, _ := strings.Cut(text, ",")
			if !strings.Contains(id, "=") && setupdoc.IsChanges(fields) { // a machine, and what differs
				kind := "gpu="
				if _, err := m.options.Library.Cluster(strings.TrimSpace(id)); err == nil {
					kind = "cluster="
				}
				text = kind + text
			}
			if !setupdoc.IsChanges(text) {
				return nil, ""
			}
			return later(func() tea.Cmd {
				a, err := m.changed(text)
				if err != nil {
					p.Wrong = err.Error()
					return nil
				}
				return m.carry(closing(a))
			}), "enter changes this"
		}
		return p
	}
	if m.catalog != nil {
		return overlay.Push{ID: id, Overlay: list()}
	}
	w, library := new(overlay.Waiting), m.options.Library
	return overlay.Sequence{overlay.Push{ID: id, Overlay: w}, m.guard(func() tea.Msg {
		read := overlay.ReadCatalog(library)
		return readMsg{waiting: w, list: func() overlay.Overlay {
			m.catalog = read
			return list()
		}}
	})}
}

// figureList explains every figure of the setup under the cursor, else of the one in
// force, for a list to choose from.
func (m *Model) figureList() overlay.Action {
	setup, known, title, at := m.legal.setup, m.legal.report.Legal, "FIGURES", ""
	if s := m.screen(); s != nil && m.shows() {
		c := m.context()
		if under, name := screen.SetupAtCursor(s, c); under != nil {
			setup, known = *under, true
			if name != "" {
				title += " of " + name
			}
		}
		if p, ok := s.(screen.Pointer); ok {
			at = p.Figure(c)
		}
	}
	if !known {
		return refusal(noFigures)
	}
	w, keys := new(overlay.Waiting), m.explainKeys()
	return overlay.Sequence{overlay.Push{ID: overlay.FiguresID, Overlay: w}, m.guard(func() tea.Msg {
		book, ok := explain.Of(setup)
		if !ok {
			return readMsg{waiting: w, why: noFigures}
		}
		list := overlay.Figures(book, title, at, keys)
		return readMsg{waiting: w, list: func() overlay.Overlay { return list }}
	})}
}

// noFigures says why there is nothing to explain.
const noFigures = "an illegal setup has no figures to explain: enter takes the nearest legal values"

// refusal says why something is not opened.
func refusal(why string) overlay.Action {
	return state.Action{Verb: state.Say, Tone: state.Trouble, Text: why}
}

// explainKeys returns those of the program that an explanation has.
func (m *Model) explainKeys() []overlay.Bound {
	return []overlay.Bound{{Key: m.binding("explain"), Action: overlay.Close{}}}
}

// roomy is the width from which the list of words has room for other names.
const roomy = 100

// glossaryList lists the words, at that of the focused knob.
func (m *Model) glossaryList() *overlay.Picker {
	at, first := "", []int(nil)
	switch s := m.onStage(); {
	case s != nil: // what the act says, the header above it too
		first = m.lexicon.In(s.Play.Words() + " MFU exposed rank")
		if len(first) > 0 {
			at = m.lexicon.Glossary()[first[0]].Term
		}
	case m.state.Tab == state.ExploreTab:
		p, _ := knob.Find(m.state.Focus)
		at = p.Label
	}
	return m.lexicon.List(m.look.glyphs, at, m.caps.Width >= roomy, first)
}

// study returns what a card of the glossary shows of the setup: nothing while a question is open, of
// an illegal setup, or where it would take long.
func (m *Model) study(name string, g widget.Glyphs) []overlay.Paragraph {
	if m.asking() || !m.now.report.Legal || m.now.setup.Slow() {
		return nil
	}
	c, ok := report.NewCard(name, &m.now.setup)
	if !ok {
		return []overlay.Paragraph{{Label: "here", Text: "this setup has none"}}
	}
	return overlay.Study(&c, g)
}

// startTyping opens the focused knob for a typed value.
func (m *Model) startTyping(text string) {
	v := overlay.NewValue(m.state.Focus, text)
	for _, k := range []tea.KeyPressMsg{
		{Code: tea.KeyUp}, {Code: tea.KeyDown}, {Code: tea.KeyTab}, {Code: tea.KeyTab, Mod: tea.ModShift},
	} {
		v.Keys = append(v.Keys, overlay.Bound{
			Key: key.NewBinding(key.WithKeys(k.String())),
			Action: later(func() tea.Cmd {
				if !m.overlays.Empty() { // the value has asked a question
					return nil
				}
				return m.handleKey(k)
			}),
		})
	}
	v.Take = func(text string) (overlay.Action, error) {
		if setupdoc.IsChanges(text) {
			return m.changed(text)
		}
		return state.Typed(&m.state, v.Knob, text)
	}
	m.carry(closing(overlay.Push{ID: overlay.ValueID, Overlay: v}))
}
