package published

import (
	"cmp"
	"math"
	"slices"

	"meshscope/engine/band"
	"meshscope/engine/hardware"
)

// Class is how well the bands of one kind of run hold, each run's own release left out
// of them.
type Class struct {
	Metric     string  `json:"metric"` // step_seconds or memory_GiB
	Experts    bool    `json:"experts"`
	Generation string  `json:"generation"` // empty: all runs
	Stack      string  `json:"stack"`
	Releases   int     `json:"releases"`
	Runs       int     `json:"runs"`
	Inside     float64 `json:"inside"`              // share of the runs that lie inside their band
	Width      float64 `json:"median_width"`        // of the bands, relative
	InUse      float64 `json:"median_width_in_use"` // the same when nothing is left out
}

// class is what the runs of a Class share.
type class struct {
	experts           bool
	generation, stack string
}

// ClassName returns the kind of runs: "dense", "experts" or, of every run, "all".
func (c *Class) ClassName() string {
	switch {
	case c.Generation == "":
		return "all"
	case c.Experts:
		return "experts"
	}
	return "dense"
}

func classOf(r *Errors) class {
	return class{r.Traits.Experts, r.Traits.Generation, r.Traits.Stack}
}

// Coverage checks the bands by class, and over all runs together in the first Class,
// which has no generation. A release with more than a hundred runs counts as a hundred.
func Coverage(t *band.Table, runs []Errors) []Class {
	per := map[string]float64{}
	for i := range runs {
		per[runs[i].Group.Series]++
	}
	lists := map[class][]int{}
	for i := range runs {
		lists[class{}] = append(lists[class{}], i)
		k := classOf(&runs[i])
		lists[k] = append(lists[k], i)
	}
	var out []Class
	for k, list := range lists {
		c := Class{
			Metric: StepSeconds, Experts: k.experts, Generation: k.generation, Stack: k.stack,
			Runs: len(list),
		}
		if t.Memory {
			c.Metric = MemoryGiB
		}
		var widths, used, weights []float64
		releases := map[string]bool{}
		inside, all := 0.0, 0.0
		for _, i := range list {
			r := &runs[i]
			b, weight := t.FactorOf(&r.Traits)*t.Log(&r.Traits, r.Group.Series),
				min(1, mostRuns/per[r.Group.Series])
			releases[r.Group.Series] = true
			all += weight
			if math.Abs(r.Log) <= b {
				inside += weight
			}
			widths, weights = append(widths, math.Expm1(b)), append(weights, weight)
			used = append(used, t.Of(&r.Traits).Error)
		}
		c.Inside, c.Width, c.InUse, c.Releases = inside/all, weighted(widths, weights, 0.5),
			weighted(used, weights, 0.5), len(releases)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Class) int {
		return cmp.Or(cmp.Compare(b2i(a.Generation != ""), b2i(b.Generation != "")),
			cmp.Compare(b2i(a.Experts), b2i(b.Experts)), cmp.Compare(a.Generation, b.Generation),
			cmp.Compare(a.Stack, b.Stack))
	})
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Coverages checks the bands of step times, then those of memory, on all groups; nothing of
// groups without a run.
func Coverages(scales *hardware.Published, groups []Group) []Class {
	times, memory := RunErrors(groups)
	var out []Class
	for _, of := range []struct {
		scales *band.Table
		runs   []Errors
	}{{&scales.Time, times}, {&scales.Memory, memory}} {
		if len(of.runs) > 0 {
			t, _ := Table(of.scales, of.runs)
			out = append(out, Coverage(t, of.runs)...)
		}
	}
	return out
}
