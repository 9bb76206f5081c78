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
