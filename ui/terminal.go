package ui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"meshscope/engine/escape"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
	"meshscope/ui/tty"
)

// terminalCard lists what the program detected about its terminal, and what overrides
// it.
func (m *Model) terminalCard() *overlay.Card {
	value := func(name string) string {
		if v := tty.Getenv(m.options.Env, name); v != "" {
			return name + "=" + escape.Name(v) // it may hold what steers a terminal
		}
		return name + " is not set"
	}
	colours := map[colorprofile.Profile]string{
		colorprofile.TrueColor: "16 million; the palettes have 256, which are half as many bytes",
		colorprofile.ANSI256:   "256", colorprofile.ANSI: "16",
	}[m.caps.Profile]
	switch {
	case m.options.NoColor:
		colours = "none, because of --no-color"
	case tty.NoColor(m.options.Env):
		colours = "none, because of NO_COLOR"
	case colours == "":
		colours = "none"
	}
	ground := "light"
	if m.caps.Dark {
		ground = "dark, or not reported by the terminal"
	}
	yes := func(on bool, is, isNot string) string {
		if on {
			return is
		}
		return isNot
	}
	theme := m.state.Theme
	if theme == state.ThemeAuto {
		theme += ": " + m.look.theme.Name
	}
	card := &overlay.Card{
		Title: "TERMINAL", Remark: m.shown("T", "terminal"),
		Name:  "what was detected, and how to override it",
		Value: fmt.Sprintf("%d x %d", m.caps.Width, m.caps.Height),
		Paragraphs: []overlay.Paragraph{
			{Label: "type", Text: value("TERM") + ", " + value("COLORTERM") + "; no terminfo is needed"},
			{Label: "colours", Text: colours + "; TERM, COLORTERM, NO_COLOR and --no-color decide"},
			{Label: "background", Text: ground + "; --theme overrides"},
			{Label: "theme", Text: theme + "; " + m.shown("t", "theme") + " changes it, --theme chooses"},
			{
				Label: "signs",
				Text: yes(m.caps.Unicode, "Unicode", "ASCII") + ", from " +
					strings.Join([]string{value("LC_ALL"), value("LC_CTYPE"), value("LANG")},
						", ") + "; --ascii overrides",
			},
			{
				Label: "underlines",
				Text: yes(m.caps.Underlines, "yes", "no: the terminal has none") + yes(m.state.Unmarked,
					", turned off", "") + "; " + m.shown("W", "marks") + " switches them",
			},
			{Label: "line", Text: m.line()},
			{Label: "mouse", Text: yes(m.state.Mouse, "clicks, drags and wheel; shift and drag selects text",
				"left to the terminal") + "; " + m.shown("M",
				"mouse") + " switches it, --no-mouse turns it off"},
			{
				Label: "clipboard",
				Text: "by the terminal (OSC 52)" + yes(tty.Getenv(m.options.Env, "TMUX") != "",
					"; tmux needs: set -g set-clipboard on, or allow-passthrough on",
					"") + ", and to a file",
			},
		},
		Hint: m.shown("T", "terminal") + " or esc closes",
		Keys: []overlay.Bound{{Key: m.binding("terminal"), Action: overlay.Close{}}},
	}
	for _, text := range m.options.Notices {
		card.Paragraphs = append(card.Paragraphs, overlay.Paragraph{Label: "at start", Text: text})
	}
	return card
}

// noticed returns the one line about problems before the start. It goes with the first
// key; the terminal card keeps all of them.
func (m *Model) noticed() string {
	first, key := m.options.Notices[0], m.shown("T", "terminal")
	if n := len(m.options.Notices); n > 1 {
		first = strings.ReplaceAll(first, "; ", ", ") // the foot shortens a text before its last semicolon
		return fmt.Sprintf("%d messages at start, all under %s; the first: %s", n, key, first)
	}
	return first + "; " + key + " shows all of it"
}

// noticing reports whether the line about problems before the start is the message that is shown.
func (m *Model) noticing() bool {
	return len(m.options.Notices) > 0 && m.state.Note.Text == m.noticed()
}

// line says what was found out about the line to the terminal.
func (m *Model) line() string {
	switch {
	case m.remote():
		return "SSH: what changed does not light up; --slow draws fewer frames too"
	case m.options.Slow != nil && m.options.Slow():
		return "slow just now: what changed does not light up; --slow draws fewer frames too"
	}
	return "no write has taken long lately; --slow asks for fewer bytes"
}
