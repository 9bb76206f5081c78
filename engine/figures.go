package engine

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/memory"
)

// Figure is one number of a report.
type Figure struct {
	ID    string  `json:"figure"`
	Value float64 `json:"value"`
	Unit  Unit    `json:"unit"`
}

// Figures lists the numbers of a legal report under the paths of its JSON
// document, without the units at their ends. Every one has an explanation.
func Figures(r *Report) []Figure {
	if !r.Legal {
		return nil
	}
	out := make([]Figure, 0, 64)
	add := func(id string, value float64, u Unit) { out = append(out, Figure{id, value, u}) }
	listReport(r, add)
	for i := range r.Memory.Ranks {
		m := &r.Memory.Ranks[i]
		listRank(m, fmt.Sprintf("memory.ranks.%d.", m.Rank), add)
	}
	return out
}

// FullestRank is the part of a path that stands for the rank with the most
// memory: memory.fullest.weights. FindFigure knows it.
const FullestRank = "memory.fullest."

// FindFigure looks one number of a report up: those of Figures, what is free of
// the usable memory (memory.free), and the terms of the fullest rank. False
// where the report does not have it.
func FindFigure(r *Report, id string) (Figure, bool) {
	if !r.Legal || r.Memory == nil {
		return Figure{}, false
	}
	var out Figure
	found := false
	take := func(path string, value float64, u Unit) {
		if path == id {
			out, found = Figure{id, value, u}, true
		}
	}
	switch rest, ranks := strings.CutPrefix(id, "memory.ranks."); {
	case id == "memory.free":
		return Figure{id, float64(r.Memory.Usable - r.Memory.Peak), UnitMemory}, true
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
func listReport(r *Report, add func(string, float64, Unit)) {
	t := r.Time
	add("time.step", float64(t.Step), UnitSeconds)
	add("time.compute", float64(t.Compute), UnitSeconds)
	add("time.recompute", float64(t.Recompute), UnitSeconds)
	add("time.bubble", float64(t.Bubble), UnitSeconds)
	add("time.exposed", float64(t.Exposed), UnitSeconds)
	add("time.optimizer", float64(t.Optimizer), UnitSeconds)
	band(&t.Evidence, "time", add)
	p := r.Throughput
	add("throughput.tokens-per-second", p.TokensPerSecond, UnitTokens)
	add("throughput.tokens-per-second-per-gpu", p.TokensPerSecondPerGPU, UnitTokens)
	add("throughput.model-tflops-per-gpu", p.ModelTFLOPSPerGPU, UnitTFLOPS)
	add("throughput.mfu", p.MFU, UnitShare)
	add("throughput.hfu", p.HFU, UnitShare)
	band(&p.Evidence, "throughput", add)
	m := r.Model
	add("model.parameters", m.Parameters, UnitCount)
	add("model.active-parameters", m.ActiveParameters, UnitCount)
	add("model.mtp-parameters", m.MTPParameters, UnitCount)
	add("model.training-flops-per-token", m.TrainingFLOPs, UnitFLOPs)
	listRun(r.Run, add)
	l := r.Pipeline
	add("pipeline.makespan", float64(l.Makespan), UnitSeconds)
	add("pipeline.bubble-over-ideal", l.BubbleOverIdeal, UnitShare)
	add("pipeline.bubble-over-total", l.BubbleOverTotal, UnitShare)
	if l.BubbleClosedForm != nil {
		add("pipeline.bubble-closed-form", *l.BubbleClosedForm, UnitShare)
	}
	if l.BubbleSpan != nil {
		add("pipeline.bubble-span-over-ideal", *l.BubbleSpan, UnitShare)
	}
	add("pipeline.ranks", float64(l.Ranks), UnitCount)
	add("pipeline.stages", float64(l.Stages), UnitCount)
	add("pipeline.microbatches", float64(l.MicroBatches), UnitCount)
	for _, c := range r.Communication {
		id := "communication." + c.Dimension
		add(id+".bytes", float64(c.Bytes), UnitTraffic)
		add(id+".seconds", float64(c.Seconds), UnitSeconds)
		add(id+".exposed", float64(c.Exposed), UnitSeconds)
		add(id+".group-size", float64(c.GroupSize), UnitCount)
	}
	add("memory.peak", float64(r.Memory.Peak), UnitMemory)
	add("memory.usable", float64(r.Memory.Usable), UnitMemory)
	add("memory.capacity", float64(r.Memory.Capacity), UnitMemory)
	band(&r.Memory.Evidence, "memory", add)
}

// band lists the error of the validated group, where there is one.
func band(e *Evidence, part string, add func(string, float64, Unit)) {
	if e.ErrorBand != nil {
		add(part+".error-band", *e.ErrorBand, UnitShare)
	}
	if e.TypicalError != nil {
		add(part+".typical-error", *e.TypicalError, UnitShare)
	}
	if e.Runs > 0 {
		add(part+".validated-runs", float64(e.Runs), UnitCount)
	}
}

// listRun gives the whole run, where there is one.
func listRun(r *Run, add func(string, float64, Unit)) {
	if r == nil {
		return
	}
	add("run.tokens", r.Tokens, UnitCount)
	add("run.steps", r.Steps, UnitCount)
	add("run.training", float64(r.Training), UnitSeconds)
	add("run.seconds", float64(r.Seconds), UnitSeconds)
	add("run.days", r.Days, UnitDays)
	add("run.gpu-hours", r.GPUHours, UnitHours)
	for _, known := range []struct {
		id    string
		value *float64
		unit  Unit
	}{{"run.cost", r.Cost, UnitDollars}, {"run.price", r.Price, UnitDollars}, {"run.energy", r.Energy, UnitEnergy}, {"run.power", r.Power, UnitWatts}} {
		if known.value != nil {
			add(known.id, *known.value, known.unit)
		}
	}
	add("run.pue", r.PUE, UnitCount)
	add("run.goodput", r.Goodput, UnitShare)
	band(&r.Evidence, "run", add)
}

// listRank gives the memory of one rank under a prefix.
func listRank(m *memory.Rank, under string, add func(string, float64, Unit)) {
	for _, f := range []struct {
		name  string
		value float64
		unit  Unit
	}{
		{"total", float64(m.Total), UnitMemory},
		{"allocated", float64(m.Allocated), UnitMemory},
		{"weights", float64(m.Weights), UnitMemory},
		{"gradients", float64(m.Gradients), UnitMemory},
		{"optimizer", float64(m.Optimizer), UnitMemory},
		{"activations", float64(m.Activations), UnitMemory},
		{"weight-inputs", float64(m.WeightInputs), UnitMemory},
		{"logits", float64(m.Logits), UnitMemory},
		{"buffers", float64(m.Buffers), UnitMemory},
		{"overhead", float64(m.Overhead), UnitMemory},
		{"overhead.allocator-slack", float64(m.OverheadParts.Slack), UnitMemory},
		{"overhead.driver-context", float64(m.OverheadParts.Context), UnitMemory},
		{"overhead.communicators", float64(m.OverheadParts.Communicators), UnitMemory},
		{"offloaded", float64(m.Offloaded), UnitMemory},
		{"in-flight", m.InFlight, UnitCount},
		{"parameters", m.Parameters, UnitCount},
		{"embedding-parameters", m.EmbeddingParameters, UnitCount},
		{"layers", float64(m.Layers), UnitCount},
	} {
		add(under+f.name, f.value, f.unit)
	}
}
