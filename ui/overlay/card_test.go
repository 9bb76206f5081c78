package overlay

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
	"meshscope/ui/widget"
)

func someCard(w, h int, links ...string) *Card {
	c := &Card{
		Title: "WORD", Remark: "glossary", Name: "bubble", Value: "0.8 %", About: "idle",
		Paragraphs: []Paragraph{
			{Label: "means", Text: "The time in which pipeline ranks wait for each other. The headline " +
				"figure is over the ideal work of a rank; over the whole time it is smaller. Say which."},
			{
				Label: "formula",
				Text:  "over ideal (p-1)/(v m); over total (p-1)/(m + p-1) for v = 1; with equal stages",
			},
			{Label: "unit", Text: ""},
			{Label: "source", Text: "Megatron-LM, arXiv 2104.04473, section 2.2"},
		},
		Links: links, Hint: "enter goes on", Follow: func(i int) Action { return i },
	}
	c.Resize(w, h)
	return c
}

func TestCardRender(t *testing.T) {
	for name, test := range map[string]struct {
		unicode bool
		w, h    int
	}{
		"80x24": {true, 80, 24}, "120x36": {true, 120, 36}, "ascii-60x20": {false, 60, 20},
		"low-40x10": {true, 40, 10},
	} {
		t.Run(name, func(t *testing.T) {
			c := someCard(test.w, test.h, "micro-batches", "interleaved", "closed form")
			d := c.Render(theme(t, colorprofile.ASCII), widget.NewGlyphs(test.unicode))
			golden.RequireEqual(t, ansi.Strip(strings.Join(d.Lines, "\n"))+"\n")
		})
	}
}

// TestCardKeys: links are chosen and followed, a text without them scrolls, and
// every key that leaves leaves.
func TestCardKeys(t *testing.T) {
	c := someCard(80, 24, "micro-batches", "interleaved")
	send := func(name string) Action { return c.HandleKey(keyPress(name)) }
	for range 2 {
		if send("down") != nil {
			t.Error("moving closes")
		}
	}
	if send("enter") != 1 {
		t.Errorf("link %d", c.cursor)
	}
	if send("up"); c.cursor != 0 {
		t.Errorf("link %d after up", c.cursor)
	}
	for _, name := range []string{"esc", "backspace", "q"} {
		if send(name) != (Close{}) {
			t.Errorf("%s does not close", name)
		}
	}
	low := someCard(40, 9)
	if low.HandleKey(keyPress("enter")) != nil {
		t.Error("enter follows a link that is not there")
	}
	low.HandleKey(keyPress("end"))
	if low.first == 0 {
		t.Error("a text longer than the screen does not scroll")
	}
	low.HandleKey(keyPress("home"))
	if low.first != 0 {
		t.Error("home does not go back")
	}
}

// TestCardHolds: at every size and after any keys the lines are as wide as the
// box says and no more than the screen is high, and the chosen link can be seen.
func TestCardHolds(t *testing.T) {
	look := theme(t, colorprofile.ANSI256)
	names := []string{"up", "down", "pgup", "pgdown", "home", "end", "tab", "x", "enter"}
	draws.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(0, 130).Draw(t, "width"), rapid.IntRange(0, 40).Draw(t, "height")
		c := someCard(w, h, []string{"a", "b", "c"}[:rapid.IntRange(0, 3).Draw(t, "links")]...)
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 20).Draw(t, "keys") {
			c.HandleKey(keyPress(name))
			d := c.Render(look, widget.NewGlyphs(true))
			if len(d.Lines) > h {
				t.Fatalf("%d lines on %d", len(d.Lines), h)
			}
			for _, line := range d.Lines {
				if got := ansi.StringWidth(line); got != c.page().width {
					t.Fatalf("%d cells, not %d: %q", got, c.page().width, ansi.Strip(line))
				}
			}
			c.Click(rapid.IntRange(0, 40).Draw(t, "row"))
		}
	})
}
