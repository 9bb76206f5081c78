package knobs

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/widget"
)

var both = knob.Locks{GPUs: true, Batch: true}

func column(t testing.TB, s engine.Setup, focus knob.ID) *Column {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	return &Column{
		Rows: Rows(s, both), Focus: focus, Theme: p.Resolve(colorprofile.ANSI256),
		Glyphs: widget.NewGlyphs(true),
	}
}

// TestEveryParameter: the column has every parameter of the registry, once.
func TestEveryParameter(t *testing.T) {
	s := presets.DefaultSetup()
	order := Order(&s)
	for _, p := range knob.Shown() {
		if !slices.Contains(order, p.ID) {
			t.Errorf("%s has no knob", p.ID)
		}
	}
	rows := Rows(presets.DefaultSetup(), both)
	if len(rows) != len(knob.Shown()) || len(rows) != len(order) {
		t.Errorf("%d rows, %d parameters, %d in order", len(rows), len(knob.Shown()), len(order))
	}
	for _, r := range rows {
		if r.Off == "" && r.Current < 0 {
			t.Errorf("%s: the value in force is not on its ladder", r.ID)
		}
	}
}

// TestColumnOfTheStack: stacks of data parallelism alone have what splits a model at the end, and those that
// train adapters have what is trained in the recipe.
func TestColumnOfTheStack(t *testing.T) {
	for _, c := range []struct {
		stack          recipe.Stack
		tp, lora, zero knob.Group
	}{
		{recipe.MegatronCore, knob.LayoutGroup, knob.MoreGroup, knob.LayoutGroup},
		{recipe.LLMFoundry, knob.MoreGroup, knob.MoreGroup, knob.LayoutGroup},
		{recipe.Transformers, knob.MoreGroup, knob.RecipeGroup, knob.LayoutGroup},
	} {
		s := presets.DefaultSetup()
		s.Stack = c.stack
		at := map[knob.ID]knob.Group{}
		for _, r := range Rows(s, both) {
			at[r.ID] = r.Group
		}
		if at[knob.TP] != c.tp || at[knob.LoRA] != c.lora || at[knob.ZeRO] != c.zero ||
			len(at) != len(knob.Shown()) {
			t.Errorf("%s: TP in %s, LoRA in %s, ZeRO in %s, %d rows", c.stack, at[knob.TP].Title(),
				at[knob.LoRA].Title(), at[knob.ZeRO].Title(), len(at))
		}
	}
}

// TestLocks: of each pair one is kept and the other follows.
func TestLocks(t *testing.T) {
	for _, l := range []knob.Locks{{}, both, {GPUs: true}, {Batch: true}} {
		words := map[knob.ID]string{}
		for _, r := range Rows(presets.DefaultSetup(), l) {
			words[r.ID] = r.Lock
		}
		for _, pair := range [][2]knob.ID{{"gpus", "dp"}, {"gbs", "microbatches"}} {
			if words[pair[0]] == words[pair[1]] || words[pair[0]] == "" || words[pair[1]] == "" {
				t.Errorf("%+v: %s %q, %s %q", l, pair[0], words[pair[0]], pair[1], words[pair[1]])
			}
		}
	}
}

// TestOff: a knob without effect says why.
func TestOff(t *testing.T) {
	s := presets.DefaultSetup()
	off := func(s engine.Setup) map[knob.ID]string {
		m := map[knob.ID]string{}
		for _, r := range Rows(s, both) {
			m[r.ID] = r.Off
		}
		return m
	}
	if got := off(s); got["ep"] != "dense model" || got["etp"] != "dense model" || got["sp"] != "" ||
		got["vpp"] != "" {
		t.Errorf("dense: %v", got)
	}
	s.TP, s.PP, s.SP = 1, 1, false
	if got := off(s); got["sp"] == "" || got["vpp"] == "" {
		t.Errorf("tp 1, pp 1: %v", got)
	}
	m, err := presets.Default().Model("deepseek-v3")
	if err != nil {
		t.Fatal(err)
	}
	if got := off(knob.WithModel(s, m)); got["ep"] != "" || got["mtp"] != "" {
		t.Errorf("MoE: %v", got)
	}
}

// TestBriefParts: a list of recomputed parts is drawn in the short form of the tables.
func TestBriefParts(t *testing.T) {
	m, err := presets.Default().Model("deepseek-v3")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rows(knob.WithModel(presets.DefaultSetup(), m), both) {
		if r.ID != knob.Recompute {
			continue
		}
		if i := slices.Index(r.Values, "modules:norm,mla-up,moe-act"); i < 0 ||
			r.Shown[i] != "norm+mla-up+moe-act" {
			t.Errorf("%q drawn as %q", r.Values, r.Shown)
		}
	}
}

// TestBriefSplit: a list of layers takes no more cells of a ladder than the words beside it, so that the
// figures of all its values have room.
func TestBriefSplit(t *testing.T) {
	s := presets.DefaultSetup()
	s.Split = "1,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,4,3"
	for _, r := range Rows(s, both) {
		if r.ID != knob.Split {
			continue
		}
		last := len(r.Shown) - 1
		if !slices.Equal(r.Shown, []string{"balanced", "41,39", "1,2,2,2,.."}) || r.Values[last] != s.Split {
			t.Errorf("%q drawn as %q", r.Values, r.Shown)
		}
	}
}

func TestColumn(t *testing.T) {
	c := column(t, presets.DefaultSetup(), "tp")
	for name, size := range map[string][2]int{"wide": {58, 40}, "medium": {41, 20}, "narrow": {26, 14}} {
		t.Run(name, func(t *testing.T) {
			d := c.Render(size[0], size[1])
			golden.RequireEqual(t, strings.Join(d.Lines, "\n")+"\n")
		})
	}
	c.IsTyping, c.Typing, c.Caret = true, "16384", 5
	d := c.Render(41, 20)
	if line := ansi.Strip(d.Lines[d.CaretY]); !strings.Contains(line, "16384") || d.CaretX <= 0 {
		t.Errorf("typing: caret at %d,%d of %q", d.CaretX, d.CaretY, line)
	}
}

// TestScroll: the focus is in sight at every height, and every line fits.
func TestScroll(t *testing.T) {
	step := 2
	if draws.Deep() {
		step = 1
	}
	s := presets.DefaultSetup()
	for _, id := range Order(&s) {
		c := column(t, s, id)
		for h := 1; h < 48; h += step {
			for _, w := range draws.Some(2, 26, 1, 10, 33, 49) {
				d := c.Render(w, h)
				if len(d.Lines) != h {
					t.Fatalf("%s: %d lines instead of %d", id, len(d.Lines), h)
				}
				for _, line := range d.Lines {
					if got := ansi.StringWidth(line); got != w {
						t.Fatalf("%s: %d cells instead of %d", id, got, w)
					}
				}
				seen := slices.ContainsFunc(d.Hits, func(hit Hit) bool { return hit.ID == id && hit.Y < h })
				if !seen {
					t.Fatalf("%s is not in sight at %dx%d", id, w, h)
				}
			}
		}
	}
}

func BenchmarkRows(b *testing.B) {
	s := presets.DefaultSetup()
	for b.Loop() {
		Rows(s, both)
	}
}

// TestMoreBelow: where knobs lie below the last line, the column says so, and how
// many where a line is free; at its end it does not.
func TestMoreBelow(t *testing.T) {
	s := presets.DefaultSetup()
	c, order := column(t, s, "tp"), Order(&s)
	for h := 3; h < 70; h++ {
		for _, focus := range []knob.ID{order[0], order[len(order)-1]} {
			c.Focus = focus
			d := c.Render(60, h)
			shown := map[knob.ID]bool{}
			for _, hit := range d.Hits {
				shown[hit.ID] = true
			}
			lastLine := ansi.Strip(d.Lines[h-1])
			below := focus == order[0] && !shown[order[len(order)-1]]
			if marked := strings.HasPrefix(lastLine, c.Glyphs.Down); marked != below {
				t.Errorf("height %d at %s: %q, knobs below: %t", h, focus, lastLine, below)
			}
		}
	}
}
