package overlay

import (
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/themes"
	"meshscope/ui/widget"
)

func items() []Item {
	return []Item{
		{Title: "Llama 3.1 8B", Name: "llama3.1-8b", Fields: []string{"8.03 B", "dense"}},
		{Title: "Llama 3.1 70B", Name: "llama3.1-70b", Fields: []string{"70.6 B", "dense"}},
		{Title: "Llama 3.1 405B", Name: "llama3.1-405b", Fields: []string{"406 B", "dense"}},
		{Title: "DeepSeek-V3", Name: "deepseek-v3", Fields: []string{"671 B", "MoE 8 of 256"}},
		{Title: "Mixtral 8x7B", Name: "mixtral-8x7b", Fields: []string{"46.7 B", "MoE 2 of 8"}, Off: true},
	}
}

func theme(t testing.TB, profile colorprofile.Profile) *themes.Theme {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	return p.Resolve(profile)
}

// list is a list of the items that answers with the index of what is chosen.
func list(title, hint string, current int) *Picker {
	p := NewPicker(title, hint, items(), current)
	p.Choose = func(i int) Action { return i }
	p.Resize(80, 24)
	return p
}

func typed(p *Picker, text string) {
	for _, r := range text {
		p.HandleKey(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func TestFilter(t *testing.T) {
	for query, want := range map[string]string{
		"":           "Llama 3.1 8B",
		"405":        "Llama 3.1 405B",
		"ds":         "DeepSeek-V3",
		"llama 70":   "Llama 3.1 70B",
		"70b llama":  "Llama 3.1 70B",
		"V3":         "DeepSeek-V3",
		"zzz":        "",
		"llama zzz":  "",
		"   ":        "Llama 3.1 8B",
		"8x7b":       "",
		"no such é漢": "",
	} {
		p := list("MODEL", "", 0)
		typed(p, query)
		got := ""
		if i, ok := p.Choice(); ok {
			got = items()[i].Title
		}
		if got != want {
			t.Errorf("%q chooses %q, want %q", query, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	p := list("MODEL", "", 1)
	if i, _ := p.Choice(); i != 1 {
		t.Errorf("starts at %d", i)
	}
	p.HandleKey(tea.KeyPressMsg{Code: tea.KeyDown})
	if p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEnter}) != 2 {
		t.Error("enter does not choose")
	}
	if i, _ := p.Choice(); i != 2 {
		t.Errorf("down leads to %d", i)
	}
	p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEnd})
	if p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEnter}) != nil {
		t.Error("what is off can be chosen")
	}
	p.Hint = "esc closes"
	if p.hint() != "esc closes" {
		t.Errorf("nothing is typed: %s", p.hint())
	}
	typed(p, "x")
	if p.hint() != "esc clears" {
		t.Errorf("x is typed: %s", p.hint())
	}
	if p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEscape}) != nil {
		t.Error("the first esc does not just clear the filter")
	}
	if p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEscape}) != (Close{}) {
		t.Error("the second esc does not close")
	}
	p.Paste("405")
	if i, _ := p.Choice(); i != 2 {
		t.Errorf("pasting 405 leads to %d", i)
	}
	if p.Click(0) != 2 || p.Click(99) != nil {
		t.Error("clicks do not choose what they are on")
	}
}

func TestRender(t *testing.T) {
	for name, test := range map[string]struct {
		profile colorprofile.Profile
		glyphs  bool
		query   string
		w, h    int
	}{
		"plain":    {colorprofile.ASCII, true, "", 100, 30},
		"filtered": {colorprofile.ANSI256, true, "lam70", 100, 30},
		"nothing":  {colorprofile.ASCII, true, "zzz", 80, 24},
		"small":    {colorprofile.ASCII, false, "", 40, 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := list("MODEL", "type to filter", 0)
			p.Resize(test.w, test.h)
			typed(p, test.query)
			d := p.Render(theme(t, test.profile), widget.NewGlyphs(test.glyphs))
			if len(d.Lines) > test.h {
				t.Errorf("%d lines on a screen of %d", len(d.Lines), test.h)
			}
			golden.RequireEqual(t, strings.Join(d.Lines, "\n")+"\n")
		})
	}
}

// TestRenderHolds: at every size all lines of the box are equally wide.
func TestRenderHolds(t *testing.T) {
	look := theme(t, colorprofile.ANSI256)
	p := list("MODEL", "type to filter · enter takes it", 0)
	for w := 4; w < 130; w += 3 {
		for h := 1; h < 40; h += 3 {
			p.Resize(w, h)
			d := p.Render(look, widget.NewGlyphs(true))
			for _, line := range d.Lines {
				if got := ansi.StringWidth(line); got != ansi.StringWidth(d.Lines[0]) || got > w {
					t.Fatalf("%dx%d: a line of %d cells", w, h, got)
				}
			}
		}
	}
}

func TestOver(t *testing.T) {
	frame := []string{"\x1b[1mabcdefgh\x1b[m", "", "abc"}
	d := Drawn{Lines: []string{"XX", "YY", "ZZ", "out"}, X: 4}
	got := d.Over(frame)
	for i, want := range []string{"abcdXXgh", "    YY", "abc ZZ"} {
		if ansi.Strip(got[i]) != want {
			t.Errorf("line %d is %q, want %q", i, ansi.Strip(got[i]), want)
		}
	}
	if frame[1] != "" {
		t.Error("the frame that was given has changed")
	}
}

// TestSort: ctrl+o goes through the orders, largest first, and back; the chosen
// item stays chosen, also when the filter is put away.
func TestSort(t *testing.T) {
	p := NewPicker("MODEL", "", []Item{
		{Title: "small", Name: "a", Values: []float64{1, 9}},
		{Title: "unknown", Name: "b"},
		{Title: "large", Name: "c", Values: []float64{70, 3}},
		{Title: "middle", Name: "d", Values: []float64{8, 5}},
	}, 3)
	p.Orders = []string{"parameters", "layers"}
	order := func() (titles string) {
		for _, m := range p.shown {
			titles += p.items[m.index].Name
		}
		return titles
	}
	for _, want := range []string{"cdab", "adcb", "abcd"} {
		p.HandleKey(tea.KeyPressMsg{Code: 'o', Mod: tea.ModCtrl})
		if i, ok := p.Choice(); order() != want || i != 3 || !ok {
			t.Errorf("order %s, want %s; chosen %d", order(), want, i)
		}
	}
	p.HandleKey(tea.KeyPressMsg{Code: 'o', Mod: tea.ModCtrl})
	if got := p.Count(); got != "by parameters, 4" {
		t.Errorf("%q", got)
	}
	for _, r := range "small" {
		p.HandleKey(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	if i, _ := p.Choice(); i != 0 || p.Count() != "by parameters, 1 of 4" {
		t.Errorf("chosen %d, %q", i, p.Count())
	}
	p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEscape})
	if i, _ := p.Choice(); i != 0 || order() != "cdab" {
		t.Errorf("chosen %d of %s after the filter was put away", i, order())
	}
}

// TestMatchedLetters: what a filter matched is set off in every row, the chosen one too,
// which keeps its ground.
func TestMatchedLetters(t *testing.T) {
	for _, profile := range []colorprofile.Profile{
		colorprofile.ANSI256, colorprofile.ANSI,
		colorprofile.ASCII,
	} {
		p := list("MODEL", "", 0)
		typed(p, "llama")
		th := theme(t, profile)
		d := p.Render(th, widget.NewGlyphs(true))
		chosen, other := d.Lines[3], d.Lines[4]
		if want := th.Paint(themes.Chosen).Underlined().Render("Llama"); !strings.Contains(chosen, want) {
			t.Errorf("%v: %q", profile, chosen)
		}
		if want := th.Paint(themes.Match).Render("Llama"); !strings.Contains(other, want) {
			t.Errorf("%v: %q", profile, other)
		}
	}
}

// TestStretched: a box leaves either room next to it or none.
func TestStretched(t *testing.T) {
	for w := range 140 {
		for need := range 130 {
			if got := stretched(need, w); got > w || got < w && (got != need || w-got < 8) {
				t.Fatalf("%d cells needed on %d: %d", need, w, got)
			}
		}
	}
}

// closer counts how often it was closed.
type closer struct {
	Waiting
	closed *int
}

func (c *closer) Close() { *c.closed++ }

// TestStack: what is on top gets input, what is closed is told so once, and what is no
// longer open is not replaced.
func TestStack(t *testing.T) {
	var s Stack
	s.Resize(80, 24)
	closed := 0
	below, top := &closer{closed: &closed}, &closer{closed: &closed}
	s.Push(GlossaryID, below)
	s.Push(WordID, top)
	if s.Top() != Overlay(top) || s.ID() != WordID || s.Len() != 2 {
		t.Errorf("on top is %q of %d", s.ID(), s.Len())
	}
	if s.Pop(); s.ID() != GlossaryID || closed != 1 || s.Replace(top, list("MODEL", "", 0)) {
		t.Errorf("%q is left, %d closed", s.ID(), closed)
	}
	if s.Clear(); !s.Empty() || s.Top() != nil || s.ID() != "" || closed != 2 {
		t.Errorf("%d left, %d closed", s.Len(), closed)
	}
	s.Push(ModelID, list("MODEL", "", 0))
	d := s.Render(theme(t, colorprofile.ASCII), widget.NewGlyphs(true))
	for y, want := range map[int]Action{
		d.Y - 1: Close{}, d.Y + len(d.Lines): Close{}, d.Y: nil,
		d.ListY + 2: 2,
	} {
		if got := s.Mouse(d, "left", y); got != want {
			t.Errorf("a click on row %d gives %v, want %v", y, got, want)
		}
	}
}

// TestShortens: short forms and slips of the keys shorten a name, letters here and there do not.
func TestShortens(t *testing.T) {
	const long = "advice: why it does not fit or is slow, and what to change a A out of memory not enough"
	for _, c := range []struct {
		text, typed string
		want        bool
	}{
		{"DeepSeek-V3 / R1 671B deepseek-v3", "dsv3", true},
		{"Qwen3 30B-A3B", "qwen30", true},
		{"Llama-3.1 70B", "lam70", true},
		{"Mixtral 8x7B", "mxtral", true},
		{"model LLaMA 7B", "llma", true},
		{long, "nonsense", false},
		{long, "blorp", false},
		{"Größe", "gr", true},
		{"", "a", false},
	} {
		if got := shortens(c.text, c.typed); got != c.want {
			t.Errorf("%q for %q: %v", c.typed, c.text, got)
		}
	}
}

// TestChoiceStaysWhileAListGrows: what was chosen among the best is chosen still when items come that match
// better than it.
func TestChoiceStaysWhileAListGrows(t *testing.T) {
	items := func(n int, title string) []Item {
		out := make([]Item, n)
		for i := range out {
			out[i] = Item{Title: title + " " + strconv.Itoa(i)}
		}
		return out
	}
	p := NewPicker("T", "", items(12, "a tp"), 0)
	p.Best = 10
	p.Choose = func(int) Action { return nil }
	p.Paste("tp")
	p.Wheel(8)
	before, _ := p.Choice()
	p.Extend(items(12, "tp"), func(int) Action { return nil })
	if after, _ := p.Choice(); after != before {
		t.Errorf("item %d was chosen, now %d", before, after)
	}
	p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEnd})
	if at, _ := p.Choice(); p.cursor != 23 {
		t.Errorf("the end of 24 is %d (item %d)", p.cursor, at)
	}
}

// TestDashesAreBlanks: a name is found however its parts are joined, and a whole word comes before names
// that begin so.
func TestDashesAreBlanks(t *testing.T) {
	p := NewPicker("T", "", []Item{
		{Title: "Llama-3.1 405B", Name: "llama3.1-405b"},
		{Title: "cluster TPU v4", Name: "tpu-v4"},
		{Title: "Llama 4 Scout", Name: "llama4-scout"},
		{Title: "knob TP overlap", Name: "--tp-overlap"},
		{Title: "word TP"},
		{Title: "knob TP", Name: "--tp"},
	}, 0)
	for typed, want := range map[string]string{
		"llama-4": "Llama 4 Scout", "llama 4": "Llama 4 Scout", "tp": "word TP", "--tp-ov": "knob TP overlap",
		"--tp": "knob TP", "tpu v4": "cluster TPU v4",
	} {
		p.Paste(typed)
		if i, ok := p.Choice(); !ok || p.items[i].Title != want {
			t.Errorf("%s finds %v, want %s", typed, p.items[i].Title, want)
		}
		p.HandleKey(tea.KeyPressMsg{Code: tea.KeyEscape})
	}
}
