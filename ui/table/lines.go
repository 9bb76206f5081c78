package table

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Look is how a screen shows a list: what its columns do not say. What is nil adds nothing.
type Look[R any] struct {
	Title   string   // in place of the head of the first column
	Details []string // behind the title: the first that has room
	Focus   bool     // the cursor has the arrow keys
	Whole   bool     // its row is marked from end to end

	Of     []R                                              // rows to choose columns by, nil: those drawn
	Skip   func(c *report.Column[R]) bool                   // no such column
	Text   func(c *report.Column[R], r *R, room int) string // nil: Brief
	Role   func(c *report.Column[R], r *R, text string) themes.Role
	Mark   func(l *widget.Line, r *R) // in the second cell
	Behind func(l *widget.Line, r *R) // the columns; of the head a nil row
	Room   int                        // that Behind needs
}

// Lines draws head and rows, those of Seen: exactly h lines of w cells.
func (t *Table[R]) Lines(in *screen.Context, rows []R, w, h, pinned int, look *Look[R]) []string {
	if h <= 0 {
		return nil
	}
	of := look.Of
	if of == nil {
		of = rows
	}
	form, at := t.Form(of, w, look), min(t.Row, len(rows)-1)
	seen := Seen(len(rows), at, pinned, h-1)
	lines := []string{t.head(in, &form, w, window(seen, len(rows)), look)}
	for _, n := range seen {
		r, begin := &rows[n], in.Pointed
		if look.Whole {
			begin = in.Row
		}
		l, base := begin(w, look.Focus && n == at)
		if l.To(1); look.Mark != nil {
			look.Mark(l, r)
		}
		l.To(Gap)
		for _, i := range form.Cols {
			text, role := look.text(&t.All[i], r, form.widths[i]-1), base
			if i > 0 || base == themes.Text {
				role = themes.Text
				if look.Role != nil {
					role = look.Role(&t.All[i], r, text)
				}
			}
			t.cell(in, l, i, form.widths[i], in.Paint(role), text)
		}
		if look.Behind != nil {
			look.Behind(l.Gap(Gap), r)
		}
		lines = append(lines, l.String())
	}
	return widget.Height(lines, w, h)
}

func (k *Look[R]) text(c *report.Column[R], r *R, room int) string {
	if k.Text == nil {
		return c.Brief(r)
	}
	return k.Text(c, r, room)
}

// head draws the title with what is seen of the rows, and the heads of the columns; the one under the
// cursor stands out.
func (t *Table[R]) head(in *screen.Context, form *Form, w int, seen string, look *Look[R]) string {
	l, cols := widget.NewLine(w), form.Cols
	if t.All[0].Head == "" {
		cols = cols[1:]
		l.Put(in.Paint(themes.Heading), look.Title)
		for _, detail := range append(look.Details, "") {
			text := strings.TrimSpace(seen + " " + detail)
			if text != "" && l.Used()+1+widget.Width(text) <= Gap+form.widths[0] {
				l.Gap(1).Put(in.Paint(themes.Muted), text)
				break
			}
		}
		l.To(Gap + form.widths[0])
	}
	l.To(Gap)
	for _, i := range cols {
		c := &t.All[i]
		text, role := c.Head, themes.Muted
		if i == t.Sort {
			sign := in.Glyphs.Down
			if c.Down == t.Back {
				sign = in.Glyphs.Up
			}
			text += sign
			role = themes.Strong
		}
		if i == t.Column && look.Focus {
			role = themes.Accent
		}
		t.cell(in, l, i, form.widths[i], in.Paint(role), text)
	}
	if look.Behind != nil {
		look.Behind(l.Gap(Gap), nil)
	}
	return l.String()
}

// cell writes a text into a column of that width.
func (t *Table[R]) cell(in *screen.Context, l *widget.Line, i, width int, p themes.Paint, text string) {
	end := l.Used() + width
	if t.All[i].Words() {
		gap := min(i+1, 2) // a blank stands before the first column
		l.Gap(gap).Put(p, in.Cut(text, width-gap)).To(end)
		return
	}
	l.RightAligned(p, text, end)
}

// Seen returns the rows on n lines, that of the cursor among them. One that is pinned (-1: none) takes
// the last line where it is beyond the page, and the pages are a line shorter.
func Seen(rows, at, pinned, n int) []int {
	from := widget.Page(at, n, rows)
	beyond := pinned >= 0 && n >= 4 && (pinned < from || pinned >= from+n)
	if beyond {
		n--
		from = widget.Page(at, n, rows)
	}
	out := make([]int, 0, max(n, 0)+1)
	for i := from; i < min(from+n, rows); i++ {
		out = append(out, i)
	}
	switch {
	case !beyond:
	case !slices.Contains(out, pinned):
		out = append(out, pinned)
	case from+n < rows:
		out = append(out, from+n)
	case from > 0:
		out = slices.Insert(out, 0, from-1)
	}
	return out
}

// window says which of all rows are seen; nothing where all are.
func window(seen []int, all int) string {
	if n := len(seen); n > 0 && n < all {
		return fmt.Sprintf("%s-%s of %s", figure.Comma(seen[0]+1), figure.Comma(seen[n-1]+1),
			figure.Comma(all))
	}
	return ""
}

// Point puts the cursor on line y of a list of h lines, whose head is line 0; false: no row is there.
// Again: it was on that row.
func (t *Table[R]) Point(rows, pinned, y, h int) (hit, again bool) {
	at := min(t.Row, rows-1)
	seen := Seen(rows, at, pinned, h-1)
	if y < 1 || y > len(seen) {
		return false, false
	}
	t.Row = seen[y-1]
	return true, t.Row == at
}
