package cli

import (
	"fmt"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

// runEntry is a published run with the setup that describes it.
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
	if asJSON {
		return a.writeJSON(struct {
			header
			Runs []runEntry `json:"runs"`
		}{header{schemaVersion, version}, entries})
	}
	rows := make([][]any, len(entries))
	for i, e := range entries {
		s := &e.Setup
		rows[i] = []any{e.ID, s.Model.ID, s.GPUs, s.Cluster.GPU.ID, s.TP, s.PP, s.DP, fmt.Sprintf("%.4g", e.Step), e.Group}
	}
	return a.table([]any{"id", "model", "GPUs", "GPU", "tp", "pp", "dp", "step, s", "group"}, rows)
}

func (a *app) calibrations(asJSON bool) error {
	list := a.lib.Calibrations()
	if asJSON {
		return a.writeJSON(struct {
			header
			Calibrations []presets.CalibrationPreset `json:"calibrations"`
		}{header{schemaVersion, version}, list})
	}
	share := func(v float64) string {
		if v <= 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	rows := make([][]any, len(list))
	for i, c := range list {
		rows[i] = []any{c.ID, c.Kind, share(c.FitError), share(c.HeldError), c.FittedTo}
	}
	return a.table([]any{"id", "kind", "error", "held out", "fitted to"}, rows)
}
