package desk

import (
	"testing"

	"meshscope/engine/figures"
	"meshscope/lessons"
	"meshscope/ui/class"
)

// TestTotal: of each vote the share of right answers, of a number those near enough, of a goal who reached
// it.
func TestTotal(t *testing.T) {
	number := lessons.Act{Kind: lessons.Number, Near: 1.2, Against: figures.Figure{Value: 12}}
	choice := lessons.Act{
		Kind:    lessons.Choice,
		Options: []lessons.Option{{Say: "a"}, {Say: "b", Right: true}},
	}
	d := Desk{Moment: class.Moment{
		Ended: &lessons.Lesson{Acts: []lessons.Act{choice, number, {Kind: lessons.Goal}, choice}},
		Totals: map[int][2]map[int]int{
			0: {{0: 3, 1: 1, 9: 1}, {1: 4}},
			1: {{rung(11): 2, rung(300): 1}, nil},
			2: {{0: 5}, nil},
		},
	}}
	for at, want := range []string{
		"first vote 1 of 5 right, second vote 4 of 4 right",
		"first vote 2 of 3 right", "reached by 5", "",
	} {
		if got := d.Total(at); got != want {
			t.Errorf("act %d: %q, want %q", at, got, want)
		}
	}
}
