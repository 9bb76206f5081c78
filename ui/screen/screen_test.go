package screen

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/ui/widget"
)

// fake is a screen with a cursor and a mode.
type fake struct {
	at, asked, refreshed int
	deep, typing         bool
	typed                string
}

func (*fake) Name() string { return "Fake" }

func (f *fake) Keys(*Context) []Key {
	return []Key{
		{
			ID: "up down", Keys: "up k | down j", Help: "above, below", Hint: "line",
			Do: func(n int) { f.at += n },
		},
		{ID: "far", Keys: "G end", Help: "far down", Do: func(n int) { f.at += 100 * n }},
		{
			Keys: "enter", Help: "take", Hint: "take it", When: func() bool { return f.deep },
			Ask: func() Request { f.asked++; return Request{Text: "taken"} },
		},
		{
			Keys: "enter", Help: "go in", Hint: "in", When: func() bool { return !f.deep },
			Do: func(int) { f.deep = true },
		},
		{Keys: "p", Hint: "pin", Foot: "p"},
	}
}

func (f *fake) Mouse(*Context, int, int, string) (bool, Request) { return false, Request{} }
func (f *fake) Render(*Context) []string                         { return nil }
func (f *fake) Status(*Context) string                           { return "" }

func (f *fake) Refresh(*Context) Request {
	f.refreshed++
	return Request{}
}
func (f *fake) Typing() bool { return f.typing }
func (f *fake) Type(_ *Context, key string) Request {
	f.typed += key
	return Request{}
}
func (f *fake) Paste(string)          {}
func (f *fake) Prompt() []widget.Hint { return []widget.Hint{{Key: "enter", Text: "takes it"}} }

// TestPress: a pair goes either way, a single action forward, a row of another mode and
// a key of the program are left alone, and what changed something asks for what it lacks.
func TestPress(t *testing.T) {
	f, c := &fake{}, &Context{}
	for _, key := range []string{"j", "down", "up", "k", "G"} {
		if ok, _ := Press(f, c, key); !ok {
			t.Errorf("%s is not taken", key)
		}
	}
	if f.at != 100 || f.refreshed != 5 {
		t.Errorf("at %d, asked %d times for what it lacks", f.at, f.refreshed)
	}
	if _, do := Press(f, c, "enter"); do.Text != "" || !f.deep {
		t.Error("the first enter does not go in")
	}
	if _, do := Press(f, c, "enter"); do.Text != "taken" {
		t.Error("the second enter does not take")
	}
	if ok, _ := Press(f, c, "p"); ok {
		t.Error("a key of the program is taken")
	}
	f.typing = true
	if Press(f, c, "j"); f.typed != "j" || f.at != 100 {
		t.Error("a letter is not text while it is typed")
	}
}

// TestOwnKeys: the user's own keys take the place of the built-in ones wherever the
// table is read.
func TestOwnKeys(t *testing.T) {
	f, c := &fake{}, &Context{Own: map[string][]string{"down": {"z"}}}
	if ok, _ := Press(f, c, "j"); ok {
		t.Error("the built-in key still counts")
	}
	if ok, _ := Press(f, c, "z"); !ok || f.at != 1 {
		t.Error("the own key does not count")
	}
	if h := Hints(f, c)[0]; h.Key != "up/z" {
		t.Errorf("the footer says %q", h.Key)
	}
	k := f.Keys(c)[0]
	if names := k.Names(c.Own); !slices.Equal(names, []string{"up", "z", "k"}) || !k.Changed(c.Own) ||
		k.Shown(c.Own, c.Glyphs) != "up z" {
		t.Errorf("the help says %v", names)
	}
}

// TestListed: footer and help have the rows of the moment, the documentation all that
// can be given other keys.
func TestListed(t *testing.T) {
	f, c := &fake{}, &Context{}
	var hints, helps []string
	for _, h := range Hints(f, c) {
		hints = append(hints, h.Key+" "+h.Text)
	}
	for _, k := range Listed(f.Keys(c)) {
		helps = append(helps, k.Help)
	}
	if want := []string{"up/down line", "enter in", "p pin"}; !slices.Equal(hints, want) {
		t.Errorf("footer %q", hints)
	}
	if want := []string{"above, below", "far down", "go in"}; !slices.Equal(helps, want) {
		t.Errorf("help %q", helps)
	}
	var ids []string
	for _, a := range Actions(f.Keys(nil)) {
		ids = append(ids, a.ID)
	}
	if want := []string{"up", "down", "far"}; !slices.Equal(ids, want) {
		t.Errorf("actions %q", ids)
	}
}

// TestPartNames: a part of a bar is called by one word at every width, cut to some of its letters.
func TestPartNames(t *testing.T) {
	for _, p := range append(MemoryParts(new(engine.RankMemory)), StepParts(new(engine.Time))...) {
		for _, brief := range p.Names[1:] {
			rest := p.Names[0]
			for _, letter := range brief {
				_, after, found := strings.Cut(rest, string(letter))
				if rest = after; !found {
					t.Errorf("%s is called %s where it is narrow", p.Names[0], brief)
					break
				}
			}
		}
	}
}
