package knobs

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Hit is a place of the column that the mouse can take: a row, or a value on
// its ladder.
type Hit struct {
	X, Y, W int
	ID      knob.ID
	Value   string // empty: the row itself
	Key     string // what it presses in place of a value
}

// Column is the knobs as they are drawn.
type Column struct {
	Rows []Row
	// NoEffect are knobs that are set and change nothing: they are dim.
	NoEffect []engine.NoEffect

	Focus  knob.ID
	Typing string // what is being typed into the focused knob; read when IsTyping
	Caret  int    // cells before the caret in Typing

	IsTyping bool
	Glow     map[knob.ID]bool // values that stand out, because they have just changed
	Theme    *themes.Theme
	Glyphs   widget.Glyphs
}

// Drawn is a drawn column: its lines, what can be clicked, and where the caret
// of a typed value is (-1: nowhere).
type Drawn struct {
	Lines          []string
	Hits           []Hit
	CaretX, CaretY int
}

// Columns of a row.
const (
	labelAt  = 2
	valueEnd = 24 // the value is right-aligned to it
	ladderAt = 26
	minTrack = 10 // cells below which a ladder is not worth drawing

	lockWidth = len("fixed")
)

// entry is one line of the column: a heading, a blank line or a knob.
type entry struct {
	title string
	row   int // index into Rows; -1 for headings and blank lines
}

// Render draws the column into w x h cells, scrolled so that the focus shows.
func (c *Column) Render(w, h int) Drawn {
	d := Drawn{CaretX: -1, CaretY: -1}
	if w <= 0 || h <= 0 {
		return d
	}
	entries := c.entries(h)
	from := c.scroll(entries, h)
	for i := from; i < len(entries) && len(d.Lines) < h; i++ {
		e := entries[i]
		switch {
		case e.row >= 0:
			c.renderRow(&d, &c.Rows[e.row], w, i == from+h-1 && i < len(entries)-1)
		case e.title != "":
			d.Lines = append(d.Lines, c.heading(e.title, w))
		default:
			d.Lines = append(d.Lines, widget.Blank(w))
		}
	}
	d.Lines = widget.Height(d.Lines, w, h)
	c.mark(&d, entries, from, w, h)
	return d
}

// mark says how many knobs lie below, in the last line where no knob is on it (a
// heading over nothing goes).
func (c *Column) mark(d *Drawn, entries []entry, from, w, h int) {
	below := 0
	for _, e := range entries[min(from+h, len(entries)):] {
		if e.row >= 0 {
			below++
		}
	}
	if below == 0 {
		return
	}
	muted, last := c.Theme.Paint(themes.Muted), entries[from+h-1]
	if last.row < 0 {
		text := c.Glyphs.Down + " " + strconv.Itoa(below) + " more below"
		d.Lines[h-1] = widget.NewLine(w).Put(muted, widget.Cut(text, w)).String()
	}
}

// entries lays the rows out with headings where there is room for the groups
// that are turned often, without them on small screens.
func (c *Column) entries(h int) []entry {
	often, spacious := 0, 0
	starts := func(r int) bool { return r == 0 || c.Rows[r].Group != c.Rows[r-1].Group }
	for r := range c.Rows {
		if c.Rows[r].Group == knob.MoreGroup {
			break
		}
		if often, spacious = often+1, spacious+1; starts(r) {
			often, spacious = often+1, spacious+1
			if r > 0 {
				spacious++
			}
		}
	}
	headed, spaced := h >= often, h >= spacious
	entries := make([]entry, 0, len(c.Rows)+2*len(knob.Groups()))
	for r := range c.Rows {
		if headed && starts(r) {
			if spaced && r > 0 {
				entries = append(entries, entry{row: -1})
			}
			entries = append(entries, entry{title: c.Rows[r].Group.Title(), row: -1})
		}
		entries = append(entries, entry{row: r})
	}
	return entries
}

// scroll returns the first entry that is drawn: 0 as long as the focus shows then.
func (c *Column) scroll(entries []entry, h int) int {
	at := 0
	for i, e := range entries {
		if e.row >= 0 && c.Rows[e.row].ID == c.Focus {
			at = i
		}
	}
	if at < h {
		return 0
	}
	// A little of what follows stays in sight.
	return min(at-h+1+min(2, h/4), len(entries)-h)
}

func (c *Column) heading(title string, w int) string {
	l := widget.NewLine(w)
	l.Put(c.Theme.Paint(themes.Heading), title)
	l.Gap(1)
	l.Put(c.Theme.Paint(themes.Faint), widget.Fill(c.Glyphs.Rule, l.Left()))
	return l.String()
}

// renderRow draws a knob; more says that others lie below it that are not drawn.
func (c *Column) renderRow(d *Drawn, r *Row, w int, more bool) {
	t, y := c.Theme, len(d.Lines)
	focused := r.ID == c.Focus
	label, value, remark := t.Paint(themes.Text), t.Paint(themes.Strong), t.Paint(themes.Muted)
	l := widget.NewLine(w)
	if abbreviated(r.Label) {
		label = t.Word(themes.Text, r.Label)
	}
	if focused {
		label, value, remark = t.Paint(themes.Focus), t.Paint(themes.Focus), t.Paint(themes.Focus)
		l.OnBlank(t.Paint(themes.Focus))
		l.Put(label, c.Glyphs.Pointer)
	} else if more {
		l.Put(remark, c.Glyphs.Down)
	}
	if c.Glow[r.ID] && !focused {
		value = t.Paint(themes.Focus)
	}
	if (r.Off != "" || NoEffect(c.NoEffect, r.ID) != "") && !focused {
		label, value = remark, remark
	}
	d.Hits = append(d.Hits, Hit{X: 0, Y: y, W: w, ID: r.ID})
	l.To(labelAt).Put(label, r.Label)
	end := min(valueEnd, w)
	switch {
	case focused && c.IsTyping:
		c.renderTyping(d, l, end, y)
	case r.Off != "":
		l.RightAligned(value, c.Glyphs.None, end)
	default:
		l.RightAligned(value, widget.Cut(r.Value, end-l.Used()-1), end)
	}
	c.renderLadder(d, l, r, remark, y)
	d.Lines = append(d.Lines, l.String())
}

// abbreviated reports whether a label is one that says nothing to who does not know
// it: DP, ZeRO.
func abbreviated(label string) bool {
	capitals := 0
	for _, r := range label {
		if r >= 'A' && r <= 'Z' {
			capitals++
		}
	}
	return capitals > 1
}

func (c *Column) renderTyping(d *Drawn, l *widget.Line, end, y int) {
	paint := c.Theme.Paint(themes.Entry)
	room := max(end-l.Used()-2, 1)
	text := c.Typing
	if n := widget.Width(text); n > room {
		text = text[len(text)-room:] // typed values are ASCII
	}
	l.To(end - 1 - widget.Width(text))
	d.CaretX, d.CaretY = l.Used()+min(c.Caret, widget.Width(text)), y
	l.Put(paint, text+" ")
}

// renderLadder draws what stands right of the value: why the knob is off, the
// ladder, and which end of a lock the knob is.
func (c *Column) renderLadder(d *Drawn, l *widget.Line, r *Row, remark themes.Paint, y int) {
	if l.Left() < 3 {
		return
	}
	if r.Off != "" {
		switch {
		case widget.Width(r.Off) < l.Left()-1:
			l.Gap(3).Put(remark, r.Off)
		case widget.Width(r.OffWord) < l.Left():
			l.Gap(1).Put(remark, r.OffWord)
		}
		return
	}
	room := l.Left() - (ladderAt - l.Used())
	if r.Lock != "" {
		room -= lockWidth + 1
	}
	if room >= minTrack && len(r.Values) > 1 {
		l.To(ladderAt)
		s := widget.Slider{Values: r.Shown, Current: r.Current, Joined: r.Numeric, Focused: r.ID == c.Focus}
		for _, span := range s.Render(l, c.Theme, c.Glyphs, room) {
			d.Hits = append(d.Hits, Hit{
				X: span.From, Y: y, W: span.To - span.From, ID: r.ID,
				Value: r.Values[span.Index],
			})
		}
	}
	if r.Lock != "" && l.Left() > lockWidth {
		l.Gap(l.Left()-lockWidth).Put(remark, r.Lock)
	}
}
