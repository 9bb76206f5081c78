package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// knobColumn is a knob as a column of the table.
type knobColumn struct {
	id     knob.ID
	head   string // empty: the knob's name
	always bool   // a column even if all rows agree
	dull   string
	named  bool // said only where rows differ: a search leaves it as it is, unless it is named
}

// knobColumns returns the knobs in the order of the table. A value that all rows share is
// given once below it, unless it means "not used".
func knobColumns() []knobColumn {
	columns := []knobColumn{
		{id: knob.GPUs, head: "GPUs"},
		{id: knob.DP, always: true},
		{id: knob.TP, always: true},
		{id: knob.PP, always: true},
		{id: knob.VPP, dull: "1"},
		{id: knob.CP, dull: "1"},
		{id: knob.EP, dull: "1"},
		{id: knob.ETP, dull: "1"},
		{id: knob.SP},
		{id: knob.ZeRO},
		{id: knob.MBS},
		{id: knob.MicroBatches, head: "m"},
		{id: knob.GBS},
		{id: knob.Seq},
		{id: knob.Recompute},
		{id: knob.Schedule},
	}
	for _, id := range search.Layout() {
		if !slices.ContainsFunc(columns, func(c knobColumn) bool { return c.id == id }) {
			columns = append(columns, knobColumn{id: id, named: true})
		}
	}
	return columns
}

// of returns the value of the knob in a setup.
func (c *knobColumn) of(s *engine.Setup) string {
	k, _ := knob.Find(c.id)
	return k.Text(*s)
}

// table adds layouts to a section: the knobs in which they differ as columns, the others
// and the error bands below.
func (o *Search) table(s *Section, list []search.Found) {
	t := &Table{Head: []string{"rank"}, Spare: []string{"±GiB", "tok/s/GPU", "m", "±step", "schedule"}}
	for i := range list {
		t.add(right(o.rank(i, list)))
	}
	column := func(head string, of func(f *search.Found) Cell) {
		t.Head = append(t.Head, head)
		for i := range list {
			t.Rows[i] = append(t.Rows[i], of(&list[i]))
		}
	}
	var same []string
	for _, c := range knobColumns() {
		first := c.of(&list[0].Setup)
		differ := slices.ContainsFunc(list, func(f search.Found) bool { return c.of(&f.Setup) != first })
		switch {
		case differ || c.always:
			column(cmp.Or(c.head, string(c.id)), func(f *search.Found) Cell { return right(c.of(&f.Setup)) })
		case first != c.dull && !o.titleSays(c.id) && (!c.named || o.Query.Several(c.id)):
			same = append(same, string(c.id)+" "+first)
		}
	}
	o.figures(column, list)
	s.add(t)
	if len(same) > 0 {
		s.say("all layouts: " + strings.Join(same, ", "))
	}
	if slices.ContainsFunc(list,
		func(f search.Found) bool { return f.PessimisticStep > f.Report.Time.Step }) {
		s.say("to: the step where no unproven overlap works (all-to-all of experts, ZeRO traffic of every " +
			"micro-batch), by which layouts are ranked (--comm-overlap assumed ranks by the other end)")
	}
	footnotes(s, list)
	if slices.ContainsFunc(list[1:], func(f search.Found) bool { return o.Problem.TooClose(&list[0], &f) }) {
		s.say("~ too close to call: within a quarter of the error band of the first")
	}
	if list[0].ForMargin {
		s.say("1 is " + search.MarginRule)
	}
}

// figures adds the columns of predictions.
func (o *Search) figures(column func(string, func(*search.Found) Cell), list []search.Found) {
	column("step", func(f *search.Found) Cell { return fine(record.Seconds, f.Report.Time.Step) })
	if slices.ContainsFunc(list,
		func(f search.Found) bool { return f.PessimisticStep > f.Report.Time.Step }) {
		column("to", func(f *search.Found) Cell { return fine(record.Seconds, f.PessimisticStep) })
	}
	column("MFU", func(f *search.Found) Cell { return Figure(record.Share, f.Report.Throughput.MFU) })
	column("tok/s/GPU", func(f *search.Found) Cell {
		n := f.Report.Throughput.TokensPerSecondPerGPU
		return written(figure.Comma(int(n+0.5)), record.Tokens, n)
	})
	gib := func(b units.Bytes) Cell { return written(fmt.Sprintf("%.1f", b.GiB()), record.Memory, b) }
	column("GiB", func(f *search.Found) Cell { return gib(f.Report.Memory.Peak) })
	column("free GiB", func(f *search.Found) Cell { return gib(f.Free) })
	if o.Problem.Tokens > 0 {
		column("days", func(f *search.Found) Cell { return right(fmt.Sprintf("%.1f", f.Report.Run.Days)) })
		column("GPU-hours", func(f *search.Found) Cell { return right(figure.Short(f.Report.Run.GPUHours)) })
		column("cost", func(f *search.Found) Cell { return right(costWords(f.Report.Run)) })
	}
	if !bandsAgree(list) {
		column("±step", func(f *search.Found) Cell { return right((&f.Report.Time.Evidence).Band("±")) })
		column("±GiB", func(f *search.Found) Cell { return right((&f.Report.Memory.Evidence).Band("±")) })
	}
}

// titleSays reports whether the title gives the only value of a knob.
func (o *Search) titleSays(id knob.ID) bool {
	sp := &o.Problem.Space
	list, ok := map[knob.ID][]int{knob.GPUs: sp.GPUs, knob.GBS: sp.GBS, knob.Seq: sp.Seq}[id]
	return ok && len(list) == 1 && (id != knob.GBS || !sp.FollowGBS)
}

// rank returns the rank of a row, marked if it is too close to the first to call, if the
// layout is tight, and if some launcher rejects it.
func (o *Search) rank(i int, list []search.Found) string {
	mark, f := "", &list[i]
	if i > 0 && o.Problem.TooClose(&list[0], f) {
		mark = "~"
	}
	if m := f.Report.Memory; m.Fits && !m.HasMargin() {
		mark += "?"
	}
	if knob.LauncherRejects(f.Report.Problems) {
		mark += "*"
	}
	return mark + strconv.Itoa(i+1)
}

// bandsAgree reports whether all rows have the same error bands.
func bandsAgree(list []search.Found) bool {
	first := &list[0].Report
	for i := range list {
		r := &list[i].Report
		if r.Time.Words() != first.Time.Words() || r.Memory.Words() != first.Memory.Words() {
			return false
		}
	}
	return true
}

// costWords returns the cost of a run; a dash if no price is known.
func costWords(r *engine.Run) string {
	if r.Cost == nil {
		return "-"
	}
	return figure.Dollars(*r.Cost)
}

// footnotes adds the error bands of a table and the meaning of its marks.
func footnotes(s *Section, list []search.Found) {
	r, refused, tight := &list[0].Report, false, false
	for i := range list {
		m := list[i].Report.Memory
		tight = tight || m.Fits && !m.HasMargin()
		refused = refused || knob.LauncherRejects(list[i].Report.Problems)
	}
	switch agree := bandsAgree(list); {
	case agree && r.Time.Words() == r.Memory.Words():
		s.say("step times and memory: " + r.Time.Words())
	case agree:
		s.say("step times: " + r.Time.Words())
		s.say("memory: " + r.Memory.Words())
	default:
		s.say("± nine of ten published runs are within this error, the similar ones counting more")
	}
	if tight {
		s.say("? no margin: leaves less of the memory free than 5 %, or than its error band")
	}
	if refused {
		s.say("* some launcher rejects this layout; eval tells which")
	}
}
