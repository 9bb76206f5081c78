package memory

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// TestKindsOfLayers: where layers differ, each kind has its columns, all of them next to each other where
// there is room; the cursor goes from figure to figure and each has a formula with the value that is shown.
func TestKindsOfLayers(t *testing.T) {
	for _, c := range []struct {
		text  string
		kinds [2]string // names, the most frequent one second
		ids   [2]string
		row   string // an operation that both have
	}{
		{
			`{"model":"deepseek-v3","gpus":256,"tp":2,"pp":8,"ep":16,"gbs":512}`,
			[2]string{"dense × 3", "MoE × 58"},
			[2]string{"dense", "moe"},
			"norms",
		},
		{
			`{"model":"gemma3-27b","gpus":64,"tp":4,"pp":4,"gbs":128}`,
			[2]string{"full dense × 10", "sliding dense × 52"},
			[2]string{"full_dense", "sliding_dense"},
			"norms",
		},
	} {
		doc, err := setupdoc.Parse("", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := doc.Setup(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		r, rec := engine.EvaluateRecorded(s)
		in := input(t, colorprofile.ASCII, true, 4)
		in.Setup, in.Report = &s, &r
		for _, size := range []struct {
			w, h  int
			both  bool
			heads string
		}{
			{200, 56, true, "params FLOPs saved time params FLOPs saved time"},
			{120, 32, false, "params FLOPs saved time"},
			{80, 20, true, "params saved time params saved time"},
		} {
			v := New()
			at := in.At(size.w, size.h)
			v.Refresh(at).Work(t.Context())()
			press(v, at, size.w, size.h, "i", "down")
			drawn := strings.Join(v.Render(at), "\n")
			text := ansi.Strip(drawn)
			if got := strings.Contains(text, c.kinds[0]); got != size.both ||
				!strings.Contains(text, c.kinds[1]) {
				t.Errorf("%dx%d: %s is there: %t\n%s", size.w, size.h, c.kinds[0], got, text)
			}
			_, heads, _ := strings.Cut(text, "operation ")
			heads, _, _ = strings.Cut(heads, "\n")
			if got := strings.Join(strings.Fields(heads), " "); got != size.heads {
				t.Errorf("%dx%d: columns %q, want %q", size.w, size.h, got, size.heads)
			}
			press(v, at, size.w, size.h, strings.Fields(strings.Repeat("left ", 8))...)
			seen := map[string]bool{}
			for range 8 {
				id := v.Figure(at)
				seen[id] = true
				if e, ok := rec.Entry(id); !ok || e.Value <= 0 {
					t.Errorf("%dx%d: %q has no formula", size.w, size.h, id)
				}
				press(v, at, size.w, size.h, "right")
			}
			want := 8 - len(strings.Fields(heads))%4 // 2 columns of FLOPs less where they are not drawn
			for _, kind := range c.ids {
				if !seen["layer."+kind+"."+c.row+".saved"] || !seen["layer."+kind+"."+c.row+".time"] {
					t.Errorf("%dx%d: the cursor does not get to what %s saves: %v", size.w, size.h, kind,
						seen)
				}
			}
			if len(seen) != want {
				t.Errorf("%dx%d: figures %v, want %d", size.w, size.h, seen, want)
			}
			if size.w == 200 {
				press(v, at, size.w, size.h, "up")
				table := v.answers.layerTable()
				if len(table.Head) != 13 || !strings.HasPrefix(table.Head[1], "dense") &&
					!strings.HasPrefix(table.Head[1], "sliding dense") {
					t.Errorf("columns of the table: %q", table.Head)
				}
			}
		}
	}
}
