package ui

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/lessons"
	"meshscope/presets/setupdoc"
	"meshscope/report"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/session"
	"meshscope/ui/state"
)

// entry is one line of the list of keys.
type entry struct {
	screen.Key
	shown  string // how the keys are written
	custom bool   // a file of keys has changed them
	run    func() tea.Cmd
}

// palette opens the list of all keys, then of knobs, actions of other screens, models, clusters,
// figures and words; choosing a line runs it or goes there.
func (m *Model) palette() overlay.Action {
	entries := m.keyEntries()
	items := make([]overlay.Item, 0, len(entries))
	for _, e := range entries {
		title := e.Help
		if e.custom {
			title += " (your key)"
		}
		if e.Off != "" {
			title += " (" + e.Off + ")"
		}
		item := overlay.Item{
			Title: title, Name: e.shown, Off: e.Off != "", Hidden: e.Also,
			Group: cmp.Or(string(e.Group), strings.ToLower(m.screen().Name())),
		}
		if strings.HasPrefix(e.ID, "screen-") { // what acts comes before where to look
			item.Rank = rankKnob
		}
		items = append(items, item)
	}
	leads := m.destinations()
	for _, d := range leads {
		items = append(items, d.item)
	}
	p := overlay.NewPicker("KEYS",
		overlay.Hint(m.look.glyphs, "type an action, screen, knob, model, figure or word", "enter runs",
			"esc closes"), items, 0)
	p.Choose = func(i int) overlay.Action {
		if i >= len(entries) {
			return leads[i-len(entries)].leads
		}
		return closing(later(entries[i].run))
	}
	p.Best = 10
	p.First, p.Typed = true, func(text string) (overlay.Action, string) {
		if !setupdoc.IsShare(text) {
			return nil, ""
		}
		return closing(m.takeText(text)), "enter takes this setup"
	}
	return overlay.Sequence{overlay.Push{ID: overlay.HelpID, Overlay: p}, m.readPalette(p)}
}

// keyEntries returns the keys of the screen in front, then those that it leaves to the
// program. What it has taken the keys of can be run from here all the same.
func (m *Model) keyEntries() []entry {
	var list []entry
	taken := map[string]bool{}
	if c := m.context(); m.shows() {
		for _, k := range screen.Listed(m.screen().Keys(c)) {
			names := k.Names(c.Own)
			for _, name := range names {
				taken[name] = true
			}
			list = append(list, entry{k, k.Shown(c.Own, c.Glyphs), k.Changed(c.Own), func() tea.Cmd {
				cmd, _ := m.screenKey(names[0])
				return cmd
			}})
		}
	}
	own := m.options.Keys
	for _, k := range screen.Listed(m.programKeys()) {
		names, shown := k.Names(own), k.Shown(own, m.look.glyphs)
		if !slices.ContainsFunc(names, func(name string) bool { return !taken[name] }) {
			if shown = ""; k.ID == "" {
				continue
			}
		}
		list = append(list,
			entry{k, shown, k.Changed(own), func() tea.Cmd { return m.handle(k.Run(1, names[0])) }})
	}
	groups := screen.Groups()
	rank := func(e entry) int {
		if n := 2 * slices.Index(groups, e.Group); e.Off == "" {
			return n
		} else { // what cannot be done now comes last in its group
			return n + 1
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// Ranks of the kinds of destinations among those that match what was typed equally well.
const (
	rankKnob = iota + 1 // after keys
	rankElsewhere
	rankPreset
	rankFigure
	rankWord
)

// destination is a line of the palette that leads somewhere, rather than a key of the moment: a
// knob, an action of another screen, a model, a cluster, a figure, a word of the glossary.
type destination struct {
	item  overlay.Item
	leads overlay.Action
}

// destinations returns everything that is known without reading: knobs, the actions of the other
// screens, and words, so that whatever is on a screen can be typed into the palette.
func (m *Model) destinations() []destination {
	var all []destination
	for _, id := range knobs.Order(&m.state.Setup) {
		p, _ := knob.Find(id)
		to := []overlay.Action{state.Action{Verb: state.FocusKnob, ID: id}}
		if !m.turnable() {
			to = slices.Insert(to, 0,
				overlay.Action(state.Action{Verb: state.GoTab, N: int(state.ExploreTab)}))
		}
		all = append(all, destination{
			overlay.Item{
				Title: "knob " + p.Label, Name: "--" + string(id),
				Hidden: append([]string{string(id), p.Label, m.lexicon.Methods()[id].Name}, knobWords(id)...),
				Rank:   rankKnob, Group: "knobs",
			},
			closing(to...),
		})
	}
	for i, s := range m.screens.all {
		if state.Tab(i) != m.state.Tab {
			all = append(all, m.elsewhere(state.Tab(i), s)...)
		}
	}
	return append(all, m.words()...)
}

// words returns the words of the glossary.
func (m *Model) words() []destination {
	var all []destination
	glossary := m.lexicon.Glossary()
	for i := range glossary {
		w := &glossary[i]
		all = append(all, destination{
			overlay.Item{
				Title: "word " + w.Term, Hidden: slices.Concat(w.Also, w.Labels),
				Rank: rankWord, Group: "words",
			},
			closing(state.Action{Verb: state.Open, Overlay: overlay.GlossaryID},
				m.lexicon.Word(m.look.glyphs, i)),
		})
	}
	return all
}

// elsewhere returns the actions of a screen that is not in front: choosing one goes there and does
// it, if the screen can.
func (m *Model) elsewhere(tab state.Tab, s screen.Screen) []destination {
	var out []destination
	own := m.ownKeys(tab)
	rows := s.Keys(nil)
	for i := range rows {
		k := &rows[i]
		again := slices.ContainsFunc(rows[:i], func(other screen.Key) bool { return other.Help == k.Help })
		if k.ID == "" || k.Help == "" || again {
			continue
		}
		out = append(out, destination{
			overlay.Item{
				Title: k.Help + ", on " + s.Name(), Name: k.Shown(own, m.look.glyphs),
				Hidden: k.Also, Rank: rankElsewhere, Group: strings.ToLower(s.Name()),
			},
			closing(state.Action{Verb: state.GoTab, N: int(tab)},
				later(func() tea.Cmd { return m.pressThere(k.ID) })),
		})
	}
	return out
}

// pressThere does an action of the screen in front, by its name.
func (m *Model) pressThere(id string) tea.Cmd {
	if m.shows() {
		c := m.context()
		for _, k := range screen.Listed(m.screen().Keys(c)) {
			if k.ID == id {
				cmd, _ := m.screenKey(k.Names(c.Own)[0])
				return cmd
			}
		}
	}
	return m.do(state.Action{
		Verb: state.Say, Tone: state.Answer,
		Text: m.screen().Name() + " cannot do that in this view",
	})
}

// paletteMsg brings what the palette has to read: presets, and the figures of the setup.
type paletteMsg struct {
	palette *overlay.Picker
	catalog *overlay.Catalog
	book    *explain.Book // nil: the setup has no figures
	recent  []engine.Setup
	lessons []*lessons.Lesson
	leftOut []error // of own lessons
	demos   []lessons.Demo
}

// readPalette reads models, clusters and figures for an open palette.
func (m *Model) readPalette(p *overlay.Picker) tea.Cmd {
	taught := m.readLessons()
	catalog, library, setup, legal := m.catalog, m.options.Library, m.legal.setup, m.legal.report.Legal
	recent, before := slices.Clone(m.left), [session.MaxRecent]string{}
	if m.options.Last != nil {
		before = m.options.Last.Recent
	}
	return m.guard(func() tea.Msg {
		if catalog == nil {
			catalog = overlay.ReadCatalog(library)
		}
		msg := paletteMsg{palette: p, catalog: catalog}
		msg.lessons, msg.leftOut = taught()
		msg.demos, _ = lessons.Demos(library) // all of them are sound, as a test says
		if book, ok := explain.Of(setup); ok && legal {
			msg.book = book
		}
		for _, text := range before {
			if d, err := setupdoc.Shared(text); err == nil {
				if s, err := d.Setup(library); err == nil && !slices.Contains(recent, s) {
					recent = append(recent, s)
				}
			}
		}
		msg.recent = slices.DeleteFunc(recent, func(s engine.Setup) bool { return s == setup })
		msg.recent = msg.recent[:min(len(msg.recent), session.MaxRecent)]
		return msg
	})
}

// takePalette adds what was read to the palette, if it is still open.
func (m *Model) takePalette(msg paletteMsg) {
	m.catalog = msg.catalog
	if m.overlays.Top() != overlay.Overlay(msg.palette) {
		return
	}
	items, choose := m.catalog.Everything(
		func(chosen *model.Model) overlay.Action {
			return closing(state.Action{Verb: state.UseModel, Model: chosen})
		},
		func(chosen *hardware.Cluster) overlay.Action {
			return closing(state.Action{Verb: state.UseCluster, Cluster: chosen})
		})
	for i := range items {
		items[i].Rank, items[i].Group = rankPreset, "presets"
	}
	msg.palette.Extend(items, choose)
	m.extendRecent(msg)
	m.offerLessons(lessonsMsg{msg.palette, msg.lessons, msg.leftOut})
	m.offerDemos(msg.palette, msg.demos)
	if msg.book == nil {
		return
	}
	figures := overlay.FigureItems(msg.book)
	for i := range figures {
		figures[i].Title, figures[i].Rank = "figure "+figures[i].Title, rankFigure
		figures[i].Group = "figures"
	}
	msg.palette.Extend(figures,
		func(i int) overlay.Action { return overlay.Explanation(msg.book, figures[i].Name, m.explainKeys()) })
}

// extendRecent adds the setups that were left.
func (m *Model) extendRecent(msg paletteMsg) {
	items := make([]overlay.Item, len(msg.recent))
	for i := range msg.recent {
		s := &msg.recent[i]
		items[i] = overlay.Item{
			Title: "recent setup " + s.Model.Name, Name: report.SetupName(s),
			Rank: rankPreset, Group: "recent",
		}
	}
	msg.palette.Extend(items, func(i int) overlay.Action {
		return closing(state.Action{Verb: state.UseSetup, Setup: &msg.recent[i], Text: "recent setup"})
	})
}

// knobWords returns what else people call a knob, and its values.
func knobWords(id knob.ID) []string {
	switch id {
	case knob.Schedule:
		return []string{"bubble", "1f1b", "zero bubble", "dualpipe", "interleaving"}
	case knob.Split:
		return []string{"imbalance", "balance", "uneven stages"}
	case knob.Tokens:
		return []string{"days", "cost", "budget", "whole run"}
	case knob.Recompute:
		return []string{"checkpointing", "activation checkpointing", "oom"}
	default:
		if k, ok := knob.Find(id); ok && k.Kind == knob.Choice {
			return k.Choices
		}
		return nil
	}
}

// screenWords returns what else people look for on a screen.
func screenWords(name string) []string {
	return map[string][]string{
		"Memory":   {"oom", "out of memory", "activations"},
		"Pipeline": {"bubble", "imbalance", "timeline", "schedules", "gaps"},
		"Network":  {"bandwidth", "traffic", "exposed", "topology"},
		"Search":   {"best layout", "guide", "launch", "optimizer", "deadline", "fewest gpus"},
		"Compare":  {"difference", "what if"},
		"Scan":     {"sweep", "curve"},
		"Evidence": {"accuracy", "validation", "error band", "measured"},
	}[name]
}

// isPath reports whether what was typed into the list of models names a file.
func isPath(text string) bool {
	return strings.ContainsAny(text, `/\`) || strings.HasSuffix(text, ".json") ||
		strings.HasSuffix(text, ".toml")
}

// modelFile reads a model from a config.json or a preset file, whose name was typed into a list. The
// list closes where the model could be read.
func (m *Model) modelFile(list *overlay.Picker, path string) overlay.Action {
	path = m.atHome(path)
	library := m.options.Library
	return m.guard(func() tea.Msg {
		read, err := library.Model(path)
		return modelMsg{list, &read, err}
	})
}

// modelMsg brings the model of a file whose name was typed into a list.
type modelMsg struct {
	list *overlay.Picker
	read *model.Model
	err  error
}

// takeModel takes a model, or says in its list why it could not be read. It is dropped where the list
// is closed.
func (m *Model) takeModel(msg modelMsg) tea.Cmd {
	if m.overlays.Top() != overlay.Overlay(msg.list) {
		return nil
	}
	if msg.err != nil {
		msg.list.Wrong = msg.err.Error()
		return nil
	}
	return m.carry(closing(state.Action{Verb: state.UseModel, Model: msg.read}))
}
