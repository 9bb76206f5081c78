// Package network is the Network screen, one pane at a time. Its overview shows what each
// dimension sends and how much of it is exposed, which ratios let traffic hide, where the ranks
// stand on the nodes, and what other bandwidths would change.
package network

import (
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/overlap"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// overview is the first pane: traffic, overlap, what-if and ranks. The zero value is ready.
type overview struct {
	dimension string // focused; empty or absent: the first
	rank      int    // under the cursor

	words  bool // the status line spells the ratio of the focused dimension
	other  bool // the what-if turns the other link than the one that counts
	factor int  // place on the ladder, relative to the bandwidth as it is

	answer  whatIf // the last result of Work
	pending query  // the last query
	folded  folded // nodes of the map
	jobs    widget.Jobs
}

// Copy returns the pane with its cursors and its answer.
func (v *overview) Copy() screen.Screen {
	c := *v
	c.jobs, c.pending = widget.Jobs{}, c.answer.query
	return &c
}

// known reports whether there is anything to draw.
func known(in *screen.Context) bool {
	s := in.Setup
	return s != nil && in.Report != nil && in.Report.Time != nil && in.Report.Throughput != nil &&
		s.TP > 0 && s.CP > 0 && s.DP > 0 && s.PP > 0 && s.EP > 0 && s.ETP > 0 && s.GPUs > 0
}

// focus returns the place of the focused dimension in the list of traffic; -1: there
// is none.
func (v *overview) focus(in *screen.Context) int {
	for i := range in.Report.Communication {
		if in.Report.Communication[i].Dimension == v.dimension {
			return i
		}
	}
	return min(0, len(in.Report.Communication)-1)
}

// dim returns the focused dimension's name; empty: there is none.
func (v *overview) dim(in *screen.Context) string {
	if i := v.focus(in); i >= 0 {
		return in.Report.Communication[i].Dimension
	}
	return ""
}

// cursor returns the rank under the cursor.
func (v *overview) cursor(in *screen.Context) int { return min(max(v.rank, 0), in.Setup.GPUs-1) }

// ring returns the focused group of the rank under the cursor.
func (v *overview) ring(in *screen.Context) layout.Ring {
	return in.Setup.Ring(v.dim(in), v.cursor(in))
}

// Render draws the pane: exactly h lines of w cells.
func (v *overview) Render(in *screen.Context) []string {
	w, h := in.W, in.H
	if w <= 0 || h <= 0 {
		return widget.Height(nil, max(w, 0), h)
	}
	if !known(in) {
		l := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "no figures for this setup")
		return widget.Height([]string{in.Heading(w, "NETWORK", "", ""), l.String()}, w, h)
	}
	a := v.arrange(in, w, h)
	lines := v.waits(in, w)[:a.waits]
	lines = append(lines, v.traffic(in, w, a.traffic)...)
	if a.left == 0 {
		lines = append(lines, v.overlaps(in, w, a.overlaps)...)
		lines = append(lines, v.ladder(in, w, a.ladder)...)
		lines = append(lines, v.nodes(in, w, a.nodes)...)
		return widget.Height(lines, w, h)
	}
	rest := h - a.waits - a.traffic
	left := v.overlaps(in, a.left, a.overlaps)
	right := v.nodes(in, w-a.left-gutter, a.nodes)
	switch {
	case a.ladder == 0:
	case a.beside: // below the map
		right = append(right, v.ladder(in, w-a.left-gutter, a.ladder)...)
	default: // what the ratios leave
		for len(left) > 0 && strings.TrimSpace(left[len(left)-1]) == "" {
			left = left[:len(left)-1]
		}
		if len(left) > 0 {
			left = append(left, widget.Blank(a.left))
		}
		left = append(left, v.ladder(in, a.left, rest-len(left))...)
	}
	left, right = widget.Height(left, a.left, rest), widget.Height(right, w-a.left-gutter, rest)
	for i := range right {
		lines = append(lines, left[i]+widget.Blank(gutter)+right[i])
	}
	return widget.Height(lines, w, h)
}

const (
	gutter      = 2
	twoColumns  = 110 // width from which the map stands next to the ratios
	ladderLines = 4
	leastMap    = 48 // width for the words below the map
	leastCurve  = 5  // lines of a curve
)

// arrangement is the heights of the panels; left is the width of the column of
// ratios and what-if, 0 where all panels stand below each other. beside: the what-if stands below the map.
type arrangement struct {
	waits, traffic, overlaps, ladder, nodes, left int
	beside                                        bool
}

func (v *overview) arrange(in *screen.Context, w, h int) arrangement {
	a := arrangement{waits: min(len(v.waits(in, w)), max(h-2, 0))}
	h -= a.waits
	a.traffic = min(h, max(2, 1+len(in.Report.Communication)))
	ladder := ladderLines
	if in.Asks {
		ladder = 0
	}
	ratios := 1 + max(1, len(overlap.Ratios(in.Setup, in.Report)))
	if in.Taught { // rules of thumb beside what the step exposes
		ratios = 0
	}
	rest := h - a.traffic
	if w < twoColumns {
		a.overlaps = min(rest, ratios)
		rest -= a.overlaps
		a.ladder = min(rest, ladder)
		a.nodes = rest - a.ladder
		return a
	}
	if rest >= 12 { // a blank line under each panel
		a.traffic++
		rest--
	}
	a.left, a.nodes, a.ladder = (w-gutter)/2, rest, min(rest, ladder)
	p := v.plan(in, w-gutter-a.left, rest-1)
	if need := 1 + p.rows*p.lines + 4 + len(in.Report.Communication); ladder > 0 && p.whole() &&
		rest-need >= ladder+leastCurve {
		a.nodes, a.ladder, a.beside = need, rest-need, true
		if !in.Taught {
			a.overlaps = rest
		}
		return a
	}
	if p.columns == 1 { // the ratios take what the map leaves
		a.left = max(a.left, w-gutter-max(p.width, leastMap))
	}
	if rest >= 16 && !in.Asks {
		a.ladder += min(max(8, (rest-16)/2), rest-16) // room for a curve
	}
	if !in.Taught {
		a.overlaps = rest - a.ladder
	}
	return a
}
