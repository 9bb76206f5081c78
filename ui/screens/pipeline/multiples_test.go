package pipeline

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// TestMultiples: on a wide screen the table of schedules has a picture of each legal one, in the
// colours of the legend and with labelled cells; every line has its width, a click and the cursor
// find their schedule, and v shows all figures instead.
func TestMultiples(t *testing.T) {
	in := input(t, colorprofile.ANSI256, spec(schedule.OneFOneB, 4, 1, 128))
	v := New()
	v.with(t, in, spec(schedule.OneFOneB, 4, 1, 128), spec(schedule.AFAB, 4, 1, 128),
		spec(schedule.Interleaved, 4, 2, 128), spec(schedule.ZBH1, 4, 1, 128),
		spec(schedule.DualPipe, 4, 1, 128), spec(schedule.Naive, 4, 1, 128))
	v.table.open = true
	draw := func(w, h int) {
		t.Helper()
		if ask := v.Refresh(in.At(w, h)); ask.Work == nil {
			t.Fatal("nothing is drawn")
		} else {
			ask.Work(t.Context())()
		}
		if ask := v.Refresh(in.At(w, h)); ask.Work != nil {
			t.Error("what is drawn is drawn again")
		}
	}
	draw(200, 50)
	drawn := 0
	for i := range v.table.rows {
		if r := &v.table.rows[i]; r.Report.Legal && len(r.picture.Ranks()) != 4 {
			t.Errorf("%s has no picture", r.Info.Kind)
		} else if r.Report.Legal {
			drawn++
			lines := r.picture.Render(in.Theme, in.Glyphs)
			if n := len(labelled.FindAllString(ansi.Strip(strings.Join(lines, "\n")), -1)); n < 30 &&
				r.Info.Kind != schedule.Naive || n < 12 {
				t.Errorf("%s: %d labelled cells:\n%s", r.Info.Kind, n, ansi.Strip(strings.Join(lines, "\n")))
			}
		}
	}
	if drawn < 6 {
		t.Fatalf("%d pictures", drawn)
	}
	for _, size := range [][2]int{{110, 16}, {117, 30}, {118, 30}, {240, 90}, {200, 50}} {
		draw(size[0], size[1])
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
	if !strings.Contains(text, "each to its own scale") {
		t.Errorf("no word on the scale:\n%s", text)
	}
	v.table.plain = true
	if text = ansi.Strip(strings.Join(v.Render(in.At(200, 50)), "\n")); !strings.Contains(text, "replicas") {
		t.Errorf("v does not show all figures:\n%s", text)
	}
	v.table.plain = false
	draw(140, 40)
	screentest.Looks(t, func(theme *themes.Theme, g widget.Glyphs) []string {
		c := in.At(140, 40)
		c.Theme, c.Glyphs = theme, g
		return v.Render(c)
	})
}

// labelled is a cell with its kind and its micro-batch.
var labelled = regexp.MustCompile(`[FBIWfbiw][0-9]+`)
