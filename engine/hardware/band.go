package hardware

import (
	"slices"

	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Band is the error of one validated group of published runs, of one GPU, stack
// and kind of model. Errors are absolute and relative, of the step time or of
// memory.
type Band struct {
	Group    string
	Memory   bool
	Stack    recipe.Stack
	GPU      string
	MoE      bool
	Rows     int
	Median   float64
	P90      float64 // nine runs of ten are closer
	InSample bool    // constants were fitted to these runs
	Reach    Reach
}

// Reach is how far a group's runs go: what a setup must be like for their error to
// say something about it.
type Reach struct {
	GPUs, Seq, TP, PP, CP, EP Range
	Parameters                Range
	Nodes                     bool  // some ran on more than one scale-up domain
	Inter                     Range // bytes per second and GPU between domains
	Networks                  []string
	Precisions                []recipe.Precision
	Schedules                 []string
	Recompute                 []recipe.RecomputeMode
	Recipes                   []Recipe
}

// Recipe is what else of a setup must be that of some run.
type Recipe struct {
	ZeRO      int
	HSDP      bool // ZeRO does not shard over all replicas
	TP, SP    bool
	Attention recipe.Attention
	Optimizer recipe.Optimizer
	Gradients recipe.GradDtype
}

// Range is from the least to the most of the runs.
type Range struct{ Least, Most float64 }

// With returns the range that has v in it, too.
func (r Range) With(v float64) Range {
	if r == (Range{}) {
		return Range{v, v}
	}
	return Range{min(r.Least, v), max(r.Most, v)}
}

// near reports whether v is within a factor of the range.
func (r Range) near(v, factor float64) bool { return v*factor >= r.Least && v <= factor*r.Most }

// degree says the same of a degree of parallelism: traffic that no run had is
// unknown, however small the group.
func (r Range) degree(v float64) bool { return v <= 1 || r.Most > 1 && v <= reach*r.Most }

// reach is how far beyond its runs a group still speaks: twice as many GPUs, twice
// the model.
const (
	reach     = 2
	reachLink = 1.25 // of the bandwidth of links
)

// Like is what a setup is compared by.
type Like struct {
	Stack                     recipe.Stack
	MoE                       bool
	GPUs, Seq, TP, PP, CP, EP int
	Model                     interface{ Total() int64 } // parameters, counted only where the rest is like
	Precision                 recipe.Precision
	Schedule                  string
	Recompute                 recipe.RecomputeMode
	Offload                   recipe.Offload
	Recipe                    Recipe
}

// Nearest returns the validated group whose runs a setup on this machine is like. Of
// several, one that no constant has seen goes first, then the one with the most
// runs. It is nil when there is none, or when the machine is not as its preset
// has it.
func (c *Cluster) Nearest(memory bool, like *Like) *Band {
	const minRows = 3
	cal := c.Calibration
	if cal == nil || cal.Of == nil || c.GPU != cal.Of.GPU {
		return nil
	}
	var best *Band
	for i := range cal.Bands {
		b := &cal.Bands[i]
		if b.Memory != memory || b.Stack != like.Stack || b.MoE != like.MoE || b.Rows < minRows || !b.covers(c, like) {
			continue
		}
		if best == nil || best.InSample && !b.InSample || best.InSample == b.InSample && b.Rows > best.Rows {
			best = b
		}
	}
	return best
}

// covers reports whether a setup is like the runs of the group. The links matter for
// the time alone.
func (b *Band) covers(c *Cluster, like *Like) bool {
	r := &b.Reach
	switch {
	case float64(like.GPUs) > reach*r.GPUs.Most, !r.Seq.near(float64(like.Seq), reach),
		!r.TP.degree(float64(like.TP)), !r.PP.degree(float64(like.PP)), !r.CP.degree(float64(like.CP)), !r.EP.degree(float64(like.EP)),
		!slices.Contains(r.Precisions, like.Precision), !slices.Contains(r.Schedules, like.Schedule),
		!slices.Contains(r.Recompute, like.Recompute), !slices.Contains(r.Recipes, like.Recipe), like.Offload != "" && like.Offload != recipe.OffloadNone:
		return false
	case !b.Memory && !r.links(c, like.GPUs > c.Domain()):
		return false
	}
	return r.Parameters.near(float64(like.Model.Total()), reach)
}

// links reports whether a machine's links are those that the runs had.
func (r *Reach) links(c *Cluster, nodes bool) bool {
	of := c.Calibration.Of
	switch {
	case c.Intra != of.Intra || c.Domain() != of.Domain():
		return false
	case !nodes:
		return true
	case c.Inter.Latency != of.Inter.Latency:
		return false
	}
	return r.Nodes && slices.Contains(r.Networks, c.Calibration.NetworkID) && r.Inter.near(float64(c.Inter.Bandwidth), reachLink)
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
