// Package screen is the contract between the program and its screens: what a screen
// receives, what it must do, and its one key table, from which handling, footer, help,
// documentation and rebinding are made.
package screen

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Context is what every screen is given: the last legal setup with its report, how to
// draw, and the size of the area in cells. A screen does not change it.
type Context struct {
	Setup  *engine.Setup
	Report *engine.Report
	Theme  *themes.Theme
	Glyphs widget.Glyphs
	// Problems are the errors of the current setup where it is illegal. Setup and
	// Report are then those of the last legal one, for an IllegalViewer the current ones.
	Problems []engine.Problem
	W, H     int
	Glow     bool // what has just changed stands out
	Calm     bool // nothing moves by itself
	// Masked are the figures that a question hides: neither a length nor a mark may tell them.
	Masked []string
	// Prices says what values that nobody chose are worth (report.PriceWords), the dearest first.
	Prices []string
	// Asks says that a question is open: what another value of a knob would give is not shown.
	Asks bool
	// Taught says that a lesson is on the screen: what is beside its question is left out. Decides is the
	// figure that the act is about, where a cursor starts; empty: none.
	Taught  bool
	Decides string

	Own map[string][]string // the user's own keys of this screen, by the ID of the action
}

// At returns the same context with an area of w x h cells.
func (c *Context) At(w, h int) *Context {
	out := *c
	out.W, out.H = w, h
	return &out
}

// Hides reports whether a masked figure begins with one of the names.
func (c *Context) Hides(names ...string) bool {
	for _, id := range c.Masked {
		for _, name := range names {
			if strings.HasPrefix(id, name) {
				return true
			}
		}
	}
	return false
}

// Paint returns the style of a role in the theme.
func (c *Context) Paint(r themes.Role) themes.Paint { return c.Theme.Paint(r) }

// Heading draws the first line of a panel, w cells wide.
func (c *Context) Heading(w int, name, detail, remark string) string {
	return c.HeadingIn(themes.Muted, w, name, detail, remark)
}

// HeadingIn returns Heading with the remark in another role.
func (c *Context) HeadingIn(remarked themes.Role, w int, name, detail, remark string) string {
	return widget.Heading(c.Theme, c.Glyphs, w, name, detail, remark, remarked)
}

// Cut shortens a text to w cells with the ellipsis of the terminal.
func (c *Context) Cut(s string, w int) string { return widget.CutText(s, w, c.Glyphs.Ellipsis) }

// Longest returns the first of some texts, longest first, that has room in w cells, or the last, cut.
func (c *Context) Longest(w int, texts ...string) string {
	for _, text := range texts {
		if widget.Width(text) <= w {
			return text
		}
	}
	return c.Cut(texts[len(texts)-1], w)
}

// Empty reports whether the area has no cells, and fills it if so.
func (c *Context) Empty() ([]string, bool) {
	if c.W > 0 && c.H > 0 {
		return nil, false
	}
	return widget.Height(nil, max(c.W, 0), c.H), true
}

// Request is a request of a screen to the program.
type Request struct {
	Setup *engine.Setup // take this setup, undoably; nil: none
	Text  string        // the note that goes with it
	// Work runs off the key path. What it returns (nil: nothing) is called on the key
	// path afterwards and changes the screen's state.
	Work func(ctx context.Context) func()
	Cmd  tea.Cmd // run this; nil: nothing
}

// none says that nothing is asked.
func (r *Request) none() bool { return r.Setup == nil && r.Text == "" && r.Work == nil && r.Cmd == nil }

// Take asks the program to take a setup, with the note that says where it is from.
func Take(s engine.Setup, from string) Request { return Request{Setup: &s, Text: from} }

// Screen is one tab of the program.
type Screen interface {
	// Name is the name of the tab; in lower case it begins the names of its actions
	// in a file of keys.
	Name() string
	// Keys is the key table. Rows of other modes are in it too, with a When that is
	// false. A nil context asks for the table as the documentation lists it; with a
	// context that it can show nothing of, a screen may take no keys at all.
	Keys(c *Context) []Key
	// Mouse takes a click or a turn of the wheel at a cell of the area: left, wheelup
	// or wheeldown.
	Mouse(c *Context, x, y int, button string) (handled bool, do Request)
	// Render draws exactly c.H lines of c.W cells.
	Render(c *Context) []string
	// Status explains the item under the cursor in one line of at most c.W cells.
	Status(c *Context) string
	// Refresh asks for the data that the screen lacks to show this context: it is called when
	// the screen is opened, when the setup changes, and after every key and answer.
	Refresh(c *Context) Request
}

// A screen may have some of these as well.
type (
	// Forgetter drops large results that can be computed again, when it is left.
	Forgetter interface{ Forget() }
	// Mover is a screen on which something moves by itself while Playing; Tick moves it
	// by a frame and tells whether it goes on.
	Mover interface {
		Playing() bool
		Tick() bool
	}
	// Writer is a screen that takes letters as text while Typing.
	Writer interface {
		Typing() bool
		Type(c *Context, key string) Request
		Paste(text string)
		Prompt() []widget.Hint // the footer while Typing
	}
	// IllegalViewer is a screen that shows something for a setup that cannot run: it gets the
	// current one, with a report without figures.
	IllegalViewer interface{ ShowsIllegal() }
	// Tabler has tables to write into a file in addition to the report.
	Tabler interface {
		Tables(c *Context) []report.Table
	}
	// Pointer names the figure under the cursor as the report does; empty: none.
	Pointer interface{ Figure(c *Context) string }
	// Ranked gives the rank under the cursor; -1: none.
	Ranked interface{ RankAtCursor(c *Context) int }
	// Lister gives the setup under the cursor of a list and what the list calls it; nil:
	// none, or the current one.
	Lister interface {
		SetupAtCursor(c *Context) (*engine.Setup, string)
	}
	// KnobHolder is a screen with knobs of its own: the others show the focused knob of the setup
	// in a line above them.
	KnobHolder interface{ HasKnobs() }
	// Paned is a screen that can be asked for one of its panes by name, and names the one that it shows.
	Paned interface {
		Show(pane string)
		Pane() string
	}
	// Copier is a screen that another explorer can show: Copy returns one with the same cursor and
	// results that shares no state with it, or nil if there can be none now.
	Copier interface{ Copy() Screen }
	// Sized is a Copier whose results depend on the size of the screen: a copy computes them again
	// where Fits is false.
	Sized interface{ Fits(c *Context) bool }
	// Opener is a screen that a key of the program opens from everywhere.
	Opener interface{ Opens() Opening }
)

// Opening is the key that opens a screen.
type Opening struct{ ID, Keys, Help string }

// TicksPerSecond is how often the program calls Tick while a Mover is Playing.
const TicksPerSecond = 20

// SetupAtCursor returns the setup under the cursor of a screen, and what the screen calls it;
// nil: none, or the current one.
func SetupAtCursor(s Screen, c *Context) (*engine.Setup, string) {
	if l, ok := s.(Lister); ok {
		return l.SetupAtCursor(c)
	}
	return nil, ""
}
