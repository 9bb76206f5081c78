package cli

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// drawing is a timeline on its way out.
type drawing struct {
	timeline *schedule.Timeline
	unit     string   // "seconds" or "1"
	idle     *float64 // closed form of the worst rank's idle time, with unit costs

	// memory is what a rank holds over time, with its unit; nil where nobody asks.
	memory     func(rank int) []schedule.Sample
	memoryUnit string
}

// Sizes of the text drawing.
const (
	drawWidth = 120 // columns for the longest row
	drawRanks = 64  // rows; more ranks are folded
)

// writeText draws one row per rank: each operation is its letter and
// micro-batch where there is room, else its letter; idle time is dots.
func (d *drawing) writeText(to io.Writer) error {
	t := d.timeline
	spec := t.Order.Spec
	out := newPage(to)
	out.printf("%s  pp %d  vpp %d  microbatches %d\n", spec.Kind, spec.Ranks, spec.VirtualStages, spec.MicroBatches)
	out.printf("ends after %s; bubble %s of the work of the busiest rank, %s of all time\n",
		d.time(t.Makespan), percent(t.BubbleOverIdeal()), percent(t.BubbleOverTotal()))
	if info, _ := spec.Kind.Info(); info.SplitsBackward {
		out.printf("between a rank's own start and end at most %s idle, %s of its work\n", d.time(t.LongestSpan()-busiest(t)), percent(t.SpanOverIdeal()))
	}
	if d.idle != nil {
		out.printf("closed form of the worst rank's idle time: %s\n", d.time(*d.idle))
	}
	out.printf("\n")
	columns := d.columns()
	width := len(strconv.Itoa(spec.Ranks - 1))
	for rank := range spec.Ranks {
		if spec.Ranks > drawRanks && rank >= drawRanks/2 && rank < spec.Ranks-drawRanks/2 {
			if rank == drawRanks/2 {
				out.printf("%*s  (%d ranks between are not drawn)\n", width, "", spec.Ranks-drawRanks)
			}
			continue
		}
		s := t.Ranks[rank]
		out.printf("%*d  %s  idle %s, at most %d in flight\n", width, rank, d.row(rank, columns), d.time(s.Idle), s.PeakInFlight)
	}
	out.printf("\n%s; one column is %s\n", legend(t), d.time(t.Makespan/float64(columns)))
	return out.Flush()
}

// columns is how many cells the makespan gets: with unit costs a whole number
// of cells per unit while that fits, so that operations of equal length are
// drawn equal.
func (d *drawing) columns() int {
	span := d.timeline.Makespan
	if d.unit != "1" || span <= 0 || span > drawWidth {
		return drawWidth
	}
	perUnit := math.Floor(drawWidth / span)
	return max(1, int(math.Round(span*min(perUnit, 4))))
}

func (d *drawing) row(rank, columns int) string {
	t := d.timeline
	row := []byte(strings.Repeat(".", columns))
	scale := 0.0
	if t.Makespan > 0 {
		scale = float64(columns) / t.Makespan
	}
	first := t.Order.Start[rank]
	ops := t.Order.Rank(rank)
	for i := range ops {
		if i > 0 && ops[i-1].Paired() {
			continue // drawn with the first half
		}
		from := int(math.Round(t.Begin[first+i] * scale))
		to := min(int(math.Round(t.End[first+i]*scale)), columns)
		if again := min(int(math.Round(t.RecomputeEnd(rank, first+i)*scale)), columns); again > from {
			from = paintOp(row, "R", from, again)
		}
		paintOp(row, opLabel(ops[i:], to-from), from, to)
	}
	return string(row)
}

// paintOp writes an operation into its cells and returns the one behind them.
func paintOp(row []byte, label string, from, to int) int {
	for c := from; c < to; c++ {
		switch {
		case c-from < len(label):
			row[c] = label[c-from]
		case to-from > 1 && c == to-1:
			row[c] = '|'
		default:
			row[c] = '-'
		}
	}
	return max(from, to)
}

// opLabel is the fullest name of the first operation (with its other half when
// it is a pair) that fits: F3.1 is of the rank's second chunk.
func opLabel(ops []schedule.Op, room int) string {
	op := ops[0]
	short := op.Kind().String()
	names := []string{op.String(), short + strconv.Itoa(op.MicroBatch())}
	if op.Paired() && len(ops) > 1 {
		short = "&"
		names = []string{op.String() + "&" + ops[1].String(), op.Kind().String() + "&" + ops[1].Kind().String()}
	}
	for _, name := range names {
		if len(name) <= room {
			return name
		}
	}
	return short
}

// busiest is the work of the rank with the most of it.
func busiest(t *schedule.Timeline) float64 {
	most := 0.0
	for i := range t.Ranks {
		most = max(most, t.Ranks[i].Busy)
	}
	return most
}

func (d *drawing) time(v float64) string {
	if d.unit == "1" {
		return trim(v)
	}
	return seconds(units.Seconds(v))
}

func legend(t *schedule.Timeline) string {
	o := t.Order
	text := "F forward, B backward"
	info, _ := o.Spec.Kind.Info()
	if info.SplitsBackward {
		text += ", I input gradient, W weight gradient"
	}
	if len(t.Recompute) > 0 {
		text += ", R forward again"
	}
	if slices.ContainsFunc(o.Ops, schedule.Op.Paired) {
		text += ", & both overlapped"
	}
	if o.Chunks() > 1 {
		text += "; F3.1 is of the second chunk"
	}
	return text + "; . idle"
}
