package memory

import (
	"strconv"

	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/record"
)

// shape is a weight matrix on one GPU.
type shape struct{ rows, cols int }

// shapeSet collects the distinct weight shapes of a rank; a stage has at most
// a dozen, so a small array does without a map.
type shapeSet struct {
	list [16]shape
	n    int
}

func (s *shapeSet) add(rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	for _, have := range s.list[:s.n] {
		if have == (shape{rows, cols}) {
			return
		}
	}
	if s.n < len(s.list) {
		s.list[s.n] = shape{rows, cols}
		s.n++
	}
}

func (s *shapeSet) elements() float64 {
	sum := 0.0
	for _, sh := range s.list[:s.n] {
		sum += float64(sh.rows) * float64(sh.cols)
	}
	return sum
}

// shapes returns those of a rank.
func (in *Input) shapes(rank int) (s shapeSet) {
	for c := range in.Order.Chunks() {
		s.addStage(in, in.Stages[in.Order.StageOf(rank, c)])
	}
	return s
}

// knownShapes are the elements of distinct shapes under a degree of TP, by the kinds
// of layers that a rank has: 1 for dense ones, 2 for those with experts, or both.
type knownShapes struct {
	tp       int
	known    [4]bool
	elements [4]float64
}

// shapeElements returns the elements of the distinct shapes of a rank: the same on all
// ranks with such kinds of layers, so that their many divisions are done once.
func (in *Input) shapeElements(rank int) float64 {
	kinds := 0
	for c := range in.Order.Chunks() {
		st := &in.Stages[in.Order.StageOf(rank, c)]
		if st.Dense > 0 {
			kinds |= 1
		}
		if st.MoE > 0 {
			kinds |= 2
		}
	}
	k := &in.sameShapes
	if k.tp != in.Layout.TP {
		*k = knownShapes{tp: in.Layout.TP}
	}
	if !k.known[kinds] {
		s := in.shapes(rank)
		k.known[kinds], k.elements[kinds] = true, s.elements()
	}
	return k.elements[kinds]
}

// formula returns that of elements, with its operands.
func (s *shapeSet) formula() (string, []record.Operand) {
	var sum []string
	var operands []record.Operand
	for i, sh := range s.list[:s.n] {
		n := strconv.Itoa(i + 1)
		sum = append(sum, "rows_"+n+" * columns_"+n)
		operands = append(operands, record.In("rows_"+n, sh.rows), record.In("columns_"+n, sh.cols))
	}
	return record.Sum(sum...), operands
}

// addStage adds the matrices of the stage's layers but for those of the router and of routed
// experts, which run as grouped products and keep none.
func (s *shapeSet) addStage(in *Input, st layout.Stage) {
	if st.Dense > 0 {
		s.addLayer(&in.Program.Dense, in.Layout.TP)
	}
	if st.MoE > 0 {
		s.addLayer(&in.Program.MoE, in.Layout.TP)
	}
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
