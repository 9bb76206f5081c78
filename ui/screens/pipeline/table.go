package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// table is every schedule for one setup, side by side.
type table struct {
	open   bool
	second bool   // a line is chosen to compare with, not to take
	row    int    // the cursor's
	typed  string // of a schedule's name
	wrong  string // what was typed last goes on no name: typed with it

	rows   []row
	of     engine.Setup // what the rows were computed for
	wanted engine.Setup // the computation in progress
	jobs   widget.Jobs
	done   *progress // of the computation in progress

	plain bool // all figures in place of pictures
	drawn pictures
}

// progress is how far the working out of all schedules is. The work counts in it
// while the screen reads it.
type progress struct {
	rows atomic.Int32
	kind atomic.Value // of the one at hand
}

// text returns the progress in words.
func (p *progress) text(g *widget.Glyphs) string {
	if p == nil {
		return "working" + g.Ellipsis
	}
	kind, _ := p.kind.Load().(schedule.Kind)
	return fmt.Sprintf("simulating %d of %d: %s", p.rows.Load(), len(schedule.Kinds()), kind)
}

// row is a schedule and its figures. The report of a long pipeline comes without
// its timeline: those of all schedules would fill tens of megabytes.
type row struct {
	compare.ScheduleRow
	picture *timeline.Multiple // nil until it is drawn, and where it is too long for that
}

// keepOps is how many operations the timelines that the table keeps have.
const keepOps = 1 << 16

// current reports whether the rows are those of the setup.
func (t *table) current(s *engine.Setup) bool { return len(t.rows) > 0 && t.of == *s }

func (t *table) pendingFor(s *engine.Setup) bool { return t.jobs.Running() && t.wanted == *s }

// work evaluates all schedules and gives the rows to v.
func (v *View) work(s engine.Setup) screen.Request {
	t := &v.table
	done := new(progress)
	t.wanted, t.done = s, done
	job := t.jobs.Begin()
	keep := v.against
	return screen.Request{Work: func(ctx context.Context) func() {
		ops := 0.0
		rows := compare.Schedules(s, func() bool { return ctx.Err() != nil },
			func(r *compare.ScheduleRow) bool {
				done.rows.Add(1)
				done.kind.Store(r.Info.Kind)
				ops += r.Setup.Spec().Work()
				return ops <= keepOps || r.Info.Kind == keep
			})
		stopped := ctx.Err() != nil
		return func() {
			if !t.jobs.End(job) || stopped {
				return // the first: another one is on its way
			}
			t.take(rows, s)
			if keep != "" && v.against == keep {
				v.compare(keep)
			}
		}
	}}
}

// take sorts the rows: legal ones by the time of the step, then the others. The
// cursor stays on its schedule.
func (t *table) take(rows []compare.ScheduleRow, s engine.Setup) {
	at := s.Schedule
	if t.row >= 0 && t.row < len(t.rows) {
		at = t.rows[t.row].Info.Kind
	}
	slices.SortStableFunc(rows, func(a, b compare.ScheduleRow) int {
		switch {
		case a.Report.Legal != b.Report.Legal:
			if a.Report.Legal {
				return -1
			}
			return 1
		case !a.Report.Legal || a.Report.Time.Step == b.Report.Time.Step:
			return 0
		case a.Report.Time.Step < b.Report.Time.Step:
			return -1
		}
		return 1
	})
	t.rows, t.of, t.drawn = make([]row, 0, len(rows)), s, pictures{}
	for _, r := range rows {
		t.rows = append(t.rows, row{ScheduleRow: r})
	}
	if t.typed != "" {
		at = named(t.typed)
	}
	t.pick(at)
}

func (t *table) pick(kind schedule.Kind) {
	t.row = max(0, slices.IndexFunc(t.rows, func(r row) bool { return r.Info.Kind == kind }))
}

// tableKeys returns the keys while the table is open.
func (v *View) tableKeys(in *screen.Context) []screen.Key {
	t := &v.table
	what := "take it"
	if t.second {
		what = "compare with it"
	}
	keys := []screen.Key{
		{
			Keys: "enter", Help: "take this schedule, or compare with it", Hint: what,
			Ask: func() screen.Request { return v.choose(in) },
		},
		{
			ID: "schedule-up schedule-down", Keys: "up k | down j", Help: "schedule above, below",
			Hint: "choose", Do: t.move,
		},
		{
			Keys: "esc q t", Help: "back to the timeline", Foot: "esc", Hint: "back",
			Do: func(int) { t.open = false },
		},
		{
			ID: "compare", Keys: "b", Help: "compare with the chosen schedule; back to the timeline",
			Do: func(int) {
				if t.second = !t.second; !t.second {
					t.open = false
				}
			},
		},
		{
			ID: "pictures", Keys: "v", Help: "pictures of all schedules, or all their figures",
			Hint: "pictures or figures", Do: func(int) { t.plain = !t.plain },
		},
		{
			ID: "page-up page-down", Keys: "pgup | pgdown", Help: "a page up, down",
			Do: func(n int) { t.move(n * max(1, in.H-6)) },
		},
		{
			ID: "first last", Keys: "home | end G", Help: "first, last schedule",
			Do: func(n int) { t.move(n << 20) },
		},
	}
	begin := "1 a d i l n v z" // as names of schedules begin
	if !t.second {
		begin = strings.Replace(begin, " v", "", 1) // it has the pictures
	}
	return slices.Insert(keys, 0, screen.Key{
		Keys: begin, Foot: "a-z", Help: "type the name of a schedule", Hint: "type a name",
		Begin: func(letter string) screen.Request { return v.Type(in, letter) },
	})
}

// Typing says that letters go into the name of a schedule.
func (v *View) Typing() bool { return v.table.open && v.table.typed != "" }

// Type takes a key of the name that is typed; letters that go on no name are none of it.
func (v *View) Type(in *screen.Context, key string) screen.Request {
	t := &v.table
	t.wrong = ""
	switch key {
	case "backspace":
		t.typed = t.typed[:len(t.typed)-1]
	case "esc":
		t.typed = ""
	case "enter":
		if t.current(in.Setup) {
			t.typed = ""
		}
		return v.choose(in)
	default:
		if k, n := screen.Find(v.tableKeys(in), in.Own, key); k != nil && k.Begin == nil && len(key) > 1 {
			t.typed = ""
			return k.Run(n, key)
		}
		v.Paste(key)
	}
	return screen.Request{}
}

// Paste goes to the schedule whose name begins with what is typed and this, whatever its case and hyphens.
func (v *View) Paste(text string) {
	t := &v.table
	if kind := named(t.typed + text); kind != "" {
		t.typed += text
		t.pick(kind)
		return
	}
	t.wrong = escape.Line(t.typed + text)
}

// named returns the schedule with the shortest name that begins with a text; empty where none does.
func named(text string) (kind schedule.Kind) {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "") }
	for _, s := range schedule.Kinds() {
		if strings.HasPrefix(plain(string(s.Kind)), plain(text)) && (kind == "" || len(s.Kind) < len(kind)) {
			kind = s.Kind
		}
	}
	return kind
}

// Prompt returns the footer while a name is typed.
func (v *View) Prompt() []widget.Hint {
	enter := "takes it"
	if v.table.second {
		enter = "compares with it"
	}
	typed := "typed"
	if wrong := v.table.wrong; wrong != "" {
		typed += "; no name begins with " + widget.CutText(wrong, 16, "")
	}
	return []widget.Hint{
		{Key: v.table.typed, Text: typed},
		{Key: "enter", Text: enter},
		{Key: "esc", Text: "drops it"},
	}
}

// move goes n rows down.
func (t *table) move(n int) { t.row = widget.Step(t.row, n, len(t.rows)) }

// choose takes the chosen schedule, or compares with it.
func (v *View) choose(in *screen.Context) screen.Request {
	t := &v.table
	if t.row < 0 || t.row >= len(t.rows) || !t.current(in.Setup) {
		return screen.Request{}
	}
	row := &t.rows[t.row]
	if !row.Report.Legal {
		return screen.Request{}
	}
	t.open = false
	if t.second {
		return v.compareWith(row.ScheduleRow)
	}
	return screen.Take(row.Setup, "schedule "+string(row.Info.Kind))
}

// columnWords explain the headings.
const columnWords = "bubble: idle share of the slowest rank in its step; in flight: micro-batches whose " +
	"activations a rank keeps; exposed: communication that is not overlapped; overlap: time " +
	"saved by pairs of forward and backward"

// renderTable draws the table over the whole screen.
func (v *View) renderTable(in *screen.Context, w, h int) []string {
	t := &v.table
	name, remark := "ALL SCHEDULES FOR THIS SETUP", "enter takes one"
	if t.second {
		name, remark = "COMPARE WITH", "type a name; enter compares"
	}
	if t.typed != "" {
		remark = t.typed + "_"
	}
	switch {
	case t.jobs.Running():
		remark = t.done.text(&in.Glyphs)
	case in.Setup == nil || !t.current(in.Setup):
		remark = "for the previous setup"
	}
	from, n := t.page(h)
	if n < len(t.rows) {
		remark = fmt.Sprintf("%d-%d of %d, %s", from+1, min(len(t.rows), from+n), len(t.rows), remark)
	}
	head := widget.NewLine(w).Put(in.Paint(themes.Heading), name).Gap(1)
	if n := head.Left() - widget.Width(remark) - 1; n > 0 {
		head.Put(in.Paint(themes.Faint), widget.Fill(in.Glyphs.Rule, n)).Gap(1)
	}
	head.Put(in.Paint(themes.Accent), remark)
	if left := t.pictured(w, h); left > 0 {
		return append([]string{head.String()}, v.renderMultiples(in, left, w, h-1)...)
	}
	lines := []string{head.String(), tableHead(in, w)}
	foot := t.foot(h)
	for i := from; i < min(len(t.rows), from+n); i++ {
		lines = append(lines, v.tableRow(in, i, w))
	}
	lines = widget.Height(lines, w, max(0, h-foot))
	if foot > 0 {
		lines = append(lines, v.tableFoot(in, w, foot)...)
	}
	return widget.Height(lines, w, h)
}

// page returns the first of the rows that are shown, and how many fit.
func (t *table) page(h int) (from, n int) {
	n = max(1, h-2-t.foot(h))
	return min(max(0, t.row-n+1), max(0, len(t.rows)-n)), n
}

// foot returns the height of the words under the rows.
func (t *table) foot(h int) int {
	if h < 10 {
		return 0
	}
	return min(max(4, h-2-len(t.rows)), 10)
}

func tableHead(in *screen.Context, w int) string {
	line := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "schedule")
	hidden := 0
	all := columns()
	for k := range all {
		if at := ends(all, k); at <= w {
			line.RightAligned(in.Paint(themes.Muted), all[k].Head, at)
		} else {
			hidden++
		}
	}
	if hidden > 0 {
		line.Right(in.Paint(themes.Faint), in.Glyphs.More, 0)
	}
	return line.String()
}

// tableRow returns one schedule: its figures, or why it cannot run.
func (v *View) tableRow(in *screen.Context, i, w int) string {
	row := &v.table.rows[i]
	line, sign := widget.NewLine(w), " "
	paint := in.Paint
	if i == v.table.row { // one look from end to end, whatever stands in it
		sign, paint = in.Glyphs.Pointer, func(themes.Role) themes.Paint { return in.Paint(themes.Focus) }
		line.OnBlank(paint(themes.Text))
	}
	line.Put(paint(themes.Accent), sign).Gap(1).Put(paint(themes.Text), string(row.Info.Kind))
	if row.Setup.VPP > 1 {
		line.Put(paint(themes.Muted), fmt.Sprintf(" v%d", row.Setup.VPP))
	}
	if in.Setup != nil && row.Info.Kind == in.Setup.Schedule {
		line.Put(paint(themes.Current), " "+in.Glyphs.Here)
	}
	r := &row.Report
	if !ran(&row.ScheduleRow) {
		reason := "not known"
		if list := errors(r.Problems); len(list) > 0 {
			reason = list[0].Message
		}
		return line.To(22).Put(paint(themes.Bad), in.Glyphs.Cross+" ").Put(paint(themes.Muted),
			reason).String()
	}
	all := columns()
	for k := range all {
		at, role := ends(all, k), themes.Text
		text := cmp.Or(all[k].Brief(&row.ScheduleRow), in.Glyphs.None)
		if all[k].ID == "peak" && !r.Memory.Fits {
			text, role = in.Glyphs.Cross+" "+text, themes.Bad
		}
		if at <= w {
			line.RightAligned(paint(role), text, at)
		}
	}
	return line.String()
}

// tableFoot describes the chosen schedule: what it is and what it needs.
func (v *View) tableFoot(in *screen.Context, w, n int) []string {
	t := &v.table
	if t.row < 0 || t.row >= len(t.rows) {
		return widget.Height(nil, w, n)
	}
	row := &t.rows[t.row]
	info := &row.Info
	lines := []string{widget.NewLine(w).Put(in.Paint(themes.Faint), widget.Fill(in.Glyphs.Rule, w)).String()}
	say := func(role themes.Role, text string) {
		for _, part := range widget.Wrap(text, w) {
			lines = append(lines, widget.NewLine(w).Put(in.Paint(role), part).String())
		}
	}
	if list := errors(row.Report.Problems); len(list) > 0 {
		text := in.Glyphs.Cross + " " + list[0].Message
		if near := nearest(list[0].Nearest); near != "" {
			lines = append(lines,
				widget.NewLine(w).Put(in.Paint(themes.Strong), "nearest legal: "+near).String())
		}
		say(themes.Bad, text)
	} else {
		say(themes.Text, info.Name+": memory "+info.Memory)
	}
	say(themes.Muted, "needs "+info.Constraint)
	if n > 4 {
		say(themes.Muted, in.Glyphs.Here+" current; "+columnWords)
	}
	say(themes.Muted,
		strings.Join(slices.DeleteFunc([]string{info.Paper, info.Code},
			func(s string) bool { return s == "" }), "; "))
	return widget.Height(lines, w, n)
}

// status compares the chosen schedule with the current one.
func (t *table) status(in *screen.Context) string {
	if t.row < 0 || t.row >= len(t.rows) {
		return "simulating every schedule for this setup"
	}
	chosen := &t.rows[t.row]
	if list := errors(chosen.Report.Problems); len(list) > 0 {
		return chosen.Info.Name + ": " + list[0].Message
	}
	if m := chosen.Report.Memory; m != nil && m.Fit == engine.Over {
		return chosen.Info.Name + ": " + m.Reason
	}
	i := slices.IndexFunc(t.rows,
		func(r row) bool { return in.Setup != nil && r.Info.Kind == in.Setup.Schedule })
	switch {
	case i == t.row:
		return "current: " + chosen.Info.Name + ". Choose one to compare."
	case i < 0 || chosen.Report.Time == nil || t.rows[i].Report.Time == nil || chosen.Report.Memory == nil ||
		t.rows[i].Report.Memory == nil:
		return chosen.Info.Name
	}
	own := &t.rows[i].Report
	return fmt.Sprintf("%s compared with %s: step %s %%, peak %s GiB", chosen.Info.Name, t.rows[i].Info.Name,
		figure.Signed(100*(float64(chosen.Report.Time.Step/own.Time.Step)-1), 1),
		figure.Signed((chosen.Report.Memory.Peak-own.Memory.Peak).GiB(), 1))
}

// nearest writes legal values: "microbatches 40, pp 8".
func nearest(values map[string]any) string {
	var parts []string
	for field, value := range values {
		parts = append(parts, field+" "+knob.Worded(value))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
