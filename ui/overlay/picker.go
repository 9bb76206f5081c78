package overlay

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/themes"
	"meshscope/ui/textbox"
	"meshscope/ui/widget"
)

// Item is one line of a list.
type Item struct {
	Title  string   // read first; filtered
	Name   string   // an identifier or a key; filtered too
	Fields []string // right-aligned columns
	Prose  bool     // fields are text, aligned left
	Hidden []string // filtered too, not shown
	Group  string   // part of an unfiltered list, named at its first row
	Rank   int      // of what matches equally well the lower comes first
	Off    bool     // greyed: cannot be chosen now

	Values []float64 // what the list can be sorted by; see Picker.Orders
}

// Picker is a list with a filter.
type Picker struct {
	plain
	Title  string
	Hint   string           // last line
	Choose func(int) Action // of the items, by their index
	// Preview returns the first lines of what an item gives, for a pane below the list; nil: no pane.
	Preview func(i int) []string
	Copy    func(i int) Action // of the item at ctrl+y; nil: nothing
	Valued  bool               // the first field is a value, for which a name gives way
	Empty   string             // shown when nothing matches
	// Typed returns what enter does with a text that no item matches, and says so; nil: nothing.
	Typed  func(text string) (Action, string)
	First  bool     // Typed is asked before the items
	Best   int      // so many matches are shown until the list is scrolled past them; 0: all
	Wrong  string   // why what was typed was not taken; shown until it is edited
	Orders []string // names of the items' Values
	order  int      // by which of them the list is sorted, from 1; 0: as it was given
	items  []Item
	widths []int // of the fields
	title  int   // width of the longest title, and of the longest name
	name   int
	group  int // width of the longest group
	input  textbox.Field
	shown  []match
	more   int  // matches beyond the best
	all    bool // the list was scrolled past the best
	cursor int
	w, h   int // of the screen
}

// longest is how many signs can be typed: a path of a file has room.
const longest = 250

// NewPicker makes a picker with the given item chosen at first.
func NewPicker(title, hint string, items []Item, current int) *Picker {
	p := &Picker{
		Title: title, Hint: hint, items: items, input: textbox.New(longest),
		Empty: "nothing matches; backspace widens",
	}
	p.measure(items)
	p.filter()
	p.cursor = min(max(current, 0), max(len(p.shown)-1, 0))
	return p
}

// Extend adds items at the end, which choose chooses by their place among these. What is chosen stays so.
func (p *Picker) Extend(items []Item, choose func(int) Action) {
	n, before := len(p.items), p.Choose
	p.Choose = func(i int) Action {
		if i < n {
			return before(i)
		}
		return choose(i - n)
	}
	p.keep(func() {
		p.items = append(p.items, items...)
		p.measure(items)
		p.filter()
	})
}

// measure widens the columns for items.
func (p *Picker) measure(items []Item) {
	for _, item := range items {
		p.title, p.name = max(p.title, widget.Width(item.Title)), max(p.name, widget.Width(item.Name))
		p.group = max(p.group, widget.Width(item.Group))
		for i, f := range item.Fields {
			if i >= len(p.widths) {
				p.widths = append(p.widths, 0)
			}
			p.widths[i] = max(p.widths[i], widget.Width(f))
		}
	}
}

// Resize says how large the screen is.
func (p *Picker) Resize(w, h int) { p.w, p.h = w, h }

// rows returns how many lines of the list are drawn.
func (p *Picker) rows() int {
	rows := min(max(len(p.items), 3), max(p.h-6, 1))
	if p.h > 16 {
		rows = min(rows, p.h-8)
	}
	if n := p.pane(); n > 0 {
		rows = min(rows, max(p.h-8-n, 3))
	}
	return rows
}

// pane returns how many lines the preview has.
func (p *Picker) pane() int {
	const least, most = 4, 14
	if p.Preview == nil || p.h < 20 {
		return 0
	}
	return min(max(p.h-10-len(p.items), least), most)
}

// Choice returns the index of the chosen item; false when nothing can be chosen.
func (p *Picker) Choice() (int, bool) {
	if p.cursor < 0 || p.cursor >= len(p.shown) {
		return 0, false
	}
	i := p.shown[p.cursor].index
	return i, !p.items[i].Off
}

// HoldsText reports whether something is typed.
func (p *Picker) HoldsText() bool { return p.input.Value() != "" }

// HandleKey moves, filters, chooses or closes. Letters filter; the arrows, the
// page keys and ctrl+n and ctrl+p move.
func (p *Picker) HandleKey(msg tea.KeyPressMsg) Action {
	switch msg.String() {
	case "esc":
		if p.input.Value() != "" {
			p.keep(func() {
				p.input.Reset()
				p.filter()
			})
			p.Wrong = ""
			return nil
		}
		return Close{}
	case "enter":
		return p.chosen()
	case "ctrl+y":
		if i, ok := p.Choice(); ok && p.Copy != nil {
			return p.Copy(i)
		}
	case "up", "ctrl+p", "shift+tab":
		p.Wheel(-1)
	case "down", "ctrl+n", "tab":
		p.Wheel(1)
	case "pgup":
		p.Wheel(-max(p.rows()-1, 1))
	case "pgdown":
		p.Wheel(max(p.rows()-1, 1))
	case "ctrl+o":
		p.keep(func() {
			p.order = (p.order + 1) % (len(p.Orders) + 1)
			p.filter()
		})
	case "home":
		p.Wheel(-len(p.shown))
	case "end":
		p.Wheel(len(p.items))
	default:
		p.edit(func() { p.input.Key(msg) })
	}
	return nil
}

// chosen returns what the chosen item represents.
func (p *Picker) chosen() Action {
	a, _ := p.typed()
	if i, ok := p.Choice(); ok && a == nil {
		return p.Choose(i)
	}
	return a
}

// typed returns what a text that no item matches does.
func (p *Picker) typed() (Action, string) {
	if p.Typed == nil || len(p.shown) > 0 && (!p.First || p.input.Value() == "") {
		return nil, ""
	}
	return p.Typed(strings.TrimSpace(p.input.Value()))
}

// keep changes the list and stays on the chosen item.
func (p *Picker) keep(change func()) {
	chosen := -1
	if p.cursor < len(p.shown) {
		chosen = p.shown[p.cursor].index
	}
	change()
	at := func() int { return slices.IndexFunc(p.shown, func(m match) bool { return m.index == chosen }) }
	if at() < 0 && p.more > 0 { // what came in the meantime matches better
		p.all = true
		p.filter()
	}
	p.cursor = max(at(), 0)
}

// Paste puts pasted text into the filter.
func (p *Picker) Paste(text string) { p.edit(func() { p.input.Paste(text) }) }

// edit changes the filter, and with it the list.
func (p *Picker) edit(change func()) {
	before := p.input.Value()
	change()
	if p.input.Value() != before {
		p.all = false
		p.filter()
		p.cursor, p.Wrong = 0, ""
	}
}

// Wheel moves the choice by n lines.
func (p *Picker) Wheel(n int) {
	if p.more > 0 && p.cursor+n >= len(p.shown) {
		p.all = true
		p.filter()
	}
	p.cursor = widget.Step(p.cursor, n, len(p.shown))
}

// Click chooses the item drawn at a row of the list.
func (p *Picker) Click(row int) Action {
	i := p.first(p.rows()) + row
	if i >= len(p.shown) {
		return nil
	}
	p.cursor = i
	return p.chosen()
}

// Count says how many of the items are shown, and in what order.
func (p *Picker) Count() string {
	text := strconv.Itoa(len(p.items))
	if len(p.shown) != len(p.items) {
		text = strconv.Itoa(len(p.shown)+p.more) + " of " + text
		if p.more > 0 {
			text = "best " + strconv.Itoa(len(p.shown)) + " of " + strconv.Itoa(len(p.shown)+p.more)
		}
	}
	if p.order > 0 {
		text = "by " + p.Orders[p.order-1] + ", " + text
	}
	return text
}

// first returns the first line that is shown of a list of n rows.
func (p *Picker) first(n int) int {
	if p.cursor < n {
		return 0
	}
	return min(p.cursor-n/2, len(p.shown)-n)
}

// wide returns the width of the box on a screen of w cells: that of what it lists,
// or of the screen.
func (p *Picker) wide(w int) int {
	const frame, margins = 2, 3
	least := max(60, frame+widget.Width(p.Hint))
	c := p.columns(1 << 16)
	if p.Preview != nil {
		least = max(least, 100)
	}
	return stretched(max(least, frame+margins+p.heads()+c.need()), w)
}

// Render draws the picker in the middle of the screen, with its caret in the filter.
func (p *Picker) Render(t *themes.Theme, g widget.Glyphs) Drawn {
	rows := p.rows()
	b := box{theme: t, glyphs: g, width: p.wide(p.w)}
	b.top(p.Title, p.Count())
	d := Drawn{X: (p.w - b.width) / 2, Rows: rows}
	l := b.line()
	l.Put(t.Paint(themes.Muted), "filter ")
	d.CaretX = d.X + 1 + l.Used() + min(p.input.Position(), l.Left()-1)
	l.Put(t.Paint(themes.Entry), p.input.Value()+" ")
	b.add(l)
	first := p.first(rows)
	b.rule(hidden(g.Up, first))
	seen := p
	full := func(item Item) bool { return len(item.Fields) == len(p.widths) }
	if p.group > 0 || slices.ContainsFunc(p.items, func(item Item) bool { return !full(item) }) &&
		slices.ContainsFunc(p.items, full) {
		// Of a list of several kinds the columns are as wide as what is in sight.
		seen = &Picker{Valued: p.Valued}
		for i := first; i < min(first+rows, len(p.shown)); i++ {
			seen.measure(p.items[p.shown[i].index : p.shown[i].index+1])
		}
	}
	for i := first; i < first+rows; i++ {
		b.add(p.row(&b, t, g, i, seen))
	}
	b.rule(hidden(g.Down, len(p.shown)+p.more-first-min(rows, len(p.shown))))
	if n := p.pane(); n > 0 {
		var lines []string
		if i, ok := p.Choice(); ok {
			lines = p.Preview(i)
		}
		for i := range n {
			l := b.line()
			if i < len(lines) {
				l.Put(t.Paint(themes.Text), widget.CutText(lines[i], l.Left(), g.Ellipsis))
			}
			b.add(l)
		}
		b.rule("")
	}
	last := b.line()
	b.add(last.Put(t.Paint(themes.Muted), fitted(p.hint(), last.Left(), g)))
	b.bottom()
	d.Lines, d.Y = b.lines, max((p.h-len(b.lines))/2, 0)
	d.CaretY, d.ListY = d.Y+1, d.Y+3
	return d
}

// hint returns the last line: esc clears what is typed before it closes.
func (p *Picker) hint() string {
	if p.HoldsText() {
		return strings.Replace(p.Hint, "esc closes", "esc clears", 1)
	}
	return p.Hint
}

// row draws the i-th of the shown items, or a blank line.
func (p *Picker) row(b *box, t *themes.Theme, g widget.Glyphs, i int, seen *Picker) *widget.Line {
	l := b.line()
	if p.Wrong != "" && len(p.shown) == 0 {
		const mark = 2
		if lines := widget.Wrap(p.Wrong, l.Left()-2*mark); i < len(lines) {
			if l.Gap(mark); i == 0 {
				l.Put(t.Paint(themes.Bad), g.Cross)
			}
			l.To(2*mark).Put(t.Paint(themes.Bad), lines[i])
		}
		return l
	}
	if _, says := p.typed(); i >= len(p.shown) || says != "" {
		if i == 0 {
			l.Gap(2).Put(t.Paint(themes.Muted), cmp.Or(says, p.Empty))
		}
		return l
	}
	m := p.shown[i]
	item := &p.items[m.index]
	title, name, hit := t.Paint(themes.Text), t.Paint(themes.Muted), t.Paint(themes.Match)
	if item.Off {
		title = t.Paint(themes.Muted)
	}
	if i == p.cursor {
		chosen := t.Paint(themes.Chosen)
		title, name, hit = chosen, chosen, chosen.Underlined()
		l.OnBlank(chosen).Put(chosen, g.Pointer)
	}
	l.To(2)
	start := 2
	if !p.HoldsText() && p.order == 0 { // else the list is in another order
		if start += p.heads(); i == p.first(p.rows()) || p.items[p.shown[i-1].index].Group != item.Group {
			l.Put(t.Paint(themes.Muted), item.Group)
		}
	}
	l.To(start)
	c := seen.columns(l.Left() - 1)
	end := start + c.title
	if c.name == 0 && len(c.fields) == 1 && len(item.Fields) == 1 && !item.Prose {
		end += max(c.fields[0]-widget.Width(item.Fields[0]), 0) // what a shorter value leaves
	}
	p.putMatched(l, item.Title, g.Ellipsis, 0, m.letters, title, hit, end)
	at := start + c.title + apart
	if c.name > 0 {
		l.To(at)
		p.putMatched(l, item.Name, g.Ellipsis, len(item.Title)+1, m.letters, name, hit, at+c.name)
		at += c.name + apart
	}
	for f, text := range item.Fields[:min(len(c.fields), len(item.Fields))] {
		if item.Prose {
			l.To(at).Put(name, widget.CutText(text, c.fields[f], g.Ellipsis))
			at += c.fields[f] + apart
			continue
		}
		at += c.fields[f]
		l.RightAligned(name, widget.Cut(text, c.fields[f]), at)
		at += apart
	}
	return l
}

// heads returns the width of the column of groups; 0: no item has one.
func (p *Picker) heads() int {
	if p.group == 0 {
		return 0
	}
	return p.group + apart
}

// apart is the blanks between two columns.
const apart = 2

// columns are the widths of title, name and fields in a row; 0 and none where
// there is no room.
type columns struct {
	title, name int
	fields      []int
}

// need returns the width of all with the blanks between them.
func (c *columns) need() int {
	n := c.title
	if c.name > 0 {
		n += apart + c.name
	}
	for _, f := range c.fields {
		n += apart + f
	}
	return n
}

// columns shares room among the columns: first a readable part of the title,
// then the name, or the value of a Valued list, the rest of the title, and the
// fields from the first on, of which the last that has room may be cut.
func (p *Picker) columns(room int) columns {
	const readable, least = 34, 12
	c := columns{title: min(p.title, readable, room)}
	kept := 0
	if p.Valued && len(p.widths) > 0 {
		kept = apart + p.widths[0]
	}
	if p.name > 0 && c.title+apart+p.name+kept <= room {
		c.name = p.name
	}
	for _, w := range p.widths {
		left := room - c.need() - apart
		if left < w && left < least {
			break
		}
		c.fields = append(c.fields, min(w, left))
	}
	c.title += min(p.title-c.title, max(room-c.need(), 0))
	return c
}

// putMatched writes a text with its matched letters set off, up to column end.
func (p *Picker) putMatched(l *widget.Line, text, ellipsis string, offset int, letters []int, plain,
	hit themes.Paint, end int,
) {
	text = widget.CutText(text, end-l.Used(), ellipsis)
	matched := make(map[int]bool, len(letters))
	for _, i := range letters {
		matched[i-offset] = true
	}
	run, on := 0, false
	for i := range text {
		if matched[i] != on {
			p.flush(l, text[run:i], on, plain, hit)
			run, on = i, matched[i]
		}
	}
	p.flush(l, text[run:], on, plain, hit)
}

func (p *Picker) flush(l *widget.Line, s string, on bool, plain, hit themes.Paint) {
	if on {
		l.Put(hit, s)
		return
	}
	l.Put(plain, s)
}
