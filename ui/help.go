package ui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"

	"meshscope/themes"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// keyList is the list of all keys, then of screens, knobs and words; choosing a line
// runs it or goes there.
func (m *Model) keyList() *overlay.Picker {
	entries := m.helpEntries()
	items := make([]overlay.Item, 0, len(entries))
	names := strings.NewReplacer()
	if !m.look.glyphs.Unicode {
		names = strings.NewReplacer("←", "left", "→", "right", "↑", "up", "↓", "down", "…", "-")
	}
	for _, e := range entries {
		h := e.binding.Help()
		title := h.Desc
		if e.own || m.keys.changed(e.binding) {
			title += " (your key)"
		}
		if e.off != "" {
			title += " (" + e.off + ")"
		}
		items = append(items, overlay.Item{Title: title, Name: names.Replace(h.Key), Off: e.off != "", Hidden: e.also})
	}
	leads := m.destinations()
	for _, d := range leads {
		items = append(items, d.item)
	}
	p := overlay.NewPicker("KEYS", "type a key, screen, knob or word · enter runs · esc closes", items, 0)
	p.Choose = func(i int) overlay.Action {
		switch {
		case i >= len(entries):
			return leads[i-len(entries)].leads
		case entries[i].press != "":
			return closing(state.Action{Verb: state.Press, Text: entries[i].press})
		}
		return closing(entries[i].action)
	}
	return p
}

// helpEntries are the keys of the screen in front, then those that it leaves to
// the program.
func (m *Model) helpEntries() []entry {
	all := m.keys.entries(&m.state, m.fixAction())
	s := m.screen()
	if s == nil {
		return all
	}
	var list []entry
	taken := map[string]bool{}
	for _, b := range screen.Bindings(s, m.context()) {
		shown := strings.NewReplacer("left", "←", "right", "→", "up", "↑", "down", "↓", "pgup", "pgup", "pgdown", "pgdn")
		if !m.look.glyphs.Unicode {
			shown = strings.NewReplacer()
		}
		names := b.Keys[:min(2, len(b.Keys))] // the others mean the same
		list = append(list, entry{
			binding: key.NewBinding(key.WithKeys(b.Keys...), key.WithHelp(shown.Replace(strings.Join(names, " ")), b.Text)),
			press:   b.Keys[0],
			own:     b.Own,
		})
		for _, name := range b.Keys {
			taken[name] = true
		}
	}
	own := map[string]bool{}
	for _, b := range m.keys.everywhere() {
		own[b.Help().Desc] = true
	}
	for _, e := range all {
		free := slices.ContainsFunc(e.binding.Keys(), func(name string) bool { return !taken[name] })
		switch {
		case !own[e.binding.Help().Desc] || e.action.Verb == state.Type:
		case free:
			list = append(list, e)
		case e.action.Verb != state.Dismiss && e.action.Verb != state.TakeFix && e.action.Verb != state.UseSetup:
			// The screen has taken its keys; from here it can be run all the same.
			e.binding = key.NewBinding(key.WithHelp("", e.binding.Help().Desc))
			list = append(list, e)
		}
	}
	return list
}

// short is a binding in the help line: the key and one word.
type short struct {
	binding key.Binding
	shown   string
	word    string
}

// helpLine is the last line: what can be done now, most needed first. The
// order is that of being dropped from the right on narrow screens. It is empty
// while a list or card is open, which says its own keys.
func (m *Model) helpLine(w int) string {
	l := widget.NewLine(w)
	if !m.overlays.Empty() && m.typing() == nil {
		return l.String()
	}
	t := m.look.theme
	for i, s := range m.shortHelp() {
		need := widget.Width(s.shown) + 1 + widget.Width(s.word)
		if i > 0 {
			need += 2
		}
		if l.Left() < need {
			break
		}
		if i > 0 {
			l.Gap(2)
		}
		l.Put(t.Paint(themes.Key), s.shown).Gap(1).Put(t.Paint(themes.Muted), s.word)
	}
	return l.String()
}

func (m *Model) shortHelp() []short {
	k := &m.keys
	if m.typing() != nil {
		return []short{{k.Fix, "enter", "takes the value"}, {k.Force, "esc", "leaves it as it was"}}
	}
	line := []short{{k.Help, k.shown("?", k.Help), "help"}, {k.Quit, k.shown("q", k.Quit), "quit"}}
	if words := m.fixText(); words != "" {
		line = append([]short{{k.Fix, "enter", "sets " + words}}, line...)
	}
	arrows := "↑↓"
	if !m.look.glyphs.Unicode {
		arrows = "up down"
	}
	line = append(line, short{k.Up, k.shown(arrows, k.Up, k.Down), "knob"})
	turn := "←→"
	if !m.look.glyphs.Unicode {
		turn = "left right"
	}
	line = append(line, short{k.Left, k.shown(turn, k.Left, k.Right), "turn"}, short{k.Type, "0-9", "type"})
	if m.pages() > 1 {
		line = append(line, short{k.PageUp, k.shown("[ ]", k.PageUp, k.PageDown), "ranks"})
	}
	line = append(line, short{k.Note, k.shown("i", k.Note), "why"}, short{k.Explain, k.shown("e", k.Explain), "explain"}, short{k.NextTab, k.shown("tab", k.NextTab), m.neighbourTab(1).String()})
	if m.state.Past() > 0 {
		line = append(line, short{k.Undo, k.shown("u", k.Undo), "undo"})
	}
	line = append(line, short{k.Advice, k.shown("a", k.Advice), "advice"}, short{k.Model, k.shown("m", k.Model), "model"}, short{k.Cluster, k.shown("g", k.Cluster), "cluster"})
	if state.HasLock(m.state.Focus) {
		line = append(line, short{k.Lock, k.shown("f", k.Lock), "flip lock"})
	}
	return append(line, short{k.Words, k.shown("w", k.Words), "words"}, short{k.Export, k.shown("x", k.Export), "export"}, short{k.Theme, k.shown("t", k.Theme), "theme"}, short{k.Mouse, k.shown("M", k.Mouse), "mouse"}, short{k.Suspend, k.shown("ctrl+z", k.Suspend), "suspend"})
}
