package engine

import (
	"math"
	"slices"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
)

// countOf finds a count by the name of its flag; nil for words.
func countOf(s *Setup, field string) *int {
	switch field {
	case "gpus":
		return &s.GPUs
	case "dp":
		return &s.DP
	case "tp":
		return &s.TP
	case "pp":
		return &s.PP
	case "vpp":
		return &s.VPP
	case "cp":
		return &s.CP
	case "ep":
		return &s.EP
	case "etp":
		return &s.ETP
	case "zero":
		return &s.ZeRO
	case "hsdp":
		return &s.HSDP
	case "imbalance":
		return &s.Imbalance
	case "mbs":
		return &s.MBS
	case "microbatches":
		return &s.MicroBatches
	case "gbs":
		return &s.GBS
	case "seq":
		return &s.Seq
	case "group-size":
		return &s.GroupSize
	case "max-in-flight":
		return &s.MaxInFlight
	}
	return nil
}

func fieldValue(s *Setup, field string) int {
	if n := countOf(s, field); n != nil {
		return *n
	}
	return 0
}

func setField(s *Setup, field string, value int) {
	if n := countOf(s, field); n != nil {
		*n = value
	}
}

// nearby are values of a field worth trying, from near to far on a ratio
// scale, so that 4 is nearer to 3 than 2 is.
func nearby(s *Setup, field string) []int {
	if countOf(s, field) == nil {
		return nil
	}
	current := fieldValue(s, field)
	var list []int
	switch field {
	case "tp":
		list = divisorsUpTo(s.Model.Heads, s.Model.Heads)
	case "pp":
		list = counting(1, min(s.Model.Layers, 512))
	case "vpp":
		list = counting(1, min(s.Model.Layers, 128))
	case "cp":
		list = divisorsUpTo(s.Seq, 4096)
	case "ep":
		list = append(divisorsUpTo(s.Model.Experts, s.Model.Experts), 1)
	case "etp":
		list = append(divisorsUpTo(s.Model.ExpertFFN, 64), 1)
	case "zero":
		list = []int{0, 1, 2, 3}
	case "gpus":
		list = multiplesNear(max(s.TP*s.PP*s.CP, 1), current, 64)
		if s.Cluster.Inter.Bandwidth <= 0 {
			list = append(list, multiplesNear(max(s.TP*s.PP*s.CP, 1), s.Cluster.Domain(), 64)...)
		}
	case "gbs":
		list = multiplesNear(max(s.MBS*s.DP, 1), current, 64)
	case "seq":
		unit := max(s.CP*s.TP, 1)
		list = append(multiplesNear(unit, min(current, s.Model.MaxSeq), 8), multiplesNear(unit, current, 16)...)
	case "max-in-flight":
		list = []int{0, s.PP, 2 * s.PP}
	case "group-size":
		list = append(multiplesNear(1, current, 64), 0, s.PP, s.MicroBatches)
	case "microbatches":
		list = append(multiplesNear(max(s.PP, 1), current, 16), multiplesNear(1, current, 64)...)
	default: // dp, mbs
		list = append(multiplesNear(1, current, 64), counting(1, 64)...)
	}
	list = append(list, clampField(field, current))
	distance := func(v int) float64 {
		return math.Abs(math.Log((float64(v) + 0.5) / (max(float64(current), 0) + 0.5)))
	}
	slices.SortStableFunc(list, func(a, b int) int {
		switch da, db := distance(a), distance(b); {
		case da < db:
			return -1
		case da > db:
			return 1
		}
		return a - b
	})
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(v int) bool { return v == current })
}

// clampField is the value moved into the bounds of its field.
func clampField(field string, v int) int {
	high := layout.MaxDegree
	low := 1
	switch field {
	case "gpus":
		high = layout.MaxGPUs
	case "microbatches":
		high = layout.MaxMicroBatches
	case "gbs":
		high = layout.MaxGBS
	case "seq":
		high = layout.MaxSeq
	case "zero":
		low, high = 0, 3
	case "group-size", "max-in-flight":
		low = 0
	case "imbalance":
		low, high = recipe.EvenLoad, recipe.MaxLoad
	}
	return min(max(v, low), high)
}

func counting(from, to int) []int {
	var list []int
	for v := from; v <= to; v++ {
		list = append(list, v)
	}
	return list
}

// divisorsUpTo lists the divisors of n that are at most limit.
func divisorsUpTo(n, limit int) []int {
	var list []int
	for v := 1; v <= min(n, limit); v++ {
		if n%v == 0 {
			list = append(list, v)
		}
	}
	return list
}

// multiplesNear lists positive multiples of unit around a value, count on each side.
func multiplesNear(unit, around, count int) []int {
	var list []int
	k := around / unit
	for i := k - count; i <= k+count; i++ {
		if i >= 1 {
			list = append(list, i*unit)
		}
	}
	return list
}

// difference lists the fields in which b differs from a, by flag name.
func difference(a, b *Setup) map[string]any {
	d := map[string]any{}
	for _, field := range []string{"gpus", "dp", "tp", "pp", "vpp", "cp", "ep", "etp", "zero", "hsdp", "mbs", "microbatches", "gbs", "seq", "group-size", "max-in-flight", "imbalance"} {
		if x, y := fieldValue(a, field), fieldValue(b, field); x != y {
			d[field] = y
		}
	}
	word := func(field string, x, y any) {
		if x != y {
			d[field] = y
		}
	}
	word("sp", a.SP, b.SP)
	word("split", a.Split, b.Split)
	word("schedule", string(a.Schedule), string(b.Schedule))
	word("recompute", a.Recompute.String(), b.Recompute.String())
	word("precision", string(a.Precision), string(b.Precision))
	word("grad-dtype", string(a.GradDtype), string(b.GradDtype))
	word("attention", string(a.Attention), string(b.Attention))
	word("optimizer", string(a.Optimizer), string(b.Optimizer))
	word("loss", string(a.Loss), string(b.Loss))
	word("offload", string(a.Offload), string(b.Offload))
	word("mtp", a.TrainMTP, b.TrainMTP)
	word("calibration", string(a.Stack), string(b.Stack))
	word("mfu", string(a.MFU), string(b.MFU))
	params := registry()
	for i := range params {
		if p := &params[i]; p.figure != nil {
			word(string(p.ID), *p.figure(a), *p.figure(b))
		}
	}
	return d
}
