package memory

import (
	"strconv"

	"meshscope/engine/layout"
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

// addStage adds the matrices of the stage's layers: qkv (or MLA's five
// projections), output, and both matrices of the dense MLP and of the shared
// experts. Routed experts run as grouped products and keep none.
func (s *shapeSet) addStage(in *Input, st layout.Stage) {
	m, t := in.Model, in.Layout.TP
	if st.Layers() == 0 {
		return
	}
	if m.IsMLA() {
		qk := m.QKNopeDim + m.QKRopeDim
		if m.QLoraRank > 0 {
			s.add(m.Hidden, m.QLoraRank)
			s.add(m.QLoraRank, m.Heads*qk/t)
		} else {
			s.add(m.Hidden, m.Heads*qk/t)
		}
		s.add(m.Hidden, m.KVLoraRank+m.QKRopeDim)
		s.add(m.KVLoraRank, m.Heads*(m.QKNopeDim+m.VHeadDim)/t)
		s.add(m.Heads*m.VHeadDim/t, m.Hidden)
	} else {
		s.add(m.Hidden, (m.Heads+2*m.KVHeads)*m.HeadDim/t)
		s.add(m.Heads*m.HeadDim/t, m.Hidden)
	}
	up := 1
	if m.Gated {
		up = 2
	}
	if st.Dense > 0 {
		s.add(m.Hidden, up*m.FFN/t)
		s.add(m.FFN/t, m.Hidden)
	}
	if st.MoE > 0 && m.SharedFFN > 0 {
		s.add(m.Hidden, up*m.SharedFFN/t)
		s.add(m.SharedFFN/t, m.Hidden)
	}
}
