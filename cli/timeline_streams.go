package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"meshscope/engine"
	"meshscope/engine/lanes"
)

// streams is one step of the rank with the most work in the Trace Event Format: a track for
// what it computes and one for the traffic of each dimension, as the lanes of Network draw it.
// Its times are microseconds.
type streams struct{ step *lanes.Step }

// streamPieces is into how many parts an operation is cut, each with its own traffic.
const streamPieces = 8

// stepStreams returns the lanes of a setup, with every operation.
func (a *app) stepStreams(ctx context.Context, flags *setupFlags) (*streams, error) {
	s, chosen, err := flags.start(ctx, a)
	if err != nil {
		return nil, err
	}
	flags.sayTaken(a, "", &s, chosen)
	if problems := engine.Check(s); !engine.Legal(s) {
		a.complain(problems)
		return nil, outcome(exitIllegal)
	}
	const most = maxTraceOps / streamPieces
	step, ok := lanes.Of(&s, lanes.Detail{Ends: most, Pieces: streamPieces},
		func() bool { return ctx.Err() != nil })
	if !ok {
		return nil, outcome(exitError)
	}
	return &streams{step: step}, nil
}

func (t *streams) write(to io.Writer) error {
	out, clock := newPage(to), traceClock(1e6)
	out.printf(`{"displayTimeUnit":"ms","traceEvents":[`+"\n"+
		`{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"one GPU of pipeline rank %d"}}`,
		t.step.Rank)
	for i := range t.step.Lanes {
		lane := &t.step.Lanes[i]
		name := "compute"
		if lane.Dimension != "" {
			name = strings.ToUpper(lane.Dimension) + " traffic"
		}
		out.printf(",\n"+`{"name":"thread_name","ph":"M","pid":0,"tid":%d,"args":{"name":%q}}`, i, name)
		out.printf(",\n"+`{"name":"thread_sort_index","ph":"M","pid":0,"tid":%d,"args":{"sort_index":%d}}`, i,
			i)
		end := 0.0
		for k := range lane.Segments {
			g := &lane.Segments[k]
			from, to := max(clock.micros(float64(g.Start)), end), clock.micros(float64(g.End()))
			if to <= from {
				continue // shorter than an eighth of a microsecond
			}
			end = to
			out.printf(",\n"+
				`{"name":%q,"cat":%q,"ph":"X","pid":0,"tid":%d,"ts":%s,"dur":%s,"args":{"bytes":%.0f}}`,
				segmentName(g), segmentKind(g.Kind), i, inMicros(from), inMicros(to-from), float64(g.Bytes))
		}
	}
	out.printf("\n]}\n")
	return out.Flush()
}

// segmentName names a segment with its micro-batch and layers, where it has any.
func segmentName(g *lanes.Segment) string {
	name := segmentKind(g.Kind)
	if g.Kind == lanes.Folded {
		return fmt.Sprintf("%s of %d operations", name, g.Micros)
	}
	if g.Micro >= 0 {
		name += fmt.Sprintf(", micro-batch %d", g.Micro)
	}
	if g.Layers > 0 {
		name += fmt.Sprintf(", layers %d to %d of stage %d", g.First, g.First+g.Layers-1, g.Stage)
	}
	return name
}

// segmentKind names a kind of segment; a gap has a name as well.
func segmentKind(k lanes.Kind) string {
	switch k {
	case lanes.Forward:
		return "forward"
	case lanes.Backward:
		return "backward"
	case lanes.InputGradient:
		return "input gradient"
	case lanes.WeightGradient:
		return "weight gradient"
	case lanes.Pair:
		return "forward and backward"
	case lanes.Recompute:
		return "recompute"
	case lanes.Update:
		return "optimizer"
	case lanes.Bubble:
		return "pipeline bubble"
	case lanes.Folded:
		return "the middle"
	case lanes.Hidden:
		return "overlapped"
	case lanes.Exposed:
	}
	return "exposed"
}
