package memory

import (
	"strconv"
	"strings"

	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// note records formulas next to the arithmetic of one scope, where somebody
// asks.
type note struct {
	rec *record.Recorder // nil: nobody asks
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
func (in *Input) layerNote(l *model.Layer) note {
	if !in.Record.On() {
		return note{}
	}
	return in.once("layer."+l.ID+".activations", "a "+l.ID+" layer", "")
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

// temporary adds what lives while a forward or a backward of a stage runs.
func (n note) temporary(mem *StageMemory, value record.Num) {
	mem.Forward += units.Bytes(value.V)
	mem.Backward += units.Bytes(value.V)
	n.add("forward-temporaries", value)
	n.add("backward-temporaries", value)
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

// named returns a number that the formulas of the scope call by a name.
func (n note) named(name string, value float64) record.Num {
	n.given(name, value)
	return n.rec.Named(name, value)
}

// add adds a number to a sum.
func (n note) add(sum string, value record.Num) {
	if n.rec != nil {
		n.rec.Term(sum, value.Text())
	}
}

// sum returns the formula of a sum so far.
func (n note) sum(name string) string { return n.rec.Sum(name) }
