package published

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/units"
	"meshscope/presets"
)

// Bands returns the errors of all groups, apart by GPU, stack and kind of model:
// what a prediction for a similar setup can be expected to be off by.
func Bands(groups []Group) []hardware.Band {
	e := engine.Evaluator{SkipTimeline: true}
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
					MoE: first.Model.IsMoE(), Reach: reachOf(parts[key].Runs, r.Metric), Rows: r.Rows, Median: round(r.Median), P90: round(r.P90), InSample: g.Fitted,
				}
				bands = append(bands, b)
			}
		}
	}
	return bands
}

// reachOf returns how far the runs go that have a figure.
func reachOf(runs []Run, metric string) hardware.Reach {
	var out hardware.Reach
	for i := range runs {
		r := &runs[i]
		if r.Step <= 0 && metric == StepSeconds || r.Memory <= 0 && metric == MemoryGiB {
			continue
		}
		s := &r.Setup
		like := engine.Like(s)
		for _, x := range []struct {
			into  *hardware.Range
			value float64
		}{
			{&out.GPUs, float64(s.GPUs)},
			{&out.Seq, float64(s.Seq)},
			{&out.TP, float64(s.TP)},
			{&out.PP, float64(s.PP)},
			{&out.CP, float64(s.CP)},
			{&out.EP, float64(s.EP)},
			{&out.Parameters, float64(like.Model.Total())},
		} {
			*x.into = x.into.With(x.value)
		}
		add(&out.Precisions, like.Precision)
		add(&out.Schedules, like.Schedule)
		add(&out.Recompute, like.Recompute)
		if !slices.Contains(out.Recipes, like.Recipe) {
			out.Recipes = append(out.Recipes, like.Recipe)
		}
		if cal := s.Cluster.Calibration; cal != nil && s.GPUs > s.Cluster.Domain() {
			out.Nodes = true
			out.Inter = out.Inter.With(float64(s.Cluster.Inter.Bandwidth))
			add(&out.Networks, cal.NetworkID)
		}
	}
	return out
}

// add puts a value into a sorted list, once.
func add[T cmp.Ordered](list *[]T, value T) {
	if at, found := slices.BinarySearch(*list, value); !found {
		*list = slices.Insert(*list, at, value)
	}
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// BandFile writes bands as presets/bands.toml has them.
func BandFile(bands []hardware.Band) string {
	var b strings.Builder
	b.WriteString("# Errors of the model on the groups of presets/published, by GPU, stack and kind of\n" +
		"# model. Written by the test of that package; never by hand.\n")
	for _, x := range bands {
		fmt.Fprintf(&b, "\n[[band]]\ngroup = %q\nmemory = %t\nstack = %q\ngpu = %q\nmoe = %t\nrows = %d\nmedian = %g\np90 = %g\nfitted = %t\n",
			x.Group, x.Memory, x.Stack, x.GPU, x.MoE, x.Rows, x.Median, x.P90, x.InSample)
		r := &x.Reach
		for _, f := range []struct {
			key  string
			unit float64
			of   hardware.Range
		}{
			{"gpus", 1, r.GPUs},
			{"seq", 1, r.Seq},
			{"tp", 1, r.TP},
			{"pp", 1, r.PP},
			{"cp", 1, r.CP},
			{"ep", 1, r.EP},
			{"parameters", 1, r.Parameters},
			{"inter_GBps", float64(units.GBps), r.Inter},
		} {
			fmt.Fprintf(&b, "%s = [%s, %s]\n", f.key, decimal(f.of.Least/f.unit), decimal(f.of.Most/f.unit))
		}
		fmt.Fprintf(&b, "nodes = %t\nnetworks = [%s]\nprecisions = [%s]\nschedules = [%s]\nrecompute = [%s]\n",
			r.Nodes, quoted(r.Networks), quoted(r.Precisions), quoted(r.Schedules), quoted(r.Recompute))
		b.WriteString("recipes = [\n")
		for _, x := range r.Recipes {
			fmt.Fprintf(&b, "  {zero = %d, hsdp = %t, tp = %t, sp = %t, attention = %q, optimizer = %q, gradients = %q},\n",
				x.ZeRO, x.HSDP, x.TP, x.SP, x.Attention, x.Optimizer, x.Gradients)
		}
		b.WriteString("]\n")
	}
	return b.String()
}

// decimal writes a number as TOML takes it for one with a fraction.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func quoted[T ~string](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = strconv.Quote(string(v))
	}
	return strings.Join(parts, ", ")
}

var _ Library = (*presets.Library)(nil)
