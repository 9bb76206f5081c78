package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
)

// Line builds one line of a panel, cell by cell from the left. What does not
// fit is cut; String fills up with blanks, so a line always has its width.
type Line struct {
	b     strings.Builder
	width int
	used  int
	blank themes.Paint // of the gaps
	whole bool         // of the text too
}

// NewLine starts a line of the given width.
func NewLine(width int) *Line {
	l := &Line{width: max(width, 0)}
	l.b.Grow(l.width + 64)
	return l
}

// OnBlank sets the look of gaps, for rows with a background of their own.
func (l *Line) OnBlank(p themes.Paint) *Line {
	l.blank = p
	return l
}

// Whole gives gaps and text one look, whatever paint a text asks for: a chosen row
// has no holes in its background.
func (l *Line) Whole(p themes.Paint) *Line {
	l.blank, l.whole = p, true
	return l
}

// Used returns the number of cells written so far; Left what remains.
func (l *Line) Used() int { return l.used }

// Left returns the number of cells that remain.
func (l *Line) Left() int { return l.width - l.used }

// Put writes text in a paint.
func (l *Line) Put(p themes.Paint, s string) *Line {
	w := Width(s)
	if room := l.width - l.used; w > room {
		s = Cut(s, room)
		w = Width(s)
	}
	if w == 0 {
		return l
	}
	if l.whole {
		p = l.blank
	}
	l.b.WriteString(p.Open())
	l.b.WriteString(s)
	l.b.WriteString(p.Close())
	l.used += w
	return l
}

// Raw writes text that carries its own looks and is w cells wide. Text that
// would not fit is cut.
func (l *Line) Raw(s string, w int) *Line {
	if w <= 0 {
		return l
	}
	if room := l.width - l.used; w > room {
		s = ansi.Truncate(s, room, "")
		w = ansi.StringWidth(s)
	}
	l.b.WriteString(s)
	l.used += w
	return l
}

// Gap writes n blanks.
func (l *Line) Gap(n int) *Line {
	if n = min(n, l.width-l.used); n > 0 {
		l.b.WriteString(l.blank.Open())
		l.b.WriteString(blanks(n))
		l.b.WriteString(l.blank.Close())
		l.used += n
	}
	return l
}

// To writes blanks up to column x; nothing when it is already passed.
func (l *Line) To(x int) *Line { return l.Gap(x - l.used) }

// Right writes text against the right end, less margin cells. Text that has no
// room next to the text there is left out.
func (l *Line) Right(p themes.Paint, s string, margin int) *Line {
	w := Width(s)
	at := l.width - margin - w
	if at < l.used {
		return l
	}
	return l.To(at).Put(p, s)
}

// RightAligned writes text so that it ends at column x.
func (l *Line) RightAligned(p themes.Paint, s string, x int) *Line {
	return l.To(x-Width(s)).Put(p, s)
}

// String returns the line, filled up to its width.
func (l *Line) String() string {
	l.Gap(l.width - l.used)
	return l.b.String()
}

// Width returns the number of cells of a text without escape sequences.
func Width(s string) int {
	for i := range len(s) {
		if s[i] >= 0x7f || s[i] < 0x20 { // DEL takes no cell either
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Cut shortens a text to w cells, ending in an ellipsis where one fits.
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	if w < 4 {
		return ansi.Truncate(s, w, "")
	}
	return ansi.Truncate(s, w, "…")
}

// CutText shortens a sentence to w cells, ending in an ellipsis: behind the last clause
// that has room, else behind the last word, and within a word only where either would
// lose more than a third of the room.
func CutText(s string, w int, ellipsis string) string {
	const loose = " ,;:(|·" // ends nothing
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	room := w - Width(ellipsis)
	if room < 3 {
		return ansi.Truncate(s, w, "")
	}
	head := ansi.Truncate(s, room, "")
	whole := s[:min(len(head)+1, len(s))] // with what follows it
	word, clause := strings.LastIndexByte(whole, ' '), -1
	for _, end := range []string{"; ", ", ", ": ", ". "} {
		clause = max(clause, strings.LastIndex(whole, end))
	}
	for _, at := range []int{clause, word} {
		if at > 0 && 3*Width(head[:min(at, len(head))]) >= 2*room {
			return strings.TrimRight(head[:min(at, len(head))], loose) + ellipsis
		}
	}
	return head + ellipsis
}

// Wrap breaks a text between words into lines of at most w cells, as long as each
// word has that room; nothing for no text. (ansi.Wordwrap forgets the hyphen that it
// breaks after, and is a cell too wide.)
func Wrap(s string, w int) []string {
	if s == "" || w < 1 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, w, ""), "\n")
}

// Blank returns a line of w blanks.
func Blank(w int) string { return blanks(max(w, 0)) }

const manyBlanks = "                                                                                       " +
	"                                         "

func blanks(n int) string {
	if n <= len(manyBlanks) {
		return manyBlanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Fill repeats a one-cell sign.
func Fill(sign string, n int) string { return strings.Repeat(sign, max(n, 0)) }

// Step returns the line of so many that is n below one, the first or the last beyond them.
func Step(at, n, all int) int { return min(max(at+n, 0), max(all-1, 0)) }

// Page returns the first of n shown lines out of all; it stands still while the cursor moves
// within one page.
func Page(cursor, n, all int) int {
	if n <= 0 || all <= n {
		return 0
	}
	return min(max(cursor, 0)/n*n, all-n)
}

// Height makes exactly h lines of a panel: too many are cut, too few are
// filled with blank ones.
func Height(lines []string, w, h int) []string {
	if len(lines) > h {
		return lines[:max(h, 0)]
	}
	for len(lines) < h {
		lines = append(lines, Blank(w))
	}
	return lines
}
