package screen

import (
	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Part is one part of a bar, as every screen draws it.
type Part struct {
	Fill  themes.Fill
	Names [3]string // in full, brief, briefest
	Value float64   // bytes, or seconds
}

// MemoryParts returns the memory of a rank, in the order of the bars.
func MemoryParts(r *engine.RankMemory) []Part {
	return []Part{
		{themes.Weights, [3]string{"weights", "weights", "wts"}, float64(r.Weights)},
		{themes.Gradients, [3]string{"gradients", "grads", "grad"}, float64(r.Gradients)},
		{themes.Optimizer, [3]string{"optimizer", "optim", "opt"}, float64(r.Optimizer)},
		{themes.Activations, [3]string{"activations", "activ", "act"}, float64(r.Activations)},
		{themes.Logits, [3]string{"logits", "logits", "log"}, float64(r.Logits)},
		{themes.Buffers, [3]string{"buffers", "buffers", "buf"}, float64(r.Buffers)},
		{themes.Overhead, [3]string{"overhead", "ovhd", "ovhd"}, float64(r.Overhead)},
	}
}

// StepParts returns the time of a step, in the order of the bar.
func StepParts(t *engine.Time) []Part {
	parts := []Part{
		{themes.Compute, [3]string{"compute", "compute", "comp"}, float64(t.Compute)},
		{themes.Recompute, [3]string{"recompute", "recomp", "reco"}, float64(t.Recompute)},
		{themes.Bubble, [3]string{"bubble", "bubble", "bub"}, float64(t.Bubble)},
		{themes.Exposed, [3]string{"exposed comm", "comm", "comm"}, float64(t.Exposed)},
		{themes.Update, [3]string{"optimizer", "optim", "opt"}, float64(t.Optimizer)},
	}
	if t.Offload > 0 {
		names := [3]string{"offload", "offload", "offl"}
		parts = append(parts, Part{themes.Offload, names, float64(t.Offload)})
	}
	return parts
}

// Segments returns parts for a bar; with their names where they are labelled.
func Segments(parts []Part, labelled bool) []widget.Segment {
	out := make([]widget.Segment, len(parts))
	for i := range parts {
		out[i] = widget.Segment{Fill: parts[i].Fill, Value: parts[i].Value}
		if labelled {
			out[i].Label = parts[i].Names[0]
		}
	}
	return out
}

// RankBar returns the bar of a rank's parts, with the usable memory as a line, on one scale for all ranks.
func RankBar(m *engine.Memory, parts []Part) widget.Stack {
	return widget.Stack{
		Segments: Segments(parts, true), Scale: float64(max(m.Usable/0.92, m.Peak)),
		Limit: float64(m.Usable),
	}
}

// RankTotal returns how the total of a rank is shown, with the mark of one that does not fit.
func RankTotal(m *engine.Memory, r *engine.RankMemory) (text string, role themes.Role) {
	if r.Total > m.Usable {
		return figure.GiB(r.Total) + " !", themes.Bad
	}
	return figure.GiB(r.Total) + "  ", themes.Strong
}
