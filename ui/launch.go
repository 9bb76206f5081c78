package ui

import (
	"io"
	"path"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/launch"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// writable is an entry of the list of what can be written.
type writable struct {
	write func() tea.Cmd
	text  func() []byte
	lines []string // the first of the text, once they were asked for
}

// first returns the first lines of what would be written.
func (e *writable) first() []string {
	const most, longest = 16, 1 << 14
	if e.lines == nil {
		text := e.text()
		e.lines = strings.SplitN(strings.ReplaceAll(string(text[:min(len(text), longest)]), "\t", "  "), "\n", most+1)
		e.lines = e.lines[:min(len(e.lines), most)]
	}
	return e.lines
}

// refusal returns the nearest layout that a launcher runs, or that there is none, and every reason
// why it does not run this one, in lines that the pane has room for.
func (m *Model) refusal(l *launch.Launcher, setup *engine.Setup) []byte {
	const widest, frame = 96, 4
	var lines []string
	said := l.RefusedLines(setup)
	last := len(said) - 1
	for _, line := range append([]string{said[last]}, said[:last]...) {
		lines = append(lines, widget.Wrap(line, min(widest, m.caps.Width-frame))...)
	}
	return []byte(strings.Join(lines, "\n"))
}

// launchers returns the entries of the launchers' files: those that refuse the layout say why.
func (m *Model) launchers() (items []overlay.Item, all []writable) {
	setup := m.now.setup
	for _, l := range launch.Launchers() {
		if !l.Exports() {
			continue
		}
		title := "launch by " + l.Name + " " + l.Version
		d, refused := l.Export(&setup, m.options.Version)
		if len(refused) > 0 {
			items = append(items, overlay.Item{Title: title, Name: "refused"})
			all = append(all, writable{
				write: func() tea.Cmd {
					return m.do(state.Action{Verb: state.Say, Tone: state.Trouble, Text: l.Name + " refused: " + refused[0].Because})
				},
				text: func() []byte { return m.refusal(&l, &setup) },
			})
			continue
		}
		extension := path.Ext(d.File)
		name := "meshscope-" + strings.TrimSuffix(d.File, extension)
		items = append(items, overlay.Item{Title: title, Name: name + extension})
		all = append(all, writable{
			write: func() tea.Cmd {
				return m.save(name, extension, func(to io.Writer) error { _, err := to.Write(d.Text()); return err })
			},
			text: d.Text,
		})
	}
	return items, all
}
