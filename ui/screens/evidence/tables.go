package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/presets/published"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/table"
	"meshscope/ui/widget"
)

// bands says how far today's prediction can be trusted, and by which runs.
func (v *View) bands(in *screen.Context, w int) []string {
	runs := ""
	if v.data != nil {
		runs = fmt.Sprintf("%s figures of %s, %s shown", figure.Comma(len(v.data.rows)),
			figure.Plural(v.data.compared(), "group"), v.filter)
	}
	lines := []string{in.Heading(w, "EVIDENCE", "predicted and measured", runs)}
	return append(lines, bandLine(in, "this setup step   ", stepEvidence(in.Report), w),
		bandLine(in, "           memory ", memoryEvidence(in.Report), w), v.nearestLine(in, w))
}

// compared returns the number of groups with a figure; of others every run is left out.
func (d *data) compared() int {
	seen := map[int]bool{}
	for i := range d.rows {
		seen[d.rows[i].group] = true
	}
	return len(seen)
}

func stepEvidence(r *engine.Report) engine.Evidence {
	if r == nil || r.Time == nil {
		return engine.Evidence{}
	}
	return r.Time.Evidence
}

func memoryEvidence(r *engine.Report) engine.Evidence {
	if r == nil || r.Memory == nil {
		return engine.Evidence{}
	}
	return r.Memory.Evidence
}

// bandLine says how exact a prediction of this setup is, and by whose measurements.
func bandLine(in *screen.Context, what string, e engine.Evidence, w int) string {
	l := widget.NewLine(w).Gap(2)
	l.Put(in.Paint(themes.Muted), what)
	l.Put(in.Paint(themes.Strong), e.Band(in.Glyphs.PlusMinus)).Gap(2)
	text := in.Longest(l.Left(), e.Words(), e.Note(), e.Count()) // which are nearest stands below
	return l.Put(in.Paint(themes.Muted), text).String()
}

// nearestLine says which published runs are most like the setup.
func (v *View) nearestLine(in *screen.Context, w int) string {
	l := widget.NewLine(w).Gap(2)
	if v.data == nil {
		return l.String()
	}
	near := v.nearest(in)
	if len(near) == 0 {
		return l.Put(in.Paint(themes.Muted), in.Cut("no published run like this", w-2)).String()
	}
	first := &v.data.rows[near[0]].Run.Setup
	low, high := math.Inf(1), math.Inf(-1)
	for _, i := range near {
		low, high = min(low, v.data.rows[i].Error), max(high, v.data.rows[i].Error)
	}
	span := figure.Signed(100*low, 1) + " %"
	if len(near) > 1 {
		span = figure.Signed(100*low, 1) + " to " + figure.Signed(100*high, 1) + " %"
	}
	e := stepEvidence(in.Report)
	if v.memory {
		e = memoryEvidence(in.Report)
	}
	l.Put(in.Paint(themes.Current), in.Glyphs.Here+" ")
	runs := "nearest: " + figure.Plural(len(near), "run")
	text := fmt.Sprintf("%s of %s, such as %s, off by %s%s", runs, e.Nearest.Title, e.Nearest.Example, span,
		other(in.Setup, first, false))
	if widget.Width(text) > l.Left() { // what is not like the setup matters more than the example
		text = fmt.Sprintf("%s of %s, off by %s%s", runs, e.Nearest.Title, span, other(in.Setup, first, true))
	}
	return l.Put(in.Paint(themes.Text), in.Cut(text, l.Left())).String()
}

// other names what a run has of another kind, in brief only that it has.
func other(s, run *engine.Setup, brief bool) string {
	var words []string
	named := func(what, name string) {
		if brief {
			name = ""
		} else {
			name = " (" + name + ")"
		}
		words = append(words, "another "+what+name)
	}
	if s.Cluster.GPU.ID != run.Cluster.GPU.ID {
		chip, _, _ := strings.Cut(run.Cluster.GPU.Name, " (") // without whose it was
		named("GPU", chip)
	}
	if s.Stack.Resolve() != run.Stack.Resolve() {
		named("stack", string(run.Stack.Resolve()))
	}
	if len(words) == 0 {
		return ""
	}
	return "; " + strings.Join(words, ", ")
}

// groupTable lists the groups with their errors.
func (v *View) groupTable() *table.Table[published.Result] {
	return table.Plain(report.GroupColumns(), v.chosen(v.listed()))
}

// groupList draws the groups, next to their errors what one constant and the best other tool reach.
func (v *View) groupList(in *screen.Context, w, h int) []string {
	type group = published.Result
	t, rows := v.groupTable(), v.results()
	return t.Lines(in, rows, w, h, -1, &table.Look[group]{
		Title: "GROUPS", Focus: !v.inRows,
		Mark: func(l *widget.Line, r *group) {
			if r.Fitted {
				l.Put(in.Paint(themes.Muted), "f")
			}
		},
		Text: func(c *report.Column[group], r *group, _ int) string {
			text := c.Brief(r)
			if c.ID == "other tool" && text != "" {
				text = figure.PercentValue(r.PeerMean) + " " + text
			}
			return cmp.Or(text, in.Glyphs.None)
		},
		Role: func(c *report.Column[group], r *group, _ string) themes.Role {
			switch c.ID {
			case "group":
				if r.Name == rows[t.Row].Name {
					return themes.Accent
				}
			case "mean":
				return themes.Strong
			case "constant", "other tool":
				return themes.Muted
			}
			return themes.Text
		},
	})
}

// runTable lists the runs of the chosen group.
func (v *View) runTable() *table.Table[published.Row] {
	t := table.Plain(report.RunColumns(), v.row)
	t.Wide = true
	return t
}

// runs returns those of the chosen group in the order of the list.
func (v *View) runs() []published.Row {
	var out []published.Row
	for _, i := range v.shown() {
		out = append(out, v.data.rows[i].Row)
	}
	return out
}

// runList draws the runs of the chosen group, those near the setup marked.
func (v *View) runList(in *screen.Context, near []int, w, h int) []string {
	type run = published.Row
	rows := v.runs()
	first, _, _ := strings.Cut(v.order.String(), " to yours")
	wide := 0 // an identifier: the model and its GPUs have room behind it
	for i := range rows {
		wide = min(max(wide, len(rows[i].ID)), w-59)
	}
	return v.runTable().Lines(in, rows, w, h, -1, &table.Look[run]{
		Title: "RUNS", Details: []string{v.order.String(), first}, Focus: v.inRows,
		Mark: func(l *widget.Line, r *run) {
			if slices.ContainsFunc(near, func(i int) bool { return v.data.rows[i].Run == r.Run }) {
				l.Put(in.Paint(themes.Current), in.Glyphs.Here)
			}
		},
		Text: func(c *report.Column[run], r *run, room int) string {
			if c.ID != "run" {
				return c.Brief(r)
			}
			s, number := &r.Run.Setup, strings.TrimPrefix(strings.TrimPrefix(r.ID, r.Group), "-")
			gpus := s.Model.Name + ", " + figure.Plural(s.GPUs, "GPU")
			if w >= 76 {
				return fmt.Sprintf("%-*s  %s", wide, in.Cut(r.ID, wide), gpus)
			}
			return in.Longest(room, number+" "+gpus, number+" "+s.Model.Name, s.Model.Name)
		},
		Role: func(c *report.Column[run], r *run, _ string) themes.Role {
			if c.ID == "error" {
				return screen.ErrorRole(r.Error)
			}
			return themes.Text
		},
	})
}
