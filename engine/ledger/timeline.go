package ledger

import "meshscope/engine/model"

// Span is what is alive over the forward or backward of a micro-batch, or over the update, after each change.
type Span struct {
	Phase Phase
	Micro int64
	Alive []Alive
}

// Timeline simulates the first step and a later one, and returns what is alive when. Of many micro-batches it
// has the first, the second, like which the others are, and the last.
func Timeline(p *model.Program, w *Way, rates *Rates) (steps [2][]Span, err error) {
	if err := Check(p, w); err != nil {
		return steps, err
	}
	t := newTraining(p, w, rates)
	t.follow = true
	for step := range steps {
		t.at = Moment{Step: step}
		t.spans = nil
		t.step()
		steps[step] = t.spans
	}
	return steps, nil
}

// begin opens a span.
func (r *run) begin(phase Phase, micro int64) {
	r.at.Phase = phase
	if r.follow {
		r.spans = append(r.spans, Span{Phase: phase, Micro: micro, Alive: []Alive{r.alive}})
	}
}

// changed notes what is alive now.
func (r *run) changed() {
	if r.follow && len(r.spans) > 0 {
		s := &r.spans[len(r.spans)-1]
		s.Alive = append(s.Alive, r.alive)
	}
}
