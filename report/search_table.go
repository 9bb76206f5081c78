package report

import (
	"cmp"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/report/figure"
)

// table adds layouts to a section: knobs that differ and figures as columns, the other knobs
// and the error bands below.
func (o *Search) table(s *Section, list []search.Found) {
	rows := o.candidates(list)
	columns := CandidateColumns()
	if !bandsAgree(list) {
		columns = append(columns, Column[Candidate]{
			Head: "±step", Drop: 10,
			Text: func(r *Candidate) string { return list[r.Rank-1].Report.Time.Band("±") },
		}, Column[Candidate]{
			Head: "±GiB", Drop: 19,
			Text: func(r *Candidate) string { return list[r.Rank-1].Report.Memory.Band("±") },
		})
	}
	slices.SortStableFunc(columns[1:], func(a, b Column[Candidate]) int { // knobs before figures
		return cmp.Compare(figure.OnOff(b.Knob), figure.OnOff(a.Knob))
	})
	t := &Table{Rows: make([][]Cell, len(rows))}
	var same []string
	var shown []Column[Candidate]
	for i := range columns {
		c := &columns[i]
		first := c.Brief(&rows[0])
		differ := slices.ContainsFunc(rows, func(r Candidate) bool { return c.Brief(&r) != first })
		switch {
		case c.Aside, !c.Knob && !differ && first == "":
			continue
		case c.Knob && !differ && c.ID != "dp" && c.Drop > 0:
			if (!c.Degree || first != "1") && !o.titleSays(knob.ID(c.ID)) &&
				(!c.Named || o.Query.Several(knob.ID(c.ID))) {
				same = append(same, c.ID+" "+first)
			}
			continue
		}
		head := c.Head
		if c.Knob {
			head = append(c.Names, c.ID)[0] // as its flag is called
		}
		switch c.ID {
		case "slow":
			c.Drop = 0 // by which layouts are ranked
		case "tokens":
			c.Drop = 18 // says what the step does
		}
		shown, t.Head = append(shown, *c), append(t.Head, head)
		for n := range rows {
			t.Rows[n] = append(t.Rows[n], c.line(&rows[n]))
		}
	}
	t.Head[0] = "rank"
	t.Spare = spare(shown, t.Head)
	s.add(t)
	if len(same) > 0 {
		s.say("all layouts: " + strings.Join(same, ", "))
	}
	footnotes(s, list, rows)
	if list[0].ForMargin {
		s.say("1 is " + search.MarginRule)
	}
}

// candidates returns layouts with their figures, the best first.
func (o *Search) candidates(list []search.Found) []Candidate {
	rows := make([]Candidate, len(list))
	for i := range list {
		f := &list[i]
		rows[i] = NewCandidate(&f.Setup, &f.Report, f.PessimisticStep, i+1)
		rows[i].Close = i > 0 && o.Problem.TooClose(&list[0], f)
	}
	return rows
}

// titleSays reports whether the title gives the only value of a knob.
func (o *Search) titleSays(id knob.ID) bool {
	sp := &o.Problem.Space
	list, ok := map[knob.ID][]int{knob.GPUs: sp.GPUs, knob.GBS: sp.GBS, knob.Seq: sp.Seq}[id]
	return ok && len(list) == 1 && (id != knob.GBS || !sp.FollowGBS)
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

// footnotes adds the error bands of a table and the meaning of its marks.
func footnotes(s *Section, list []search.Found, rows []Candidate) {
	r := &list[0].Report
	some := func(is func(r Candidate) bool, words string) {
		if slices.ContainsFunc(rows, is) {
			s.say(words)
		}
	}
	some(func(r Candidate) bool { return r.Slow > r.Step }, "slow end: the step where no unproven overlap "+
		"works (all-to-all of experts, ZeRO traffic of every micro-batch), by which layouts are ranked "+
		"(--comm-overlap assumed ranks by the other end)")
	switch agree := bandsAgree(list); {
	case agree && r.Time.Words() == r.Memory.Words():
		s.say("step times and memory: " + r.Time.Words())
	case agree:
		s.say("step times: " + r.Time.Words())
		s.say("memory: " + r.Memory.Words())
	default:
		s.say("± nine of ten published runs are within this error, the similar ones counting more")
	}
	some(func(r Candidate) bool { return r.Fits && !r.Sure },
		"? no margin: leaves less of the memory free than 5 %, or than its error band")
	some(func(r Candidate) bool { return r.Refused }, "* some launcher rejects this layout; eval tells which")
	some(func(r Candidate) bool { return r.Close },
		"~ too close to call: within a quarter of the error band of the first")
}
