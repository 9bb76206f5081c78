package cli

import (
	"errors"
	"io"
	"math"
	"strconv"

	"meshscope/engine/schedule"
)

// writeTrace writes the Trace Event Format that chrome://tracing and
// ui.perfetto.dev read: a track per rank with its operations, an arrow for each
// message between ranks, and a counter per rank with the activations it holds. Its
// times are microseconds; a unit without a model is drawn as a millisecond.
func (d *drawing) writeTrace(to io.Writer) error {
	t := d.timeline
	if !finite(t) {
		return errors.New("the timeline has no finite times")
	}
	if err := d.atMost(maxTraceOps, "--format chrome-trace"); err != nil {
		return err
	}
	clock := traceClock(1e6)
	if d.unit == "1" {
		clock = 1e3
	}
	if t.Makespan > 0 {
		clock = min(clock, traceClock(maxTraceMicros/t.Makespan))
	}
	spec := t.Order.Spec
	out := newPage(to)
	out.printf(`{"displayTimeUnit":"ms","otherData":{"schedule":%q,"unit":%q},"traceEvents":[`, spec.Kind,
		d.unit)
	out.printf("\n"+
		`{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"%s, %d ranks, %d micro-batches"}}`,
		spec.Kind, spec.Ranks, spec.MicroBatches)
	for rank := range spec.Ranks {
		out.printf(",\n"+`{"name":"thread_name","ph":"M","pid":0,"tid":%d,"args":{"name":"rank %d"}}`, rank,
			rank)
		out.printf(",\n"+`{"name":"thread_sort_index","ph":"M","pid":0,"tid":%d,"args":{"sort_index":%d}}`,
			rank, rank)
	}
	for rank := range spec.Ranks {
		d.traceOps(out, rank, clock)
		d.traceMemory(out, rank, clock)
	}
	if len(t.Order.Ops) <= maxTraceArrows {
		d.traceMessages(out, clock)
	}
	out.printf("\n]}\n")
	return out.Flush()
}

// maxTraceMicros is the latest time of a trace: later ones are no multiples of an eighth.
const maxTraceMicros = 1 << 50

// traceClock converts times of the timeline to microseconds, in eighths: viewers that count whole
// nanoseconds and those that add up floating-point numbers then agree on where an event ends.
// Perfetto drops an event that begins before the last one of its track has ended, others nest it.
type traceClock float64

func (c traceClock) micros(time float64) float64 { return math.Round(time*float64(c)*8) / 8 }

func (c traceClock) at(time float64) string { return inMicros(c.micros(time)) }

func inMicros(t float64) string { return strconv.FormatFloat(t, 'f', -1, 64) }

// maxTraceArrows is how many operations a trace has at most that shows its messages:
// two events for each would make long ones twice as large.
const maxTraceArrows = 200_000

// traceMessages writes a flow for each message between two ranks, from the operation
// whose result it is to the one that takes it. Viewers attach both ends to the event
// that encloses their time, which is where that begins.
func (d *drawing) traceMessages(out page, clock traceClock) {
	t := d.timeline
	o := t.Order
	id, producers := 0, o.Producers()
	for rank := range o.Spec.Ranks {
		for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
			from := producers[k]
			if from.Op < 0 || from.Rank == rank {
				continue
			}
			id++
			sent := max(t.Begin[from.Op], t.RecomputeEnd(from.Rank, from.Op))
			out.printf(",\n"+`{"name":"message","cat":"message","ph":"s","id":%d,"pid":0,"tid":%d,"ts":%s}`,
				id, from.Rank, clock.at(sent))
			out.printf(",\n"+
				`{"name":"message","cat":"message","ph":"f","bp":"e","id":%d,"pid":0,"tid":%d,"ts":%s}`,
				id, rank, clock.at(t.Begin[k]))
		}
	}
}

// traceOps writes a complete event per operation, one for both halves of a pair.
func (d *drawing) traceOps(out page, rank int, clock traceClock) {
	t := d.timeline
	o := t.Order
	ops := o.Rank(rank)
	for i := 0; i < len(ops); i++ {
		op, k := ops[i], o.Start[rank]+i
		name, kind := op.String(), op.Kind().String()
		args := traceArgs(o, rank, op, "")
		if op.Paired() && i+1 < len(ops) {
			i++
			name += "&" + ops[i].String()
			kind = "F&B"
			args += "," + traceArgs(o, rank, ops[i], "second_")
		}
		event := func(name, kind string, begin, end float64) {
			out.printf(",\n"+`{"name":%q,"cat":%q,"ph":"X","pid":0,"tid":%d,"ts":%s,"dur":%s,"args":{%s}}`,
				name, kind, rank, clock.at(begin), inMicros(clock.micros(end)-clock.micros(begin)), args)
		}
		begin := t.Begin[k]
		if recomputed := t.RecomputeEnd(rank, k); recomputed > begin {
			event("R"+name[1:], "R", begin, recomputed)
			begin = recomputed
		}
		event(name, kind, begin, t.End[k])
	}
}

func traceArgs(o *schedule.Order, rank int, op schedule.Op, prefix string) string {
	return `"` + prefix + `microbatch":` + strconv.Itoa(op.MicroBatch()) +
		`,"` + prefix + `stage":` + strconv.Itoa(o.Stage(rank, op)) +
		`,"` + prefix + `chunk":` + strconv.Itoa(op.Chunk())
}

// traceMemory writes the two parts of a rank's activations as a counter.
func (d *drawing) traceMemory(out page, rank int, clock traceClock) {
	if d.memory == nil {
		return
	}
	for _, s := range d.memory(rank) {
		out.printf(",\n"+
			`{"name":"rank %d %s","ph":"C","pid":0,"ts":%s,`+
			`"args":{"activations":%s,"for weight gradients":%s}}`,
			rank, d.memoryUnit, clock.at(s.Time), jsonNumber(max(0, s.Activations)),
			jsonNumber(max(0, s.WeightInputs)))
	}
}
