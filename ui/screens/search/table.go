package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/table"
	"meshscope/ui/widget"
)

// slowOf returns the slow end of the current setup's step; its step where that takes long to find.
func (v *View) slowOf(in *screen.Context) units.Seconds {
	if v.slow.of != *in.Setup {
		v.slow.of, v.slow.step = *in.Setup, in.Report.Time.Step
		if !in.Setup.Slow() {
			v.slow.step = engine.PessimisticStep(in.Setup, in.Report)
		}
	}
	return v.slow.step
}

// own returns the current setup as a row, ranked among what was found; nil where
// there are no figures of it.
func (v *View) own(in *screen.Context) *row {
	if in.Setup == nil || in.Report == nil || in.Report.Time == nil || in.Report.Memory == nil {
		return nil
	}
	r := report.NewCandidate(in.Setup, in.Report, v.slowOf(in), 0)
	r.Current = true
	if v.answer != nil && v.answer.of.chosen[budget] != "" { // the tokens are those of the question
		s := *in.Setup
		s.Budget = v.answer.of.inFull().Setup.Budget
		if run := engine.WholeRun(&s, in.Report.Time); run != nil {
			r.Spend(run)
		}
	}
	r.Last = !r.Fits || v.chosen[objective] != ""
	return &r
}

// shown returns the rows in their order: those found that pass the filter, with the
// current setup among them.
func (v *View) shown(in *screen.Context) []row {
	if v.answer == nil {
		return nil
	}
	own := v.own(in)
	out := make([]row, 0, len(v.answer.rows)+1)
	found := false
	for i := range v.answer.rows {
		r := v.answer.rows[i]
		if r.Rank == 0 {
			continue
		}
		if own != nil && same(&r.Setup, in.Setup) {
			r.Current, found = true, true
		}
		out = append(out, r)
	}
	if own != nil && !found {
		out = append(out, *own)
	}
	return v.table.Listed(out, worth)
}

// worth orders by rank; what has none stands by its speed among those that have
// one, and behind all where it does not fit.
func worth(a, b *row) int {
	switch {
	case a.Rank > 0 && b.Rank > 0:
		return cmp.Compare(a.Rank, b.Rank)
	case a.Last != b.Last:
		if b.Last {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.Speed(), a.Speed())
}

// pointer is the width of the marks before a row: cursor and current setup.
const pointer = table.Gap

// look returns how layouts are listed, the one in force marked and in sight.
func (v *View) look(in *screen.Context) *table.Look[row] {
	return &table.Look[row]{
		Of: v.found(in), Focus: !v.inKnob && !v.inPicture, Whole: true,
		Skip: func(c *column) bool {
			return in.Setup != nil && !in.Setup.Model.IsMoE() && (c.ID == "ep" || c.ID == "etp")
		},
		Text: func(c *column, r *row, _ int) string { return v.cellText(in, c, r) },
		Mark: func(l *widget.Line, r *row) {
			switch {
			case r.Current:
				l.Put(in.Paint(themes.Current), in.Glyphs.Here)
			case r.Front:
				l.Put(in.Paint(themes.Good), in.Glyphs.Point)
			}
		},
		Role: func(c *column, r *row, text string) themes.Role {
			switch {
			case (c.ID == "peak" || c.ID == "free") && !r.Fits:
				return themes.Bad
			case r.Current:
				return themes.Current
			case c.ID == "tokens":
				return themes.Strong
			case c.ID == "rank", c.Degree && c.Value(r) == 1, c.Words() && (text == "off" || text == "none"):
				return themes.Muted
			}
			return themes.Text
		},
	}
}

// form chooses the columns that a table of w cells has.
func (v *View) form(in *screen.Context, w int) table.Form {
	return v.table.Form(v.found(in), w, v.look(in))
}

// lines draws head and rows: exactly h lines of w cells.
func (v *View) lines(in *screen.Context, rows []row, w, h int) []string {
	return v.table.Lines(in, rows, w, h, current(rows), v.look(in))
}

// current returns the place of the setup in force; -1: it is not among the rows.
func current(rows []row) int { return slices.IndexFunc(rows, func(r row) bool { return r.Current }) }

// found returns the layouts that have a rank, and the current setup.
func (v *View) found(in *screen.Context) []row {
	var rows []row
	if v.answer != nil {
		rows = slices.Clone(v.answer.rows[:v.ranked()])
	}
	if own := v.own(in); own != nil {
		rows = append(rows, *own)
	}
	return rows
}

// cellText returns what a column says of a row.
func (v *View) cellText(in *screen.Context, c *column, r *row) string {
	if c.ID == "rank" && r.Current && r.Rank == 0 && v.answer != nil {
		return v.beyond(in, r)
	}
	return recipe.BriefRecompute(c.Brief(r))
}

// beyond returns what represents the rank of the current setup where it is not among
// the layouts that are listed.
func (v *View) beyond(in *screen.Context, r *row) string {
	if !r.Fits {
		return in.Glyphs.Cross
	}
	if n := v.ranked(); n > 0 && r.Speed() < v.answer.rows[n-1].Speed() &&
		v.answer.of.chosen[objective] == "" {
		return ">" + strconv.Itoa(n)
	}
	return in.Glyphs.None
}

// ranked returns how many layouts are listed.
func (v *View) ranked() int {
	if v.answer == nil {
		return 0
	}
	n := 0
	for n < len(v.answer.rows) && v.answer.rows[n].Rank > 0 {
		n++
	}
	return n
}

// passing returns how many of the layouts that were found pass the filter.
func passing(rows []row) int {
	n := 0
	for i := range rows {
		if rows[i].Rank > 0 {
			n++
		}
	}
	return n
}

// nonePasses says that layouts were found, and that the filter leaves none of them.
func (v *View) nonePasses(rows []row) bool {
	return v.answer != nil && v.running == nil && len(v.table.Conditions) > 0 && v.ranked() > 0 &&
		passing(rows) == 0
}

// lookedAt returns what the filter looks at: the layouts that are listed, which are the best
// of all that were ranked.
func (v *View) lookedAt() string {
	n, all := v.ranked(), v.answer.result.legal
	if n < all {
		return fmt.Sprintf("the best %s of %s", figure.Comma(n), figure.Comma(all))
	}
	return "all " + figure.Comma(n)
}

// noneLines say that no layout passes the filter, among which, and what enter does.
func (v *View) noneLines(in *screen.Context, w int) []string {
	texts := []string{"none of " + v.lookedAt() + " layouts pass; esc removes the filter"}
	if words := v.fixWords(); words != "" {
		texts = append(texts, "enter searches again with "+words+" fixed")
	}
	lines := make([]string, 0, len(texts))
	for _, text := range texts {
		lines = append(lines, in.Note(w, text))
	}
	return lines
}

// fixWords returns the knobs that enter fixes to what the filter says; none where they have
// been fixed to it.
func (v *View) fixWords() string {
	asked := fixed(v.table.Conditions, v.table.All)
	var parts []string
	for k := range knobs {
		if word, ok := asked[k]; ok && v.chosen[k] != word {
			parts = append(parts, k.label()+" "+word)
		}
	}
	return strings.Join(parts, ", ")
}

// fixFilter searches anew with the knobs fixed to what the filter says.
func (v *View) fixFilter(in *screen.Context) screen.Request {
	before, asked := v.chosen, fixed(v.table.Conditions, v.table.All)
	for k, typed := range asked {
		word, err := v.read(k, typed)
		if err != nil {
			v.chosen, v.table.Wrong, v.table.Typing = before, err.Error(), true
			return screen.Request{}
		}
		v.admit(k, word)
		v.set(k, word)
	}
	if v.chosen == before {
		return screen.Request{}
	}
	if len(asked) == len(v.table.Conditions) { // the knobs say all of it now
		v.table.Clear()
	}
	return v.Refresh(in)
}

// fixed returns the knobs that a filter turns to one value, as it can be asked of a search.
func fixed(conditions []table.Condition, all []column) map[facet]string {
	out := map[facet]string{}
	for i := range conditions {
		c := &conditions[i]
		if c.Column < 0 {
			for _, id := range []string{string(knob.Schedule), string(knob.Recompute)} {
				if k, ok := field(id); ok && slices.Contains(all[report.ColumnOf(all, id)].Choices, c.Word) {
					out[k] = c.Word
				}
			}
			continue
		}
		if id := all[c.Column].ID; c.Op == "=" && all[c.Column].Knob {
			if k, ok := field(id); ok {
				out[k] = c.Word
			}
		}
	}
	return out
}
