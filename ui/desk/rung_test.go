package desk

import (
	"slices"
	"testing"

	"meshscope/ui/class"
)

// TestSpan: the ladder of a vote shows where most votes are; one far away counts with the nearest end.
func TestSpan(t *testing.T) {
	at := func(numbers ...float64) map[int]int {
		votes := map[int]int{}
		for _, v := range numbers {
			votes[rung(v)]++
		}
		return votes
	}
	middle := []string{"0.5 to 1", "1 to 2", "2 to 5", "5 to 10", "10 to 20", "20 to 50"}
	for _, test := range []struct {
		name  string
		votes [2]map[int]int
		want  []string
	}{
		{"nobody", [2]map[int]int{}, nil},
		{"one", [2]map[int]int{at(20)}, []string{"20 to 50"}},
		{"both rounds", [2]map[int]int{at(20), at(60)}, []string{"20 to 50", "50 to 100"}},
		{
			"a joke",
			[2]map[int]int{at(0, 20, 21, 60), at(20)},
			slices.Concat([]string{"under 0.5"}, middle, []string{"50 to 100"}),
		},
		{
			"two jokes",
			[2]map[int]int{at(0, 20, 60), at(1e9, 20)},
			slices.Concat([]string{"under 0.5"}, middle, []string{"50 and more"}),
		},
	} {
		from, n := span(test.votes)
		if text := ladderText(from, n, test.votes); !slices.Equal(text, test.want) {
			t.Errorf("%s: %q, want %q", test.name, text, test.want)
		}
	}
}

// TestLegend: the strip says which of the two votes its bars show.
func TestLegend(t *testing.T) {
	some := map[int]int{0: 1}
	for _, c := range []struct {
		votes [2]map[int]int
		want  string
	}{
		{[2]map[int]int{some, some}, "the votes, first above second"},
		{[2]map[int]int{some, nil}, "the votes, first round"},
		{[2]map[int]int{{}, some}, "the votes, second round"},
		{[2]map[int]int{}, "the votes"},
	} {
		d := Desk{Moment: class.Moment{Step: class.Shown, Votes: c.votes}}
		if got := d.words(); got != c.want {
			t.Errorf("%v: %q, want %q", c.votes, got, c.want)
		}
	}
}
