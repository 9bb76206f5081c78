// Package cards works out what the cards of the glossary show of a setup: where a layer's time
// goes and what bounds each part, what a byte from each memory costs, which collective a split of a
// matrix needs, and how many tokens each expert rank has.
package cards

import (
	"strings"

	"meshscope/engine"
	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Part is an operation of a layer's forward.
type Part struct {
	Name       string
	Seconds    units.Seconds
	FLOPs      units.FLOPs // 0: too few to count
	Bytes      units.Bytes // through memory; 0: not told
	Arithmetic bool        // bound by it, else by memory
	Tiles      bool        // of Arithmetic: only because tiles of the product fill the GPU badly
	Balance    float64     // FLOPs per byte at which both take as long, with full tiles; 0: not told
}

// Layer returns the parts of the forward of one layer and micro-batch on a GPU, as the evaluation
// recorded them, of a layer with experts where the model has one; false: the setup is illegal.
func Layer(s *engine.Setup) ([]Part, bool) {
	r, rec := engine.EvaluateRecorded(*s)
	if !r.Legal {
		return nil, false
	}
	sum, err := rec.Formula("layer." + model.Lay(&s.Model, nil).Module().ID + ".forward")
	if err != nil {
		return nil, false
	}
	var parts []Part
	sum.Leaves(func(l *record.Expr) {
		if l.Of == nil || l.Of.Unit != record.Seconds {
			return
		}
		if x, err := rec.Formula(l.Of.ID); err == nil {
			parts = append(parts, part(l.Of, x))
		}
	})
	return parts, true
}

// part reads what an operation does from its formula: the slower of arithmetic and memory and a
// start, memory and a start, or arithmetic and a start.
func part(e *record.Entry, x *record.Expr) Part {
	name, _, _ := strings.Cut(e.Name, ", forward")
	p := Part{Name: name, Seconds: units.Seconds(e.Value)}
	either := x
	for either.Op == record.Plus || either.Op == record.Times {
		either = either.Args[0]
	}
	if either.Op == record.Max && len(either.Args) == 2 {
		if either.Args[0].Op == record.Literal { // max(0, ...): a wait
			return p
		}
		work, moved := first(either.Args[0]), first(either.Args[1])
		if work != nil {
			p.FLOPs = units.FLOPs(work.Args[0].Result())
		}
		if moved != nil {
			p.Bytes = units.Bytes(moved.Args[0].Result())
		}
		p.Arithmetic = either.Args[0].Result() >= either.Args[1].Result()
		if work != nil && moved != nil {
			p.Tiles = p.Arithmetic && work.Result() < moved.Result()
			p.Balance = work.Args[1].Result() / moved.Args[1].Result()
		}
		return p
	}
	over := first(x)
	if over == nil {
		return p
	}
	switch moved := over.Args[0]; {
	case moved.Op == record.Leaf && moved.Unit == record.FLOPs:
		p.FLOPs, p.Arithmetic = units.FLOPs(moved.Value), true
	default:
		p.Bytes = units.Bytes(moved.Result())
	}
	return p
}

// first returns the first quotient, from the outside and the left: operations by a
// rate, or bytes by a bandwidth; nil: nothing is.
func first(x *record.Expr) *record.Expr {
	if x.Op == record.Over {
		return x
	}
	for _, a := range x.Args {
		if found := first(a); found != nil {
			return found
		}
	}
	return nil
}

// Level is a memory or link that data come from.
type Level struct {
	Name      string
	Holds     units.Bytes // 0: a link
	Bandwidth units.BytesPerSecond
	Balance   float64 // operations that a GPU could do while a byte comes
}

// Hierarchy returns what a GPU of the setup reads from, from near to far, at nominal rates. The
// memories on the chip are not in the presets.
func Hierarchy(s *engine.Setup) []Level {
	c := &s.Cluster
	peak := float64(c.GPU.Peak(s.Precision))
	all := []Level{
		{Name: "memory of the GPU", Holds: c.GPU.MemoryNominal, Bandwidth: c.GPU.MemoryBandwidth},
		{Name: c.Intra.Name, Bandwidth: c.Intra.Bandwidth},
		{Name: "host", Bandwidth: c.GPU.Host()},
		{Name: c.Inter.Name, Bandwidth: c.Inter.Bandwidth},
	}
	out := all[:0]
	for _, l := range all {
		if l.Bandwidth > 0 && l.Name != "" {
			l.Balance = peak / float64(l.Bandwidth)
			out = append(out, l)
		}
	}
	return out
}

// Split is a matrix that tensor parallelism cuts.
type Split struct {
	Matrix            string
	Columns           bool // cut by columns, else by rows
	Rows, Cols        int  // of the whole matrix
	OnRows, OnCols    int  // of the part on a GPU
	Forward, Backward string
}

// Splits returns how the matrices of a layer are cut over TP and which collective stands next to
// each: in front of a column split f, behind a row split g (Megatron-LM, arXiv 1909.08053, section 3;
// with sequence parallelism arXiv 2205.05198, section 4.2.2).
func Splits(s *engine.Setup) []Split {
	m, t := &s.Model, s.TP
	column := Split{Columns: true, Forward: "nothing", Backward: "all-reduce"}
	row := Split{Forward: "all-reduce", Backward: "nothing"}
	if s.SP {
		column.Forward, column.Backward = "all-gather", "reduce-scatter"
		row.Forward, row.Backward = "reduce-scatter", "all-gather"
	}
	var out []Split
	add := func(like Split, name string, rows, cols int) {
		like.Matrix, like.Rows, like.Cols, like.OnRows, like.OnCols = name, rows, cols, rows, cols
		if like.Columns {
			like.OnCols /= t
		} else {
			like.OnRows /= t
		}
		out = append(out, like)
	}
	layers := model.Lay(m, nil).Layers
	for i := range layers { // of a hybrid the first one with attention
		core, _ := layers[i].Core()
		if core == nil || m.IsMLA() {
			continue
		}
		q := int(layers[i].Tensor(core.Out[0]).Width.V)
		add(column, "queries", m.Hidden, q)
		add(row, "output", q, m.Hidden)
		break
	}
	if m.FFN > 0 {
		add(column, "MLP up", m.Hidden, m.FFN)
		add(row, "MLP down", m.FFN, m.Hidden)
	}
	return out
}

// Load is the routed tokens of an expert rank in one micro-batch and layer.
type Load struct {
	Name   string
	Tokens float64
}

// Loads returns the tokens of the expert ranks where one has as many as the setup's imbalance says
// and the others share the rest evenly; nil without experts.
func Loads(s *engine.Setup) []Load {
	_, rec := engine.EvaluateRecorded(*s)
	e, ok := rec.Entry("layer.experts.tokens")
	if !ok || e.Value <= 0 || s.EP < 1 {
		return nil
	}
	n, mean := float64(s.EP), e.Value/s.ExpertLoad()
	out := make([]Load, 0, s.EP)
	for rank := range s.EP {
		l := Load{"another", mean}
		switch {
		case rank == 0:
			l = Load{"busiest", min(e.Value, n*mean)}
		case n > 1:
			l.Tokens = max(0, n*mean-e.Value) / (n - 1)
		}
		out = append(out, l)
	}
	return out
}
