package lanes

import (
	"strings"

	"meshscope/ui/screen"
)

// Columns around the axis.
const (
	labelWidth = 12
	rightWidth = 19 // exposed time and time of the traffic
	leastWidth = 56 // from which these stand there
)

// plotWidth returns how many columns the axis has on a screen w wide.
func plotWidth(w int) int {
	if w < leastWidth {
		return max(1, w-labelWidth)
	}
	return w - labelWidth - rightWidth
}

// plan says where everything stands.
type plan struct {
	lines                                   []int // of each row that takes the cursor; -1: not shown
	costs, bracket, ticks, legend, allCosts bool
	gaps                                    bool // a blank line between the parts
	tall                                    int  // lines of a lane beyond the first
	below                                   int  // first line of the explanation
}

// plan gives the rows their lines: first what is focused on, then what explains it.
func (v *View) plan(in *screen.Context) plan {
	const explained = 4
	var p plan
	lanes, scales := v.lanesTo()-v.lanesFrom(), len(v.scales())
	rest := in.H - 1 - 1 - lanes - explained
	room := func(n int) bool {
		if rest < n {
			return false
		}
		rest -= n
		return true
	}
	shown := !in.Asks && room(scales) // what another value gives is the question
	p.bracket = room(1)
	p.costs = !in.Asks && room(1)
	p.ticks = room(1)
	p.legend = room(1)
	p.gaps = room(4)
	p.allCosts = shown && scales > 0 && room(scales+2)
	const tallest, spare = 3, 6
	if room(lanes + 2) {
		for p.tall = 1; p.tall < tallest && rest >= lanes+spare && room(lanes); p.tall++ {
		}
	}
	y := 1
	place := func(show bool, more int) {
		if !show || y >= in.H {
			p.lines = append(p.lines, -1)
			return
		}
		p.lines = append(p.lines, y)
		y += 1 + more
	}
	gap := func() {
		if p.gaps {
			y++
		}
	}
	place(!in.Asks, count(p.costs))
	gap()
	for range lanes {
		place(true, p.tall)
	}
	for _, more := range []bool{p.bracket, p.ticks, p.legend} {
		if more {
			y++
		}
	}
	gap()
	for range scales {
		place(shown, count(p.allCosts))
	}
	gap()
	p.below = y
	return p
}

// count returns 1 for true.
func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// whole ends lines with the last sentence that ends in them; where none does, with the mark of what is cut.
func whole(lines []string, ellipsis string) []string {
	text := strings.Join(lines, "\n")
	if at := strings.LastIndex(strings.ReplaceAll(text+"\n", ".\n", ". "), ". "); at >= 0 {
		return strings.Split(text[:at+1], "\n")
	}
	last := len(lines) - 1
	return append(lines[:last:last], strings.TrimRight(lines[last], ",;: ")+ellipsis)
}
