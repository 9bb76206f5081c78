package network

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/ui/screen"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// TestAlikeNodesAreFolded: nodes whose GPUs stand alike in their groups share a line, those with a GPU of
// the cursor's group have one of their own, and together the lines hold every node once.
func TestAlikeNodesAreFolded(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	s := presets.StartSetup()
	in.Setup = &s
	for dimension, most := range map[string]int{"tp": 2, "cp": 2, "dp": 32, "pp": 32} {
		v := sample(in)
		for _, rank := range []int{0, 11, 128, 255} {
			next, ring := 0, s.Ring(dimension, rank)
			list := v.spans(&s, dimension, rank)
			for _, one := range list {
				if one.first != next || one.last < one.first {
					t.Fatalf("%s, GPU %d: %v", dimension, rank, list)
				}
				next = one.last + 1
				for i := range ring.Size {
					if node := ring.At(i) / s.Cluster.Node(); node >= one.first && node <= one.last &&
						one.first != one.last {
						t.Errorf("%s, GPU %d: node %d of its group is folded into %v", dimension, rank, node,
							one)
					}
				}
			}
			if next != s.Nodes() || len(list) > most+1 {
				t.Errorf("%s, GPU %d: %d places for %d of %d nodes", dimension, rank, len(list), next,
					s.Nodes())
			}
		}
	}
	text := ansi.Strip(strings.Join(sampleOf(in, "tp").Render(in.At(120, 31)), "\n"))
	if n := strings.Count(text, "0  1  2  3  0  1  2  3"); n > 2 {
		t.Errorf("%d lines of 0 1 2 3:\n%s", n, text)
	}
}

func sampleOf(in *screen.Context, dimension string) *overview {
	v := sample(in)
	v.dimension, v.rank = dimension, 0
	return v
}

// TestWaitsInASentence: the first line says how much of the step waits for traffic, for which most and why,
// at every width; a setup without such traffic says that it hides, and an open question hides the line.
func TestWaitsInASentence(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	for _, w := range []int{60, 78, 118, 198} {
		text := ansi.Strip(strings.Join(sample(in).Render(in.At(w, 31))[:1], ""))
		if !strings.Contains(text, "12.5 % of the step waits") || w != 60 && !strings.Contains(text, "TP most: 4.50 s") ||
			strings.Contains(text, in.Glyphs.Ellipsis) {
			t.Errorf("%d wide: %q", w, text)
		}
		if w >= 118 && (!strings.Contains(text, "TP most: 4.50 s of its 8.00 s") ||
			!strings.Contains(text, "because a layer needs its activations whole")) {
			t.Errorf("%d wide: %q", w, text)
		}
	}
	asked := *in
	asked.Asks = true
	if len(sample(in).waits(&asked, 118)) > 0 {
		t.Error("the line gives an open question away")
	}
	m, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []knob.Given{
		{knob.GPUs: 8, knob.TP: 1, knob.ZeRO: 3},
		{knob.GPUs: 8, knob.CP: 8},
		{knob.GPUs: 64, knob.TP: 1, knob.GBS: 2048},
		{knob.GPUs: 16, knob.TP: 16},
	} {
		s, err := knob.DraftOf(m, c, given).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r := engine.Evaluate(s)
		in.Setup, in.Report = &s, &r
		text := ansi.Strip(strings.Join(sample(in).waits(in, 118), ""))
		most := longest(r.Communication)
		switch {
		case r.Time.Exposed < r.Time.Step/200:
			if !strings.Contains(text, "hides behind compute") {
				t.Errorf("%v: %q", given, text)
			}
		case most == nil || !strings.Contains(text, strings.ToUpper(most.Dimension)+" most") ||
			!strings.Contains(text, "because"):
			t.Errorf("%v: %q", given, text)
		}
	}
}
