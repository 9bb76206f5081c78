package ui

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/record"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/report"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// advisedMsg brings advice to its card; nil where there is none.
type advisedMsg struct {
	card  *overlay.Advice
	found *advise.Advice
}

// advice opens its card and has the advice on the current setup computed, which
// takes up to seconds: the card says so, and closing it ends that.
func (m *Model) advice() overlay.Action {
	if !m.now.report.Legal {
		why := "no advice on an illegal setup: enter takes the nearest legal values"
		if m.slow.pending {
			why = "still evaluating this setup; ask for advice when it is done"
		}
		return refusal(why)
	}
	ctx, stop := context.WithCancel(context.Background())
	card := overlay.NewAdvice(&m.now.report)
	card.Keys = []overlay.Bound{{Key: m.binding("advice"), Action: overlay.Close{}}}
	card.Export, card.Make, card.Stop = m.binding("export"), m.makeMove, stop
	card.Write = func(found *advise.Advice) overlay.Action {
		return closing(m.exportList("Advice", adviceTables(found)))
	}
	setup := m.now.setup
	return overlay.Sequence{overlay.Push{ID: overlay.AdviceID, Overlay: card}, m.guard(func() tea.Msg {
		defer stop()
		defer m.options.takeTurn(ctx)()
		found, ok := advise.For(setup, advise.Options{
			Stop:    func() bool { return ctx.Err() != nil },
			Accepts: launch.AcceptsFrom(&setup),
		})
		m.options.collect() // a search fills tens of megabytes, which nothing else needs
		switch {
		case ctx.Err() != nil:
			return nil
		case !ok:
			return advisedMsg{card: card}
		}
		return advisedMsg{card, &found}
	})}
}

// makeMove applies a move of the advice, as one step that can be undone.
func (m *Model) makeMove(move *advise.Move) overlay.Action {
	setup, what := move.Setup, "advice"
	if move.Report.Memory.Fit == engine.Fits && m.now.report.Memory.Fit != engine.Fits {
		what = "it fits"
	}
	return closing(state.Action{Verb: state.UseSetup, Setup: &setup, Text: what})
}

// adviceTables returns what the card says, with all digits: what the fullest rank holds or
// the step is spent on, the moves, every value of every knob, and the rules.
func adviceTables(a *advise.Advice) []report.Table {
	seconds := func(v float64) report.Cell { return report.Figure(record.Seconds, v) }
	bytes := func(v float64) report.Cell { return report.Figure(record.Memory, v) }
	terms := report.Table{
		Title: "advice: memory of the fullest rank",
		Head:  []string{"term", "bytes", "of the total"},
	}
	for _, t := range a.Terms {
		terms.Rows = append(terms.Rows, []report.Cell{
			report.Word(t.Name), bytes(float64(t.Bytes)),
			report.Figure(record.Share, t.Share),
		})
	}
	limits := report.Table{
		Title: "advice: where the step time goes",
		Head:  []string{"part", "time", "of the step"},
	}
	for _, l := range a.Limits {
		limits.Rows = append(limits.Rows, []report.Cell{
			report.Word(l.Name), seconds(float64(l.Seconds)),
			report.Figure(record.Share, l.Share),
		})
	}
	moves := report.Table{
		Title: "advice: changes " + a.Promise(),
		Head: []string{
			"change", "also changes", "step", "slow end of the step", "speed", "peak",
			"memory change", "fits", "comes last because",
		},
	}
	for i := range a.Moves {
		m := &a.Moves[i]
		moves.Rows = append(moves.Rows, []report.Cell{
			report.Word(m.Turns()), report.Word(m.Follows()), seconds(float64(m.Report.Time.Step)),
			seconds(float64(m.PessimisticStep)), report.Ratio(m.Speed),
			bytes(float64(m.Report.Memory.Peak)), bytes(0 - float64(m.Saved)), report.YesNo(m.Fits),
			report.Word(m.Last),
		})
	}
	knobs := report.Table{
		Title: "advice: each knob alone",
		Head: []string{
			"knob", "value", "now", "step", "slow end of the step", "peak", "fits", "rejected by a launcher",
		},
	}
	for i := range a.Knobs {
		k := &a.Knobs[i]
		add := func(v *advise.Value, now bool) {
			knobs.Rows = append(knobs.Rows, []report.Cell{
				report.Word(string(k.ID)), report.Word(v.Text), report.YesNo(now),
				seconds(float64(v.Expected)), seconds(float64(v.Step)),
				bytes(float64(v.Peak)), report.YesNo(v.Fits), report.YesNo(v.Refused),
			})
		}
		add(&k.Now, true)
		for j := range k.Values {
			add(&k.Values[j], false)
		}
	}
	rules := report.Table{
		Title: "advice: rules of thumb",
		Head:  []string{"rule", "verdict", "why", "text", "source"},
	}
	for i := range a.Rules {
		r := &a.Rules[i]
		rules.Rows = append(rules.Rows, []report.Cell{
			report.Word(r.ID), report.Word(r.Verdict.Words()), report.Word(r.Reason()), report.Word(r.Text),
			report.Word(r.Source),
		})
	}
	return []report.Table{terms, limits, moves, knobs, rules}
}

// decisionPage is an open decision, and what was asked to be written of it.
type decisionPage struct {
	*overlay.Page

	of    *report.Decision
	wrote map[report.Format]string // into which file; empty: it is being written
	asked []report.Format          // while the search ran: written once it has ended
}

// decidedMsg brings the alternatives of a decision to its page.
type decidedMsg struct {
	page  *decisionPage
	found *report.Decision
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
		space = search.Space{Refused: true, Accepts: l.Accepts, Launcher: l.ID, Instead: l.Instead}
		rules = l.Name
	}
	finish := func(d *report.Decision) {
		d.Library, d.Version, d.Rules = m.options.Library, m.options.Version, rules
		if m.options.Pipeline != nil {
			d.Pipeline = m.options.Pipeline(&d.Report)
		}
	}
	finish(d)
	page := &decisionPage{
		Page: overlay.NewPage("DECISION", d.Document()), of: d,
		wrote: map[report.Format]string{},
	}
	page.PlusMinus = m.look.glyphs.PlusMinus
	page.Stop = func() {
		if len(page.asked) == 0 {
			stop()
		}
	}
	page.Hint = overlay.Hint(m.look.glyphs, m.shown("x", "export")+" HTML page", "M Markdown",
		m.shown("y", "copy")+" copies the command", "esc closes")
	write := func(name string, f report.Format) overlay.Bound {
		return overlay.Bound{
			Key:    key.NewBinding(key.WithKeys(name)),
			Action: later(func() tea.Cmd { return m.saveDecision(f, page) }),
		}
	}
	page.Keys = []overlay.Bound{
		{Key: m.binding("report"), Action: overlay.Close{}},
		write(m.binding("export").Keys()[0], report.HTML), write("M", report.Markdown),
		{Key: m.binding("copy"), Action: closing(state.Action{Verb: state.Copy})},
	}
	fixed := m.state.Fixed
	return overlay.Sequence{overlay.Push{ID: overlay.ReportID, Overlay: page.Page}, m.guard(func() tea.Msg {
		defer stop()
		defer m.options.takeTurn(ctx)()
		full := report.Decide(ctx, d.Setup, d.Report, space, 1)
		m.options.collect() // a search fills tens of megabytes, which nothing else needs
		if ctx.Err() != nil {
			return nil
		}
		finish(full)
		full.Prices = advise.Prices(&full.Setup, &full.Report, fixed, launch.AcceptsFrom(&full.Setup), nil)
		return decidedMsg{page, full}
	})}
}

// takeDecision puts the alternatives into the page that waits for them, and writes what waits for them.
func (m *Model) takeDecision(msg decidedMsg) tea.Cmd {
	page := msg.page
	*page.of = *msg.found
	page.Take(page.of.Document())
	var cmds []tea.Cmd
	for _, f := range page.asked {
		cmds = append(cmds, m.saveDecision(f, page))
	}
	return tea.Batch(cmds...)
}

// saveDecision writes the whole page to a file, once, and says so on the page.
func (m *Model) saveDecision(f report.Format, page *decisionPage) tea.Cmd {
	writing := "writing" + m.look.glyphs.Ellipsis
	if before, again := page.wrote[f]; again {
		page.Said = cmp.Or(strings.Replace(before, "wrote ", "already wrote ", 1), writing)
		return nil
	}
	answer := *page.of
	save := m.save("meshscope-decision-"+report.SetupName(&answer.Setup), f.Extension(),
		func(to io.Writer) error {
			return report.Write(to, f, answer.Answer())
		})
	switch {
	case m.options.Save == nil:
		page.Said = noFiles
		return save
	case answer.Searching:
		if page.Said = "writes the page once the search has ended"; !slices.Contains(page.asked, f) {
			page.asked = append(page.asked, f)
		}
		return nil
	}
	page.wrote[f], page.Said = "", writing
	return func() tea.Msg {
		msg := save()
		said, ok := msg.(state.Action)
		if !ok {
			return msg
		}
		return filedMsg{said, func() {
			if page.Said = said.Text; said.Tone == state.Trouble {
				delete(page.wrote, f)
			} else {
				page.wrote[f] = said.Text
			}
		}}
	}
}

// filedMsg brings what became of a file to the page that was written.
type filedMsg struct {
	said state.Action
	tell func()
}
