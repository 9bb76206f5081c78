package screen

import (
	"context"

	"meshscope/themes"
	"meshscope/ui/textbox"
	"meshscope/ui/widget"
)

// Work asks for what takes too long for a key press: find runs off the key path, and take brings what it
// found to the screen, unless other work has taken its place or the screen was left meanwhile.
func Work[T any](jobs *widget.Jobs, find func(ctx context.Context) T, take func(T)) Request {
	job := jobs.Begin()
	return Request{Work: func(ctx context.Context) func() {
		found := find(ctx)
		stopped := ctx.Err() != nil
		return func() {
			if jobs.End(job) && !stopped {
				take(found)
			}
		}
	}}
}

// Wheel returns by how many lines a button moves a cursor: -1 or 1, and 0 where it is not the wheel.
func Wheel(button string) int { return map[string]int{"wheelup": -1, "wheeldown": 1}[button] }

// Row begins a line of a list: that under the cursor has a pointer and the look of the focus.
func (c *Context) Row(w int, here bool) (*widget.Line, themes.Role) {
	l := widget.NewLine(w)
	if !here {
		return l, themes.Text
	}
	return l.Whole(c.Paint(themes.Focus)).Put(c.Paint(themes.Focus), c.Glyphs.Pointer), themes.Focus
}

// Pointed begins a line of a list whose line under the cursor has a pointer and a name in its colour.
func (c *Context) Pointed(w int, here bool) (*widget.Line, themes.Role) {
	l := widget.NewLine(w)
	if !here {
		return l, themes.Text
	}
	return l.Put(c.Paint(themes.Accent), c.Glyphs.Pointer), themes.Accent
}

// Note draws words in a line, two cells from the left, cut where there is no room.
func (c *Context) Note(w int, text string) string {
	const indent = 2
	return widget.NewLine(w).Gap(indent).Put(c.Paint(themes.Muted), c.Cut(text, w-indent)).String()
}

// Typed draws a text that is typed, with its caret.
func (c *Context) Typed(l *widget.Line, f *textbox.Field) {
	text, at := []rune(f.Value()), f.Position()
	under, after := " ", ""
	if at < len(text) {
		under, after = string(text[at]), string(text[at+1:])
	}
	entry := c.Paint(themes.Entry)
	l.Put(entry, string(text[:min(at, len(text))])).Put(entry.Reversed(), under).Put(entry, after)
}

// ErrorRole returns how the error of a prediction is shown: within a tenth, within a quarter, beyond.
func ErrorRole(e float64) themes.Role {
	switch a := max(e, -e); {
	case a <= 0.1:
		return themes.Good
	case a <= 0.25:
		return themes.Warn
	default:
		return themes.Bad
	}
}

// Sentence draws a sentence over a line.
func (c *Context) Sentence(w int, text string) string {
	return widget.NewLine(w).Put(c.Paint(themes.Text), c.Cut(text, w)).String()
}
