package table

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/record"
	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

type city struct {
	name string
	area float64
}

func cities() (Table[city], []city) {
	return New([]report.Column[city]{
		{ID: "name", Head: "city", Text: func(c *city) string { return c.name }},
		{
			ID: "area", Head: "GiB", Names: []string{"size"}, Unit: record.Memory, Down: true, Drop: 1,
			Value: func(c *city) float64 { return c.area * (1 << 30) },
		},
	}), []city{{"Turin", 130}, {"Oslo", 454}, {"Bern", 52}}
}

func names(t *Table[city], rows []city) string {
	var out []string
	byName := func(a, b *city) int { return cmp.Compare(a.name, b.name) }
	for _, c := range t.Listed(slices.Clone(rows), byName) {
		out = append(out, c.name)
	}
	return strings.Join(out, " ")
}

// TestList: a list of anything is ordered by its columns, filtered by the units in their heads
// and by any part of a word, and written with all digits.
func TestList(t *testing.T) {
	list, rows := cities()
	if got := names(&list, rows); got != "Bern Oslo Turin" {
		t.Errorf("by the first column: %s", got)
	}
	list.Click(&Form{Cols: []int{0, 1}, widths: []int{8, 8}}, 12)
	if got := names(&list, rows); got != "Oslo Turin Bern" {
		t.Errorf("by area, the largest first: %s", got)
	}
	for text, want := range map[string]string{
		"size>100": "Oslo Turin", "area<=130 r": "Bern Turin",
		"name=Oslo": "Oslo", "BERN": "Bern", "slo": "Oslo",
	} {
		list.Sort, list.Typing = 0, true
		list.Clear()
		list.Paste(text)
		if got := names(&list, rows); got != want || list.Wrong != "" {
			t.Errorf("%s: %q, want %q (%s)", text, got, want, list.Wrong)
		}
	}
	list.Clear()
	if list.Paste("area>x"); !strings.Contains(list.Wrong, "not a number") {
		t.Errorf("what cannot be read: %q", list.Wrong)
	}
	file := report.List("cities", list.All, rows)
	if cell := file.Rows[1][1]; strings.Join(file.Head, " ") != "name area" || cell.Value != 454*(1<<30) {
		t.Errorf("the file has %v, %v", file.Head, cell)
	}
}

// TestDrawn: heads and cells stand in the same columns, and one that has no room is left out.
func TestDrawn(t *testing.T) {
	list, rows := cities()
	glyphs := widget.NewGlyphs(false)
	palette, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	in := &screen.Context{Theme: palette.Resolve(colorprofile.ASCII), Glyphs: glyphs}
	list.Row = 1
	for w, want := range map[int]string{30: "city GiB", 9: "city"} {
		lines := list.Lines(in, rows, w, 4, -1, &Look[city]{})
		head := strings.TrimRight(strings.ReplaceAll(ansi.Strip(lines[0]), glyphs.Up, " "), " ")
		if got := strings.Join(strings.Fields(head), " "); got != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
		line := strings.TrimRight(ansi.Strip(lines[2]), " ")
		if w == 30 && (!strings.HasSuffix(line, "454.0") || len(line) != len(head)) {
			t.Errorf("%q below %q", line, head)
		}
	}
}
