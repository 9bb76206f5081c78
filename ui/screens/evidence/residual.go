package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// picture is what the plot shows.
type picture uint8

const (
	byValue   picture = iota // measured to the right, predicted upwards
	byScale                  // GPUs to the right, predicted over measured upwards
	byRelease                // releases of software to the right, the same upwards
	pictures
)

// mostOff is the largest ratio of prediction and measurement that residual plots show in
// its place; larger ones stand at the edge.
const mostOff = 2

// residual returns the place of a run in a residual plot: a power of ten to the right,
// and predicted over measured.
func (v *View) residual(r *row, releases []string) (x, y float64) {
	y = min(max(r.Predicted/r.Measured, 1.0/mostOff), mostOff)
	if v.picture == byScale {
		return float64(r.Run.Setup.GPUs), y
	}
	return math.Pow(10, 0.5+float64(slices.Index(releases, v.release(r)))), y
}

// release names the software of a run: its release, or the group where none is published.
func (v *View) release(r *row) string {
	return cmp.Or(r.Run.Release, r.Group)
}

// releases lists those of some rows: published ones in their order, then the groups.
func (v *View) releases(rows []int) []string {
	var out []string
	for _, i := range rows {
		if name := v.release(&v.data.rows[i]); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	digit := func(s string) bool { return s[0] >= '0' && s[0] <= '9' }
	slices.SortFunc(out, func(a, b string) int {
		if digit(a) != digit(b) {
			if digit(a) {
				return -1
			}
			return 1
		}
		return cmp.Compare(strings.TrimPrefix(a, "20"), strings.TrimPrefix(b, "20"))
	})
	return out
}

// residualAxes returns the axes of a residual plot of pw by ph cells.
func (v *View) residualAxes(rows []int, releases []string, pw, ph int) (x, y axis) {
	edge := math.Log10(mostOff) * 1.02
	x, y = axis{0, float64(max(len(releases), 1)), 2 * pw}, axis{-edge, edge, 4 * ph}
	if v.picture == byScale {
		x.low, x.high = math.Inf(1), math.Inf(-1)
		for _, i := range rows {
			gpus := math.Log10(float64(v.data.rows[i].Run.Setup.GPUs))
			x.low, x.high = min(x.low, gpus-0.1), max(x.high, gpus+0.1)
		}
		x = even(x.low, x.high, pw, 2)
	}
	return x, y
}

// offTick returns the mark of a ratio that falls into a cell upwards: "x1.25".
func offTick(a axis, cell int) (string, bool) {
	for _, t := range [...]struct {
		ratio float64
		text  string
	}{{0.5, "x0.5"}, {0.8, "x0.8"}, {1, "x1"}, {1.25, "x1.25"}, {2, "x2"}} {
		if a.at(t.ratio)/4 == cell {
			return t.text, true
		}
	}
	return "", false
}

// residualFoot names what is to the right: GPUs, or the first and the last release and
// that of the run under the cursor.
func (v *View) residualFoot(in *screen.Context, x axis, releases []string, w, pw int) string {
	if v.picture == byScale {
		return v.foot(in, x, w, pw)
	}
	l := widget.NewLine(w).To(tickWidth)
	first, last := releases[0], releases[len(releases)-1]
	words := first + " to " + last
	if shown := v.shown(); v.inRows && len(shown) > 0 {
		words = v.release(&v.data.rows[shown[v.cursor(shown)]])
	}
	return l.Put(in.Paint(themes.Muted), in.Cut(words, l.Left())).String()
}

// likeness returns how far the nearest run of each group is from a setup and the rows from the nearest on, by
// the distances of the error bands; of equally near ones that of the same model goes first.
func (d *data) likeness(s *engine.Setup) (groups []float64, rows []int) {
	const otherModel = 1e-3
	groups = make([]float64, len(d.groups))
	runs := make([][]float64, len(d.groups))
	for g := range d.groups {
		groups[g] = math.Inf(1)
		for i := range d.groups[g].Runs {
			run := &d.groups[g].Runs[i].Setup
			far := engine.Distance(s, run)
			if run.Model.ID != s.Model.ID {
				far += otherModel
			}
			runs[g] = append(runs[g], far)
			groups[g] = min(groups[g], far)
		}
	}
	for i := range d.rows {
		rows = append(rows, i)
	}
	far := func(i int) float64 { return runs[d.rows[i].group][d.rows[i].Place] }
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(far(a), far(b)) })
	return groups, rows
}

// nearestFirst puts the groups of the runs most like the setup first, and finds the order of the runs.
func (v *View) nearestFirst() {
	if v.data == nil || v.opened == nil {
		return
	}
	far, near := v.data.likeness(v.opened)
	v.data.near = near
	slices.SortStableFunc(v.data.results, func(a, b result) int {
		return cmp.Or(cmp.Compare(far[a.group], far[b.group]), cmp.Compare(a.group, b.group))
	})
}
