package ui

import (
	"context"
	"io"
	"runtime/debug"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/report"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// decidedMsg brings the alternatives of a decision to its page.
type decidedMsg struct {
	page        *overlay.Page
	into, found *report.Decision
}

// decision opens the page about the current setup; its alternatives follow when they are found.
func (m *Model) decision() overlay.Action {
	if !m.now.report.Legal {
		return refusal("an illegal setup is nothing to decide for: enter takes the nearest legal values")
	}
	ctx, stop := context.WithCancel(context.Background())
	d := report.NewDecision(m.now.setup, m.now.report)
	d.Searching = true
	space, rules := search.Space{}, ""
	if l := launch.Of(d.Setup.Stack); l != nil {
		space, rules = search.Space{Refused: true, Accepts: l.Accepts, Launcher: l.ID}, l.Name
	}
	finish := func(d *report.Decision) {
		d.Library, d.Version, d.Rules = m.options.Library, m.options.Version, rules
	}
	finish(d)
	page := overlay.NewPage("DECISION", d.Document())
	page.Stop, page.PlusMinus = stop, m.look.glyphs.PlusMinus
	page.Hint = overlay.Hint(m.look.glyphs, m.shown("x", "export")+" HTML page", "M Markdown", m.shown("y", "copy")+" copies the command", "esc closes")
	write := func(name string, f report.Format) overlay.Bound {
		return overlay.Bound{Key: key.NewBinding(key.WithKeys(name)), Action: later(func() tea.Cmd { return m.saveDecision(f, d) })}
	}
	page.Keys = []overlay.Bound{
		{Key: m.binding("report"), Action: overlay.Close{}},
		write(m.binding("export").Keys()[0], report.HTML), write("M", report.Markdown),
		{Key: m.binding("copy"), Action: closing(state.Action{Verb: state.Copy})},
	}
	return overlay.Sequence{overlay.Push{ID: overlay.ReportID, Overlay: page}, m.guard(func() tea.Msg {
		defer stop()
		full := report.Decide(ctx, d.Setup, d.Report, space, 1)
		debug.FreeOSMemory() // a search fills tens of megabytes, which nothing else needs
		if ctx.Err() != nil {
			return nil
		}
		finish(full)
		return decidedMsg{page, d, full}
	})}
}

// takeDecision puts the alternatives into the page that waits for them.
func (m *Model) takeDecision(msg decidedMsg) {
	*msg.into = *msg.found
	msg.page.Take(msg.into.Document())
}

// saveDecision writes the page to a file.
func (m *Model) saveDecision(f report.Format, d *report.Decision) tea.Cmd {
	answer := *d
	return m.save("meshscope-decision-"+report.SetupName(&answer.Setup), f.Extension(), func(to io.Writer) error {
		return report.Write(to, f, answer.Answer())
	})
}
