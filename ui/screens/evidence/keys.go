package evidence

import (
	"slices"

	"meshscope/presets/published"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Name returns the name of the tab.
func (*View) Name() string { return "Evidence" }

// Show goes to the curves, or to the runs.
func (v *View) Show(pane string) { v.inCurve = pane == "curves" }

// Pane returns the name of what is shown; empty: the runs.
func (v *View) Pane() string {
	if v.inCurve {
		return "curves"
	}
	return ""
}

// Keys returns the key table: that of the runs, or that of the curves.
func (v *View) Keys(in *screen.Context) []screen.Key {
	other := screen.Key{
		ID: "curves", Keys: "v", Help: "measured and predicted curves, or published runs",
		Hint: "curves", Do: func(int) { v.inCurve = !v.inCurve },
	}
	if v.inCurve {
		other.Hint = "runs"
	}
	var all []screen.Key
	for _, k := range v.runKeys(in) {
		when := k.When
		k.When = func() bool { return !v.inCurve && (when == nil || when()) }
		all = append(all, k)
	}
	for _, k := range v.curves.keys() {
		k.When = func() bool { return v.inCurve }
		all = append(all, k)
	}
	return append(all, other)
}

func (v *View) runKeys(in *screen.Context) []screen.Key {
	if in != nil && v.data == nil {
		return nil
	}
	runs := func() bool { return v.inRows }
	groups := func() bool { return !v.inRows }
	return []screen.Key{
		{
			Keys: "enter", Help: "take this run as the setup", Hint: "take this run as the setup", When: runs,
			Ask: v.take,
		},
		{
			ID: "line-up line-down", Keys: "up k | down j", Help: "group above, below", Hint: "group",
			When: groups, Do: v.move,
		},
		{
			ID: "line-up line-down", Keys: "up k | down j", Help: "run above, below", Hint: "run", When: runs,
			Do: v.move,
		},
		{Keys: "enter", Help: "the runs of the group", Hint: "its runs", When: groups, Do: v.enter},
		{ID: "runs", Keys: "right l", Help: "the runs of the group", Do: v.enter},
		{
			ID: "groups", Keys: "left h esc", Help: "back to the groups", Hint: "groups", When: runs,
			Do: func(int) { v.inRows = false },
		},
		{
			ID: "page-up page-down", Keys: "pgup | pgdown", Help: "a page up, down",
			Do: func(n int) { v.move(n * max(v.arrange(in.W, in.H).rows-1, 1)) },
		},
		{
			ID: "first last", Keys: "home | end", Help: "first, last",
			Do: func(n int) { v.move(n * len(v.data.rows)) },
		},
		{
			ID: "nearest", Keys: "n", Help: "next of the runs most like this setup", Hint: "nearest run",
			Ask: func() screen.Request { return v.nextNearest(in) },
		},
		{
			ID: "metric", Keys: "m", Help: "step time or memory", Hint: "step time or memory",
			Do: func(int) { v.memory, v.row, v.inRows = !v.memory, 0, false },
		},
		{
			ID: "filter", Keys: "f", Help: "all, fitted or not fitted groups", Hint: "filter",
			Do: func(int) { v.filter, v.row, v.inRows = (v.filter+1)%filters, 0, false },
		},
		{
			ID: "plot", Keys: "p", Help: "plot predictions, errors by GPUs, or errors by release",
			Hint: "plot",
			Do:   func(int) { v.picture = (v.picture + 1) % pictures },
		},
		{
			ID: "order", Keys: "s", Help: "runs nearest to yours first, largest error first, or as published",
			Hint: "order", Do: func(int) { v.order, v.row = (v.order+1)%orders, 0 },
		},
	}
}

// enter goes to the runs where there are any.
func (v *View) enter(int) { v.inRows = len(v.shown()) > 0 }

// move goes up or down in the table that has the arrow keys.
func (v *View) move(by int) {
	if v.inRows {
		rows := v.shown()
		v.row = widget.Step(v.cursor(rows), by, len(rows))
		return
	}
	list := v.listed()
	v.choose(list, widget.Step(v.chosen(list), by, len(list)))
}

func (v *View) choose(list []result, i int) {
	v.group, v.row = "", 0
	if list[i].named() {
		v.group = list[i].Name
	}
}

// nextNearest goes to the next of the runs most like the setup.
func (v *View) nextNearest(in *screen.Context) screen.Request {
	near := v.nearest(in)
	if len(near) == 0 {
		return screen.Request{Text: "no published run like this"}
	}
	next := near[0]
	if rows := v.shown(); v.inRows && len(rows) > 0 {
		if i := slices.Index(near, rows[v.cursor(rows)]); i >= 0 {
			next = near[(i+1)%len(near)]
		}
	}
	v.filter, v.group, v.inRows = everything, v.data.rows[next].Group, true
	v.row = slices.Index(v.shown(), next)
	return screen.Request{}
}

// take makes the run under the cursor the setup.
func (v *View) take() screen.Request {
	rows := v.shown()
	if len(rows) == 0 {
		return screen.Request{}
	}
	r := &v.data.rows[rows[v.cursor(rows)]]
	return screen.Take(r.Run.Setup, "published run "+r.ID+": "+r.Source)
}

// Mouse chooses a group or a run; a second click on a run takes it.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	w, h := in.W, in.H
	if v.inCurve || v.data == nil || x < 0 || y < bandLines || x >= w || y >= h {
		return false, screen.Request{}
	}
	a := v.arrange(w, h)
	groups := y < bandLines+a.groups
	if by := screen.Wheel(button); by != 0 {
		v.inRows = !groups && len(v.shown()) > 0
		v.move(by)
		return true, screen.Request{}
	} else if button != "left" {
		return false, screen.Request{}
	}
	if a.plot > 0 && x < a.plot+gutter {
		return false, screen.Request{}
	}
	if groups {
		list := v.listed()
		t := v.groupTable()
		hit, _ := t.Point(len(list), -1, y-bandLines, a.groups)
		if hit {
			v.choose(list, t.Row)
			v.inRows = false
		}
		return hit, screen.Request{}
	}
	t := v.runTable()
	hit, again := t.Point(len(v.shown()), -1, y-bandLines-a.groups, a.rows)
	if again && v.inRows {
		return true, v.take()
	}
	v.row, v.inRows = t.Row, v.inRows || hit
	return hit, screen.Request{}
}

// Status explains the group or the run under the cursor.
func (v *View) Status(in *screen.Context) string {
	w := in.W
	if v.inCurve {
		return v.curves.status(in)
	}
	if v.data == nil {
		return ""
	}
	if v.inRows {
		if rows := v.shown(); len(rows) > 0 {
			r := &v.data.rows[rows[v.cursor(rows)]]
			return in.Cut(r.ID+": "+report.RunWords(&r.Run.Setup)+". "+r.Source, w)
		}
	}
	list := v.listed()
	at := &list[v.chosen(list)]
	switch {
	case at.family.Name != "":
		return in.Cut("all groups of "+at.family.Name+omitted(v.data.groups, at.family.Has), w)
	case at.group < 0:
		return in.Cut("f: some constants were fitted to it; constant: error of the best single rate", w)
	}
	return in.Cut(groupWords(at, &v.data.groups[at.group]), w)
}

// omitted says how many published runs of the groups are not compared, and that of some
// nothing tells the recomputation.
func omitted(groups []published.Group, has func(id string) bool) string {
	left, unknown := 0, 0
	for i := range groups {
		if g := &groups[i]; has(g.ID) {
			for _, l := range g.LeftOut {
				left += len(l.Runs)
			}
			for k := range g.Runs {
				if g.Runs[k].AnyRecompute {
					unknown++
				}
			}
		}
	}
	text := ""
	if unknown > 0 {
		text += "; recomputation of " + figure.Plural(unknown, "run") + " unknown, taken as none"
	}
	if left > 0 {
		text += "; " + figure.Plural(left, "published run") + " left out"
	}
	return text
}

func groupWords(r *result, g *published.Group) string {
	text := "not fitted: " + g.FittedTo
	if g.Fitted {
		text = "fitted: " + g.FittedTo
	}
	if r.LeftOut > 0 {
		text += "; a constant left out of its fit " + figure.Percent(r.LeftOut)
	}
	text += omitted([]published.Group{*g}, func(string) bool { return true })
	if len(g.LeftOut) > 0 {
		text += " (" + g.LeftOut[0].Reason + ")"
	}
	text += ". " + g.Source
	if g.Note != "" {
		text += ". " + g.Note
	}
	return text
}
