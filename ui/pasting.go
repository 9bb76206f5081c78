package ui

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/ui/screen"
	"meshscope/ui/state"
	"meshscope/ui/tty"
)

// handlePaste puts pasted text where typed text would go. Many terminals send CR for the end of a
// line. What is no setup, no file and no value of the knob is refused, so that no scrap of it is typed.
func (m *Model) handlePaste(msg tea.PasteMsg) tea.Cmd {
	m.pastes++
	text := strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(msg.Content))
	if s := m.staged(); s != nil {
		s.Paste(text)
		return nil
	}
	if take := m.wholeSetup(text); take != nil {
		return m.carry(closing(take))
	}
	onKnob := m.overlays.Empty() && !m.writing() && m.state.Tab == state.ExploreTab
	if onKnob || m.typing() != nil {
		switch {
		case setupdoc.IsChanges(text) && !strings.Contains(text, "\n"):
			a, err := m.changed(text)
			if err != nil {
				return m.do(notTaken(err))
			}
			return m.carry(closing(a))
		case namesFile(text):
			return m.carry(closing(m.openFile(text)))
		}
	}
	switch {
	case !m.overlays.Empty():
		m.overlays.Top().Paste(text)
	case m.writing():
		m.screen().(screen.Writer).Paste(text)
		return m.refreshScreen()
	case onKnob:
		if _, err := state.Typed(&m.state, m.state.Focus, text); err != nil {
			return m.do(notTaken(err))
		}
		m.startTyping("")
		m.overlays.Top().Paste(text)
	}
	return nil
}

// wholeSetup returns what takes a text that gives a setup wherever it is pasted: a share string, the
// text of a file, or a command line of this program; nil for any other text.
func (m *Model) wholeSetup(text string) tea.Cmd {
	switch {
	case setupdoc.IsShare(text) || strings.HasPrefix(text, "{"):
		return m.takeText(text)
	case launch.IsCommandLine(text):
		return m.takeCommand(text)
	case strings.Contains(text, "\n"):
		if _, ok := launch.Read("", []byte(text)); ok {
			return m.takeText(text)
		}
		if doc, err := setupdoc.Parse("", []byte(text)); err == nil && doc.NamesModel() {
			return m.takeText(text)
		}
	}
	return nil
}

// pastedMsg is what became of a paste that was read meanwhile.
type pastedMsg struct {
	paste  int // which it was
	action state.Action
	// a setup whose layout may have to be searched, of what action's Text says; nil: none
	of *search.Begun
}

// takePasted takes what a paste gives, unless another one came after it or a question is asked by now.
func (m *Model) takePasted(msg pastedMsg) tea.Cmd {
	if msg.paste != m.pastes || m.onStage() != nil {
		return nil
	}
	if msg.of != nil {
		return m.choose(*msg.of, msg.action.Text)
	}
	return m.do(msg.action)
}

// reading reads a paste while the program goes on.
func (m *Model) reading(read func() (state.Action, *search.Begun)) tea.Cmd {
	paste := m.pastes
	return m.guard(func() tea.Msg {
		a, of := read()
		return pastedMsg{paste, a, of}
	})
}

// notTaken says why pasted text was not taken.
func notTaken(err error) state.Action {
	return state.Action{Verb: state.Say, Tone: state.Trouble, Text: "not taken: " + err.Error()}
}

// takeText reads a setup, or a model alone, from a share string or the text of a file.
func (m *Model) takeText(text string) tea.Cmd {
	library := m.options.Library
	return m.reading(func() (state.Action, *search.Begun) {
		r := launch.Open("", []byte(text), library)
		return takeReading("", &r, library)
	})
}

// takeReading takes the setup, or the model alone, of the file of a name.
func takeReading(name string, r *launch.Reading, library *presets.Library) (state.Action, *search.Begun) {
	var s engine.Setup
	if len(r.Problems) == 0 {
		s = r.Resolve(library)
	}
	switch err := r.Err(name); {
	case err != nil:
		return notTaken(err), nil
	case r.OnlyModel():
		return state.Action{Verb: state.UseModel, Model: &s.Model}, nil
	}
	doc, err := r.Document(library)
	if err != nil {
		return notTaken(err), nil
	}
	of, note := launch.Begin(doc, library, launch.Limit), "pasted setup"
	if name != "" {
		note = "opened " + escape.Name(name)
	}
	return state.Action{Text: note}, &of
}

// takeCommand takes the setup of a command line.
func (m *Model) takeCommand(text string) tea.Cmd {
	read := m.options.Command
	return m.reading(func() (state.Action, *search.Begun) {
		if read == nil {
			return notTaken(errors.New("no command line is read here")), nil
		}
		words, err := launch.CommandLine(text)
		if err != nil {
			return notTaken(err), nil
		}
		of, err := read(words)
		if err != nil {
			return notTaken(err), nil
		}
		return state.Action{Text: "pasted command"}, &of
	})
}

// changed turns the knobs of a list such as tp=4,pp=2. With another model or machine in it the layout is
// chosen again, and the knobs of the list are fixed.
func (m *Model) changed(list string) (state.Action, error) {
	changes, err := setupdoc.ReadChanges(list)
	if err != nil {
		return state.Action{}, err
	}
	now := &m.state.Setup
	with, err := changes.About(*now, m.options.Library)
	if err != nil {
		return state.Action{}, err
	}
	at := *now
	at.Cluster = with.Cluster // nodes are those of the machine of the list
	s, err := changes.Turn(at, m.state.Locks)
	s.Cluster = now.Cluster // state.Again compares with what the machine until now had by default
	fixed := m.state.Fixed
	for key := range changes.Knobs() {
		fixed = fixed.With(knob.ID(key))
	}
	a := state.Action{Verb: state.UseSetup, Setup: &s, Fixed: &fixed, Text: escape.Line(list)}
	if with.Model != now.Model || with.Cluster != now.Cluster {
		a.Verb, a.Model, a.Cluster = state.UseModel, &with.Model, &with.Cluster
	}
	return a, err
}

// namesFile reports whether a pasted text is the name of a file.
func namesFile(text string) bool {
	if strings.Contains(text, "\n") || len(text) > longestName {
		return false
	}
	text = unquoted(text)
	return isPath(text) || slices.Contains([]string{".yaml", ".yml", ".sh", ".sbatch", ".slurm"},
		strings.ToLower(filepath.Ext(text)))
}

// longestName is how many bytes the name of a file may have.
const longestName = 4096

// unquoted returns a text without the quotes that a terminal puts around a dropped file's name.
func unquoted(text string) string {
	if n := len(text); n > 1 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// openFile reads a setup, or a model alone, from a file.
func (m *Model) openFile(name string) tea.Cmd {
	name = m.atHome(unquoted(name))
	read, library := m.options.Open, m.options.Library
	return m.reading(func() (state.Action, *search.Begun) {
		if read == nil {
			return notTaken(errors.New("no file is read here")), nil
		}
		r, file, err := read(name)
		if err != nil {
			return notTaken(err), nil
		}
		return takeReading(file, r, library)
	})
}

// atHome returns the name of a file with the user's folder in place of ~.
func (m *Model) atHome(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home := tty.Getenv(m.options.Env, "HOME"); home != "" {
			return filepath.Join(home, rest)
		}
	}
	return name
}
