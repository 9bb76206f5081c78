package cli

import (
	"errors"
	"io"
	"strconv"

	"meshscope/engine/schedule"
	"meshscope/report"
)

// writeJSON streams the document: a long schedule has millions of operations.
func (d *drawing) writeJSON(to io.Writer) error {
	t := d.timeline
	if !finite(t) {
		return errors.New("the timeline has no finite times")
	}
	spec := t.Order.Spec
	out := newPage(to)
	keys, err := d.preface.Keys()
	if err != nil {
		return err
	}
	out.printf(`{%s"schema_version":%d,"schedule":%q,"pp":%d,"vpp":%d,`+
		`"microbatches":%d,"unit":%q,"makespan":%s`,
		keys, report.SchemaVersion, spec.Kind, spec.Ranks, spec.VirtualStages, spec.MicroBatches, d.unit,
		jsonNumber(t.Makespan))
	info, _ := spec.Kind.Info()
	out.printf(`,"placement":%q,"weight_copies":%d,"messages":%d`, info.Placement, info.WeightCopies,
		spec.Messages())
	out.printf(`,"bubble_over_ideal":%s,"bubble_over_total":%s`, jsonNumber(t.BubbleOverIdeal()),
		jsonNumber(t.BubbleOverTotal()))
	if info.SplitsBackward {
		out.printf(`,"bubble_span_over_ideal":%s`, jsonNumber(t.SpanOverIdeal()))
	}
	if d.idle != nil {
		out.printf(`,"idle_closed_form":%s`, jsonNumber(*d.idle))
	}
	out.printf(`,"ranks":[`)
	for rank := range spec.Ranks {
		stats := t.Ranks[rank]
		if rank > 0 {
			_ = out.WriteByte(',') // errors of a buffer come out of Flush
		}
		out.printf("\n"+
			`{"rank":%d,"idle":%s,"peak_in_flight":%d,"peak_until_input":%d,`+
			`"peak_pending_weight":%d,"first":%s,"last":%s,"ops":[`,
			rank, jsonNumber(stats.Idle), stats.PeakInFlight, stats.PeakUntilInput, stats.PeakPendingW,
			jsonNumber(stats.First), jsonNumber(stats.Last))
		if err := d.writeOps(out, rank); err != nil {
			return err
		}
		_, _ = out.WriteString("]}")
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}

func (d *drawing) writeOps(out page, rank int) error {
	t := d.timeline
	o := t.Order
	first := o.Start[rank]
	line := make([]byte, 0, 256)
	for i, op := range o.Rank(rank) {
		line = line[:0]
		if i > 0 {
			line = append(line, ',')
		}
		begin, pair := t.Begin[first+i], op.Paired() || i > 0 && o.Ops[first+i-1].Paired()
		if recomputed := t.RecomputeEnd(rank, first+i); recomputed > begin {
			line = d.appendOp(line, "R", rank, op, begin, recomputed, false)
			line = append(line, ',')
			begin = recomputed
		}
		line = d.appendOp(line, op.Kind().String(), rank, op, begin, t.End[first+i], pair)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// appendOp writes one operation; R is the part of a backward that runs the
// forward again.
func (d *drawing) appendOp(line []byte, name string, rank int, op schedule.Op, begin, end float64,
	pair bool,
) []byte {
	line = append(line, `{"op":"`...)
	line = append(line, name...)
	line = append(line, `","microbatch":`...)
	line = strconv.AppendInt(line, int64(op.MicroBatch()), 10)
	line = append(line, `,"chunk":`...)
	line = strconv.AppendInt(line, int64(op.Chunk()), 10)
	line = append(line, `,"stage":`...)
	line = strconv.AppendInt(line, int64(d.timeline.Order.Stage(rank, op)), 10)
	line = append(line, `,"start":`...)
	line = append(line, jsonNumber(begin)...)
	line = append(line, `,"end":`...)
	line = append(line, jsonNumber(end)...)
	if pair {
		line = append(line, `,"pair":true`...)
	}
	return append(line, '}')
}

// jsonNumber is a finite number as JSON writes it.
func jsonNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
