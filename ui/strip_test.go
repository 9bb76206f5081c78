package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/ui/state"
)

// TestStrip: on every screen without knobs of its own the focused knob is in sight, and turns by
// its keys, a click on a value, the wheel and a typed value.
func TestStrip(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		for tab := range tabs {
			m := sample(t, size[0], size[1])
			m.do(state.Action{Verb: state.GoTab, N: int(tab)})
			if !m.stripped() {
				continue
			}
			tp := func(want int, after string) {
				t.Helper()
				if got := m.state.Setup.TP; got != want || m.state.Tab != tab {
					t.Errorf("%s at %v: TP %d after %s, want %d; on %s", tabName(tab), size, got, after, want,
						m.screen().Name())
				}
			}
			if row := strings.Split(screenText(m), "\n")[2]; !strings.Contains(row, "{ TP } 8") {
				t.Errorf("%s at %v: the strip is %q", tabName(tab), size, row)
			}
			keys(m, "(")
			tp(4, "(")
			keys(m, ")")
			tp(8, ")")
			row := m.stripRow()
			_, hits, _ := m.strip(row.W)
			for _, hit := range hits {
				if hit.Value == "4" {
					send(m, tea.MouseClickMsg{X: row.X + hit.X, Y: row.Y, Button: tea.MouseLeft})
				}
			}
			tp(4, "a click on 4")
			send(m, tea.MouseWheelMsg{X: row.X + 3, Y: row.Y, Button: tea.MouseWheelUp})
			tp(8, "the wheel")
			keys(m, "#", "4")
			if c := m.View().Cursor; c == nil || c.Y != row.Y {
				t.Errorf("%s: caret at %+v while a value is typed", tabName(tab), c)
			}
			keys(m, "enter")
			tp(4, "typing 4")
			keys(m, "}")
			if m.state.Focus != "pp" {
				t.Errorf("%s: the focus is %s", tabName(tab), m.state.Focus)
			}
			keys(m, "u")
			tp(8, "undo")
		}
	}
}

// TestStripIllegal: where the setup is illegal the strip of no screen says that it fits.
func TestStripIllegal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		m := sample(t, size[0], size[1])
		m.do(state.Action{Verb: state.SetKnob, ID: "tp", Text: "3"})
		for tab := range tabs {
			if m.do(state.Action{Verb: state.GoTab, N: int(tab)}); !m.stripped() {
				continue
			}
			row := strings.Split(screenText(m), "\n")[2]
			if !strings.Contains(row, "ILLEGAL") || strings.Contains(row, "fits") {
				t.Errorf("%s at %v: the strip is %q", tabName(tab), size, row)
			}
		}
	}
}

// TestScreenNumbers: alt and a digit goes to a screen from any other.
func TestScreenNumbers(t *testing.T) {
	m := sample(t, 80, 24)
	for tab := range tabs {
		for _, from := range []state.Tab{0, 3, tab} {
			m.do(state.Action{Verb: state.GoTab, N: int(from)})
			if keys(m, "alt+"+string('1'+rune(tab))); m.state.Tab != tab {
				t.Errorf("alt+%d leads to %s from %s", tab+1, m.screen().Name(), tabName(from))
			}
		}
	}
}

// TestHintsAreClicked: a click on a key of the footer presses it, on every screen.
func TestHintsAreClicked(t *testing.T) {
	for text, want := range map[string]string{
		"↑↓": "up down", "[ ]": "[ ]", "n N": "n N", "up/z": "up z",
		"tab": "tab", "?": "?", "0-9": "enter", "arrows": "", "": "", " ": "", "/": "/",
		"+ - 0 1": "+ - 0 1",
	} {
		seen := ""
		for x := range len([]rune(text)) {
			if name := keyAt(text, x); name != "" && !strings.HasSuffix(seen, name) {
				seen = strings.TrimSpace(seen + " " + name)
			}
		}
		if seen != want {
			t.Errorf("%q presses %q, want %q", text, seen, want)
		}
	}
	for tab := range tabs {
		m := sample(t, 120, 36)
		m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		last := strings.Split(ansi.Strip(m.View().Content), "\n")[35]
		x := ansi.StringWidth(last[:strings.Index(last, "? help")])
		if send(m, tea.MouseClickMsg{X: x + 3, Y: 35, Button: tea.MouseLeft}); m.overlays.Empty() {
			t.Errorf("%s: a click on the hint of the help opens nothing", tabName(tab))
		}
	}
}

// BenchmarkStrip is one turn of the focused knob on a screen of its own, from the key to the
// finished frame. Budget at 160x50: 8 ms.
func BenchmarkStrip(b *testing.B) {
	for tab := range tabs {
		b.Run(tabName(tab), func(b *testing.B) {
			m := sample(b, 160, 50, func(o *Options) { o.Evaluate = engine.Evaluate })
			m.do(state.Action{Verb: state.GoTab, N: int(tab)})
			step := 0
			for b.Loop() {
				m.Update(press([]string{"(", ")"}[step%2]))
				_ = m.View()
				step++
			}
		})
	}
}
