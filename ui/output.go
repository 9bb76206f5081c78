package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/report"
	"meshscope/ui/frame"
	"meshscope/ui/overlay"
	"meshscope/ui/picture"
	"meshscope/ui/screen"
	"meshscope/ui/state"
	"meshscope/ui/tty"
	"meshscope/ui/widget"
)

// copySetup copies the command line of the setup to the clipboard, through the terminal (OSC 52),
// and to a file, because not every terminal supports that. It also shows the command and the share
// string, so that they can be selected; the same key copies the latter then.
//
// On a screen with a list of setups it copies the one under the cursor.
func (m *Model) copySetup() tea.Cmd {
	setup, of := m.state.Setup, ""
	if s := m.screen(); s != nil && m.overlays.Empty() {
		if under, name := screen.SetupAtCursor(s, m.context()); under != nil {
			setup, of = *under, " of "+name
		}
	}
	line, _ := setupdoc.Share(setup, presets.Default(), m.options.Library)
	flags, ok := setupdoc.Flags(setup, m.options.Library)
	switch {
	case ok:
		text := "meshscope " + flags
		return m.copyText("command"+of, text, text, line)
	case line != "":
		return m.copyText("share string"+of, line, "", line)
	}
	return m.do(state.Action{
		Verb: state.Say, Tone: state.Trouble,
		Text: "not copied: this setup has no command and no share string",
	})
}

// copyText copies a text, and shows the command and the share string of the setup that it is of.
func (m *Model) copyText(what, text, command, line string) tea.Cmd {
	share, note, kept := m.options.Share, what+" copied", ""
	if tty.Getenv(m.options.Env, "TMUX") != "" {
		note += " (tmux: set -g set-clipboard on)"
	}
	return tea.Batch(tea.Raw(tty.Clipboard(m.options.Env, text)), m.guard(func() tea.Msg {
		if share != nil {
			if file, err := share(text); err == nil && file != "" {
				kept = "also to " + escape.Name(file)
			}
		}
		return copiedMsg{note, kept, command, line}
	}))
}

// copiedMsg says what was copied and the file that it went to too, and brings the command and the
// share string.
type copiedMsg struct{ note, kept, command, line string }

// takeCopied shows what was copied.
func (m *Model) takeCopied(msg copiedMsg) tea.Cmd {
	again := m.binding("copy")
	card := &overlay.Card{
		Title: "COPIED", Name: msg.note, About: msg.kept,
		Paragraphs: []overlay.Paragraph{
			{Label: "command", Text: msg.command},
			{Label: "share", Text: msg.line},
		}, Hint: "esc closes",
	}
	if msg.command != "" && msg.line != "" {
		card.Hint = overlay.Hint(m.look.glyphs, m.shown("y", "copy")+" copies the share string", "esc closes")
		card.Keys = []overlay.Bound{{Key: again, Action: closing(later(func() tea.Cmd {
			return m.copyText("share string", msg.line, "", msg.line)
		}))}}
	}
	return m.carry(closing(overlay.Push{ID: overlay.CopiedID, Overlay: card}))
}

// exportList lists the formats that the figures can be written in, with the tables of
// a screen or of the advice. An illegal setup has none.
func (m *Model) exportList(of string, tables []report.Table) overlay.Action {
	switch {
	case !m.now.report.Legal:
		return state.Action{
			Verb: state.Say, Tone: state.Trouble,
			Text: "an illegal setup has no figures to write",
		}
	case m.options.Export == nil:
		return state.Action{Verb: state.Say, Tone: state.Trouble, Text: noFiles}
	}
	d := report.NewEvaluation(m.options.Version, m.now.setup, m.now.report)
	d.Screen = tables
	title := "EXPORT"
	if len(tables) > 0 {
		title += ": the tables of " + of + ", then all figures"
	}
	var items []overlay.Item
	var all []writable
	add := func(about, name, extension string, write func() tea.Cmd) {
		items = append(items, overlay.Item{Title: about, Name: name + extension})
		all = append(all, writable{write: write, text: func() []byte { return []byte(about) }})
	}
	for _, f := range report.Formats() {
		add(f.About(), report.Name(&d), f.Extension(), func() tea.Cmd { return m.exportCmd(f, &d) })
		all[len(all)-1].text = func() []byte {
			var b bytes.Buffer
			_ = report.Write(&b, f, d.Answer())
			return b.Bytes()
		}
	}
	name := report.Name(&d)
	picture := name + "-" + strings.ToLower(m.screen().Name())
	if m.options.Save != nil {
		add("SVG picture of this screen, for slides", picture, ".svg", func() tea.Cmd {
			drawn := m.framePicture()
			return m.save(picture, ".svg",
				func(to io.Writer) error { _, err := io.WriteString(to, drawn); return err })
		})
		if r := m.now.report; m.options.Timeline != nil && r.Timeline != nil {
			line := name + "-timeline"
			add("SVG of the pipeline, for slides", line, ".svg", func() tea.Cmd {
				return m.save(line, ".svg",
					func(to io.Writer) error { return m.options.Timeline(to, false, &r) })
			})
			add("trace of the step, for ui.perfetto.dev", line, ".json", func() tea.Cmd {
				return m.save(line, ".json",
					func(to io.Writer) error { return m.options.Timeline(to, true, &r) })
			})
		}
	}
	if m.options.Save != nil {
		more, of := m.launchers()
		items, all = append(items, more...), append(all, of...)
	}
	p := overlay.NewPicker(title,
		overlay.Hint(m.look.glyphs, "enter writes a new file into the current folder", "ctrl+y copies",
			"esc closes"), items, 0)
	p.Choose = func(i int) overlay.Action { return closing(later(all[i].write)) }
	p.Copy = func(i int) overlay.Action {
		return closing(later(func() tea.Cmd {
			return m.copyText(items[i].Name, string(all[i].text()), "", "")
		}))
	}
	p.Preview = func(i int) []string { return all[i].first() }
	return overlay.Push{ID: overlay.ExportID, Overlay: p}
}

// framePicture returns the frame that is shown, without what lies over it, as SVG. Its ground is that of
// the theme: terminals do not tell theirs.
func (m *Model) framePicture() string {
	lines, _ := m.page(frame.Layout(m.caps.Width, m.caps.Height, m.content()))
	foreground, background := m.look.theme.Ground()
	return picture.Frame(lines, m.caps.Width, foreground, background,
		"meshscope: "+m.screen().Name()+" of "+m.state.Setup.Model.Name).SVG()
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
	return m.filing(func() (string, error) {
		if flags, ok := setupdoc.Flags(d.Setup, library); ok {
			d.Command = "meshscope " + flags
		}
		return write(f, d)
	})
}

// save writes another file of the current folder.
func (m *Model) save(name, extension string, write func(io.Writer) error) tea.Cmd {
	save := m.options.Save
	if save == nil {
		return m.do(state.Action{Verb: state.Say, Tone: state.Trouble, Text: noFiles})
	}
	return m.filing(func() (string, error) { return save(name, extension, write) })
}

// noFiles says why nothing is written.
const noFiles = "writing files is not possible here"

// filing writes a file and says where it is.
func (m *Model) filing(write func() (string, error)) tea.Cmd {
	return m.guard(func() tea.Msg {
		file, err := write()
		if err != nil {
			text := err.Error()
			if at, ok := errors.AsType[*report.FileError](err); ok && at.Elsewhere() {
				text += "; start meshscope in a folder that can be written to"
			}
			return state.Action{Verb: state.Say, Tone: state.Trouble, Text: text}
		}
		return state.Action{
			Verb: state.Say, Tone: state.Answer,
			Text: "wrote " + escape.Line(filepath.Base(file)) + " into the current folder",
		}
	})
}

// longestWork is how long a screen may work on what a document has of it. What it has by
// then is taken, and the document says that the rest is missing.
const longestWork = 10 * time.Second

// Document gives what the screens show of a setup and its report: the figures of
// Explore, then the tables of each screen, computed here. So it is not for a key press.
func Document(ctx context.Context, s engine.Setup, r engine.Report, lib *presets.Library) *report.Document {
	out := report.Overview(&s, &r)
	if !r.Legal || r.Memory == nil {
		return out
	}
	in := &screen.Context{Setup: &s, Report: &r, Glyphs: widget.NewGlyphs(false)}
	all := newScreens(nil, lib)
	for _, one := range all.all {
		tabler, ok := one.(screen.Tabler)
		if !ok {
			continue
		}
		if !workOut(ctx, one, in) {
			out.Sections = append(out.Sections,
				report.Section{Heading: one.Name() + " screen", Blocks: []report.Block{
					report.Sentence(fmt.Sprintf("Incomplete: its work was stopped after %.0f s.",
						longestWork.Seconds())),
				}})
		}
		for _, t := range tabler.Tables(in) {
			t.Folds, t.Ends = true, t.Head[0] == "rank"
			out.Sections = append(out.Sections, report.Section{Heading: t.Title, Blocks: []report.Block{&t}})
		}
		if large, ok := one.(screen.Forgetter); ok {
			large.Forget()
		}
	}
	out.Sections = append(out.Sections, report.Caveats(&r)...)
	return out
}

// workOut has a screen compute the data it asks for, and reports whether it has all of them.
func workOut(ctx context.Context, one screen.Screen, in *screen.Context) bool {
	const most = 16 // questions, each after the answer of the last
	ctx, stop := context.WithTimeout(ctx, longestWork)
	defer stop()
	for range most {
		ask := one.Refresh(in)
		if ask.Work == nil {
			return true
		}
		if finish := ask.Work(ctx); finish != nil {
			finish()
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}

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
		e.lines = strings.SplitN(strings.ReplaceAll(string(text[:min(len(text), longest)]), "\t", "  "), "\n",
			most+1)
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
		title := "launch by " + l.Name + " " + l.Version
		d, refused := l.Export(&setup, m.options.Version)
		if len(refused) > 0 {
			items = append(items, overlay.Item{Title: title, Name: "refused"})
			all = append(all, writable{
				write: func() tea.Cmd {
					return m.do(state.Action{
						Verb: state.Say, Tone: state.Trouble,
						Text: l.Name + " refused: " + refused[0].Because,
					})
				},
				text: func() []byte { return m.refusal(&l, &setup) },
			})
			continue
		}
		d.Stamp = slices.Insert(d.Stamp, 2, report.FitNote(m.now.report.Memory)...)
		extension := path.Ext(d.File)
		name := "meshscope-" + strings.TrimSuffix(d.File, extension)
		items = append(items, overlay.Item{Title: title, Name: name + extension})
		all = append(all, writable{
			write: func() tea.Cmd {
				return m.save(name, extension,
					func(to io.Writer) error { _, err := to.Write(d.Text()); return err })
			},
			text: d.Text,
		})
	}
	return items, all
}
