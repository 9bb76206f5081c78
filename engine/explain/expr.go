package explain

import (
	"math"
	"strings"

	"meshscope/engine/units"
)

// Expr is a formula as a tree. The same tree is evaluated and written, once
// with symbols and once with numbers, so neither can say something else.
type Expr struct {
	op    op
	args  []*Expr
	name  string  // of a leaf
	value float64 // of a leaf
	unit  Unit    // of a leaf
	of    *Explanation
}

type op uint8

const (
	leaf op = iota
	literal
	plus
	minus
	times
	over
	largest
	smallest
	ceiling
	logarithm
	power
)

// num is a leaf: an input with its symbol, value and unit.
func num(name string, value float64, unit Unit) *Expr {
	return &Expr{op: leaf, name: name, value: value, unit: unit}
}

// count is a leaf without a unit.
func count[T int | int64 | float64](name string, value T) *Expr {
	return num(name, float64(value), Count)
}

// lit is a number that is part of the formula itself.
func lit(value float64) *Expr { return &Expr{op: literal, value: value} }

// ref is a leaf that has an explanation of its own.
func ref(e *Explanation) *Expr {
	return &Expr{op: leaf, of: e, name: e.Symbol, value: e.Result, unit: e.Unit}
}

// add is a sum; of nothing it is 0.
func add(args ...*Expr) *Expr { return gather(plus, 0, args) }

// mul is a product; of nothing it is 1.
func mul(args ...*Expr) *Expr { return gather(times, 1, args) }

func gather(o op, empty float64, args []*Expr) *Expr {
	switch len(args) {
	case 0:
		return lit(empty)
	case 1:
		return args[0]
	}
	return &Expr{op: o, args: args}
}

func sub(a, b *Expr) *Expr      { return &Expr{op: minus, args: []*Expr{a, b}} }
func div(a, b *Expr) *Expr      { return &Expr{op: over, args: []*Expr{a, b}} }
func pow(a, b *Expr) *Expr      { return &Expr{op: power, args: []*Expr{a, b}} }
func maxOf(args ...*Expr) *Expr { return &Expr{op: largest, args: args} }
func minOf(args ...*Expr) *Expr { return &Expr{op: smallest, args: args} }
func ceil(a *Expr) *Expr        { return &Expr{op: ceiling, args: []*Expr{a}} }
func log2(a *Expr) *Expr        { return &Expr{op: logarithm, args: []*Expr{a}} }

// scaled is a sum times a factor, without the factor where it is 1.
func scaled(by float64, name string, x *Expr) *Expr {
	if by == 1 {
		return x
	}
	return mul(count(name, by), x)
}

// Value evaluates the tree.
func (x *Expr) Value() float64 {
	switch x.op {
	case leaf, literal:
		return x.value
	case ceiling:
		return math.Ceil(x.args[0].Value())
	case logarithm:
		return math.Log2(x.args[0].Value())
	case power:
		return math.Pow(x.args[0].Value(), x.args[1].Value())
	default:
	}
	v := x.args[0].Value()
	for _, a := range x.args[1:] {
		switch w := a.Value(); x.op {
		case plus:
			v += w
		case minus:
			v = units.Difference(v, w)
		case times:
			v *= w
		case over:
			v /= w
		case largest:
			v = max(v, w)
		default:
			v = min(v, w)
		}
	}
	return v
}

// text writes the tree, with symbols or with numbers.
func (x *Expr) text(numbers bool) string {
	var b strings.Builder
	x.write(&b, numbers)
	return b.String()
}

func (x *Expr) write(b *strings.Builder, numbers bool) {
	switch x.op {
	case leaf:
		if numbers {
			b.WriteString(x.unit.Text(x.value))
		} else {
			b.WriteString(x.name)
		}
	case literal:
		b.WriteString(Count.Text(x.value))
	case largest:
		x.call(b, "max", numbers)
	case smallest:
		x.call(b, "min", numbers)
	case ceiling:
		x.call(b, "ceil", numbers)
	case logarithm:
		x.call(b, "log2", numbers)
	default:
		x.infix(b, numbers)
	}
}

func (x *Expr) call(b *strings.Builder, name string, numbers bool) {
	b.WriteString(name + "(")
	for i, a := range x.args {
		if i > 0 {
			b.WriteString(", ")
		}
		a.write(b, numbers)
	}
	b.WriteString(")")
}

func (x *Expr) infix(b *strings.Builder, numbers bool) {
	for i, a := range x.args {
		if i > 0 {
			b.WriteString(x.op.sign())
		}
		// What binds less is set in brackets, and so is a right operand that
		// binds as much, unless the order does not matter.
		bracket := a.op.binds() < x.op.binds() || i > 0 && a.op.binds() == x.op.binds() && (x.op != a.op || x.op == minus || x.op == over)
		bracket = bracket || x.op == power && a.op.binds() == x.op.binds()
		if bracket {
			b.WriteString("(")
		}
		a.write(b, numbers)
		if bracket {
			b.WriteString(")")
		}
	}
}

func (o op) sign() string {
	switch o {
	case plus:
		return " + "
	case minus:
		return " - "
	case times:
		return " x "
	case over:
		return " / "
	default:
		return "^"
	}
}

func (o op) binds() int {
	switch o {
	case plus, minus:
		return 1
	case times, over:
		return 2
	case power:
		return 3
	default:
		return 4
	}
}

// leaves calls f for every leaf, from the left.
func (x *Expr) leaves(f func(*Expr)) {
	if x.op == leaf {
		f(x)
	}
	for _, a := range x.args {
		a.leaves(f)
	}
}
