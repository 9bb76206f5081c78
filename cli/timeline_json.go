package cli

import (
	"errors"
	"io"
	"strconv"

	"meshscope/engine/schedule"
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
