package overlay

import (
	"strings"
	"testing"

	"meshscope/ui/widget"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// TestHintsAreWhole: a foot has whole keys at every width, the last of them always, and a list is as wide as
// its foot where the screen is.
func TestHintsAreWhole(t *testing.T) {
	g := widget.NewGlyphs(true)
	parts := []string{
		"type 2T for the tokens, $2.5 for the price",
		"enter explains a figure or edits a value", "esc closes",
	}
	hint := Hint(g, parts...)
	for w := 12; w < 120; w++ {
		text := fitted(hint, w, g)
		if widget.Width(text) > w || !strings.HasSuffix(text, "esc closes") {
			t.Fatalf("%d cells: %q", w, text)
		}
		for _, part := range strings.Split(text, Hint(g, "", "")) {
			if !strings.Contains(hint, part) {
				t.Errorf("%d cells: %q is cut", w, part)
			}
		}
	}
	p := NewPicker("LIST", hint, []Item{{Title: "one"}}, 0)
	if p.wide(200) < widget.Width(hint)+2 || p.wide(60) > 60 {
		t.Errorf("the box is %d and %d wide", p.wide(200), p.wide(60))
	}
}

// TestFilterFindsWords: what has the words themselves hides what has only their letters, and where nothing
// has them the letters are enough.
func TestFilterFindsWords(t *testing.T) {
	items := []Item{
		{Title: "the whole run: days, cost"},
		{Title: "underline glossary words"},
		{Title: "find any screen"},
		{Title: "deadline", Hidden: []string{"days of the run"}},
	}
	for query, want := range map[string]int{"days": 2, "Days run": 2, "undgl": 1, "zzz": 0} {
		p := NewPicker("KEYS", "", items, 0)
		p.Paste(query)
		if len(p.shown) != want {
			t.Errorf("%q finds %d of %d", query, len(p.shown), want)
		}
	}
}

// TestFilterBegins: a name that begins with what was typed, also behind its kind, is before one that has it
// further on, and of those the one with less before it is first.
func TestFilterBegins(t *testing.T) {
	items := []Item{
		{Title: "fix DP instead of GPUs, micro-batches instead of the global batch", Name: "f"},
		{Title: "knob global batch", Name: "--gbs"},
		{Title: "Nemotron 3 Nano 30B-A3B", Name: "nemotron3-nano-30b-a3b"},
		{Title: "Qwen3-VL 30B-A3B", Name: "qwen3-vl-30b-a3b"},
		{Title: "Qwen3 30B-A3B", Name: "qwen3-30b-a3b"},
		{Title: "mine, of Mixtral 8x22B", Name: "my8x22b"},
		{Title: "Navlab", Name: "navlab"},
		{Title: "Mixtral 8x22B", Name: "mixtral-8x22b"},
		{Title: "Megatron (Korthikanti)", Name: "megatron-22b"},
		{Title: "LaVL", Name: "LaVL"},
		{Title: "tuned", Name: "last-vl"},
	}
	for query, want := range map[string]int{
		"global": 1, "30b-a3b": 4, "nemo": 2, "batch": 1, "vl": 3, "22b": 8, "my8x22b": 5, "mixtral": 7,
		"last-vl": 10,
	} {
		p := NewPicker("KEYS", "", items, 0)
		p.Paste(query)
		if i, ok := p.Choice(); !ok || i != want {
			t.Errorf("%q chooses %q", query, items[i].Title)
		}
	}
}

// TestColumnsAreAsWideAsWhatIsInSight: a long name further down takes no room from the titles in sight.
func TestColumnsAreAsWideAsWhatIsInSight(t *testing.T) {
	const title = "what the knob cuts and costs, and when it is worth its price in traffic"
	items := []Item{{Title: title, Name: "i"}}
	for range 40 {
		items = append(items, Item{Title: "short", Name: "k"})
	}
	items = append(items, Item{
		Title: "figure", Name: strings.Repeat("communication.", 5),
		Fields: []string{"25.5471 GB"},
	})
	p := NewPicker("KEYS", "", items, 0)
	p.Resize(100, 30)
	if text := strings.Join(p.Render(theme(t, colorprofile.ASCII), widget.NewGlyphs(true)).Lines,
		"\n"); !strings.Contains(ansi.Strip(text), title+"  i") {
		t.Errorf("the title is cut:\n%s", text)
	}
}

// TestTitleHasWhatAValueLeaves: a long value further down takes no room from a title whose own is short.
func TestTitleHasWhatAValueLeaves(t *testing.T) {
	const title = "Error of step time that nine of ten published runs stay within"
	items := []Item{
		{Title: title, Fields: []string{"41 %"}},
		{Title: "traffic", Fields: []string{"123,456,789,012 tokens"}},
	}
	p := NewPicker("FIGURES", "", items, 0)
	p.Resize(80, 24)
	if text := ansi.Strip(strings.Join(p.Render(theme(t, colorprofile.ASCII), widget.NewGlyphs(true)).Lines,
		"\n")); !strings.Contains(text, title+" ") || !strings.Contains(text, "41 %") {
		t.Errorf("the title is cut:\n%s", text)
	}
}
