package explain

import (
	"slices"
	"strings"

	"meshscope/engine"
)

// bandFigures are the figures of a band, in each part of the report that has one.
func bandFigures() []string { return []string{"error-band", "typical-error", "validated-runs"} }

// evidence is how exact a figure is that can be held against measurements: the
// step, what follows from it, and allocated memory. Nil for the others; their
// parts were not measured apart.
func (b *Book) evidence(id string) *engine.Evidence {
	part, what, _ := strings.Cut(id, ".")
	switch {
	case slices.Contains(bandFigures(), what):
		return nil
	case part == "run" && !slices.Contains([]string{"training", "seconds", "days", "gpu-hours", "cost", "energy"}, what):
		return nil
	case id == "time.step", id == "pipeline.makespan", part == "throughput", part == "run":
		return &b.r.Time.Evidence
	case id == "memory.peak", strings.HasPrefix(what, "ranks.") && (strings.HasSuffix(what, ".total") || strings.HasSuffix(what, ".allocated")):
		return &b.r.Memory.Evidence
	}
	return nil
}

// band explains a figure of the validated group; nil where there is none.
func (b *Book) band(id, part, which string) *Explanation {
	e, what := &b.r.Time.Evidence, "step time"
	if part == "memory" {
		e, what = &b.r.Memory.Evidence, "allocated memory"
	}
	if !e.Validated() {
		return nil
	}
	a := about{
		name:   "Error of " + what + " that nine of ten runs of the nearest validated group stay below",
		symbol: "error of " + e.ValidatedBy, unit: Share, source: "data: measured runs of " + e.ValidatedBy + ", see validate",
		omits: "how far this setup is from those runs",
	}
	value := *e.ErrorBand
	switch which {
	case "typical-error":
		a.name, value = "Median error of "+what+" in the nearest validated group", *e.TypicalError
	case "validated-runs":
		a.name, a.symbol, a.unit, value = "Runs of the nearest validated group with a measured "+what, "runs", Count, float64(e.Runs)
	}
	return b.explain(id, a, func() *Expr { return num(a.symbol, value, a.unit) })
}
