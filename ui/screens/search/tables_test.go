package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/engine/recipe"
	"meshscope/report"
	"meshscope/ui/table"
)

// TestTables: every row of the export names its layout in full, only that of the setup
// current is called so, and a layout beyond the list is of the front.
func TestTables(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := prepared(in)
	v.answer.rows[3].Setup = *in.Setup
	v.answer.rows[5].Setup.Loss = recipe.ChunkedLoss
	v.answer.rows[5].Slow, v.answer.rows[5].Days, v.answer.rows[5].Cost = 3*v.answer.rows[5].Step, 7, 9000
	file := v.Tables(in)[0]
	cell := func(row int, head string) report.Cell {
		at := slices.Index(file.Head, head)
		if at < 0 {
			t.Fatalf("no column %q in %v", head, file.Head)
		}
		return file.Rows[row][at]
	}
	if len(file.Rows) != len(v.answer.rows) {
		t.Fatalf("%d rows of %d", len(file.Rows), len(v.answer.rows))
	}
	for i := range v.answer.rows {
		r := &v.answer.rows[i]
		place, forced, sp := "front", "no", "off"
		if r.Rank > 0 {
			place = strconv.Itoa(r.Rank)
		}
		if i == 3 {
			forced = "yes"
		}
		if r.Setup.SP {
			sp = "on"
		}
		if len(file.Rows[i]) != len(file.Head) || cell(i, "rank").Text != place ||
			cell(i, "current").Text != forced || cell(i, "sp").Text != sp {
			t.Errorf("row %d: %v", i, file.Rows[i])
		}
		for head, n := range map[string]int{
			"gpus": r.Setup.GPUs, "seq": r.Setup.Seq, "tp": r.Setup.TP,
			"mbs": r.Setup.MBS,
		} {
			if cell(i, head).Value != float64(n) {
				t.Errorf("row %d: %s is %v, of the layout %d", i, head, cell(i, head).Value, n)
			}
		}
	}
	for head, want := range map[string]float64{
		"slow": float64(v.answer.rows[5].Slow), "free": float64(v.answer.rows[5].Free),
		"days": 7, "cost": 9000,
		"gbs": float64(in.Setup.GBS),
	} {
		if got := cell(5, head).Value; got != want {
			t.Errorf("%s is %v, of the layout %v", head, got, want)
		}
	}
	if got := cell(5, "loss").Text; got != string(recipe.ChunkedLoss) ||
		slices.Contains(file.Head, "offload") {
		t.Errorf("loss, which differs, is %q; columns are %v", got, file.Head)
	}
	if strings.Contains(file.Title, "partial") {
		t.Errorf("a whole search is titled %q", file.Title)
	}
	v.answer.result.partial, v.answer.result.share = true, 0.34
	if title := v.Tables(in)[0].Title; !strings.Contains(title, "partial: 34.0 %") {
		t.Errorf("a part of a search is titled %q", title)
	}
	v.answer.rows = nil
	if rows := v.Tables(in)[0].Rows; len(rows) > 0 {
		t.Errorf("nothing was found, and %d rows are written", len(rows))
	}
	v.chosen[tensor] = "8"
	if len(v.Tables(in)) > 0 {
		t.Error("what answers another query is written")
	}
}

// TestEveryRowIsSeen: wherever the cursor is, its row is on the screen, each row once,
// and with it the current setup; a click chooses the row that it is on.
func TestEveryRowIsSeen(t *testing.T) {
	for own := range 10 {
		for n := 1; n <= 12; n++ {
			rows := make([]row, 10)
			rows[own].Current = true
			for at := range rows {
				lines := table.Seen(len(rows), at, current(rows), n)
				sorted := slices.Clone(lines)
				slices.Sort(sorted)
				if len(lines) != min(n, len(rows)) || !slices.Contains(lines, at) ||
					len(slices.Compact(sorted)) != len(lines) {
					t.Fatalf("cursor %d, own %d: %v on %d lines", at, own, lines, n)
				}
				if n >= 4 && !slices.Contains(lines, own) {
					t.Fatalf("cursor %d: the setup in force, %d, is not among %v", at, own, lines)
				}
			}
		}
	}
	in := input(t, colorprofile.ASCII, true)
	v := prepared(in)
	slow := roundReport(200, 55)
	in.Report = &slow
	const w, h = 118, 20
	rows := v.shown(in)
	a := v.arrange(w, h)
	top := v.above(in)
	for line, want := range table.Seen(len(rows), 0, current(rows), a.table-top-1) {
		if line == 0 {
			continue // where the cursor is: a click takes it
		}
		v.table.Row = 0
		v.Mouse(in.At(w, h), a.x+3, top+1+line, "left")
		if v.table.Row != want {
			t.Errorf("a click on line %d chooses row %d, there is row %d", line, v.table.Row, want)
		}
	}
	if !rows[v.table.Row].Current {
		t.Error("the last line is not the setup in force")
	}
	if text := fmt.Sprint(v.lines(in, rows, a.w, a.table-top)); !strings.Contains(text, in.Glyphs.Here) {
		t.Error("the setup in force is not marked")
	}
}
