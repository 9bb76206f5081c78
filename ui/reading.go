package ui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/presets/words"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
)

// reading is what is said in words: the notes on knobs, the glossary, and the
// card of either that is open.
type reading struct {
	notes map[engine.ParamID]words.Method
	words []words.Word
	known map[string]bool // names of the words, in lower case
	card  *overlay.Card
	path  []int // words on the way to the one on the card
}

// openNote opens the note on the focused knob.
func (m *Model) openNote() {
	if m.reading.notes == nil {
		// The file is the program's own; tests hold it sound.
		m.reading.notes, _ = words.Methods()
	}
	p, _ := engine.FindParam(m.state.Focus)
	note := m.reading.notes[p.ID]
	card := overlay.Card{
		Title: "KNOB", Remark: "--" + string(p.ID),
		Name: note.Name, Value: knobs.Show(&p, p.Text(m.state.Setup)), About: p.Allowed(),
		Paragraphs: slices.Concat([]overlay.Paragraph{
			{Label: "cuts", Text: note.Cuts},
			{Label: "costs", Text: note.Costs},
		}, m.noteFigures(), []overlay.Paragraph{
			{Label: "when", Text: note.Use},
			{Label: "watch", Text: note.Watch},
			{Label: "source", Text: note.Source},
		}),
	}
	if !strings.EqualFold(p.Label, note.Name) {
		card.Name = p.Label + ", " + note.Name
	}
	if why := knobs.Off(&m.state.Setup, p.ID); why != "" {
		card.Value = "no effect here: " + why
	}
	dot := " " + m.look.glyphs.Dot + " "
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == p.ID && len(r.Shown) > 1 {
			card.About = "legal here: " + strings.Join(r.Shown, "  ")
		}
	}
	card.Hint = strings.Join([]string{"up/down other knobs", "left/right turn it", m.keys.shown("i", m.keys.Note) + " or esc closes"}, dot)
	m.reading.card = overlay.NewCard(card, m.caps.width, m.caps.height)
}

// noteKey turns and changes the knob below the note, which follows.
func (m *Model) noteKey(msg tea.KeyPressMsg) tea.Cmd {
	var a Action
	switch k := &m.keys; {
	case key.Matches(msg, k.Up):
		a = Action{Verb: MoveFocus, N: -1}
	case key.Matches(msg, k.Down):
		a = Action{Verb: MoveFocus, N: 1}
	case key.Matches(msg, k.Left):
		a = Action{Verb: TurnKnob, N: -1}
	case key.Matches(msg, k.Right):
		a = Action{Verb: TurnKnob, N: 1}
	case key.Matches(msg, k.Note):
		return m.do(Action{Verb: Close})
	default:
		if m.reading.card.HandleKey(msg) == overlay.Closed {
			return m.do(Action{Verb: Close})
		}
		return nil
	}
	cmd := m.do(a)
	m.openNote()
	return cmd
}

// glossary is every word; the file is read when it is first asked for.
func (m *Model) glossary() []words.Word {
	if m.reading.words == nil {
		m.reading.words, _ = words.Glossary() // the program's own, as above
	}
	return m.reading.words
}

// known says which words of the screen are in the glossary; nil where they are
// not to be marked.
func (m *Model) known() func(string) bool {
	if m.state.Unmarked {
		return nil
	}
	if m.reading.known == nil {
		m.reading.known = map[string]bool{}
		for _, w := range m.glossary() {
			for _, name := range w.Names() {
				m.reading.known[strings.ToLower(name)] = true
			}
		}
	}
	known := m.reading.known
	return func(word string) bool { return known[strings.ToLower(word)] }
}

// roomy is the width from which the list of words has room for other names.
const roomy = 100

// openGlossary lists the words, at that of the focused knob.
func (m *Model) openGlossary() {
	all := m.glossary()
	items := make([]overlay.Item, 0, len(all))
	for i := range all {
		w := &all[i]
		item := overlay.Item{Title: w.Term, Fields: []string{w.Means}, Prose: true, Hidden: slices.Concat(w.Also, w.Labels)}
		if m.caps.width >= roomy && len(w.Also) > 0 && len(w.Also[0]) <= 30 {
			item.Name = w.Also[0]
		}
		items = append(items, item)
	}
	at := 0
	if m.state.Tab == ExploreTab {
		p, _ := engine.FindParam(m.state.Focus)
		at, _ = words.Find(all, p.Label)
	}
	m.picker = overlay.New("GLOSSARY", "type to search "+m.look.glyphs.Dot+" enter reads "+m.look.glyphs.Dot+" esc closes", items, at)
	m.picker.Resize(m.caps.height)
	m.reading.path = nil
}

// openWord goes on to a word of the glossary.
func (m *Model) openWord(i int) {
	m.reading.path = append(m.reading.path, i)
	m.showWord()
}

// showWord makes the card of the word that the path ends with.
func (m *Model) showWord() {
	w := &m.glossary()[m.reading.path[len(m.reading.path)-1]]
	dot := " " + m.look.glyphs.Dot + " "
	hint := []string{"esc back", "q closes"}
	if len(w.See) > 0 {
		hint = append([]string{"enter goes on"}, hint...)
	}
	m.reading.card = overlay.NewCard(overlay.Card{
		Title: "WORD", Remark: "glossary", Name: w.Term, About: strings.Join(w.Also, ", "),
		Paragraphs: []overlay.Paragraph{
			{Label: "means", Text: w.Means},
			{Label: "formula", Text: w.Formula},
			{Label: "unit", Text: w.Unit},
			{Label: "source", Text: w.Source},
		},
		Links: w.See, Hint: strings.Join(hint, dot),
	}, m.caps.width, m.caps.height)
}

// wordKey reads on, or goes back to the word before or to the list.
func (m *Model) wordKey(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "q" {
		return m.do(Action{Verb: Close})
	}
	if s := msg.String(); s == "left" || s == "h" {
		msg = tea.KeyPressMsg{Code: tea.KeyEscape}
	}
	switch m.reading.card.HandleKey(msg) {
	case overlay.Closed:
		m.reading.path = m.reading.path[:len(m.reading.path)-1]
		if len(m.reading.path) > 0 {
			m.showWord()
			return nil
		}
		m.reading.card = nil // the list is below it
	case overlay.Chosen:
		m.followLink()
	case overlay.Open:
	}
	return nil
}

// followLink opens the word that the card's chosen link names.
func (m *Model) followLink() {
	i, ok := m.reading.card.Link()
	if !ok {
		return
	}
	name := m.glossary()[m.reading.path[len(m.reading.path)-1]].See[i]
	if at, ok := words.Find(m.glossary(), name); ok {
		m.openWord(at)
	}
}

// cardMouse scrolls, follows a click on a link and closes on one outside.
func (m *Model) cardMouse(msg tea.MouseMsg) tea.Cmd {
	c := m.reading.card
	at := msg.Mouse()
	switch mouseButton(msg) {
	case "left":
		d := c.Render(m.look.theme, m.look.glyphs, m.caps.width, m.caps.height)
		if at.Y < d.Y || at.Y >= d.Y+len(d.Lines) {
			return m.do(Action{Verb: Close})
		}
		if c.ClickRow(at.Y-d.ListY) && m.state.Overlay == GlossaryOverlay {
			m.followLink()
		}
	case "wheelup":
		c.Move(-1)
	case "wheeldown":
		c.Move(1)
	}
	return nil
}
