package lanes

import (
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// flow is the traffic of one dimension in an operation.
type flow struct {
	hidden, exposed units.Seconds
	bytes           units.Bytes
}

// work is what an operation is made of. Its flows are by lane, without the first.
type work struct {
	kind               Kind
	op                 schedule.OpKind
	micro, stage       int
	compute, recompute units.Seconds
	flows              []flow
}

// kindOf returns the kind of an operation's computing.
func kindOf(k schedule.OpKind) Kind {
	return [...]Kind{
		schedule.Forward: Forward, schedule.Backward: Backward,
		schedule.InputGradient: InputGradient, schedule.WeightGradient: WeightGradient,
	}[k]
}

// work takes an operation of the rank to pieces, as engine.stepTime adds it up.
func (w *walker) work(op schedule.Op) work {
	stage := w.p.Line.Order.Stage(w.p.Rank, op)
	k, z, d := &w.p.Cost[stage], &w.p.PerMicroBatch[stage], &w.p.Data[w.p.Rank]
	chunks := units.Seconds(w.p.Line.Order.Chunks())
	out := work{
		kind: kindOf(op.Kind()), op: op.Kind(), micro: op.MicroBatch(), stage: stage,
		flows: make([]flow, len(w.step.Traffic)),
	}
	switch op.Kind() {
	case schedule.Forward:
		out.compute = k.Forward
		w.links(&out, &k.ForwardLinks)
		w.data(&out, d.PerForward/chunks, z.Forward)
		w.blocked(&out, stage)
	case schedule.Backward:
		out.compute, out.recompute = k.InputGrad+k.WeightGrad, k.Recompute
		w.links(&out, &k.BackwardLinks)
		w.data(&out, d.PerBackward/chunks, z.Backward)
		w.blocked(&out, stage-1)
	case schedule.InputGradient:
		out.compute, out.recompute = k.InputGrad+k.HeadWeightGrad, k.Recompute
		w.links(&out, &k.BackwardLinks)
		if tp := w.flow(&out, "tp"); tp != nil {
			tp.exposed += k.SplitBackwardExposedTP
			tp.hidden = max(0, tp.hidden-k.SplitBackwardExposedTP)
		}
		w.data(&out, (d.PerBackward-d.PerWeight)/chunks, z.Input)
		w.blocked(&out, stage-1)
	case schedule.WeightGradient:
		out.compute = k.WeightGrad - k.HeadWeightGrad
		w.data(&out, d.PerWeight/chunks, z.Weight)
	}
	return out
}

// flow returns that of a dimension; nil: the report has no such row.
func (w *walker) flow(out *work, dimension string) *flow {
	for i := range w.step.Traffic {
		if w.step.Traffic[i].Dimension == dimension {
			return &out.flows[i]
		}
	}
	return nil
}

// links adds the traffic inside layers.
func (w *walker) links(out *work, l *step.Links) {
	for _, d := range step.LinkDimensions() {
		if f, t := w.flow(out, d), l.Of(d); f != nil {
			f.hidden += max(0, t.Seconds-t.Exposed)
			f.exposed += t.Exposed
			f.bytes += t.Bytes
		}
	}
}

// data adds ZeRO traffic of a micro-batch, of which so much is exposed.
func (w *walker) data(out *work, whole, exposed units.Seconds) {
	for i, share := range w.shares {
		row := &w.step.Traffic[i]
		f := &out.flows[i]
		f.exposed += exposed * share
		f.hidden += max(0, whole-exposed) * share
		if share > 0 && row.Seconds > 0 {
			f.bytes += row.Bytes * units.Bytes(whole*share/row.Seconds)
		}
	}
}

// blocked adds the waiting for a message to or from the other side of a boundary of stages.
func (w *walker) blocked(out *work, boundary int) {
	o := w.p.Line.Order
	if f := w.flow(out, "pp-wait"); f != nil && w.p.Software.Blocking && boundary >= 0 &&
		boundary < o.Spec.Stages()-1 && o.Crosses(boundary) {
		f.exposed += w.p.Hop
	}
}

// sends reports whether a message to another rank follows an operation, without which that
// could go on.
func (w *walker) sends(op schedule.Op, stage int) bool {
	o, boundary := w.p.Line.Order, stage
	switch op.Kind() {
	case schedule.WeightGradient:
		return false
	case schedule.Backward, schedule.InputGradient:
		boundary--
	case schedule.Forward:
	}
	return !w.p.Software.Blocking && boundary >= 0 && boundary < o.Spec.Stages()-1 && o.Crosses(boundary)
}

// add makes one of two operations that run overlapped and end together: what that saves is
// expert traffic that is hidden.
func (a *work) add(b *work, saved units.Seconds, expert *flow) {
	a.kind = Pair
	a.compute += b.compute
	a.recompute += b.recompute
	for i := range a.flows {
		a.flows[i].hidden += b.flows[i].hidden
		a.flows[i].exposed += b.flows[i].exposed
		a.flows[i].bytes += b.flows[i].bytes
	}
	if expert != nil {
		expert.hidden += saved
		expert.exposed -= saved
	}
}
