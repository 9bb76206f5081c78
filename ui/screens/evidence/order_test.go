package evidence

import (
	"math"
	"strings"
	"testing"

	"meshscope/engine"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// TestNearestRunsFirst: the runs are listed from the one most like the setup on, again for each setup, and
// the key of the order goes on to the errors and to the published order.
func TestNearestRunsFirst(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := &View{data: invented()}
	for _, gpus := range []int{16, 256} {
		s := *in.Setup
		s.GPUs, s.DP = gpus, gpus/16
		in.Setup = &s
		v.Refresh(in)
		rows, before := v.shown(), -1.0
		for _, i := range rows {
			far := engine.Distance(&s, &v.data.rows[i].Run.Setup)
			if far < before {
				t.Fatalf("%d GPUs: a run %g away is listed behind one %g away", gpus, far, before)
			}
			before = far
		}
		if first := &v.data.rows[rows[0]].Run.Setup; first.GPUs != gpus {
			t.Errorf("%d GPUs: the first run has %d", gpus, first.GPUs)
		}
	}
	v.order = byError
	worst := math.Inf(1)
	for _, i := range v.shown() {
		if off := math.Abs(v.data.rows[i].Error); off > worst {
			t.Errorf("error %g behind %g", off, worst)
		} else {
			worst = off
		}
	}
	v.order = asPublished
	for n, i := range v.shown() {
		if n > 0 && i < v.shown()[n-1] {
			t.Error("not as published")
		}
	}
}

// TestDecadesAreEven: at every size the powers of ten next to both axes stand at even distances, and so do
// the dots of runs a power of ten apart.
func TestDecadesAreEven(t *testing.T) {
	for _, size := range [][2]int{{80, 20}, {100, 26}, {118, 32}, {150, 44}, {198, 56}} {
		in := input(t, colorprofile.ASCII, true)
		v := &View{data: invented()}
		v.Refresh(in)
		lines := v.Render(in.At(size[0], size[1]))
		a := v.arrange(size[0], size[1])
		var rows, columns []int
		for i, line := range lines[bandLines:] {
			text := ansi.Strip(line)
			cells := []rune(text)
			if len(cells) < a.plot {
				continue
			}
			tick, _, axis := strings.Cut(string(cells[:a.plot]), in.Glyphs.Limit)
			if axis && strings.Trim(tick, " 0.1") == "" && strings.Contains(tick, "1") {
				rows = append(rows, i)
			}
			if !axis && i > 2 && strings.Contains(string(cells[:a.plot]), "10") &&
				strings.Trim(string(cells[:a.plot]), " 0.1") == "" {
				for at := 0; at < a.plot; at++ {
					if cells[at] != ' ' && cells[at-1] == ' ' {
						end := at
						for cells[end] != ' ' {
							end++
						}
						columns = append(columns, at+(end-at)/2)
					}
				}
			}
		}
		for name, at := range map[string][]int{"rows": rows, "columns": columns} {
			if len(at) < 2 {
				t.Errorf("%v: %s with powers of ten: %v\n%s", size, name, at, strings.Join(lines, "\n"))
			}
			for i := 2; i < len(at); i++ {
				if at[i]-at[i-1] != at[1]-at[0] {
					t.Errorf("%v: powers of ten stand in %s %v", size, name, at)
				}
			}
		}
	}
}
