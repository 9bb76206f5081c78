// Package memory is the Memory screen: every pipeline rank and every term, what
// ZeRO shards, one layer taken to pieces, memory over a step, and the sequence
// and micro-batch at which it stops fitting.
package memory

import (
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// pane is a part of the screen that takes the arrow keys.
type pane uint8

const (
	ranksPane pane = iota
	stepPane
	layerPane
	panes
)

// View is the Memory screen. Work that it asks for
// ends in a call that changes the View, so a View stays where it is.
type View struct {
	pane pane

	rank      int  // under the cursor
	term      int  // under the cursor; totalTerm is the sum
	rankMoved bool // false: the fullest rank
	termMoved bool // false: its largest term

	at    float64 // moment under the cursor, as a share of the two steps
	moved bool    // false: the moment of the peak
	zoom  int     // 0: overview; n: a window of 1/2^n of the two steps
	from  float64 // left end of the window, as a share

	part        int  // row of the layer pane
	column      int  // of it: a figure of a kind of layer
	columnMoved bool // false: what the most frequent kind saves

	hidden bool // a question hides figures: no cursor starts at the largest
	about  int  // the term that a lesson is about, on the fullest rank; totalTerm: none

	answers answers      // the last result of Work
	query   engine.Setup // the last query
	jobs    widget.Jobs
}

// New makes a screen.
func New() *View { return &View{about: totalTerm} }

// Copy returns the screen with its cursors and answers.
func (v *View) Copy() screen.Screen {
	c := *v
	c.jobs, c.query = widget.Jobs{}, c.answers.setup
	return &c
}

// memoryOf is what there is to draw; nil: nothing yet.
func memoryOf(in *screen.Context) *engine.Memory {
	if in.Report == nil || in.Setup == nil || in.Report.Memory == nil || len(in.Report.Memory.Ranks) == 0 {
		return nil
	}
	return in.Report.Memory
}

// fullest returns the rank with the largest total.
func fullest(m *engine.Memory) int { return min(max(m.PeakRank, 0), len(m.Ranks)-1) }

// lookFor notes what a question or a lesson makes of the cursors.
func (v *View) lookFor(in *screen.Context) {
	v.hidden, v.about = in != nil && in.Hides("memory."), totalTerm
	if in == nil || v.hidden || !strings.HasPrefix(in.Decides, "memory.") {
		return
	}
	names := [...]string{"weights", "gradients", "optimizer", "activations", "logits", "buffers", "overhead"}
	if term := slices.Index(names[:], in.Decides[strings.LastIndexByte(in.Decides, '.')+1:]); term >= 0 {
		v.about = term
	}
}

// cursorRank returns the rank under the cursor: the fullest until it is moved.
func (v *View) cursorRank(m *engine.Memory) int {
	if v.about != totalTerm {
		return fullest(m)
	}
	if !v.rankMoved {
		if v.hidden {
			return 0
		}
		return fullest(m)
	}
	return min(max(v.rank, 0), len(m.Ranks)-1)
}

// cursorTerm returns the term under the cursor: the largest of the fullest rank
// until it is moved.
func (v *View) cursorTerm(m *engine.Memory) int {
	if v.about != totalTerm {
		return v.about
	}
	if !v.termMoved {
		if v.hidden {
			return weightsTerm
		}
		return largestTerm(&m.Ranks[fullest(m)])
	}
	return min(max(v.term, 0), totalTerm)
}

// Render draws the screen: exactly h lines of w cells.
func (v *View) Render(in *screen.Context) []string {
	w, h := in.W, in.H
	m := memoryOf(in)
	if m == nil || w < 20 || h < 4 {
		return v.small(in, w, h)
	}
	if v.lookFor(in); v.hidden {
		return v.masked(in, w, h)
	}
	a := v.arrange(w, h, len(m.Ranks))
	lines := make([]string, 0, h)
	if a.single {
		lines = append(lines, v.tabs(in, w))
		if h >= bandHeight {
			lines = append(lines, v.bandLine(in, w))
		}
		return widget.Height(append(lines, v.draw(in, v.pane, w, h-len(lines), false)...), w, h)
	}
	lines = append(lines, v.draw(in, ranksPane, w, a.ranks.h, true)...)
	lines = append(lines, widget.Blank(w))
	left := v.draw(in, stepPane, a.step.w, a.step.h, true)
	right := v.draw(in, layerPane, a.layer.w, a.layer.h, true)
	gap := widget.Blank(w - a.step.w - a.layer.w)
	for i := range left {
		lines = append(lines, left[i]+gap+right[i])
	}
	return widget.Height(lines, w, h)
}

// draw draws a pane: exactly h lines.
func (v *View) draw(in *screen.Context, p pane, w, h int, headed bool) []string {
	var lines []string
	switch p {
	case ranksPane:
		lines = v.ranks(in, w, h, headed)
	case stepPane:
		lines = v.step(in, w, h, headed)
	default:
		lines = v.layer(in, w, h, headed)
	}
	return widget.Height(lines, w, h)
}

// small returns what a very small screen, or one without figures, shows.
func (v *View) small(in *screen.Context, w, h int) []string {
	l := widget.NewLine(w)
	text := "no figures yet"
	if m := memoryOf(in); m != nil {
		text = peakWords(in, m)
	}
	l.Put(in.Paint(themes.Text), text)
	if w <= 0 {
		return widget.Height(nil, 0, h)
	}
	return widget.Height([]string{l.String()}, w, h)
}

// paneName returns the name of a pane.
func paneName(p pane) string {
	return [panes]string{"ranks and terms", "over a step", "inside a layer"}[p]
}

// tabs returns the first line where there is room for one pane only.
func (v *View) tabs(in *screen.Context, w int) string {
	l := widget.NewLine(w)
	l.Put(in.Paint(themes.Heading), "MEMORY").Gap(2)
	for p := range panes {
		name := paneName(p)
		if p == v.pane {
			l.Put(in.Paint(themes.Current), "["+name+"]")
		} else {
			l.Put(in.Paint(themes.Muted), " "+name+" ")
		}
		l.Gap(1)
	}
	m := memoryOf(in)
	short, role := screen.Fit(m)
	l.Right(in.Paint(role), in.Longest(l.Left(), peakWords(in, m), short+": "+bandOf(in, m).Of(gib(m.Peak)),
		short), 0)
	return l.String()
}

// bandHeight is the height from which the band of the peak has a line of its own
// where there is room for one pane only.
const bandHeight = 14

// bandLine says how exact the peak is, and by whose measurements.
func (v *View) bandLine(in *screen.Context, w int) string {
	m := memoryOf(in)
	l := widget.NewLine(w).Gap(2)
	l.Put(in.Paint(themes.Muted), "peak ").Put(in.Paint(themes.Strong), bandOf(in, m).Of(gib(m.Peak)))
	note := in.Longest(l.Left(), " ("+m.Note()+")", " ("+m.Count()+")")
	return l.Put(in.Paint(themes.Muted), note).String()
}

// bandOf is how exact the peak is.
func bandOf(in *screen.Context, m *engine.Memory) figure.Band {
	return figure.Band{Evidence: &m.Evidence, PlusMinus: in.Glyphs.PlusMinus}
}

// heading returns the first line of a pane; that of the active one is marked.
func (v *View) heading(in *screen.Context, p pane, w int, name, detail, remark string) string {
	if p == v.pane {
		name = in.Glyphs.Pointer + " " + name
	} else {
		name = "  " + name
	}
	return widget.Heading(in.Theme, in.Glyphs, w, name, detail, remark, themes.Muted)
}
