package cli

import (
	"fmt"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

// runEntry is a published run with its setup.
type runEntry struct {
	ID     string       `json:"id"`
	Group  string       `json:"group"`
	Source string       `json:"source"`
	Fitted bool         `json:"fitted"`
	Step   float64      `json:"step_seconds,omitempty"`
	Memory float64      `json:"memory_GiB,omitempty"`
	Setup  engine.Setup `json:"setup"`
}

func (a *app) runs(asJSON bool) error {
	groups, err := published.Groups(a.lib)
	if err != nil {
		return err
	}
	var entries []runEntry
	for i := range groups {
		g := &groups[i]
		for _, r := range g.Runs {
			entries = append(entries, runEntry{r.ID, g.ID, g.Source, g.Fitted, r.Step, r.Memory, r.Setup})
		}
	}
	return list(a, "runs", entries, asJSON, []string{
		"id", "model", "GPUs", "GPU", "tp", "pp", "dp",
		"step, s", "group",
	}, func(e *runEntry) []any {
		s := &e.Setup
		return []any{
			e.ID, s.Model.ID, s.GPUs, s.Cluster.GPU.ID, s.TP, s.PP, s.DP,
			fmt.Sprintf("%.4g", e.Step), e.Group,
		}
	})
}

func (a *app) calibrations(asJSON bool) error {
	share := func(v float64) string {
		if v <= 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	return list(a, "calibrations", a.lib.Calibrations(), asJSON,
		[]string{"id", "kind", "error", "held out", "fitted to"}, func(c *presets.CalibrationPreset) []any {
			return []any{c.ID, c.Kind, share(c.FitError), share(c.HeldError), c.FittedTo}
		})
}
