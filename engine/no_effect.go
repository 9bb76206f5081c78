package engine

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/units"
)

// NoEffect is a knob whose value changes no figure of a setup, or, of a knob that is there to
// save memory, none of its memory.
type NoEffect struct {
	Field   knob.ID `json:"field"` // the flag's name
	Value   string  `json:"value"`
	SameAs  string  `json:"same_as"`     // the value that gives the same
	Memory  bool    `json:"memory_only"` // the value changes time or traffic, and no byte
	Message string  `json:"message"`     // one sentence with the stack
}

// spare keeps the scratch memory of evaluations that answer questions about others.
//
//nolint:gochecknoglobals // scratch memory changes no answer
var spare = sync.Pool{New: func() any { return &Evaluator{SkipTimeline: true} }}

// NoEffects returns the knobs of a setup that are set and change nothing, given its report; none of a
// setup that takes long to evaluate.
func NoEffects(s *Setup, r *Report) []NoEffect {
	if s.Slow() {
		return nil
	}
	e := spare.Get().(*Evaluator)
	list := e.NoEffects(s, r, nil)
	spare.Put(e) // not after a panic, which may leave it half-written
	return list
}

// NoEffects is the function of that name that can be stopped, as EvaluateUntil can: each knob
// that is set is evaluated once more at its plain value. What was found until then is returned.
func (e *Evaluator) NoEffects(s *Setup, r *Report, stop func() bool) (list []NoEffect) {
	if !r.Legal {
		return nil
	}
	for c := range knob.Changes(s) {
		plain, done := e.EvaluateUntil(c.Setup, stop)
		if !done {
			return list
		}
		if !plain.Legal || !alike(r.bytesOf(nil), plain.bytesOf(nil)) {
			continue
		}
		n := NoEffect{
			Field: c.ID, Value: c.Value, SameAs: c.Plain,
			Memory: !alike(r.timesOf(nil), plain.timesOf(nil)),
		}
		if n.Memory && !c.ForMemory() {
			continue
		}
		what, as := "", "memory, time and traffic are as"
		if n.Memory {
			what, as = "memory on ", "every rank needs as much as"
		}
		n.Message = fmt.Sprintf("%s %s has no effect", c.ID, c.Value)
		_, even := layout.CountedEvenly(s.Model.Layers, s.Stages())
		switch {
		case c.ID == knob.Split && !even && c.Value == layout.BalancedSplit(s.Model.Layers, s.Stages()):
			n.Message = "balanced gives split " + c.Value + " already; a file of Megatron-LM needs it written"
			list = append(list, n)
			continue
		case c.Kind == knob.Figure && s.Budget == 0:
			n.Message += " without --tokens"
			list = append(list, n)
			continue
		case c.Kind == knob.Figure:
			as = "the run is as"
		case c.ID != knob.Calibration:
			n.Message += " on " + what + s.StackName()
		}
		if c.Why != "" {
			n.Message += " (" + c.Why + ")"
		}
		n.Message += ": " + as + " with " + c.Plain
		list = append(list, n)
	}
	return list
}

// WithNoEffects returns assumptions behind the sentences of knobs that change nothing.
func WithNoEffects(list []NoEffect, assumptions []string) []string {
	out := make([]string, 0, len(list)+len(assumptions))
	for i := range list {
		out = append(out, list[i].Message)
	}
	return append(out, assumptions...)
}

// bytesOf appends the memory of every rank, term by term.
func (r *Report) bytesOf(into []float64) []float64 {
	for i := range r.Memory.Ranks {
		m := &r.Memory.Ranks[i]
		for _, b := range [...]units.Bytes{
			m.Weights, m.Gradients, m.Optimizer, m.Activations, m.Logits,
			m.Buffers, m.Total, m.Offloaded,
		} {
			into = append(into, float64(b))
		}
		into = append(into, m.InFlight, float64(m.WeightInputs))
	}
	return into
}

// timesOf appends times, rates and traffic; not how exact they are, which is that of similar runs.
func (r *Report) timesOf(into []float64) []float64 {
	t := r.Time
	for _, s := range [...]units.Seconds{
		t.Step, t.Compute, t.Recompute, t.Bubble, t.Exposed, t.Optimizer, t.Offload,
		r.Pipeline.Makespan,
	} {
		into = append(into, float64(s))
	}
	into = append(into, r.Pipeline.BubbleOverTotal, r.Throughput.MFU, r.Throughput.HFU, r.Model.TrainingFLOPs)
	for i := range r.Communication {
		c := &r.Communication[i]
		into = append(into, float64(c.Bytes), float64(c.Seconds), float64(c.Exposed))
	}
	if run := r.Run; run != nil {
		into = append(into, run.Days, run.GPUHours)
		for _, figure := range []*float64{run.Cost, run.Energy} {
			if figure != nil {
				into = append(into, *figure)
			}
		}
	}
	return into
}

// alike reports whether figures are the same but for rounding.
func alike(a, b []float64) bool {
	return slices.EqualFunc(a, b,
		func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y)) })
}
