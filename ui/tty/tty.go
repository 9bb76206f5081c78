// Package tty holds the properties of the terminal and the access to it.
package tty

import (
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Caps holds the properties of the terminal. It starts with guesses that are
// readable everywhere and is refined by messages.
type Caps struct {
	Width, Height int
	Profile       colorprofile.Profile
	Dark          bool
	Unicode       bool
	Underlines    bool
}

// Size of a terminal that says it has none, as some pseudo-terminals do.
const (
	assumedWidth  = 80
	assumedHeight = 24
)

// NewCaps guesses from the environment; ascii is the user's choice.
func NewCaps(env []string, ascii bool) Caps {
	return Caps{
		Profile: colorprofile.ANSI256, Dark: true, Unicode: !ascii && hasUnicode(env),
		Underlines: canUnderline(env),
	}
}

// The largest area that is drawn; the rest of a larger terminal stays blank.
const (
	MaxWidth  = 500
	MaxHeight = 200
)

// Resize notes the size; zero means that unknown.
func (c *Caps) Resize(w, h int) {
	if w <= 0 || h <= 0 {
		w, h = assumedWidth, assumedHeight
	}
	c.Width, c.Height = bounded(w, h)
}

// hasUnicode reports whether the locale is a UTF-8 one. The Linux console has too
// few glyphs whatever the locale says. Without any locale variable Unicode is
// assumed: containers rarely set one.
func hasUnicode(env []string) bool {
	if Getenv(env, "TERM") == "linux" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := Getenv(env, name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// canUnderline reports whether the terminal has underlines. The Linux console shows
// another colour in their place, a VT52 nothing but its letters.
func canUnderline(env []string) bool {
	term := Getenv(env, "TERM")
	return term != "linux" && term != "dumb" && !strings.HasPrefix(term, "vt52")
}

// NoColor reports whether the environment asks for no colours: NO_COLOR is set, to anything but nothing
// (https://no-color.org), or CLICOLOR is 0 (https://bixense.com/clicolors).
func NoColor(env []string) bool {
	return Getenv(env, "NO_COLOR") != "" || Getenv(env, "CLICOLOR") == "0"
}

// Getenv returns a variable of an environment; empty where it is not set.
func Getenv(env []string, name string) string {
	value := ""
	for _, e := range env {
		if k, v, ok := strings.Cut(e, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// bounded returns the part of a window that is drawn on.
func bounded(w, h int) (int, int) { return min(w, MaxWidth), min(h, MaxHeight) }

// wheelPause is the least time between two turns of the wheel: a touchpad
// sends hundreds a second.
const wheelPause = 16 * time.Millisecond

// Filter drops wheel messages that follow each other too quickly and bounds
// the size, of which the terminal program keeps cells.
func Filter(now func() time.Time) func(tea.Model, tea.Msg) tea.Msg {
	var last time.Time
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		switch sent := msg.(type) {
		case tea.WindowSizeMsg:
			sent.Width, sent.Height = bounded(sent.Width, sent.Height)
			return sent
		case tea.MouseWheelMsg:
			at := now()
			if at.Sub(last) < wheelPause {
				return nil
			}
			last = at
		}
		return msg
	}
}

// asDrawn lets the program write colours as they are drawn. What is drawn is in colours that the terminal
// has: to look each cell's up again takes a seventh of a frame.
func asDrawn() tea.ProgramOption { return tea.WithColorProfile(colorprofile.TrueColor) }

// Profile returns how many colours a terminal shows.
func Profile(screen io.Writer, env []string) colorprofile.Profile {
	if monochrome(Getenv(env, "TERM")) {
		return colorprofile.ASCII
	}
	return colorprofile.Detect(screen, env)
}

// monochrome reports whether a type of terminal has no colours, by the names of terminfo: a
// suffix -m or -mono, and DEC's terminals before the VT525, which was the first with colours but for the
// VT241 and VT340.
func monochrome(term string) bool {
	if strings.HasSuffix(term, "-m") || strings.HasSuffix(term, "-mono") {
		return true
	}
	model, ok := strings.CutPrefix(term, "vt")
	if !ok {
		return false
	}
	model, _, _ = strings.Cut(model, "-")
	switch model {
	case "52", "100", "102", "125", "131", "132", "200", "220", "300", "320", "400", "420", "510", "520":
		return true
	}
	return false
}
