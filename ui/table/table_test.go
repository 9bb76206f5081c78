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

// TestTitledList: a list with a title in place of the first head says which rows it shows, cuts words where
// there is less room, takes the room that is left for names, and a click goes to the row that stands there.
func TestTitledList(t *testing.T) {
	palette, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	in := &screen.Context{Theme: palette.Resolve(colorprofile.ASCII), Glyphs: widget.NewGlyphs(false)}
	of := []report.Column[city]{
		{ID: "name", Text: func(c *city) string { return c.name }},
		{ID: "area", Head: "area", Value: func(c *city) float64 { return c.area }},
		{
			ID: "said", Head: "said", Drop: 1, Cut: true,
			Text: func(c *city) string { return c.name + " is a city" },
		},
		{ID: "file", Head: "file", Aside: true, Text: func(*city) string { return "nowhere drawn" }},
	}
	_, rows := cities()
	for w, want := range map[int]string{40: "Turin is a city", 24: "Turin~ ", 14: "130\n"} {
		list := Plain(of, 0)
		lines := list.Lines(in, rows, w, 2, -1, &Look[city]{Title: "CITIES"})
		text := ansi.Strip(strings.Join(lines, "\n") + "\n")
		if !strings.Contains(text, want) || strings.Contains(text, "nowhere") {
			t.Errorf("%d cells: %q is not in\n%s", w, want, text)
		}
	}
	list := Plain(of, 2)
	list.Wide = true
	lines := list.Lines(in, rows, 60, 3, -1, &Look[city]{Title: "CITIES", Details: []string{"of Europe"}})
	head, last := ansi.Strip(lines[0]), ansi.Strip(lines[2])
	if !strings.HasPrefix(head, "CITIES 2-3 of 3 of Europe") || !strings.HasSuffix(last, "Bern is a city ") &&
		!strings.HasSuffix(last, "Bern is a city") || len(head) != 60 {
		t.Errorf("%q above %q", head, last)
	}
	hit, again := list.Point(len(rows), -1, 1, 3)
	if !hit || again || list.Row != 1 {
		t.Errorf("a click on the first line: %v, %v, row %d", hit, again, list.Row)
	}
	if hit, again = list.Point(len(rows), -1, 2, 4); !hit || !again {
		t.Errorf("a second click: %v, %v", hit, again)
	}
	if hit, _ = list.Point(len(rows), -1, 0, 3); hit {
		t.Error("the head is a row")
	}
}
