package report

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/presets"
)

// TestUnitsOfScreens: a factor keeps its digits, and the tables of a screen call units
// as all other rows do.
func TestUnitsOfScreens(t *testing.T) {
	s := presets.DefaultSetup()
	d := NewEvaluation("x", s, engine.Evaluate(s))
	d.Screen = []Table{{Title: "both", Head: []string{"of", "B / A", "MFU", "step"}, Rows: [][]Cell{
		{Word("row"), Ratio(1.0372), Figure(record.Share, 0.4123), Figure(record.Seconds, 1.5)},
	}}}
	for f, lines := range map[Format][]string{
		Markdown: {"| row | 1.04 | 41.2 % |"},
		CSV:      {"both,row,B / A,1.0372,ratio", "both,row,MFU,0.4123,ratio", "both,row,step,1.5,s"},
	} {
		var b strings.Builder
		if err := Write(&b, f, d.Answer()); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(b.String(), line) {
				t.Errorf("no %q in\n%.400s", line, b.String())
			}
		}
	}
}
