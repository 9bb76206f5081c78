// Package overlay is what lies over a screen: lists that filter as one types, cards to
// read, and the value that is typed into a knob. Each is an Overlay with its own keys,
// mouse and drawing, and they lie on a Stack.
package overlay

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// ID says what an overlay is about.
type ID string

// The overlays of the program.
const (
	HelpID      ID = "help"
	ModelID     ID = "model"
	ClusterID   ID = "cluster"
	FiguresID   ID = "figures"
	ExplainID   ID = "explain"
	NoteID      ID = "note" // on the focused knob
	GlossaryID  ID = "glossary"
	WordID      ID = "word" // of the glossary
	ExportID    ID = "export"
	TerminalID  ID = "terminal"   // what was detected about the terminal
	RunID       ID = "run"        // the whole training run
	AssumedID   ID = "assumed"    // by the figures of the run
	AdviceID    ID = "advice"     // why a setup does not fit or what limits it
	CopiedID    ID = "copied"     // what was copied
	ReportID    ID = "report"     // the page to decide by
	ValueID     ID = "value"      // typed into a knob
	LessonID    ID = "lesson"     // that asks
	LessonEndID ID = "lesson-end" // what a lesson has taught
	LeftOutID   ID = "left-out"   // what is wrong with a lesson
)

// Action is what an overlay asks for: nil for nothing, one of the types below, which are
// about the stack, or a value that belongs to whoever opened the overlay.
type Action any

// Actions on the stack.
type (
	Close struct{} // closes all overlays
	Back  struct{} // closes the one on top
	Push  struct { // opens another on top
		ID      ID
		Overlay Overlay
	}
	Sequence []Action // one after the other
)

// Overlay is one thing on the stack. Only the one on top is drawn and gets input.
type Overlay interface {
	HandleKey(msg tea.KeyPressMsg) Action
	// Click takes a click on a row of the list in its box.
	Click(row int) Action
	// Wheel moves or scrolls by n lines.
	Wheel(n int)
	Paste(text string)
	// Resize says how large the screen is.
	Resize(w, h int)
	// Render draws the box in the middle of the screen. Without lines there is none: the
	// screen below is drawn as ever and keeps the mouse.
	Render(t *themes.Theme, g widget.Glyphs) Drawn
	// Close ends what it still works on.
	Close()
}

// plain is what most overlays do with pasted text and on closing: nothing.
type plain struct{}

// Paste does nothing.
func (plain) Paste(string) {}

// Close does nothing.
func (plain) Close() {}

// boxless is what an overlay without a box does with all that is about one: nothing.
type boxless struct{ plain }

// Click does nothing.
func (boxless) Click(int) Action { return nil }

// Wheel does nothing.
func (boxless) Wheel(int) {}

// Resize does nothing.
func (boxless) Resize(int, int) {}

// Render draws nothing.
func (boxless) Render(*themes.Theme, widget.Glyphs) Drawn { return Drawn{} }

// Bound is a key of the program that keeps a meaning while an overlay is open.
type Bound struct {
	Key    key.Binding
	Action Action
}

// bound finds the action of a key; false where it has none.
func bound(keys []Bound, msg tea.KeyPressMsg) (Action, bool) {
	for _, b := range keys {
		if key.Matches(msg, b.Key) {
			return b.Action, true
		}
	}
	return nil, false
}

// Drawn is a drawn box: its lines, where it lies, and its caret and the first row of its
// list in screen cells; CaretX is negative where there is no caret.
type Drawn struct {
	Lines          []string
	X, Y           int
	CaretX, CaretY int
	ListY, Rows    int
}

// Stack is the open overlays, the last on top. The zero value is empty.
type Stack struct {
	w, h int
	open []layer
}

type layer struct {
	id ID
	Overlay
}

// Empty reports whether nothing is open.
func (s *Stack) Empty() bool { return len(s.open) == 0 }

// Len returns how many overlays are open.
func (s *Stack) Len() int { return len(s.open) }

// Top returns the overlay on top; nil where none is open.
func (s *Stack) Top() Overlay {
	if s.Empty() {
		return nil
	}
	return s.open[len(s.open)-1].Overlay
}

// ID returns that of the overlay on top; empty where none is open.
func (s *Stack) ID() ID {
	if s.Empty() {
		return ""
	}
	return s.open[len(s.open)-1].id
}

// Holds reports whether an overlay is open, on top or under others.
func (s *Stack) Holds(o Overlay) bool {
	return slices.ContainsFunc(s.open, func(l layer) bool { return l.Overlay == o })
}

// Push opens an overlay on top of the others.
func (s *Stack) Push(id ID, o Overlay) {
	o.Resize(s.w, s.h)
	s.open = append(s.open, layer{id, o})
}

// Pop closes the overlay on top.
func (s *Stack) Pop() {
	last := len(s.open) - 1
	s.open[last].Close()
	s.open[last] = layer{}
	s.open = s.open[:last]
}

// Clear closes all overlays.
func (s *Stack) Clear() {
	for !s.Empty() {
		s.Pop()
	}
}

// Replace puts an overlay in the place of an open one; false if that one is closed.
func (s *Stack) Replace(old, by Overlay) bool {
	for i := range s.open {
		if s.open[i].Overlay == old {
			by.Resize(s.w, s.h)
			s.open[i].Overlay = by
			return true
		}
	}
	return false
}

// Resize says how large the screen is.
func (s *Stack) Resize(w, h int) {
	s.w, s.h = w, h
	for _, o := range s.open {
		o.Resize(w, h)
	}
}

// Render draws the overlay on top.
func (s *Stack) Render(t *themes.Theme, g widget.Glyphs) Drawn {
	if s.Empty() {
		return Drawn{}
	}
	return s.Top().Render(t, g)
}

// Mouse gives a click or a turn of the wheel at row y of the screen to the drawn overlay
// on top. A click above or below its box closes everything.
func (s *Stack) Mouse(d Drawn, button string, y int) Action {
	switch button {
	case "left":
		if y < d.Y || y >= d.Y+len(d.Lines) {
			return Close{}
		}
		if row := y - d.ListY; row >= 0 && row < d.Rows {
			return s.Top().Click(row)
		}
	case "wheelup":
		s.Top().Wheel(-1)
	case "wheeldown":
		s.Top().Wheel(1)
	}
	return nil
}
