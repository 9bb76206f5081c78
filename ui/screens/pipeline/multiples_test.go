package pipeline

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// TestMultiples: on a wide screen the table of schedules has a picture of each legal one, all on one
// axis of time; every line has its width, a click and the cursor find their schedule, and v shows all
// figures instead.
func TestMultiples(t *testing.T) {
	in := input(t, colorprofile.ANSI256, spec(schedule.OneFOneB, 4, 1, 128))
	v := New()
	v.with(t, in, spec(schedule.OneFOneB, 4, 1, 128), spec(schedule.AFAB, 4, 1, 128), spec(schedule.Interleaved, 4, 2, 128), spec(schedule.ZBH1, 4, 1, 128),
		spec(schedule.DualPipe, 4, 1, 128), spec(schedule.Naive, 4, 1, 128))
	v.table.open = true
	if ask := v.Refresh(in.At(200, 50)); ask.Work == nil {
		t.Fatal("nothing is drawn")
	} else {
		ask.Work(t.Context())()
	}
	if ask := v.Refresh(in.At(200, 50)); ask.Work != nil {
		t.Error("what is drawn is drawn again")
	}
	drawn := 0
	for i := range v.table.rows {
		if r := &v.table.rows[i]; r.Report.Legal && r.picture.Lines() == 0 {
			t.Errorf("%s has no picture", r.Info.Kind)
		} else if r.Report.Legal {
			drawn++
		}
	}
	if drawn < 6 || !v.table.drawn.axis.Cut {
		t.Fatalf("%d pictures, middle left out: %t", drawn, v.table.drawn.axis.Cut)
	}
	for _, size := range [][2]int{{110, 16}, {117, 30}, {118, 30}, {200, 50}, {240, 90}} {
		lines := v.Render(in.At(size[0], size[1]))
		if len(lines) != size[1] {
			t.Fatalf("%v: %d lines", size, len(lines))
		}
		for y, line := range lines {
			if n := ansi.StringWidth(line); n != size[0] {
				t.Errorf("%v: line %d has %d cells: %q", size, y, n, ansi.Strip(line))
			}
		}
		if heading := ansi.Strip(lines[1]); strings.Contains(heading, " exposed ") != (size[0] >= 118) {
			t.Errorf("%v: exposed communication is a column from 118 cells on: %q", size, heading)
		}
		for y := 2; y < size[1]-7; y++ {
			if i, ok := v.table.multipleAt(size[1], y); ok {
				v.Mouse(in.At(size[0], size[1]), 3, y, "left")
				if v.table.row != i {
					t.Errorf("%v: a click on line %d chooses %d, want %d", size, y, v.table.row, i)
				}
			}
		}
	}
	text := ansi.Strip(strings.Join(v.Render(in.At(200, 50)), "\n"))
	if !strings.Contains(text, "starts and ends; ") {
		t.Errorf("no word on the axis:\n%s", text)
	}
	v.table.plain = true
	if text = ansi.Strip(strings.Join(v.Render(in.At(200, 50)), "\n")); !strings.Contains(text, "replicas") {
		t.Errorf("v does not show all figures:\n%s", text)
	}
	v.table.plain = false
	screentest.Looks(t, func(theme *themes.Theme, g widget.Glyphs) []string {
		c := in.At(140, 40)
		c.Theme, c.Glyphs = theme, g
		return v.Render(c)
	})
}
