package desk

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/lessons"
	"meshscope/themes"
	"meshscope/ui/class"
	"meshscope/ui/lesson"
	"meshscope/ui/widget"
)

// TickMsg moves the clock of the notes.
type TickMsg time.Time

// Tick waits for the next second of the clock; nil but for the notes.
func (d *Desk) Tick() tea.Cmd {
	if d == nil || d.Role() != class.Notes {
		return nil
	}
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return TickMsg(t) })
}

// page collects the lines of the notes.
type page struct {
	w     int
	t     *themes.Theme
	lines []string
}

func (p *page) put(role themes.Role, label, text string, most int) {
	for i, part := range widget.Wrap(text, max(p.w-len(label)-1, 1)) {
		if i == most {
			return
		}
		p.lines = append(p.lines, widget.NewLine(p.w).Put(p.t.Paint(themes.Muted), label).Put(p.t.Paint(role),
			part).String())
		label = widget.Blank(len(label))
	}
}

func (p *page) gap() { p.lines = append(p.lines, widget.Blank(p.w)) }

// Notes draws the presenter's second screen: what is on, the notes of the act, the answers so far, and
// what comes next.
func (d *Desk) Notes(t *themes.Theme, g widget.Glyphs, w, h int) []string {
	p := &page{w: w, t: t}
	l := widget.NewLine(w).Put(t.Paint(themes.Title), " NOTES ").Put(t.Paint(themes.Strong),
		" "+d.Place.Screen).Gap(2).Put(t.Paint(themes.Accent), d.Says())
	if !d.Clock.IsZero() {
		l.Right(t.Paint(themes.Strong), d.Clock.Format("15:04:05"), 1)
	}
	p.lines = append(p.lines, l.String())
	if act := d.Act(); act != nil {
		d.act(p, g, act)
	} else {
		p.gap()
		p.put(themes.Text, " ", "No lesson is on: the class follows your screen.", 2)
		d.totals(p)
	}
	if d.Blank {
		p.put(themes.Warn, " ", "The screens are dark.", 1)
	}
	foot := widget.NewLine(w)
	for _, hint := range []widget.Hint{
		{Key: "space PgDn", Text: "onward"},
		{Key: "PgUp", Text: "back"},
		{Key: "v", Text: "votes at once"},
		{Key: "b", Text: "dark"},
		{Key: "q", Text: "quit"},
	} {
		foot.Gap(1).Put(t.Paint(themes.Key), hint.Key).Gap(1).Put(t.Paint(themes.Muted), hint.Text).Gap(1)
	}
	return append(widget.Height(p.lines, w, max(h-1, 0)), foot.String())[:h]
}

// totals lists how the class answered the lesson that has ended.
func (d *Desk) totals(p *page) {
	if d.Ended == nil {
		return
	}
	p.gap()
	p.put(themes.Accent, " ", d.Ended.Title+" is over.", 1)
	for i := range d.Ended.Acts {
		if words := d.Total(i); words != "" {
			p.put(themes.Text, fmt.Sprintf(" act %-3d ", i+1), words, 1)
		}
	}
}

// act draws the notes of an act.
func (d *Desk) act(p *page, g widget.Glyphs, act *lessons.Act) {
	on := fmt.Sprintf("%s, act %d of %d: %s", d.Lesson.Title, d.At+1, len(d.Lesson.Acts), d.words())
	if d.Step == class.Turned {
		on += "turned"
	}
	if !d.Moment.Staged {
		on += ", put aside"
	}
	p.put(themes.Accent, " ", on, 1)
	p.gap()
	p.put(themes.Strong, " ", act.AskByLetter(), 4)
	votes, ladder := d.votes()
	words := ladder
	for _, o := range act.Options {
		words = append(words, o.Say)
	}
	for i, text := range words {
		mark := "   "
		if i < len(act.Options) {
			mark = "   " + lessons.Letter(i) + "  "
			if act.Options[i].Right {
				mark = " = " + lessons.Letter(i) + "  "
			}
		}
		l := widget.NewLine(p.w).Put(p.t.Paint(themes.Text),
			mark+widget.CutText(text, max(p.w/2-len(mark), 1), g.Ellipsis)).To(p.w / 2)
		p.lines = append(p.lines, lesson.Bars(l, p.t, g, votes, i).String())
	}
	p.gap()
	p.put(themes.Good, " answer ", act.Truth(), 2)
	p.put(themes.Strong, " notes  ", act.Notes, 6)
	p.put(themes.Text, " rule   ", act.Rule, 3)
	if next := d.Next(); next != nil {
		p.put(themes.Muted, " next   ", strings.ToLower(next.Show)+": "+next.AskByLetter(), 3)
	} else {
		p.put(themes.Muted, " next   ", "the end of the lesson", 1)
	}
}
