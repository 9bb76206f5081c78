package published

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/presets"
)

// Bands are the errors of all groups, apart by GPU, stack and kind of model:
// what a prediction for a similar setup can be expected to be off by.
func Bands(groups []Group) []hardware.Band {
	e := engine.Evaluator{Brief: true}
	var bands []hardware.Band
	for i := range groups {
		g := &groups[i]
		parts := map[string]*Group{}
		var order []string
		for _, r := range g.Runs {
			s := &r.Setup
			key := fmt.Sprint(s.Cluster.GPU.ID, s.Stack.Resolve(), s.Model.IsMoE())
			if parts[key] == nil {
				parts[key] = &Group{ID: g.ID, Fitted: g.Fitted}
				order = append(order, key)
			}
			parts[key].Runs = append(parts[key].Runs, r)
		}
		slices.Sort(order)
		for _, key := range order {
			results, _ := Compare(&e, parts[key])
			first := &parts[key].Runs[0].Setup
			for _, r := range results {
				b := hardware.Band{
					Group: g.ID, Memory: r.Metric == MemoryGiB, Stack: first.Stack.Resolve(), GPU: first.Cluster.GPU.ID,
					MoE: first.Model.IsMoE(), Rows: r.Rows, Median: round(r.Median), P90: round(r.P90), InSample: g.Fitted,
				}
				for j := range parts[key].Runs {
					b.MaxGPUs = max(b.MaxGPUs, parts[key].Runs[j].Setup.GPUs)
				}
				bands = append(bands, b)
			}
		}
	}
	return bands
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// BandFile writes bands as presets/bands.toml has them.
func BandFile(bands []hardware.Band) string {
	var b strings.Builder
	b.WriteString("# Errors of the model on the groups of presets/published, by GPU, stack and kind of\n" +
		"# model. Written by the test of that package; never by hand.\n")
	for _, x := range bands {
		fmt.Fprintf(&b, "\n[[band]]\ngroup = %q\nmemory = %t\nstack = %q\ngpu = %q\nmoe = %t\nmax_gpus = %d\nrows = %d\nmedian = %g\np90 = %g\nfitted = %t\n",
			x.Group, x.Memory, x.Stack, x.GPU, x.MoE, x.MaxGPUs, x.Rows, x.Median, x.P90, x.InSample)
	}
	return b.String()
}

var _ Library = (*presets.Library)(nil)
