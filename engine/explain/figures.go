package explain

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/memory"
)

// Figure is one number of a report that has an explanation.
type Figure struct {
	ID    string  `json:"figure"`
	Value float64 `json:"value"`
	Unit  Unit    `json:"unit"`
}

// list collects the numbers of a report under the paths of its JSON document,
// without the units at their ends.
func list(r *engine.Report) []Figure {
	var out []Figure
	add := func(id string, value float64, u Unit) { out = append(out, Figure{id, value, u}) }
	t := r.Time
	add("time.step", float64(t.Step), Seconds)
	add("time.compute", float64(t.Compute), Seconds)
	add("time.recompute", float64(t.Recompute), Seconds)
	add("time.bubble", float64(t.Bubble), Seconds)
	add("time.exposed", float64(t.Exposed), Seconds)
	add("time.optimizer", float64(t.Optimizer), Seconds)
	p := r.Throughput
	add("throughput.tokens-per-second", p.TokensPerSecond, Tokens)
	add("throughput.tokens-per-second-per-gpu", p.TokensPerSecondPerGPU, Tokens)
	add("throughput.model-tflops-per-gpu", p.ModelTFLOPSPerGPU, TFLOPS)
	add("throughput.mfu", p.MFU, Share)
	add("throughput.hfu", p.HFU, Share)
	band(&p.Evidence, "throughput", add)
	m := r.Model
	add("model.parameters", m.Parameters, Count)
	add("model.active-parameters", m.ActiveParameters, Count)
	add("model.mtp-parameters", m.MTPParameters, Count)
	add("model.training-flops-per-token", m.TrainingFLOPs, FLOPs)
	l := r.Pipeline
	add("pipeline.makespan", float64(l.Makespan), Seconds)
	add("pipeline.bubble-over-ideal", l.BubbleOverIdeal, Share)
	add("pipeline.bubble-over-total", l.BubbleOverTotal, Share)
	if l.BubbleClosedForm != nil {
		add("pipeline.bubble-closed-form", *l.BubbleClosedForm, Share)
	}
	if l.BubbleSpan != nil {
		add("pipeline.bubble-span-over-ideal", *l.BubbleSpan, Share)
	}
	add("pipeline.ranks", float64(l.Ranks), Count)
	add("pipeline.stages", float64(l.Stages), Count)
	add("pipeline.microbatches", float64(l.MicroBatches), Count)
	for _, c := range r.Communication {
		id := "communication." + c.Dimension
		add(id+".bytes", float64(c.Bytes), Traffic)
		add(id+".seconds", float64(c.Seconds), Seconds)
		add(id+".exposed", float64(c.Exposed), Seconds)
		add(id+".group-size", float64(c.GroupSize), Count)
	}
	add("memory.peak", float64(r.Memory.Peak), Memory)
	add("memory.usable", float64(r.Memory.Usable), Memory)
	add("memory.capacity", float64(r.Memory.Capacity), Memory)
	band(&r.Memory.Evidence, "memory", add)
	for i := range r.Memory.Ranks {
		listRank(&r.Memory.Ranks[i], add)
	}
	return out
}

// evidence is how exact a figure is that can be held against measurements: the
// step, what follows from it, and allocated memory. Nil for the others; their
// parts were not measured apart.
func (b *Book) evidence(id string) *engine.Evidence {
	part, what, _ := strings.Cut(id, ".")
	switch {
	case strings.HasSuffix(what, "-band"), what == "typical-error":
		return nil
	case id == "time.step", id == "pipeline.makespan", part == "throughput":
		return &b.r.Time.Evidence
	case id == "memory.peak", strings.HasPrefix(what, "ranks.") && (strings.HasSuffix(what, ".total") || strings.HasSuffix(what, ".allocated")):
		return &b.r.Memory.Evidence
	}
	return nil
}

// band lists the error of the validated group, where there is one.
func band(e *engine.Evidence, part string, add func(string, float64, Unit)) {
	if e.ErrorBand != nil {
		add(part+".error-band", *e.ErrorBand, Share)
	}
	if e.TypicalError != nil {
		add(part+".typical-error", *e.TypicalError, Share)
	}
}

func listRank(m *memory.Rank, add func(string, float64, Unit)) {
	for _, f := range []struct {
		name  string
		value float64
		unit  Unit
	}{
		{"total", float64(m.Total), Memory},
		{"allocated", float64(m.Allocated), Memory},
		{"weights", float64(m.Weights), Memory},
		{"gradients", float64(m.Gradients), Memory},
		{"optimizer", float64(m.Optimizer), Memory},
		{"activations", float64(m.Activations), Memory},
		{"weight-inputs", float64(m.WeightInputs), Memory},
		{"logits", float64(m.Logits), Memory},
		{"buffers", float64(m.Buffers), Memory},
		{"overhead", float64(m.Overhead), Memory},
		{"overhead.allocator-slack", float64(m.OverheadParts.Slack), Memory},
		{"overhead.driver-context", float64(m.OverheadParts.Context), Memory},
		{"overhead.communicators", float64(m.OverheadParts.Communicators), Memory},
		{"offloaded", float64(m.Offloaded), Memory},
		{"in-flight", m.InFlight, Count},
		{"parameters", m.Parameters, Count},
		{"embedding-parameters", m.EmbeddingParameters, Count},
		{"layers", float64(m.Layers), Count},
	} {
		add(fmt.Sprintf("memory.ranks.%d.%s", m.Rank, f.name), f.value, f.unit)
	}
}
