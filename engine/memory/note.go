package memory

import (
	"strconv"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/record"
)

// note records formulas next to the arithmetic of one scope, where somebody
// asks.
type note struct {
	rec *record.Recorder // nil: nobody asks
}

// kind names a kind of layer in identifiers.
func kind(moe bool) string {
	if moe {
		return "moe"
	}
	return "dense"
}

// once returns the scope of an identifier, unless one of its figures was recorded
// before.
func (in *Input) once(id, what, figure string) note {
	if !in.Record.On() {
		return note{}
	}
	rec := in.Record.Scope(id, what)
	if _, done := in.Record.Record().Entry(rec.ID(figure)); done {
		return note{}
	}
	return note{rec}
}

// stageNote returns the scope of a stage.
func (in *Input) stageNote(stage int) note {
	if in.Record == nil { // short enough to be inlined where nobody asks
		return note{}
	}
	return in.noteOfStage(stage)
}

func (in *Input) noteOfStage(stage int) note {
	n := strconv.Itoa(stage)
	return in.once("stage."+n, "stage "+n, "activations")
}

// layerNote returns the scope of what a kind of layer keeps.
func (in *Input) layerNote(moe bool) note {
	if !in.Record.On() {
		return note{}
	}
	return in.once("layer."+kind(moe)+".activations", "a "+kind(moe)+" layer", "")
}

// rankNote returns the scope of a pipeline rank.
func (in *Input) rankNote(rank int) note {
	if in.Record == nil { // short enough to be inlined where nobody asks
		return note{}
	}
	return in.noteOfRank(rank)
}

func (in *Input) noteOfRank(rank int) note {
	n := strconv.Itoa(rank)
	return note{in.Record.Scope("memory.ranks."+n, "pipeline rank "+n)}
}

// term adds a term to a sum; its parts are joined.
func (n note) term(sum string, parts ...string) {
	if n.rec != nil { // short enough to be inlined where nobody asks
		n.join(sum, parts)
	}
}

func (n note) join(sum string, parts []string) { n.rec.Term(sum, strings.Join(parts, "")) }

// times adds so many times something to a sum, nothing where there is none.
func (n note) times(sum string, count int, name string, formula ...string) {
	if n.rec != nil && count != 0 {
		n.product(sum, count, name, formula)
	}
}

func (n note) product(sum string, count int, name string, formula []string) {
	n.rec.Given(record.In(name, count))
	n.rec.Term(sum, name+" * "+strings.Join(formula, ""))
}

// temporary adds a term to what lives while a forward or a backward runs.
func (n note) temporary(formula string) {
	if n.rec != nil {
		n.rec.Term("forward-temporaries", formula)
		n.rec.Term("backward-temporaries", formula)
	}
}

// given says what a name of the scope is.
func (n note) given(name string, value float64) {
	if n.rec != nil {
		n.let(name, value)
	}
}

func (n note) let(name string, value float64) { n.rec.Given(record.In(name, value)) }

// figure records a figure, named with what the scope is of.
func (n note) figure(e record.Entry, operands ...record.Operand) {
	if n.rec.On() {
		e.Name += ", " + n.rec.What()
		n.rec.Figure(e, operands...)
	}
}

// sum returns the formula of a sum so far.
func (n note) sum(name string) string { return n.rec.Sum(name) }

// part returns one part of what a layer keeps.
func (n note) part(name string) part { return part{n.rec, name} }

// split is an amount of bytes per token: even is always divided by TP, seq only
// with sequence parallelism.
type split struct{ even, seq float64 }

func (s split) bytes(l *layout.Layout) float64 {
	if l.SP {
		return (s.even + s.seq) / float64(l.TP)
	}
	return s.even/float64(l.TP) + s.seq
}

func (s split) plus(t split) split { return split{s.even + t.even, s.seq + t.seq} }

// formula returns that of split.bytes; an amount that is empty is 0.
func formula(l *layout.Layout, even, seq string) string {
	switch {
	case even == "" && seq == "":
		return "0"
	case even == "" && l.SP:
		return "(" + seq + ") / t"
	case even == "":
		return seq
	case seq == "":
		return "(" + even + ") / t"
	case l.SP:
		return "(" + even + " + " + seq + ") / t"
	}
	return "(" + even + ") / t + " + seq
}

// part records the tensors of one part of a layer, each in bytes per token.
type part struct {
	rec  *record.Recorder
	name string
}

// even records what TP always divides.
func (p part) even(formula ...string) { p.take("even ", formula...) }

// seq records what only sequence parallelism divides.
func (p part) seq(formula ...string) { p.take("seq ", formula...) }

// less records what TP divides and is not kept after all.
func (p part) less(formula ...string) { p.take("less ", formula...) }

func (p part) take(kind string, formula ...string) {
	if p.rec != nil {
		p.join(kind, formula)
	}
}

func (p part) join(kind string, formula []string) {
	p.rec.Term(kind+p.name, strings.Join(formula, ""))
}

// formula returns that of the whole part.
func (p part) formula(l *layout.Layout) string {
	of := func(kind string) string {
		if sum := p.rec.Sum(kind + p.name); sum != "0" {
			return sum
		}
		return ""
	}
	even := of("even ")
	if less := of("less "); less != "" {
		even += " - (" + less + ")"
	}
	return formula(l, even, of("seq "))
}
