package ui

import (
	"io"
	"path"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/launch"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
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

// launchers returns the entries of the launchers' files: those that refuse the layout say why.
func (m *Model) launchers() (items []overlay.Item, all []writable) {
	setup := m.now.setup
	for _, l := range launch.Launchers() {
		if !l.Exports() {
			continue
		}
		d, refused := l.Export(&setup, m.options.Version)
		if len(refused) > 0 {
			why := "refused: " + refused[0].Because
			items = append(items, overlay.Item{Title: "launch by " + l.Name, Name: "refused"})
			all = append(all, writable{
				write: func() tea.Cmd {
					return m.do(state.Action{Verb: state.Say, Tone: state.Trouble, Text: l.Name + " " + why})
				},
				text: func() []byte { return []byte(why + "\n" + refused[0].Source) },
			})
			continue
		}
		extension := path.Ext(d.File)
		name := "meshscope-" + strings.TrimSuffix(d.File, extension)
		items = append(items, overlay.Item{Title: "launch by " + l.Name, Name: name + extension})
		all = append(all, writable{
			write: func() tea.Cmd {
				return m.save(name, extension, func(to io.Writer) error { _, err := to.Write(d.Text()); return err })
			},
			text: d.Text,
		})
	}
	return items, all
}
