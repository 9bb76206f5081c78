package ui

import (
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/escape"
	"meshscope/presets/setupdoc"
	"meshscope/ui/screen"
)

// copySetup puts the command line of the setup into the clipboard, by way of the
// terminal (OSC 52), and into a file: not every terminal passes it on.
//
// On a screen with a list of setups it is the one under the cursor.
func (m *Model) copySetup() tea.Cmd {
	setup, of := m.state.Setup, ""
	if s := m.screen(); s != nil && m.overlays.Empty() {
		if under, name := screen.Under(s, m.context()); under != nil {
			setup, of = *under, " of "+name
		}
	}
	text, what := "", "the command line"+of
	if flags, ok := setupdoc.Flags(setup, m.options.Library); ok {
		text = "meshscope " + flags
	} else {
		document, err := setupdoc.JSON(setup)
		if err != nil {
			return m.do(Action{Verb: Say, Text: "cannot be copied: " + err.Error()})
		}
		text, what = string(document), "a setup document for --setup"+of
	}
	share, note := m.options.Share, "copied "+what
	if lookup(m.options.Env, "TMUX") != "" {
		note += " (tmux: set -g set-clipboard on)"
	}
	return tea.Batch(tea.SetClipboard(text), m.guard(func() tea.Msg {
		if share != nil {
			if file, err := share(text); err == nil && file != "" {
				return copiedMsg{note: note + ", also to " + escape.Name(file)}
			}
		}
		return copiedMsg{note: note + ", if the terminal lets programs copy"}
	}))
}
