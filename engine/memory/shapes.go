package memory

import (
	"slices"
	"strconv"

	"meshscope/engine/model"
	"meshscope/engine/record"
)

// shape is a weight matrix on one GPU.
type shape struct{ rows, cols int }

// shapeSet collects the distinct weight shapes of a rank: a dozen or two.
type shapeSet []shape

func (s *shapeSet) add(rows, cols int) {
	if rows > 0 && cols > 0 && !slices.Contains(*s, shape{rows, cols}) {
		*s = append(*s, shape{rows, cols})
	}
}

func (s shapeSet) elements() float64 {
	sum := 0.0
	for _, sh := range s {
		sum += float64(sh.rows) * float64(sh.cols)
	}
	return sum
}

// knownShapes are the elements of distinct shapes of a model under a degree of TP, by the kinds of
// layers that ranks have.
type knownShapes struct {
	of   *model.Program
	tp   int
	list []shapesOf
	set  shapeSet // of the last of them
}

type shapesOf struct {
	kinds    kindSet
	elements float64
}

// kindSet has a bit for each distinct layer that a rank has.
type kindSet uint64

func (in *Input) kinds(rank int) (set kindSet) {
	for c := range in.Order.Chunks() {
		of := &in.Stages[in.Order.StageOf(rank, c)].Of
		for i := range in.Program.Layers {
			if of[i] > 0 {
				set |= 1 << i
			}
		}
	}
	return set
}

// shapeElements returns the elements of the distinct shapes of a rank: the same on all
// ranks with such kinds of layers, so that their many divisions are done once.
func (in *Input) shapeElements(rank int) float64 {
	kinds, k := in.kinds(rank), &in.sameShapes
	if k.of != in.Program || k.tp != in.Layout.TP {
		k.of, k.tp, k.list = in.Program, in.Layout.TP, k.list[:0]
	}
	for i := range k.list {
		if k.list[i].kinds == kinds {
			return k.list[i].elements
		}
	}
	k.set = in.shapes(kinds, k.set[:0])
	k.list = append(k.list, shapesOf{kinds, k.set.elements()})
	return k.list[len(k.list)-1].elements
}

// formula returns that of elements, with its operands.
func (s shapeSet) formula() (string, []record.Operand) {
	var sum []string
	var operands []record.Operand
	for i, sh := range s {
		n := strconv.Itoa(i + 1)
		sum = append(sum, "rows_"+n+" * columns_"+n)
		operands = append(operands, record.In("rows_"+n, sh.rows), record.In("columns_"+n, sh.cols))
	}
	return record.Sum(sum...), operands
}

// shapes appends the matrices of kinds of layers but for those of the router and of routed
// experts, which run as grouped products and keep none.
func (in *Input) shapes(kinds kindSet, into shapeSet) shapeSet {
	for i := range in.Program.Layers {
		if kinds&(1<<i) != 0 {
			into.addLayer(&in.Program.Layers[i], in.Layout.TP)
		}
	}
	return into
}

func (s *shapeSet) addLayer(l *model.Layer, tp int) {
	for i := range l.Ops {
		o := &l.Ops[i]
		if o.Kind != model.Product || o.Part == model.PartExtra {
			continue
		}
		rows, cols := int(l.Tensor(o.In[0]).Width.V), int(l.Width(o.Out).V)
		if l.SplitIn(o) {
			rows /= tp
		}
		if l.SplitOut(o) {
			cols /= tp
		}
		s.add(rows, cols)
	}
}
