package knobs

import (
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Keys are those of a strip, as it shows them: the knob before and after, a value down and up.
type Keys struct{ Before, After, Down, Up string }

// Strip draws the focused knob in a line of w cells, between the keys that choose and turn it: its
// name, its value and its ladder. The line is left open for what follows. hits have the places of
// the keys and values; caret is the column of a value that is being typed, -1 where none is.
func (c *Column) Strip(k Keys, w, ladder int) (l *widget.Line, hits []Hit, caret int) {
	l, caret = widget.NewLine(w), -1
	t, focus := c.Theme, c.Theme.Paint(themes.Focus)
	key := func(text string) {
		hits = append(hits, Hit{X: l.Used(), W: widget.Width(text), Key: text})
		l.Put(t.Paint(themes.Key), text)
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.ID != c.Focus {
			continue
		}
		key(k.Before)
		l.Gap(1).Put(focus, r.Label).Gap(1)
		key(k.After)
		l.Gap(1)
		switch {
		case c.IsTyping:
			caret = l.Used() + c.Caret
			l.Put(t.Paint(themes.Entry), c.Typing+" ")
			return l, hits, caret
		case r.Off != "":
			l.Put(t.Paint(themes.Muted), c.Glyphs.None+" "+r.Off)
			return l, hits, caret
		}
		l.Put(focus, r.Value).Gap(2)
		if len(r.Values) < 2 {
			return l, hits, caret
		}
		key(k.Down)
		s := widget.Slider{Values: r.Shown, Current: r.Current, Joined: r.Numeric}
		for _, span := range s.Render(l, t, c.Glyphs, ladder) {
			hits = append(hits, Hit{
				X: span.From, W: span.To - span.From, ID: r.ID,
				Value: r.Values[span.Index],
			})
		}
		key(k.Up)
	}
	return l, hits, caret
}
