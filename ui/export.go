package ui

import (
	"errors"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/escape"
	"meshscope/presets/setupdoc"
	"meshscope/ui/export"
	"meshscope/ui/overlay"
)

// openExport lists the formats that the figures can be written in. An illegal
// setup has none.
func (m *Model) openExport() tea.Cmd {
	switch {
	case !m.now.report.Legal:
		return m.refuseExport("the setup is illegal and has no figures to write")
	case m.options.Export == nil:
		return m.refuseExport("nothing can be written to files here")
	}
	what := map[export.Format]string{
		export.CSV:      "CSV, for spreadsheets",
		export.Markdown: "Markdown, for a document",
		export.JSON:     "JSON, for programs",
	}
	d := export.New(m.options.Version, m.now.setup, m.now.report)
	title := "EXPORT"
	if tables := m.tables(); len(tables) > 0 {
		of := m.state.Tab.String()
		if m.advising.written != nil {
			of = "Advice"
		}
		title += ": the tables of " + of + ", then all figures"
	}
	var items []overlay.Item
	for _, f := range export.Formats() {
		items = append(items, overlay.Item{Title: what[f], Name: export.Name(&d) + f.Extension()})
	}
	m.picker = overlay.New(title, "enter writes a new file into the current folder "+m.look.glyphs.Dot+" esc closes", items, 0)
	m.picker.Resize(m.caps.height)
	return nil
}

func (m *Model) refuseExport(why string) tea.Cmd {
	return tea.Batch(m.do(Action{Verb: Close}), m.do(Action{Verb: Say, Text: why}))
}

// tables are those of the advice that x was pressed on, else of the screen in front.
func (m *Model) tables() []export.Table {
	if m.advising.written != nil {
		return m.advising.written
	}
	if s := m.screen(); s != nil && m.now.report.Legal {
		return s.tables(m.screenInput())
	}
	return nil
}

// exportCmd writes the figures to a file.
func (m *Model) exportCmd(f export.Format) tea.Cmd {
	write, library := m.options.Export, m.options.Library
	d := export.New(m.options.Version, m.now.setup, m.now.report)
	d.Screen = m.tables()
	return m.guard(func() tea.Msg {
		if flags, ok := setupdoc.Flags(d.Setup, library); ok {
			d.Command = "meshscope " + flags
		}
		file, err := write(f, &d)
		if err != nil {
			text := err.Error()
			if at, ok := errors.AsType[*export.FileError](err); ok && at.Elsewhere() {
				text += "; start meshscope in a folder that can be written to"
			}
			return exportedMsg{Note{Text: text, Tone: Trouble}}
		}
		return exportedMsg{Note{Text: "wrote " + escape.Name(filepath.Base(file)) + " into the current folder", Tone: Answer}}
	})
}
