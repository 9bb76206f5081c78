package search

import (
	"context"
	"fmt"

	"meshscope/engine"
	"meshscope/presets/published"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// published run of a cell: the fastest of its model on as many GPUs.
type fastest struct {
	id     string
	setup  engine.Setup
	tokens float64 // measured, per second and GPU
	mfu    float64 // measured, by the convention of its setup
	memory float64 // GiB; 0: not published
}

// refreshRuns reads the published runs of the models in the map, once for each map.
func (v *View) refreshRuns() screen.Request {
	h := &v.heat
	if h.runs != nil || h.jobs.Running() {
		return screen.Request{}
	}
	wanted := map[string]bool{}
	for i := range h.models {
		wanted[h.models[i].ID] = true
	}
	return screen.Work(&h.jobs, func(open context.Context) map[runsOf]fastest {
		groups, err := published.Groups(v.lib)
		if err != nil { // the other pictures say so
			return map[runsOf]fastest{}
		}
		return fastestRuns(open, groups, wanted)
	}, func(runs map[runsOf]fastest) { h.runs = runs })
}

// fastestRuns returns the fastest run of each wanted model and number of GPUs.
func fastestRuns(open context.Context, groups []published.Group, wanted map[string]bool) map[runsOf]fastest {
	out := map[runsOf]fastest{}
	for g := range groups {
		for i := range groups[g].Runs {
			r := &groups[g].Runs[i]
			key := runsOf{r.Setup.Model.ID, r.Setup.GPUs}
			if tokens := r.TokensPerSecondPerGPU(); wanted[key.model] && tokens > out[key].tokens {
				out[key] = fastest{id: r.ID, setup: r.Setup, tokens: tokens, memory: r.Memory}
			}
		}
	}
	e := engine.Evaluator{SkipTimeline: true}
	for key, f := range out {
		if p := e.Evaluate(f.setup); p.Legal && open.Err() == nil {
			f.mfu = p.Throughput.MFU * f.tokens / p.Throughput.TokensPerSecondPerGPU
			out[key] = f
		}
	}
	return out
}

// run returns the published run of cell i, if there are cells yet.
func (h *heat) run(in *screen.Context, i int) (fastest, bool) {
	if i >= len(h.models)*len(h.nodes) {
		return fastest{}, false
	}
	f, ok := h.runs[runsOf{h.models[i/len(h.nodes)].ID, h.nodes[i%len(h.nodes)] * in.Setup.Cluster.Node()}]
	return f, ok && f.mfu > 0
}

// value returns the MFU that cell i shows, and whether there is one.
func (h *heat) value(in *screen.Context, i int) (mfu float64, s *engine.Setup, ok bool) {
	if h.measured {
		f, ok := h.run(in, i)
		return f.mfu, &f.setup, ok
	}
	c := &h.cells[i]
	return c.MFU, &c.Setup, c.found
}

// runWords tells the published run of the cell under the cursor; empty: there is none.
func (h *heat) runWords(in *screen.Context) string {
	f, ok := h.run(in, h.row*len(h.nodes)+h.column)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("measured %s MFU, %s tok/s/GPU", figure.Percent(f.mfu), figure.Three(f.tokens))
	if f.memory > 0 {
		text += fmt.Sprintf(", %.1f of %.1f GiB", f.memory, f.setup.Cluster.GPU.MemoryUsable.GiB())
	}
	return text + ": " + f.id + ", " + report.LayoutWords(&f.setup, nil)
}
