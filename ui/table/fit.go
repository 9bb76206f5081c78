package table

import (
	"slices"

	"meshscope/ui/widget"
)

// Form is which columns a list has room for, and how wide they are.
type Form struct {
	Cols   []int // of Table.All, in their order
	widths []int // by Table.All, with the gap before the column
}

// Form chooses columns by what the rows differ in: those that tell rows apart which otherwise look
// alike come first, those in which all agree last. Rows are all that were found, so that moving,
// ordering and filtering leave the choice alone.
func (t *Table[R]) Form(rows []R, w int, look *Look[R]) Form {
	texts := make([][]string, len(t.All))
	texts[0] = []string{look.Title}
	s := Form{widths: make([]int, len(t.All))}
	var open []int
	used := Gap
	for i := range t.All {
		c := &t.All[i]
		if t.Hidden[i] || look.Skip != nil && look.Skip(c) {
			continue
		}
		for n := range rows {
			if t.Wide && i == 0 {
				break
			}
			texts[i] = append(texts[i], look.text(c, &rows[n], w))
		}
		if c.OnlyVaried && !varies(texts[i]) {
			continue
		}
		s.widths[i] = t.width(i, texts[i])
		if c.Drop == 0 {
			s.Cols, used = append(s.Cols, i), used+s.widths[i]
			continue
		}
		open = append(open, i)
	}
	kinds := make([]int, min(len(rows), compared))
	for _, i := range s.Cols {
		kinds = split(kinds, texts[i], t.All[i].Knob)
	}
	for len(open) > 0 {
		best := t.next(open, texts, kinds)
		i := open[best]
		open = slices.Delete(open, best, best+1)
		if c, left := &t.All[i], w-used-look.Room; s.widths[i] > left {
			if !c.Cut || widget.Width(c.Head)+2 > left {
				continue
			}
			s.widths[i] = left
		}
		s.Cols, used = append(s.Cols, i), used+s.widths[i]
		kinds = split(kinds, texts[i], t.All[i].Knob)
	}
	slices.Sort(s.Cols)
	left := w - used - look.Room
	if t.Wide {
		left -= wideName
	}
	s.spread(slices.IndexFunc(s.Cols, func(i int) bool { return t.All[i].Knob }), left)
	if t.Wide || used > w && t.All[0].Words() {
		s.widths[0] = w - Gap
		for _, i := range s.Cols[1:] {
			s.widths[0] -= s.widths[i]
		}
	}
	return s
}

// wideName is how much of a first column that takes what is left gaps between the others leave.
const wideName = 40

// spread gives what room is left to the gaps: those of all columns, or those between
// the figures and before the layout.
func (s *Form) spread(knobs, left int) {
	if len(s.Cols) <= left {
		for _, i := range s.Cols {
			s.widths[i]++
		}
		return
	}
	for n := min(knobs, len(s.Cols)-1); n > 0 && left > 0; n-- {
		s.widths[s.Cols[n]]++
		left--
	}
}

// width of a column with these texts, its gap, and the sign of the order where it
// has one.
func (t *Table[R]) width(i int, texts []string) int {
	c := &t.All[i]
	w := widget.Width(c.Head)
	if i == t.Sort {
		w++
	}
	for _, text := range texts {
		w = max(w, widget.Width(text))
	}
	switch {
	case i == 0 || !c.Words():
		return w + 1
	case !c.Cut:
		w = min(w, widestWord)
	}
	return w + 2 // words do not end where the number before them does
}

// widestWord is how much of a word a column shows.
const widestWord = 22

// compared is how many of the best layouts the choice of columns looks at.
const compared = 24

// next returns the column to take now, as an index of open: the one that tells most of the
// best layouts apart which look alike so far; of equals one that varies, then the one
// that leaves last.
func (t *Table[R]) next(open []int, texts [][]string, kinds []int) int {
	best, bestKinds, bestVaries := 0, -1, false
	for n, i := range open {
		number, some := distinct(split(kinds, texts[i], t.All[i].Knob)), varies(texts[i])
		better := number > bestKinds
		if number == bestKinds {
			if better = some && !bestVaries; some == bestVaries {
				better = t.All[i].Drop < t.All[open[best]].Drop
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
func split(kinds []int, texts []string, knob bool) []int {
	if !knob {
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
