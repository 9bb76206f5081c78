package knob

import (
	"cmp"
	"math"
	"slices"
)

// countOf finds a count by the name of its flag; nil for words and the nodes.
func countOf(s *Setup, field string) *int {
	if k := find(ID(field)); k != nil && k.number != nil {
		return k.number(s)
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
	k := find(ID(field))
	if k == nil || k.number == nil {
		return nil
	}
	current := *k.number(s)
	var list []int
	if k.near != nil {
		list = k.near(s)
	} else {
		list = append(multiplesNear(1, current, 64), counting(1, 64)...)
	}
	list = append(list, min(max(current, k.Min), k.Max))
	distance := func(v int) float64 {
		return math.Abs(math.Log((float64(v) + 0.5) / (max(float64(current), 0) + 0.5)))
	}
	slices.SortStableFunc(list,
		func(a, b int) int { return cmp.Or(cmp.Compare(distance(a), distance(b)), a-b) })
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(v int) bool { return v == current })
}

func counting(from, to int) []int {
	var list []int
	for v := from; v <= to; v++ {
		list = append(list, v)
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
	knobs := registry()
	for i := range knobs {
		k := &knobs[i]
		if k.ID == Nodes {
			continue
		}
		if x, y := k.Value(a), k.Value(b); x != y {
			d[string(k.ID)] = y
			if k.figure != nil && y == 0.0 {
				d[string(k.ID)] = noFigure
			}
		}
	}
	return d
}
