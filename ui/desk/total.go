package desk

import (
	"fmt"
	"strings"

	"meshscope/lessons"
)

// Total says how the class answered an act of the lesson that has ended: the share of right answers in each
// vote; empty where nobody answered.
func (d *Desk) Total(at int) string {
	act := &d.Ended.Acts[at]
	var parts []string
	for i, votes := range d.Totals[at] {
		n, right := 0, 0
		for ballot, count := range votes {
			n += count
			if ballotRight(act, ballot) {
				right += count
			}
		}
		switch {
		case n == 0:
		case act.Kind == lessons.Goal:
			parts = append(parts, fmt.Sprintf("reached by %d", n))
		default:
			parts = append(parts, fmt.Sprintf("%s vote %d of %d right", [...]string{"first", "second"}[i],
				right, n))
		}
	}
	return strings.Join(parts, ", ")
}

// ballotRight reports whether a ballot is for a right option, or for a step of the ladder that has right
// numbers.
func ballotRight(act *lessons.Act, ballot int) bool {
	if act.Kind != lessons.Number {
		return ballot >= 0 && ballot < len(act.Options) && act.Options[ballot].Right
	}
	scale, _ := lessons.Unit(act.Against)
	want := act.Against.Value / scale
	return ballot >= rung(want/act.Near) && ballot <= rung(want*act.Near)
}
