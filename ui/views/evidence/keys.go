package evidence

import (
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/presets/published"
	"meshscope/report/figure"
	"meshscope/ui/widget"
)

// HandleKey moves in the tables, changes what is shown, or takes a run.
func (v *View) HandleKey(in Input, w, h int, key string) (handled bool, do Request) {
	if v.data == nil {
		return false, Request{}
	}
	a := v.arrange(w, h)
	switch key {
	case "up", "k":
		v.move(-1)
	case "down", "j":
		v.move(1)
	case "pgup":
		v.move(-max(a.rows-1, 1))
	case "pgdown":
		v.move(max(a.rows-1, 1))
	case "home":
		v.move(-len(v.data.rows))
	case "end":
		v.move(len(v.data.rows))
	case "right", "l":
		v.enter()
	case "enter":
		if v.inRows {
			return true, v.take()
		}
		v.enter()
	case "left", "h", "esc":
		if !v.inRows {
			return false, Request{}
		}
		v.inRows = false
	case "m":
		v.memory, v.row, v.inRows = !v.memory, 0, false
	case "f":
		v.filter, v.row, v.inRows = (v.filter+1)%filters, 0, false
	case "s":
		v.worst, v.row = !v.worst, 0
	case "n":
		return true, v.nextNearest(&in)
	default:
		return false, Request{}
	}
	return true, Request{}
}

// enter goes to the runs where there are any.
func (v *View) enter() { v.inRows = len(v.shown()) > 0 }

// move goes up or down in the table that has the arrow keys.
func (v *View) move(by int) {
	if v.inRows {
		rows := v.shown()
		v.row = min(max(v.cursor(rows)+by, 0), max(len(rows)-1, 0))
		return
	}
	list := v.listed()
	v.choose(list, min(max(v.chosen(list)+by, 0), len(list)-1))
}

func (v *View) choose(list []result, i int) {
	v.group, v.row = "", 0
	if list[i].group >= 0 {
		v.group = list[i].Name
	}
}

// nextNearest goes to the next of the runs most like the setup.
func (v *View) nextNearest(in *Input) Request {
	near := v.nearest(in)
	if len(near) == 0 {
		return Request{Text: "no published run of this model"}
	}
	next := near[0]
	if rows := v.shown(); v.inRows && len(rows) > 0 {
		if i := slices.Index(near, rows[v.cursor(rows)]); i >= 0 {
			next = near[(i+1)%len(near)]
		}
	}
	v.filter, v.group, v.inRows = everything, v.data.rows[next].Group, true
	v.row = slices.Index(v.shown(), next)
	return Request{}
}

// take makes the run under the cursor the setup.
func (v *View) take() Request {
	rows := v.shown()
	if len(rows) == 0 {
		return Request{}
	}
	r := &v.data.rows[rows[v.cursor(rows)]]
	s := *v.data.setup(r)
	return Request{Setup: &s, Text: "published run " + r.ID + ": " + r.Source}
}

// HandleMouse chooses a group or a run; a second click on a run takes it.
func (v *View) HandleMouse(in Input, w, h int, x, y int, button string) (handled bool, do Request) {
	if v.data == nil || x < 0 || y < bandLines || x >= w || y >= h {
		return false, Request{}
	}
	a := v.arrange(w, h)
	groups := y < bandLines+a.groups
	switch button {
	case "wheelup", "wheeldown":
		by := 1
		if button == "wheelup" {
			by = -1
		}
		v.inRows = !groups && len(v.shown()) > 0
		v.move(by)
		return true, Request{}
	case "left":
	default:
		return false, Request{}
	}
	if a.plot > 0 && x < a.plot+gutter {
		return false, Request{}
	}
	if groups {
		list := v.listed()
		i := y - bandLines - 1 + page(v.chosen(list), a.groups-1, len(list))
		if y == bandLines || i >= len(list) {
			return false, Request{}
		}
		v.choose(list, i)
		v.inRows = false
		return true, Request{}
	}
	rows := v.shown()
	at := v.cursor(rows)
	i := y - bandLines - a.groups - 1 + page(at, a.rows-1, len(rows))
	if y == bandLines+a.groups || i >= len(rows) {
		return false, Request{}
	}
	if v.inRows && i == at {
		return true, v.take()
	}
	v.row, v.inRows = i, true
	return true, Request{}
}

// Bindings are all keys of the screen for the help.
func (v *View) Bindings() []widget.Binding {
	return []widget.Binding{
		{Keys: []string{"up", "down", "k", "j"}, Text: "group or run above, below"},
		{Keys: []string{"right", "l"}, Text: "the runs of the group"},
		{Keys: []string{"enter"}, Text: "the runs of the group; of a run: take it as the setup"},
		{Keys: []string{"left", "h", "esc"}, Text: "back to the groups"},
		{Keys: []string{"pgup", "pgdown"}, Text: "a page up, down"},
		{Keys: []string{"home", "end"}, Text: "first, last"},
		{Keys: []string{"n"}, Text: "next of the runs most like this setup"},
		{Keys: []string{"m"}, Text: "step time or memory"},
		{Keys: []string{"f"}, Text: "all, fitted or not fitted groups"},
		{Keys: []string{"s"}, Text: "largest error first, or as published"},
	}
}

// Hints are the keys of the moment.
func (v *View) Hints(Input) []widget.Hint {
	if v.data == nil {
		return nil
	}
	rest := []widget.Hint{{Key: "n", Text: "nearest run"}, {Key: "m", Text: "step time or memory"}, {Key: "f", Text: "filter"}, {Key: "s", Text: "order"}}
	if v.inRows {
		return append([]widget.Hint{{Key: "enter", Text: "take this run as the setup"}, {Key: "up/down", Text: "run"}, {Key: "left", Text: "groups"}}, rest...)
	}
	return append([]widget.Hint{{Key: "up/down", Text: "group"}, {Key: "enter", Text: "its runs"}}, rest...)
}

// Status explains the group or the run under the cursor.
func (v *View) Status(in Input, w int) string {
	if v.data == nil {
		return ""
	}
	if v.inRows {
		if rows := v.shown(); len(rows) > 0 {
			r := &v.data.rows[rows[v.cursor(rows)]]
			return in.cut(r.ID+": "+words(v.data.setup(r))+". "+r.Source, w)
		}
	}
	list := v.listed()
	at := &list[v.chosen(list)]
	if at.group < 0 {
		return in.cut("f: some constants were fitted to the group; constant: the best single rate for the same rows", w)
	}
	return in.cut(groupWords(at, &v.data.groups[at.group]), w)
}

func groupWords(r *result, g *published.Group) string {
	text := "not fitted: " + g.FittedTo
	if g.Fitted {
		text = "fitted: " + g.FittedTo
	}
	if r.LeftOut > 0 {
		text += "; a constant left out of its fit " + figure.Percent(r.LeftOut)
	}
	text += ". " + g.Source
	if g.Note != "" {
		text += ". " + g.Note
	}
	return text
}

// words are the run in brief.
func words(s *engine.Setup) string {
	text := fmt.Sprintf("%s on %s %s, dp %d tp %d pp %d", s.Model.Name, figure.Comma(s.GPUs), s.Cluster.GPU.Name, s.DP, s.TP, s.PP)
	for _, p := range []struct {
		name string
		n    int
	}{{"vpp", s.VPP}, {"cp", s.CP}, {"ep", s.EP}} {
		if p.n > 1 {
			text += fmt.Sprintf(" %s %d", p.name, p.n)
		}
	}
	return text + fmt.Sprintf(", zero %d, mbs %d, gbs %s, seq %s, %s", s.ZeRO, s.MBS, figure.Comma(s.GBS), figure.Comma(s.Seq), s.Recompute.Mode)
}
