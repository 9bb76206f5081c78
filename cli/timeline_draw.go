package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/timeline"
)

// drawing is a timeline on its way out.
type drawing struct {
	timeline *schedule.Timeline
	unit     string   // "seconds" or "1"
	exact    string   // how exact its times are; empty with unit costs
	bubble   string   // in words
	idle     *float64 // closed form of the worst rank's idle time, with unit costs

	// memory is what a rank holds over time, with its unit; nil where nobody asks.
	memory     func(rank int) []schedule.Sample
	memoryUnit string

	preface report.Preface // of the JSON document
}

// Sizes of the text drawing.
const (
	drawWidth = 120 // columns of a line where there is no terminal
	drawRanks = 64  // rows; more ranks are folded

	leastColumns = 8 // of the picture
)

// writeText draws one row per rank: each operation is its letter and micro-batch; idle time is
// dots. Of a step that has no room for that it draws the start, the steady state and the end.
func (d *drawing) writeText(to io.Writer, width int) error {
	t := d.timeline
	spec := t.Order.Spec
	out := newPage(to)
	say := func(format string, args ...any) {
		out.printf("%s\n", report.Wrap(fmt.Sprintf(format, args...), width))
	}
	say("%s  pp %d  vpp %d  micro-batches %d", spec.Kind, spec.Ranks, spec.VirtualStages, spec.MicroBatches)
	say("ends after %s%s; %s", d.time(t.Makespan), d.exact, d.bubbleText())
	d.sayMore(say)
	idle, live := make([]string, spec.Ranks), make([]string, spec.Ranks)
	for rank, s := range t.Ranks {
		idle[rank], live[rank] = d.time(s.Idle), strconv.Itoa(s.PeakInFlight)
		if d.unit != "1" && t.Makespan > 0 {
			idle[rank] += "  " + figure.FinePercent(s.Idle/t.Makespan)
		}
	}
	first, idleWidth, liveWidth := len(strconv.Itoa(spec.Ranks-1)), widest("idle", idle), widest("live", live)
	p := d.picture(width - first - idleWidth - liveWidth - 6)
	out.printf("%*s  %*s  %*s  %*s\n", first, "", p.columns, "", idleWidth, "idle", liveWidth, "live")
	for rank := range spec.Ranks {
		if spec.Ranks > drawRanks && rank >= drawRanks/2 && rank < spec.Ranks-drawRanks/2 {
			if rank == drawRanks/2 {
				out.printf("%*s  (%s in between not shown)\n", first, "",
					figure.Plural(spec.Ranks-drawRanks, "rank"))
			}
			continue
		}
		out.printf("%*d  %s  %*s  %*s\n", first, rank, p.row(rank), idleWidth, idle[rank], liveWidth,
			live[rank])
	}
	say("\n%s", p.legend(d.time))
	return out.Flush()
}

// bubbleText says how long the slowest rank is idle in its step, which with unit costs is the
// timeline.
func (d *drawing) bubbleText() string {
	if d.bubble != "" || d.timeline.Makespan <= 0 {
		return d.bubble
	}
	idle := d.timeline.Ranks[d.timeline.Busiest()].Idle
	return "bubble " + figure.FinePercent(idle/d.timeline.Makespan) + " " + report.OfStep
}

// sayMore adds what only some schedules have.
func (d *drawing) sayMore(say func(format string, args ...any)) {
	t := d.timeline
	if info, _ := t.Order.Spec.Kind.Info(); info.SplitsBackward {
		say("idle between a rank's own start and end: at most %s, %s of its work",
			d.time(t.LongestSpan()-busiest(t)), figure.FinePercent(t.SpanOverIdeal()))
	}
	if d.idle != nil {
		say("closed form of the idle time of the rank that waits longest: %s", d.time(*d.idle))
	}
	say("")
}

// busiest is the work of the rank with the most of it.
func busiest(t *schedule.Timeline) float64 {
	most := 0.0
	for i := range t.Ranks {
		most = max(most, t.Ranks[i].Busy)
	}
	return most
}

func widest(heading string, cells []string) int {
	width := len(heading)
	for _, c := range cells {
		width = max(width, len(c))
	}
	return width
}

// textPicture is a timeline at a scale.
type textPicture struct {
	*schedule.Timeline
	columns int
	scale   float64 // columns per unit of time
	// crowded: operations are too narrow for their letter and micro-batch; text then has the rows.
	crowded bool
	text    timeline.Text
}

// picture gives the makespan its columns: with unit costs a whole number of them
// per unit while that fits, so that operations of equal length are drawn equal.
func (d *drawing) picture(room int) *textPicture {
	p := &textPicture{Timeline: d.timeline, columns: max(room, leastColumns)}
	span := d.timeline.Makespan
	if span <= 0 {
		return p
	}
	if d.unit == "1" && span <= float64(p.columns) {
		perUnit := math.Floor(float64(p.columns) / span)
		if whole := int(math.Round(span * min(perUnit, 4))); whole >= leastColumns {
			p.columns = whole
		}
	}
	p.scale = float64(p.columns) / span
	if p.crowded = !timeline.Legible(p.Timeline, p.columns); p.crowded {
		p.text = timeline.NewText(p.Timeline, p.columns)
	}
	return p
}

func (p *textPicture) row(rank int) string {
	if p.crowded {
		return p.text.Rows[rank]
	}
	row := []byte(strings.Repeat(".", p.columns))
	first := p.Order.Start[rank]
	ops := p.Order.Rank(rank)
	for i := range ops {
		if i > 0 && ops[i-1].Paired() {
			continue // drawn with the first half
		}
		from := int(math.Round(p.Begin[first+i] * p.scale))
		to := min(int(math.Round(p.End[first+i]*p.scale)), p.columns)
		if recomputed := min(int(math.Round(p.RecomputeEnd(rank, first+i)*p.scale)),
			p.columns); recomputed > from {
			from = paintOp(row, "R", from, recomputed)
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
		names = []string{
			op.String() + "&" + ops[1].String(),
			op.Kind().String() + "&" + ops[1].Kind().String(),
		}
	}
	for _, name := range names {
		if len(name) < room { // a gap between neighbours
			return name
		}
	}
	return short
}

// perColumn is how many operations a busy column holds on the rank with most.
func (p *textPicture) perColumn() float64 {
	var most float64
	for rank, s := range p.Ranks {
		if s.Busy > 0 {
			most = max(most, float64(len(p.Order.Rank(rank)))/(s.Busy*p.scale))
		}
	}
	return most
}

func (p *textPicture) legend(time func(float64) string) string {
	var names []string
	for kind, name := range []string{"F forward", "B backward", "I input gradient", "W weight gradient"} {
		if uses(p.Order, schedule.OpKind(kind)) {
			names = append(names, name)
		}
	}
	live := "live: most micro-batches in flight at once"
	if p.Order.Chunks() > 1 {
		live = "live: most chunks of micro-batches in flight at once"
	}
	if p.text.Shares {
		many := strconv.FormatFloat(p.perColumn(), 'f', 1, 64)
		if n := p.perColumn(); n >= 10 {
			many = figure.Comma(int(math.Round(n)))
		}
		return fmt.Sprintf("one column is %s, about %s operations of a rank: letters alternate by their "+
			"share of the time, %s, . idle; %s",
			time(p.perColumnTime()), many, strings.Join(names, ", "), live)
	}
	if len(p.Recompute) > 0 && !p.crowded {
		names = append(names, "R recompute")
	}
	if slices.ContainsFunc(p.Order.Ops, schedule.Op.Paired) {
		names = append(names, "& overlapped pair")
	}
	if p.Order.Chunks() > 1 {
		names = append(names, map[bool]string{false: "F3.1 second chunk", true: "f odd chunk"}[p.crowded])
	}
	if p.text.LeftOut > 0 {
		mark := "~"
		if strings.Contains(p.text.Rows[0], "<x") {
			mark = "<xN> N repeats"
		}
		names = append(names, mark+" left out, "+time(p.text.LeftOut)+" in all")
	}
	return strings.Join(append(names, "- continued", "| end", ". idle"), ", ") + "; one column is " +
		time(p.perColumnTime()) + "; " + live
}

// perColumnTime returns how long a column is.
func (p *textPicture) perColumnTime() float64 {
	if p.crowded {
		return p.text.PerColumn
	}
	return p.Makespan / float64(p.columns)
}

func (d *drawing) time(v float64) string {
	if d.unit == "1" {
		return figure.Trim(v)
	}
	return figure.FineSeconds(units.Seconds(v))
}
