package explain

import (
	"strings"

	"meshscope/engine"
)

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
