package scan

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	enginescan "meshscope/engine/scan"
	"meshscope/ui/screen"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// longAxis is a scan over the sequence: 22 values of up to seven digits.
func longAxis(t *testing.T, by knob.ID) (*View, *screen.Context) {
	t.Helper()
	in := input(t, colorprofile.ASCII, true)
	v := New()
	v.x, v.by = "seq", by
	v.Refresh(in).Work(t.Context())()
	if v.grid == nil || len(v.grid.Rows[0]) < 20 {
		t.Fatal("no long axis")
	}
	return v, in
}

// TestLongAxisIsReadable: of a long axis no name and no figure is cut, each name is a
// value, the current value and both ends are among them.
func TestLongAxisIsReadable(t *testing.T) {
	v, in := longAxis(t, "")
	row := v.grid.Rows[0]
	for _, size := range [][2]int{{80, 20}, {118, 32}, {198, 56}} {
		lines := v.Render(in.At(size[0], size[1]))
		for i := range lines {
			lines[i] = ansi.Strip(lines[i])
			if strings.Contains(lines[i], in.Glyphs.Ellipsis) {
				t.Errorf("%v: a text is cut: %q", size, lines[i])
			}
		}
		names := size[1] - 3                      // both figures below
		texts := strings.Fields(lines[names])[1:] // without the knob's
		for _, name := range texts {
			bare := strings.Trim(name, "[]")
			i := slices.IndexFunc(row, func(p enginescan.Point) bool { return p.X == bare })
			if i < 0 || row[i].Current != (bare != name) {
				t.Errorf("%v: %q is no value", size, name)
			}
		}
		if len(texts) < 6 || texts[0] != row[0].X || texts[len(texts)-1] != row[len(row)-1].X ||
			!strings.Contains(lines[names], "[") {
			t.Errorf("%v: the names are %q", size, texts)
		}
		peaks := strings.Fields(lines[names+2])
		if len(peaks) < 7 || peaks[0] != "peak," || peaks[1] != "GiB" {
			t.Errorf("%v: the peaks are %q", size, peaks)
		}
		for _, text := range peaks[min(2, len(peaks)):] {
			if !slices.ContainsFunc(v.other.Rows[0], func(p enginescan.Point) bool {
				return p.Value != nil && writtenAs(v.other, *p.Value) == strings.TrimSuffix(text, "!")
			}) {
				t.Errorf("%v: %q is no peak", size, text)
			}
		}
	}
}

// TestWideMapSaysItsWindow: a map with more columns than there is room for keeps their
// names whole and says which are shown.
func TestWideMapSaysItsWindow(t *testing.T) {
	v, in := longAxis(t, "pp")
	lines := v.Render(in.At(118, 32))
	heading, head := ansi.Strip(lines[choiceLines]), strings.Fields(ansi.Strip(lines[choiceLines+1]))
	first := slices.IndexFunc(v.grid.Rows[0], func(p enginescan.Point) bool { return p.X == head[0] })
	if first < 0 {
		t.Fatalf("%q is no value", head[0])
	}
	for i, name := range head {
		if v.grid.Rows[0][first+i].X != name {
			t.Errorf("column %d is called %q, not %s", first+i, name, v.grid.Rows[0][first+i].X)
		}
	}
	if want := span(first, len(head), len(v.grid.Rows[0])); want == "" || !strings.Contains(heading, want) {
		t.Errorf("%q does not say %q", heading, want)
	}
	if narrow := span(0, 6, 6); narrow != "" {
		t.Errorf("all columns: %q", narrow)
	}
}

func writtenAs(g *enginescan.Grid, x float64) string {
	_, number := written(g)
	return number(x)
}
