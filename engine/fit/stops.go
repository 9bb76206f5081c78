package fit

import (
	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/units"
)

// Stop is what ends a search for the largest value that fits: the term that
// grows most with the next value, on the rank that is the fullest then. Where
// no value fits it is the largest term of the smallest value.
type Stop struct {
	Rank int `json:"rank"`
	// weights, gradients, optimizer, activations, logits, buffers, overhead, or Host
	Term  string      `json:"term"`
	More  units.Bytes `json:"more_bytes"`  // of that term alone
	Total units.Bytes `json:"total_bytes"` // of the rank, with the next value
	Grows units.Bytes `json:"grows_bytes"` // all terms of the rank together
	Host  string      `json:"-"`           // by how much host memory is too small (engine.Memory.HostWords)
}

// Host is the Term of a Stop that host memory makes; its bytes are those of the node.
const Host = "host memory"

// Stops says what ends the longest sequence and the largest micro-batch of
// Limits; nil where memory is not what ends them.
func Stops(e *engine.Evaluator, s engine.Setup, l Limits) (seq, mbs *Stop) {
	if !l.SeqOpen {
		seq = stopAt(e, s, l.Seq > 0, func(t *engine.Setup, more int) { t.Seq = l.Seq + more*l.SeqUnit })
	}
	if !l.MBSOpen {
		mbs = stopAt(e, s, l.MBS > 0, func(t *engine.Setup, more int) { t.MBS = l.MBS + more })
	}
	return seq, mbs
}

// stopAt compares the largest value that fits, if any does, with the next one.
func stopAt(e *engine.Evaluator, s engine.Setup, some bool, set func(t *engine.Setup, more int)) *Stop {
	at := func(more int) *engine.Memory {
		t := s
		set(&t, more)
		return e.Memory(t)
	}
	next := at(1)
	if next == nil {
		return nil
	}
	full := &next.Ranks[next.PeakRank]
	var before memory.Rank
	var host units.Bytes
	if some {
		if m := at(0); m != nil {
			before, host = m.Ranks[next.PeakRank], m.Host
		}
	}
	if next.HostOver() > 0 && next.Peak <= next.Usable {
		return &Stop{
			Rank: next.PeakRank, Term: Host, More: next.Host - host, Total: next.Host,
			Grows: next.Host - host, Host: next.HostWords(),
		}
	}
	out := &Stop{Rank: next.PeakRank, Total: full.Total, Grows: full.Total - before.Total}
	for _, t := range [...]struct {
		name       string
		after, was units.Bytes
	}{
		{"weights", full.Weights, before.Weights},
		{"gradients", full.Gradients, before.Gradients},
		{"optimizer", full.Optimizer, before.Optimizer},
		{"activations", full.Activations, before.Activations},
		{"logits", full.Logits, before.Logits},
		{"buffers", full.Buffers, before.Buffers},
		{"overhead", full.Overhead, before.Overhead},
	} {
		if more := t.after - t.was; more > out.More {
			out.Term, out.More = t.name, more
		}
	}
	return out
}
