package cli

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// drawing is a timeline on its way out.
type drawing struct {
	timeline *schedule.Timeline
	unit     string // "seconds" or "1"
}

// writeJSON streams the document: a long schedule has millions of operations.
func (d *drawing) writeJSON(to io.Writer) error {
	t := d.timeline
	if !finite(t) {
		return errors.New("the timeline has no finite times")
	}
	spec := t.Order.Spec
	out := newPage(to)
	out.printf(`{"schema_version":%d,"schedule":%q,"pp":%d,"vpp":%d,"microbatches":%d,"unit":%q,"makespan":%s,"ranks":[`,
		schemaVersion, spec.Kind, spec.Ranks, spec.VirtualStages, spec.MicroBatches, d.unit, jsonNumber(t.Makespan))
	for rank := range spec.Ranks {
		stats := t.Ranks[rank]
		if rank > 0 {
			_ = out.WriteByte(',') // errors of a buffer come out of Flush
		}
		out.printf("\n"+`{"rank":%d,"idle":%s,"peak_in_flight":%d,"ops":[`, rank, jsonNumber(stats.Idle), stats.PeakInFlight)
		if err := d.writeOps(out, rank); err != nil {
			return err
		}
		_, _ = out.WriteString("]}")
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}

func (d *drawing) writeOps(out page, rank int) error {
	o := d.timeline.Order
	first := o.Start[rank]
	line := make([]byte, 0, 128)
	for i, op := range o.Rank(rank) {
		line = line[:0]
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, `{"op":"`...)
		line = append(line, op.Kind().String()...)
		line = append(line, `","microbatch":`...)
		line = strconv.AppendInt(line, int64(op.MicroBatch()), 10)
		line = append(line, `,"chunk":`...)
		line = strconv.AppendInt(line, int64(op.Chunk()), 10)
		line = append(line, `,"stage":`...)
		line = strconv.AppendInt(line, int64(o.Stage(rank, op)), 10)
		line = append(line, `,"start":`...)
		line = append(line, jsonNumber(d.timeline.Begin[first+i])...)
		line = append(line, `,"end":`...)
		line = append(line, jsonNumber(d.timeline.End[first+i])...)
		if op.Paired() || i > 0 && o.Ops[first+i-1].Paired() {
			line = append(line, `,"pair":true`...)
		}
		line = append(line, '}')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// jsonNumber is a finite number as JSON writes it.
func jsonNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

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
	out.printf("ends after %s; bubble %s of the work of the busiest rank, %s of all time\n\n",
		d.time(t.Makespan), percent(t.BubbleOverIdeal()), percent(t.BubbleOverTotal()))
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
	out.printf("\n%s; one column is %s\n", legend(spec), d.time(t.Makespan/float64(columns)))
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
	for i, op := range t.Order.Rank(rank) {
		from := int(math.Round(t.Begin[first+i] * scale))
		to := min(int(math.Round(t.End[first+i]*scale)), columns)
		label := op.Kind().String() + strconv.Itoa(op.MicroBatch())
		if len(label) >= to-from { // a gap between neighbours, or only the letter
			label = op.Kind().String()
		}
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
	}
	return string(row)
}

func (d *drawing) time(v float64) string {
	if d.unit == "1" {
		return trim(v)
	}
	return seconds(units.Seconds(v))
}

func legend(spec schedule.Spec) string {
	info, _ := spec.Kind.Info()
	if info.SplitsBackward {
		return "F forward, B backward, I input gradient, W weight gradient, . idle"
	}
	return "F forward, B backward, . idle"
}
