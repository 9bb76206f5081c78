package search

import (
	"context"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// rules are the rules of thumb about the layout under the cursor of the guide.
type rules struct {
	of   engine.Setup
	jobs widget.Jobs
	done bool
	list []advise.Rule
}

// refreshRules asks for the rules where those that are there are about another
// layout.
func (v *View) refreshRules() screen.Request {
	g := &v.guide
	o := g.here()
	r := &g.rules
	if o == nil || !o.found || r.of == o.row.Setup && (r.done || r.jobs.Running()) {
		return screen.Request{}
	}
	of := o.row.Setup
	*r = rules{of: of, jobs: r.jobs}
	return screen.Work(&r.jobs, func(open context.Context) []advise.Rule {
		a, _ := advise.For(of, advise.Options{
			Stop: func() bool { return open.Err() != nil }, Moves: 1,
			Alone: true,
		})
		return a.Rules
	}, func(list []advise.Rule) { r.done, r.list = true, list })
}

// ruleAt is the column in which the text of a rule starts.
const ruleAt = pointer + len("meshscope disagrees") + 2

// ruleLines returns the rules that belong to the step in front, with what the model
// says of each.
func (v *View) ruleLines(in *screen.Context, w, h int) []string {
	r := &v.guide.rules
	o := v.guide.here()
	if h < 3 || o == nil || !o.found || r.of != o.row.Setup {
		return nil
	}
	step := int(v.guide.at) + 1
	lines := []string{widget.NewLine(w).Gap(pointer).Put(in.Paint(themes.Heading),
		"RULES OF THUMB").Gap(1).Put(in.Paint(themes.Muted),
		in.Cut("about "+o.name+", compared with the prediction", w-18)).String()}
	if r.jobs.Running() {
		return append(lines, in.Note(w, in.Glyphs.Ellipsis))
	}
	for i := range r.list {
		rule := &r.list[i]
		if rule.Step != step {
			continue
		}
		role := themes.Good
		switch rule.Verdict {
		case advise.Warns, advise.Disagrees, advise.NoFit:
			role = themes.Warn
		case advise.Followed, advise.Agrees:
		}
		l := widget.NewLine(w).Gap(pointer).Put(in.Paint(role), rule.Verdict.Words()).To(ruleAt)
		for _, text := range widget.Wrap(rule.ID+": "+rule.Text, w-ruleAt) {
			lines = append(lines, l.To(ruleAt).Put(in.Paint(themes.Text), text).String())
			l = widget.NewLine(w)
		}
		for _, text := range widget.Wrap(rule.Reason(), w-ruleAt) {
			lines = append(lines, widget.NewLine(w).To(ruleAt).Put(in.Paint(themes.Muted), text).String())
		}
	}
	if len(lines) == 1 {
		lines = append(lines, in.Note(w, "no rule of the playbook applies to this step"))
	}
	return lines[:min(len(lines), h)]
}
