package hardware

import (
	"math"

	"meshscope/engine/band"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Published is what published runs tell: the errors of predictions, and what models were trained
// with. It is never changed once a Cluster points to it.
type Published struct {
	Time, Memory band.Table
	Recipes      []Recipe
	Typical      Typical
}

// CustomParts are the parts of a calibration that come from files of the user's own: what the
// built-in ones scored says little about them.
type CustomParts struct {
	Machine        bool // kernels or links
	Preset         bool // the GPU or the cluster itself
	Stacks, Memory map[recipe.Stack]bool
	Runs           []band.OwnRun // that constants were fitted to
}

// Decides reports whether files of the user's own decide a prediction of time, or of
// memory, for a software stack: those of its release, where that has figures of its own.
func (o *CustomParts) Decides(memory bool, stack recipe.Stack) bool {
	if memory {
		return o.Preset || o.Memory[stack.Resolve()]
	}
	own, ok := o.Stacks[stack]
	if !ok {
		own = o.Stacks[stack.Resolve()]
	}
	return o.Machine || own
}

// Changed returns by how many doublings the rates that decide a prediction differ from
// those of the machine's preset, all together. It is 0 for a machine that no preset has.
func (c *Cluster) Changed(memory, network bool) float64 {
	cal := c.Calibration
	if memory || cal == nil || cal.Of == nil {
		return 0
	}
	of, sum := cal.Of, 0.0
	add := func(now, then float64) {
		if now > 0 && then > 0 && now != then {
			sum += math.Abs(math.Log2(now / then))
		}
	}
	add(float64(c.GPU.PeakBF16), float64(of.GPU.PeakBF16))
	add(float64(c.GPU.PeakFP8), float64(of.GPU.PeakFP8))
	add(float64(c.GPU.PeakFP4), float64(of.GPU.PeakFP4))
	add(float64(c.GPU.MemoryBandwidth), float64(of.GPU.MemoryBandwidth))
	add(float64(c.Intra.Bandwidth), float64(of.Intra.Bandwidth))
	add(float64(c.Domain()), float64(of.Domain()))
	if network {
		add(float64(c.Inter.Bandwidth), float64(of.Inter.Bandwidth))
		add(float64(c.Inter.Latency), float64(of.Inter.Latency))
	}
	return sum
}

// linkScale returns how much faster the links are than those that were measured.
func (c *Cluster) linkScale() (intra, inter float64) {
	over := func(now, then units.BytesPerSecond) float64 {
		if now <= 0 || then <= 0 {
			return 1
		}
		return float64(now / then)
	}
	of := c.Calibration.Of
	if of == nil {
		return 1, 1
	}
	return over(c.Intra.Bandwidth, of.Intra.Bandwidth), over(c.Inter.Bandwidth, of.Inter.Bandwidth)
}
