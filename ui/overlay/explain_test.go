package overlay

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine/explain"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/ui/widget"
)

// figures are those of the default setup on a machine without a calibration, so
// that a new fit moves no frame.
func bookOf(t testing.TB) *explain.Book {
	t.Helper()
	s := presets.DefaultSetup()
	s.Cluster.Calibration = nil
	b, ok := explain.Of(s)
	if !ok {
		t.Fatal("the default setup has no figures")
	}
	return b
}

func explained(t testing.TB, id string) *Explain {
	t.Helper()
	e, ok := bookOf(t).Explain(id)
	if !ok {
		t.Fatalf("no figure %s", id)
	}
	x := NewExplain(e)
	x.Resize(80, 24)
	return x
}

// keyPress is a key by its name.
func keyPress(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"left":  tea.KeyLeft,
		"right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome,
		"end": tea.KeyEnd,
		"tab": tea.KeyTab, "backspace": tea.KeyBackspace,
	}
	if code, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return tea.KeyPressMsg{Code: rune(name[0]), Text: name}
}

// pressed sends keys by their names.
func pressed(x *Explain, keys ...string) (out Action) {
	for _, k := range keys {
		out = x.HandleKey(keyPress(k))
	}
	return out
}

func TestExplainWalksDownAndBack(t *testing.T) {
	x := explained(t, "time.step")
	for _, step := range []struct {
		keys []string
		want string
	}{
		{[]string{"enter"}, "time.compute"},
		{[]string{"enter"}, "stage.1.forward"},
		{[]string{"enter"}, "layer.dense.forward"},
		{[]string{"down", "down", "up", "enter"}, "layer.dense.qkv.forward"},
		{[]string{"esc"}, "layer.dense.forward"},
		{[]string{"left", "left"}, "time.compute"},
		{[]string{"left", "left"}, "time.step"},
		{[]string{"down", "down", "enter"}, "time.bubble"},
	} {
		pressed(x, step.keys...)
		if got := x.here().figure.Figure; got != step.want {
			t.Fatalf("%v leads to %s, want %s", step.keys, got, step.want)
		}
	}
	if pressed(x, "esc") != nil || pressed(x, "left") != nil || pressed(x, "esc") != (Close{}) {
		t.Error("esc does not go back and then close")
	}
	if pressed(x, "e") != (Close{}) {
		t.Error("the key that opens does not close")
	}
}

func TestExplainRender(t *testing.T) {
	for name, test := range map[string]struct {
		figure  string
		keys    []string
		unicode bool
		w, h    int
	}{
		"step-80x24":     {"time.step", nil, true, 80, 24},
		"step-120x36":    {"time.step", []string{"down"}, true, 120, 36},
		"product-80x24":  {"layer.dense.forward", []string{"enter"}, true, 80, 24},
		"product-120x36": {"layer.dense.forward", []string{"enter"}, true, 120, 36},
		"deep-80x24": {
			"throughput.mfu",
			[]string{"enter", "enter", "enter", "down", "enter", "enter"},
			true, 80, 24,
		},
		"ascii-80x24": {"memory.ranks.0.allocated", []string{"end"}, false, 80, 24},
		"small-40x12": {"communication.tp.exposed", []string{"down", "down"}, false, 40, 12},
	} {
		t.Run(name, func(t *testing.T) {
			x := explained(t, test.figure)
			x.Resize(test.w, test.h)
			pressed(x, test.keys...)
			d := x.Render(theme(t, colorprofile.ASCII), widget.NewGlyphs(test.unicode))
			if len(d.Lines) > test.h {
				t.Errorf("%d lines on a screen of %d", len(d.Lines), test.h)
			}
			text := ansi.Strip(strings.Join(d.Lines, "\n")) + "\n"
			if !test.unicode && strings.IndexFunc(text, func(r rune) bool { return r > '~' }) >= 0 {
				t.Errorf("not ASCII:\n%s", text)
			}
			golden.RequireEqual(t, text)
		})
	}
}

// At every size and after any keys the box is as wide as it says and no higher
// than the screen, and the chosen part can be brought into sight.
func TestExplainHolds(t *testing.T) {
	book, look := bookOf(t), theme(t, colorprofile.ANSI256)
	ids := book.IDs()
	keys := []string{
		"enter", "enter", "esc", "up", "down", "down", "left", "right", "pgup", "pgdown", "home",
		"end", "x", "z",
	}
	draws.Check(t, func(t *rapid.T) {
		e, _ := book.Explain(rapid.SampledFrom(ids).Draw(t, "figure"))
		x := NewExplain(e)
		w, h := rapid.IntRange(0, 130).Draw(t, "w"), rapid.IntRange(0, 40).Draw(t, "h")
		x.Resize(w, h)
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			pressed(x, rapid.SampledFrom(keys).Draw(t, "key"))
			x.Click(rapid.IntRange(0, 40).Draw(t, "row"))
		}
		for _, size := range [][2]int{{w, h}, {h, w}, {20, 5}} {
			x.Resize(size[0], size[1])
			d := x.Render(look, widget.NewGlyphs(w%2 == 0))
			if len(d.Lines) > size[1] {
				t.Fatalf("%d lines on %v", len(d.Lines), size)
			}
			for _, line := range d.Lines {
				if got := ansi.StringWidth(line); got != ansi.StringWidth(d.Lines[0]) || got > size[0] {
					t.Fatalf("%v: a line of %d cells: %q", size, got, ansi.Strip(line))
				}
			}
		}
	})
}
