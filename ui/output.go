package ui

import (
	"errors"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/escape"
	"meshscope/presets/setupdoc"
	"meshscope/report"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
	"meshscope/ui/tty"
)

// copySetup copies the command line of the setup to the clipboard, through the
// terminal (OSC 52), and to a file, because not every terminal supports that. It also
// shows the command, so that it can be selected.
//
// On a screen with a list of setups it copies the one under the cursor.
func (m *Model) copySetup() tea.Cmd {
	setup, of := m.state.Setup, ""
	if s := m.screen(); s != nil && m.overlays.Empty() {
		if under, name := screen.SetupAtCursor(s, m.context()); under != nil {
			setup, of = *under, " of "+name
		}
	}
	text, what, shown := "", "command"+of, ""
	if flags, ok := setupdoc.Flags(setup, m.options.Library); ok {
		text = "meshscope " + flags
		shown = ": " + text
	} else {
		document, err := setupdoc.JSON(setup)
		if err != nil {
			return m.do(state.Action{Verb: state.Say, Tone: state.Trouble, Text: "not copied: " + err.Error()})
		}
		text, what = string(document), "setup document for --setup"+of
	}
	share, note := m.options.Share, what+" copied"
	if tty.Getenv(m.options.Env, "TMUX") != "" {
		note += " (tmux: set -g set-clipboard on)"
	}
	return tea.Batch(tea.SetClipboard(text), m.guard(func() tea.Msg {
		if share != nil {
			if file, err := share(text); err == nil && file != "" {
				return state.Action{Verb: state.Say, Tone: state.Answer, Text: note + ", also to " + escape.Name(file) + shown}
			}
		}
		return state.Action{Verb: state.Say, Tone: state.Answer, Text: note + shown}
	}))
}

// exportList lists the formats that the figures can be written in, with the tables of
// a screen or of the advice. An illegal setup has none.
func (m *Model) exportList(of string, tables []report.Table) overlay.Action {
	switch {
	case !m.now.report.Legal:
		return state.Action{Verb: state.Say, Tone: state.Trouble, Text: "an illegal setup has no figures to write"}
	case m.options.Export == nil:
		return state.Action{Verb: state.Say, Tone: state.Trouble, Text: "writing files is not possible here"}
	}
	d := report.NewEvaluation(m.options.Version, m.now.setup, m.now.report)
	d.Screen = tables
	title := "EXPORT"
	if len(tables) > 0 {
		title += ": the tables of " + of + ", then all figures"
	}
	var items []overlay.Item
	for _, f := range report.Formats() {
		items = append(items, overlay.Item{Title: f.About(), Name: report.Name(&d) + f.Extension()})
	}
	p := overlay.NewPicker(title, overlay.Hint(m.look.glyphs, "enter writes a new file into the current folder", "esc closes"), items, 0)
	p.Choose = func(i int) overlay.Action { return closing(m.exportCmd(report.Formats()[i], &d)) }
	return overlay.Push{ID: overlay.ExportID, Overlay: p}
}

// tables returns those of the screen in front.
func (m *Model) tables() []report.Table {
	if s, ok := m.screen().(screen.Tabler); ok && m.now.report.Legal {
		return s.Tables(m.context())
	}
	return nil
}

// exportCmd writes the figures to a file.
func (m *Model) exportCmd(f report.Format, d *report.Evaluation) tea.Cmd {
	write, library := m.options.Export, m.options.Library
	return m.guard(func() tea.Msg {
		if flags, ok := setupdoc.Flags(d.Setup, library); ok {
			d.Command = "meshscope " + flags
		}
		file, err := write(f, d)
		if err != nil {
			text := err.Error()
			if at, ok := errors.AsType[*report.FileError](err); ok && at.Elsewhere() {
				text += "; start meshscope in a folder that can be written to"
			}
			return state.Action{Verb: state.Say, Tone: state.Trouble, Text: text}
		}
		return state.Action{Verb: state.Say, Tone: state.Answer, Text: "wrote " + escape.Name(filepath.Base(file)) + " into the current folder"}
	})
}
