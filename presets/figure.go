package presets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
)

// WithFigure returns a cluster on which one figure of its calibration, or of the memory
// of a stack, has another value; key is that of the calibration files. The cluster that
// is given stays as it is. An unknown key and a value out of range are rejected by name,
// as is a cluster that has no calibration.
func WithFigure(c hardware.Cluster, stack recipe.Stack, key string, value float64) (hardware.Cluster, error) {
	c, _, err := changedFigure(c, stack, key, func(float64) float64 { return value })
	return c, err
}

// WithFigureTimes returns a cluster with one figure of its calibration multiplied, within
// the range of its key, and what it was.
func WithFigureTimes(c hardware.Cluster, stack recipe.Stack, key string, times float64) (hardware.Cluster,
	float64, error,
) {
	return changedFigure(c, stack, key, func(was float64) float64 { return was * times })
}

func changedFigure(c hardware.Cluster, stack recipe.Stack, key string,
	to func(float64) float64,
) (_ hardware.Cluster, was float64, err error) {
	changed, ranges, done, err := openFigures(c, stack)
	if err != nil {
		return c, 0, err
	}
	at := slices.IndexFunc(ranges, func(r figureRange) bool { return r.key == key })
	if at < 0 {
		return c, 0,
			errors.New("unknown figure " + escape.Quote(key) + ", allowed are " +
				strings.Join(figureKeys(ranges), ", "))
	}
	r := &ranges[at]
	if r.get != nil {
		was = r.get()
	}
	value := to(was)
	if !(value >= r.low && value <= r.high) {
		return c, 0, fmt.Errorf("%s: given %g, allowed is %g to %g", key, value, r.low, r.high)
	}
	r.set(value)
	done()
	return changed, was, nil
}

// openFigures returns a cluster with a calibration that no other one has, and its figures; done
// ends their changes.
func openFigures(c hardware.Cluster, stack recipe.Stack) (_ hardware.Cluster, ranges []figureRange,
	done func(), err error,
) {
	if c.Calibration == nil || c.Memory == nil {
		return c, nil, nil, fmt.Errorf("%s has no calibration", escape.Quote(c.ID))
	}
	own, memories := *c.Calibration, maps.Clone(*c.Memory)
	own.Software = slices.Clone(own.Software)
	memory := memories[stack.Resolve()]
	ranges = slices.Concat(opsFigures(&own.Ops), networkFigures(&own.Network),
		softwareFigures(own.For(stack)),
		memoryFigures(&memory, stack.Traits().FittedMemory))
	c.Calibration, c.Memory = &own, &memories
	return c, ranges, func() { memories[stack.Resolve()] = memory }, nil
}

// Figure is a figure of a calibration with its range.
type Figure struct{ Value, Low, High float64 }

// FiguresOf returns the figures of a machine and a software stack that are numbers, by key.
func FiguresOf(c hardware.Cluster, stack recipe.Stack) (map[string]Figure, error) {
	_, ranges, _, err := openFigures(c, stack)
	out := map[string]Figure{}
	for i := range ranges {
		if r := &ranges[i]; r.get != nil {
			out[r.key] = Figure{r.get(), r.low, r.high}
		}
	}
	return out, err
}

// WithFigures returns a cluster with several figures of its calibration changed, each to the
// nearest value of its range.
func WithFigures(c hardware.Cluster, stack recipe.Stack, to map[string]float64) (hardware.Cluster, error) {
	changed, ranges, done, err := openFigures(c, stack)
	if err != nil {
		return c, err
	}
	for i := range ranges {
		if v, ok := to[ranges[i].key]; ok {
			ranges[i].set(min(max(v, ranges[i].low), ranges[i].high))
		}
	}
	done()
	return changed, nil
}
