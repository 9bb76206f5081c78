package search

import (
	"slices"

	"meshscope/engine/recipe"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// shape is which columns a table has room for, and how wide they are.
type shape struct {
	cols   []int // of table.all, in their order
	widths []int // by table.all, with the gap before the column
}

// shape chooses columns by what the layouts differ in: those that tell rows apart
// which otherwise look alike come first, those in which all agree last. It looks at
// what was found, so that moving, ordering and filtering leave it alone.
func (v *View) shape(in *screen.Context, w int) shape {
	t := &v.table
	rows := v.found(in)
	texts := make([][]string, len(t.all))
	s := shape{widths: make([]int, len(t.all))}
	var open []int
	used := pointer
	for i := range t.all {
		c := &t.all[i]
		if t.hidden[i] || in.Setup != nil && !in.Setup.Model.IsMoE() && (c.ID == "ep" || c.ID == "etp") {
			continue
		}
		for n := range rows {
			texts[i] = append(texts[i], v.cellText(in, c, &rows[n]))
		}
		if c.OnlyVaried && !varies(texts[i]) {
			continue
		}
		s.widths[i] = t.width(i, texts[i])
		if c.Drop == 0 {
			s.cols, used = append(s.cols, i), used+s.widths[i]
			continue
		}
		open = append(open, i)
	}
	kinds := make([]int, min(len(rows), compared))
	for _, i := range s.cols {
		kinds = split(kinds, texts[i], &t.all[i])
	}
	for len(open) > 0 {
		best := t.next(open, texts, kinds)
		i := open[best]
		open = slices.Delete(open, best, best+1)
		if used+s.widths[i] > w {
			continue
		}
		s.cols, used = append(s.cols, i), used+s.widths[i]
		kinds = split(kinds, texts[i], &t.all[i])
	}
	slices.Sort(s.cols)
	s.spread(t, w-used)
	return s
}

// spread gives what room is left to the gaps: those of all columns, or those between
// the figures and before the layout.
func (s *shape) spread(t *table, left int) {
	if len(s.cols) <= left {
		for _, i := range s.cols {
			s.widths[i]++
		}
		return
	}
	knobs := slices.IndexFunc(s.cols, func(i int) bool { return t.all[i].Knob })
	for n := min(knobs, len(s.cols)-1); n > 0 && left > 0; n-- {
		s.widths[s.cols[n]]++
		left--
	}
}

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
	if c.ID == "rank" && r.current && r.Rank == 0 && v.answer != nil {
		return v.beyond(in, r)
	}
	return recipe.BriefRecompute(c.Brief(&r.Candidate))
}

// width of a column with these texts, its gap, and the sign of the order where it
// has one.
func (t *table) width(i int, texts []string) int {
	c := &t.all[i]
	w := widget.Width(c.Head)
	if i == t.sort {
		w++
	}
	for _, text := range texts {
		w = max(w, widget.Width(text))
	}
	if c.Words() {
		return min(w, widestWord) + 2 // they do not end where the number before them does
	}
	return w + 1
}

// widestWord is how much of a word a column shows.
const widestWord = 22

// compared is how many of the best layouts the choice of columns looks at.
const compared = 24

// next returns the column to take now, as an index of open: the one that tells most of the
// best layouts apart which look alike so far; of equals one that varies, then the one
// that leaves last.
func (t *table) next(open []int, texts [][]string, kinds []int) int {
	best, bestKinds, bestVaries := 0, -1, false
	for n, i := range open {
		number, some := distinct(split(kinds, texts[i], &t.all[i])), varies(texts[i])
		better := number > bestKinds
		if number == bestKinds {
			if better = some && !bestVaries; some == bestVaries {
				better = t.all[i].Drop < t.all[open[best]].Drop
			}
		}
		if better {
			best, bestKinds, bestVaries = n, number, some
		}
	}
	return best
}

// split numbers rows so that those which look alike have the same number, with one
// more column in addition to those that gave the numbers they have. Figures do not count.
func split(kinds []int, texts []string, c *column) []int {
	if !c.Knob {
		return kinds
	}
	type look struct {
		kind int
		text string
	}
	seen := make(map[look]int, len(kinds))
	out := make([]int, len(kinds))
	for n := range kinds {
		l := look{kinds[n], texts[n]}
		if _, known := seen[l]; !known {
			seen[l] = len(seen)
		}
		out[n] = seen[l]
	}
	return out
}

// distinct returns how many kinds there are.
func distinct(kinds []int) int {
	most := 0
	for _, k := range kinds {
		most = max(most, k+1)
	}
	return most
}

func varies(texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return text != texts[0] })
}
