package rings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/engine/ring"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// input is a context of a long sequence on 64 GPUs with the constants of a plain roofline.
func input(t testing.TB, change func(s *engine.Setup)) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	s := presets.DefaultSetup()
	s.GPUs, s.TP, s.PP, s.CP, s.DP, s.VPP, s.Seq, s.GBS, s.MicroBatches = 64, 4, 1, 8, 2, 1, 131072, 4, 2
	s.Recompute.Mode = recipe.RecomputeFull
	s.Cluster.Calibration = nil
	if change != nil {
		change(&s)
	}
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatal(r.Problems)
	}
	return &screen.Context{
		Setup: &s, Report: &r, Theme: p.Resolve(colorprofile.ASCII),
		Glyphs: widget.NewGlyphs(true),
	}
}

// panes makes both, with what they ask of the engine answered.
func panes(t testing.TB, in *screen.Context) []screen.Screen {
	t.Helper()
	all := New()
	for _, p := range all {
		if do := p.Refresh(in); do.Work != nil {
			do.Work(t.Context())()
		}
	}
	return all
}

// press gives a pane keys by their names.
func press(t testing.TB, p screen.Screen, in *screen.Context, keys ...string) {
	t.Helper()
	p.Render(in)
	for _, k := range keys {
		if ok, _ := screen.Press(p, in, k); !ok {
			t.Fatalf("%s: %s is no key", p.Name(), k)
		}
	}
}

// TestFrames draws both panes without colours, as the screen has room in windows of 80x24 and
// 120x36.
func TestFrames(t *testing.T) {
	for i, keys := range [][]string{
		{"right", "down", "down", "z"},
		{"right", "right", "right", "down", "L", "L"},
	} {
		for _, size := range [][2]int{{80, 18}, {120, 30}} {
			in := input(t, nil).At(size[0], size[1])
			p := panes(t, in)[i]
			t.Run(fmt.Sprintf("%s/%dx%d", p.Name(), size[0], size[1]), func(t *testing.T) {
				press(t, p, in, keys...)
				lines := append(p.Render(in), p.Status(in.At(size[0], 1)))
				if len(lines) != size[1]+1 {
					t.Errorf("%d lines", len(lines))
				}
				for _, l := range lines[:size[1]] {
					if widget.Width(ansi.Strip(l)) != size[0] {
						t.Errorf("%d cells wide: %q", widget.Width(ansi.Strip(l)), ansi.Strip(l))
					}
				}
				golden.RequireEqual(t, ansi.Strip(strings.Join(lines, "\n")+"\n"))
			})
		}
	}
}

// TestLooks: sums, copies and both splits in every theme, with few colours and in ASCII.
func TestLooks(t *testing.T) {
	in := input(t, nil).At(80, 18)
	all := panes(t, in)
	for range 2 {
		for _, p := range all {
			screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
				c := in.At(in.W, in.H)
				c.Theme, c.Glyphs = theme, glyphs
				return append(p.Render(c), p.Status(c))
			})
		}
		press(t, all[1], in, "n", "n", "right", "right")
		press(t, all[0], in, "z", "right")
	}
}

// TestPlays: space plays to the end and stops, nothing ticks otherwise, and where nothing is to
// move by itself space is a step.
func TestPlays(t *testing.T) {
	in := input(t, nil).At(120, 30)
	for _, p := range panes(t, in) {
		m := p.(screen.Mover)
		press(t, p, in)
		if m.Playing() || m.Tick() {
			t.Errorf("%s moves before it plays", p.Name())
		}
		press(t, p, in, "space")
		frames := 0
		for m.Playing() && frames < 100*framesPerStep {
			m.Tick()
			frames++
		}
		end := strings.Join(p.Render(in), "\n")
		press(t, p, in, "home", "end")
		if frames == 0 || m.Tick() || end != strings.Join(p.Render(in), "\n") {
			t.Errorf("%s: %d frames do not lead to the end", p.Name(), frames)
		}
		in.Calm = true
		press(t, p, in, "home", "space")
		calm := strings.Join(p.Render(in), "\n")
		press(t, p, in, "home", "right")
		if m.Playing() || calm != strings.Join(p.Render(in), "\n") {
			t.Errorf("%s: space is no step where all is calm", p.Name())
		}
		in.Calm = false
	}
}

// TestQuestions: while a question is open the work of a GPU is not counted in either split, and bytes and
// times that it hides are in no line.
func TestQuestions(t *testing.T) {
	in := input(t, nil).At(120, 30)
	all := panes(t, in)
	press(t, all[0], in, "z")
	hides := func(p screen.Screen, figures ...string) {
		shown := ansi.Strip(strings.Join(p.Render(in), "\n"))
		c := in.At(in.W, in.H)
		c.Asks, c.Masked = true, []string{"attention.causal-contiguous", "communication.dp.bytes"}
		hidden := ansi.Strip(strings.Join(p.Render(c), "\n"))
		for _, f := range figures {
			if !strings.Contains(shown, f) || strings.Contains(hidden, f) {
				t.Errorf("%s: %q is hidden where nothing is asked, or told where it is", p.Name(), f)
			}
		}
	}
	hides(all[0], "all wait for GPU", "1.87", "2,013,274,112", "of 31")
	press(t, all[1], in, "right")
	hides(all[1], "132 GB", "2.94 s", "4.41 GB")
}

// TestShow: an act goes to a split of the ring, and to what the setup does in a group: with SP no all-reduce.
func TestShow(t *testing.T) {
	for sp, want := range map[bool]string{
		true:  "REDUCE-SCATTER tp group: 4 GPUs",
		false: "ALL-REDUCE tp group: 4 GPUs",
	} {
		in := input(t, func(s *engine.Setup) { s.SP = sp }).At(120, 30)
		all := panes(t, in)
		all[1].(interface{ Show(string) }).Show("tp")
		if text := ansi.Strip(strings.Join(all[1].Render(in), "\n")); !strings.Contains(text, want) {
			t.Errorf("SP %t: no %q:\n%s", sp, want, text)
		}
		for split, want := range map[string]string{"contiguous": "[contiguous]", "": "[zig-zag]"} {
			all[0].(interface{ Show(string) }).Show(split)
			if text := ansi.Strip(strings.Join(all[0].Render(in), "\n")); !strings.Contains(text, want) {
				t.Errorf("%q draws another split:\n%s", split, text)
			}
		}
	}
}

// TestDrawnNodes: a group that has no room is drawn with whole nodes, or says how many GPUs of each; GPUs
// have the numbers that they have in the group, and its own steps are told.
func TestDrawnNodes(t *testing.T) {
	for _, c := range []struct {
		size, node, most int
		first, last      int // of the second node
		says             string
	}{
		{16, 8, 10, 8, 12, "; 10 drawn, 5 of 8 a node"},
		{64, 4, 10, 4, 7, "; 8 drawn"},
		{16, 8, 16, 8, 15, ""},
		{72, 72, 10, 5, 9, "; 10 drawn"},
		{64, 1, 10, 1, 1, "; 10 drawn"},
	} {
		v, g := collectives{most: c.most}, &ring.Group{Size: c.size, PerDomain: c.node}
		p := v.example(g)
		node := p.PerNode
		if node >= p.Ranks {
			node = p.Ranks / 2
		}
		if first, last := member(g, &p, node), member(g, &p, 2*node-1); first != c.first || last != c.last ||
			drawn(g, &p) != c.says || p.Ranks%p.PerNode != 0 {
			t.Errorf("%d GPUs, %d a node: %+v, %d to %d, %q", c.size, c.node, p, first, last, drawn(g, &p))
		}
	}
	in := input(t, nil).At(120, 22)
	text := ansi.Strip(strings.Join(panes(t, in)[1].Render(in), "\n"))
	for _, want := range []string{
		"; 12 drawn", "step 0 of 22 drawn, 30 in all",
		"2 rings at once, one over the link of each GPU; a single one: 30 steps",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
}

// TestAllSetups: panes draw setups of one GPU, without CP, with experts, with groups too large to
// draw, and in windows too small for them.
func TestAllSetups(t *testing.T) {
	for name, change := range map[string]func(s *engine.Setup){
		"one GPU":    func(s *engine.Setup) { s.GPUs, s.TP, s.CP, s.DP, s.SP, s.GBS = 1, 1, 1, 1, false, 2 },
		"no CP":      func(s *engine.Setup) { s.CP, s.DP, s.GBS = 1, 16, 32 },
		"CP 3":       func(s *engine.Setup) { s.GPUs, s.CP, s.DP, s.GBS, s.Seq = 24, 3, 2, 4, 3<<15 },
		"many GPUs":  func(s *engine.Setup) { s.GPUs, s.DP, s.GBS = 4096, 128, 256 },
		"no zig-zag": func(s *engine.Setup) { s.Seq, s.SP = 131064, false },
		"one message": func(s *engine.Setup) {
			s.TP, s.CP, s.DP, s.PP, s.SP, s.GBS = 1, 1, 1, 64, false, 2
			s.GPUs = 64
		},
	} {
		in := input(t, change)
		for _, p := range panes(t, in) {
			for _, size := range [][2]int{{80, 18}, {120, 30}, {200, 54}, {30, 5}, {1, 1}, {0, 0}} {
				c := in.At(size[0], size[1])
				lines := p.Render(c)
				text := ansi.Strip(strings.Join(lines, "\n"))
				if len(lines) != size[1] || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
					t.Errorf("%s, %s, %v: %d lines\n%s", name, p.Name(), size, len(lines), text)
				}
				p.Status(c)
				p.Mouse(c, size[0]/2, size[1]/2, "left")
			}
			for _, table := range p.(screen.Tabler).Tables(in) {
				for _, row := range table.Rows {
					if len(row) != len(table.Head) {
						t.Errorf("%s, %s: %v has not the columns of %v", name, table.Title, row, table.Head)
					}
				}
			}
		}
	}
}
