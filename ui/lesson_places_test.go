package ui

import (
	"regexp"
	"strings"
	"testing"

	"meshscope/engine/figures"
	"meshscope/engine/record"
	"meshscope/engine_test/draws"
	"meshscope/lessons"
)

// TestNoPlaceTellsAFigure: whatever figure an act masks, no place that it can show writes it with its
// unit, nor a time twice as long, at which two steps end. Every figure in a deep run.
func TestNoPlaceTellsAFigure(t *testing.T) {
	l := *built(t, "bubble")
	units := map[record.Unit]string{
		record.Seconds: `[mu]?s\b`, record.Memory: `[MG]i?B($|[^/])`,
		record.Share: `%`,
	}
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		for _, place := range lessons.Places() {
			one := l
			one.Acts = append([]lessons.Act(nil), l.Acts...)
			one.Acts[0].Show, one.Acts[0].Mask = place, nil
			m := taughtAt(t, &one, 0, size[0], size[1], nil)
			for i, word := range figures.Words() {
				if !draws.Deep() && i%4 != 0 && word.ID != "time.step" &&
					word.ID != "memory.fullest.activations" {
					continue
				}
				f, ok := figures.Find(&m.legal.report, word.ID)
				if !ok || units[f.Unit] == "" {
					continue
				}
				one.Acts[0].Mask = []string{word.Word}
				followed(m, m.refreshScreen())
				page := screenText(m)
				page = page[:strings.LastIndex(page[:strings.Index(page, one.Acts[0].Ask[:12])], "\n")]
				if whole := strings.HasPrefix(f.ID, "memory.") || f.ID == "time.step"; place == "pipeline" &&
					whole && !strings.Contains(page, "hidden until you answer") {
					t.Errorf("%s masks %s and is drawn:\n%s", place, f.ID, page)
				}
				twice := f
				twice.Value *= 2
				for _, text := range append(written(f), written(twice)...) {
					if len(strings.ReplaceAll(text, ".", "")) > 2 &&
						regexp.MustCompile(`(^|[^\d.,])`+regexp.QuoteMeta(text)+` ?(`+units[f.Unit]+
							`)`).MatchString(page) {
						t.Errorf("%s masks %s and shows %s:\n%s", place, f.ID, text, page)
						break
					}
				}
			}
		}
	}
}
