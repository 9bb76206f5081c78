package band

import (
	"math"
	"slices"
)

// near is a cell as setups of one kind see it.
type near struct {
	kind        float64 // distance of all that is alike or not
	counts      [counts]float64
	weight, off float64
	runs, cell  int32
	source      uint8
}

// near returns the cells that can count for setups alike in all but counts, without those of
// a release left out, in the order of their sources.
func (t *Table) near(at *packed, without string) []near {
	list := make([]near, 0, len(t.packed))
	for i := range t.packed {
		c := &t.packed[i]
		if without != "" && t.Cells[i].Release == without {
			continue
		}
		if d := t.quick.kind(at, c); d < far {
			list = append(list, near{
				kind: d, counts: c.counts, weight: c.weight, off: c.off, runs: c.runs,
				source: c.source, cell: int32(i),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return int(a.source) - int(b.source) })
	return list
}

// nearest returns the cell nearest to a setup; nil: there is none.
func (t *Table) nearest(at *packed) (out *Cell) {
	least := math.Inf(1)
	for i := range t.packed {
		if d := t.quick.kind(at, &t.packed[i]) + size(&at.counts, &t.packed[i].counts); d < least {
			least, out = d, &t.Cells[i]
		}
	}
	return out
}

// Lens finds the bands of many setups, one after the other: it keeps the cells near the
// kinds of setups that it met last. It belongs to one goroutine.
type Lens struct {
	table *Table
	names names
	kinds map[uint32]*kind
}

// names are the traits that a search leaves as they are.
type names struct{ gpu, generation, vendor, stack, family, version string }

// kind is what setups share that differ in counts alone.
type kind struct {
	known known
	near  []near
}

// mostKinds is how many kinds a Lens keeps: 20 KB each.
const mostKinds = 64

// Of returns the band of a prediction for a setup like x.
func (l *Lens) Of(t *Table, x *Traits) Band {
	n := names{x.GPU, x.Generation, x.Vendor, x.Stack, x.Family, x.Version}
	if l.table != t || l.names != n || len(l.kinds) > mostKinds {
		l.table, l.names, l.kinds = t, n, map[uint32]*kind{}
	}
	key := x.key()
	k := l.kinds[key]
	if k == nil {
		at := t.quick.pack(x)
		k = &kind{t.knows(x, ""), t.near(&at, "")}
		l.kinds[key] = k
	}
	at := t.quick.countsOf(x)
	q, out := t.mean(k.near, t.beyond(x, k.known), &at)
	b := t.FactorOf(x) * t.Rho(x) * q
	if out.Nearest == nil {
		at := t.quick.pack(x)
		out.Nearest = t.nearest(&at)
	}
	out.Error, out.Typical = math.Expm1(b), math.Expm1(typicalShare*b)
	return out
}
