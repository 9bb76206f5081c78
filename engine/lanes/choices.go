package lanes

import (
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Choice is another way to run the step: a setup that differs in one thing.
type Choice struct {
	Name    string // of a variant
	Value   float64
	Setup   engine.Setup
	Current bool // as the setup has it
	Knob    bool // knobs lead to it; a bucket is the stack's own
}

// Choices are the things that can differ, each with its choices; the current one is among them.
// What is illegal or does not apply is left out.
type Choices struct {
	Variants []Choice
	Tokens   []Choice // Value: of a micro-batch on a GPU
	GPUs     []Choice // the same work on each
	Buckets  []Choice // Value: bytes of gradients that a collective sums; 0: all in one call
}

// Lists returns the lists in the order of the picture.
func (c *Choices) Lists() [4][]Choice {
	return [...][]Choice{c.Variants, c.Tokens, c.GPUs, c.Buckets}
}

// ChoicesOf returns those of a legal setup.
func ChoicesOf(s *engine.Setup) Choices {
	var c Choices
	c.Variants = variants(s)
	for f := 1; f <= 16; f *= 2 {
		t := *s
		if t.Seq = s.Seq * f / 4; s.Seq*f%4 == 0 {
			c.Tokens = keep(c.Tokens, s, t, t.MicroBatchTokens())
		}
		t = *s
		t.DP, t.GPUs, t.GBS = s.DP*f*f/16, s.GPUs*f*f/16, s.GBS*f*f/16
		if s.DP*f*f%16 == 0 {
			c.GPUs = keep(c.GPUs, s, t, float64(t.GPUs))
		}
	}
	soft := software(s)
	if soft == nil || s.ZeRO == 3 || s.DP*s.CP == 1 {
		return c
	}
	// 25 MB is what PyTorch's DistributedDataParallel sums in one call (bucket_cap_mb).
	for _, b := range [...]units.Bytes{1 * units.MB, 25 * units.MB, 250 * units.MB} {
		if soft.Bucket > 0 && soft.Bucket < b &&
			(len(c.Buckets) == 0 || c.Buckets[len(c.Buckets)-1].Value < float64(soft.Bucket)) {
			c.Buckets = append(c.Buckets, Choice{Value: float64(soft.Bucket), Setup: *s, Current: true})
		}
		c.Buckets = append(c.Buckets, Choice{
			Value: float64(b), Setup: withBucket(s, b),
			Current: soft.Bucket == b,
		})
	}
	c.Buckets = append(c.Buckets, Choice{Setup: withBucket(s, 0), Current: soft.Bucket == 0})
	return c
}

// keep adds a setup that is legal.
func keep(list []Choice, s *engine.Setup, t engine.Setup, value float64) []Choice {
	current := t == *s
	if !current && (value < 1 || !engine.Legal(t)) {
		return list
	}
	return append(list, Choice{Value: value, Setup: t, Current: current, Knob: true})
}

// Names of variants.
const (
	Naive    = "naive"
	PerLayer = "per layer"
	Buckets  = "buckets"
	Overlap  = "overlap"
	Sharded  = "ZeRO-1"
	Prefetch = "ZeRO-3 prefetch"
	NoDP     = "no DP overlap"
	AsSet    = "as set"
)

// variants are the ways to time the traffic, from nothing that overlaps on.
func variants(s *engine.Setup) []Choice {
	soft := software(s)
	free := *s // with overlap
	if free.Overlap == recipe.OverlapNone {
		free.Overlap = recipe.OverlapAuto
	}
	if free.DPOverlap == recipe.Off {
		free.DPOverlap = recipe.SettingAuto
	}
	naive := *s
	naive.Overlap = recipe.OverlapNone
	list := []Choice{{Name: Naive, Setup: naive, Knob: true}}
	switch {
	case s.DP*s.CP == 1 || soft == nil:
		list = append(list, Choice{Name: Overlap, Setup: free, Knob: true})
	case s.ZeRO == 3:
		one := free
		one.ZeRO = 1
		list = append(list, Choice{Name: Sharded, Setup: one, Knob: true},
			Choice{Name: Prefetch, Setup: free, Knob: true})
	default:
		if b := layerGradients(s, soft); b > 0 && b != soft.Bucket {
			list = append(list, Choice{Name: PerLayer, Setup: withBucket(&free, b)})
		}
		name := Overlap
		if soft.Bucket > 0 {
			name = Buckets
		}
		three := free
		three.ZeRO = 3
		list = append(list, Choice{Name: name, Setup: free, Knob: true},
			Choice{Name: Prefetch, Setup: three, Knob: true})
	}
	current := false
	for i := range list {
		list[i].Current = !current && list[i].Setup == *s
		current = current || list[i].Current
	}
	if !current {
		name := AsSet
		if s.DPOverlap == recipe.Off && s.Overlap != recipe.OverlapNone {
			name = NoDP
		}
		list = slices.Insert(list, 1, Choice{Name: name, Setup: *s, Current: true, Knob: true})
	}
	return slices.DeleteFunc(list, func(c Choice) bool { return !c.Current && !engine.Legal(c.Setup) })
}

// layerGradients returns the bytes of gradients of a layer on a GPU; 0 of mixtures, whose layers
// are summed over two groups.
func layerGradients(s *engine.Setup, soft *hardware.Software) units.Bytes {
	if s.Model.IsMoE() {
		return 0
	}
	perGradient := soft.ReduceBytes(s.GradDtype, s.Precision.On(s.Stack))
	return units.Bytes(math.Round(float64(s.Model.Layer(0).Total()) / float64(s.TP) * perGradient))
}

// software returns the constants of the setup's stack; nil: the machine has none.
func software(s *engine.Setup) *hardware.Software {
	if s.Cluster.Calibration == nil || len(s.Cluster.Calibration.Software) == 0 {
		return nil
	}
	return s.Cluster.Calibration.For(s.Stack)
}

// withBucket returns a setup whose stack sums so many bytes of gradients in a call.
func withBucket(s *engine.Setup, b units.Bytes) engine.Setup {
	out := *s
	if software(s).Bucket == b {
		return out
	}
	c := *s.Cluster.Calibration
	c.Software = slices.Clone(c.Software)
	c.For(s.Stack).Bucket = b
	out.Cluster.Calibration = &c
	return out
}

// Cost is what a choice makes of the step.
type Cost struct {
	Known             bool
	Step, Exposed     units.Seconds
	Data, DataExposed units.Seconds // of gradients and weights
}

// CostOf evaluates a choice; false: it was stopped.
func CostOf(e *engine.Evaluator, c *Choice, stop func() bool) (Cost, bool) {
	r, ok := e.EvaluateUntil(c.Setup, stop)
	if !ok {
		return Cost{}, false
	}
	if !r.Legal || r.Time == nil {
		return Cost{}, true
	}
	out := Cost{Known: true, Step: r.Time.Step, Exposed: r.Time.Exposed}
	for i := range r.Communication {
		switch row := &r.Communication[i]; row.Dimension {
		case "dp", "expert-dp", "mirror":
			out.Data += row.Seconds
			out.DataExposed += row.Exposed
		}
	}
	return out, true
}
