package figures

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/record"
)

// Figure is one number of a report.
type Figure struct {
	ID    string      `json:"figure"`
	Value float64     `json:"value"`
	Unit  record.Unit `json:"unit"`
}

// List returns the numbers of a legal report under the paths of its JSON
// document, without the units at their ends. Every one has an explanation.
func List(r *engine.Report) []Figure {
	if !r.Legal {
		return nil
	}
	out := make([]Figure, 0, 64)
	add := func(id string, value float64, u record.Unit) { out = append(out, Figure{id, value, u}) }
	listReport(r, add)
	for i := range r.Memory.Ranks {
		m := &r.Memory.Ranks[i]
		listRank(m, fmt.Sprintf("memory.ranks.%d.", m.Rank), add)
	}
	return out
}

// FullestRank is the part of a path that denotes the rank with the most
// memory: memory.fullest.weights. Find knows it.
const FullestRank = "memory.fullest."

// Find looks one number of a report up: those of List, what is free of
// the usable memory (memory.free), and the terms of the fullest rank. False
// where the report does not have it.
func Find(r *engine.Report, id string) (Figure, bool) {
	if !r.Legal || r.Memory == nil {
		return Figure{}, false
	}
	var out Figure
	found := false
	take := func(path string, value float64, u record.Unit) {
		if path == id {
			out, found = Figure{id, value, u}, true
		}
	}
	switch rest, ranks := strings.CutPrefix(id, "memory.ranks."); {
	case id == "memory.free":
		return Figure{id, float64(r.Memory.Usable - r.Memory.Peak), record.Memory}, true
	case strings.HasPrefix(id, FullestRank):
		listRank(&r.Memory.Ranks[r.Memory.PeakRank], FullestRank, take)
	case ranks:
		number, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < len(r.Memory.Ranks) {
			listRank(&r.Memory.Ranks[n], "memory.ranks."+number+".", take)
		}
	default:
		listReport(r, take)
	}
	return out, found
}

// listReport gives what is not of one rank.
func listReport(r *engine.Report, add func(string, float64, record.Unit)) {
	t := r.Time
	add("time.step", float64(t.Step), record.Seconds)
	add("time.compute", float64(t.Compute), record.Seconds)
	add("time.recompute", float64(t.Recompute), record.Seconds)
	add("time.bubble", float64(t.Bubble), record.Seconds)
	add("time.bubble-share", t.Share, record.Share)
	add("time.exposed", float64(t.Exposed), record.Seconds)
	add("time.optimizer", float64(t.Optimizer), record.Seconds)
	if t.Offload > 0 {
		add("time.offload", float64(t.Offload), record.Seconds)
	}
	band(&t.Evidence, "time", add)
	p := r.Throughput
	add("throughput.tokens-per-second", p.TokensPerSecond, record.Tokens)
	add("throughput.tokens-per-second-per-gpu", p.TokensPerSecondPerGPU, record.Tokens)
	add("throughput.model-tflops-per-gpu", p.ModelTFLOPSPerGPU, record.TFLOPS)
	add("throughput.mfu", p.MFU, record.Share)
	add("throughput.hfu", p.HFU, record.Share)
	band(&p.Evidence, "throughput", add)
	m := r.Model
	add("model.parameters", m.Parameters, record.Count)
	add("model.active-parameters", m.ActiveParameters, record.Count)
	add("model.mtp-parameters", m.MTPParameters, record.Count)
	add("model.training-flops-per-token", m.TrainingFLOPs, record.FLOPs)
	listRun(r.Run, add)
	l := r.Pipeline
	add("pipeline.makespan", float64(l.Makespan), record.Seconds)
	add("pipeline.bubble-over-ideal", l.BubbleOverIdeal, record.Share)
	add("pipeline.bubble-over-total", l.BubbleOverTotal, record.Share)
	if l.BubbleClosedForm != nil {
		add("pipeline.bubble-closed-form", *l.BubbleClosedForm, record.Share)
	}
	if l.BubbleSpan != nil {
		add("pipeline.bubble-span-over-ideal", *l.BubbleSpan, record.Share)
	}
	add("pipeline.ranks", float64(l.Ranks), record.Count)
	add("pipeline.stages", float64(l.Stages), record.Count)
	add("pipeline.microbatches", float64(l.MicroBatches), record.Count)
	for _, c := range r.Communication {
		id := "communication." + c.Dimension
		add(id+".bytes", float64(c.Bytes), record.Traffic)
		add(id+".seconds", float64(c.Seconds), record.Seconds)
		add(id+".exposed", float64(c.Exposed), record.Seconds)
		add(id+".group-size", float64(c.GroupSize), record.Count)
	}
	add("memory.peak", float64(r.Memory.Peak), record.Memory)
	add("memory.usable", float64(r.Memory.Usable), record.Memory)
	add("memory.capacity", float64(r.Memory.Capacity), record.Memory)
	band(&r.Memory.Evidence, "memory", add)
}

// Evidence returns how exact a figure is that measurements were compared with: the step,
// what follows from it, and allocated memory; also of the figures that say so. Nil for the
// others, whose parts were not measured apart, and where the report has no figures.
func Evidence(r *engine.Report, id string) *engine.Evidence {
	part, what, _ := strings.Cut(id, ".")
	if r.Time == nil {
		return nil
	}
	switch {
	case slices.Contains([]string{
		"error-band", "typical-error", "validated-runs", "nearest-runs",
		"nearest-error",
	}, what):
		if part == "memory" {
			return &r.Memory.Evidence
		}
		return &r.Time.Evidence
	case part == "run" &&
		!slices.Contains([]string{"training", "seconds", "days", "gpu-hours", "cost", "energy"}, what):
		return nil
	case id == "time.step", id == "pipeline.makespan", part == "throughput", part == "run":
		return &r.Time.Evidence
	case id == "memory.peak", strings.HasPrefix(what, "ranks.") &&
		(strings.HasSuffix(what, ".total") || strings.HasSuffix(what, ".allocated")):
		return &r.Memory.Evidence
	}
	return nil
}

// band lists the error band of a prediction.
func band(e *engine.Evidence, part string, add func(string, float64, record.Unit)) {
	add(part+".error-band", e.ErrorBand, record.Share)
	add(part+".typical-error", e.TypicalError, record.Share)
	add(part+".validated-runs", float64(e.Runs), record.Count)
	if e.ValidatedBy != "" {
		add(part+".nearest-runs", float64(e.Nearest.Runs), record.Count)
		add(part+".nearest-error", e.Nearest.Off, record.Share)
	}
}

// listRun gives the whole run, where there is one.
func listRun(r *engine.Run, add func(string, float64, record.Unit)) {
	if r == nil {
		return
	}
	add("run.tokens", r.Tokens, record.Count)
	add("run.steps", r.Steps, record.Count)
	add("run.training", float64(r.Training), record.Seconds)
	add("run.seconds", float64(r.Seconds), record.Seconds)
	add("run.days", r.Days, record.Days)
	add("run.gpu-hours", r.GPUHours, record.Hours)
	for _, known := range []struct {
		id    string
		value *float64
		unit  record.Unit
	}{
		{"run.cost", r.Cost, record.Dollars},
		{"run.price", r.Price, record.Dollars},
		{"run.energy", r.Energy, record.Energy},
		{"run.power", r.Power, record.Watts},
	} {
		if known.value != nil {
			add(known.id, *known.value, known.unit)
		}
	}
	add("run.pue", r.PUE, record.Count)
	add("run.goodput", r.Goodput, record.Share)
	band(&r.Evidence, "run", add)
}

// listRank gives the memory of one rank under a prefix.
func listRank(m *memory.Rank, under string, add func(string, float64, record.Unit)) {
	for _, f := range []struct {
		name  string
		value float64
		unit  record.Unit
	}{
		{"total", float64(m.Total), record.Memory},
		{"allocated", float64(m.Allocated), record.Memory},
		{"weights", float64(m.Weights), record.Memory},
		{"gradients", float64(m.Gradients), record.Memory},
		{"optimizer", float64(m.Optimizer), record.Memory},
		{"activations", float64(m.Activations), record.Memory},
		{"weight-inputs", float64(m.WeightInputs), record.Memory},
		{"logits", float64(m.Logits), record.Memory},
		{"buffers", float64(m.Buffers), record.Memory},
		{"overhead", float64(m.Overhead), record.Memory},
		{"overhead.allocator-slack", float64(m.OverheadParts.Slack), record.Memory},
		{"overhead.driver-context", float64(m.OverheadParts.Context), record.Memory},
		{"overhead.communicators", float64(m.OverheadParts.Communicators), record.Memory},
		{"offloaded", float64(m.Offloaded), record.Memory},
		{"in-flight", m.InFlight, record.Count},
		{"parameters", m.Parameters, record.Count},
		{"embedding-parameters", m.EmbeddingParameters, record.Count},
		{"layers", float64(m.Layers), record.Count},
	} {
		add(under+f.name, f.value, f.unit)
	}
}
