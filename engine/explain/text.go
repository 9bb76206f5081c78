package explain

import (
	"strings"

	"meshscope/engine/record"
)

// text writes a formula, with symbols or with numbers.
func text(x *record.Expr, numbers bool) string {
	w := writer{numbers: numbers}
	w.write(x)
	return w.String()
}

type writer struct {
	strings.Builder
	numbers bool
}

func (w *writer) write(x *record.Expr) {
	switch x.Op {
	case record.Leaf:
		if w.numbers {
			w.WriteString(x.Unit.Text(x.Value))
		} else {
			w.WriteString(x.Name)
		}
	case record.Literal:
		w.WriteString(record.Count.Text(x.Value))
	case record.Max:
		w.call("max", x)
	case record.Min:
		w.call("min", x)
	case record.Ceil:
		w.call("ceil", x)
	case record.Log2:
		w.call("log2", x)
	default:
		w.infix(x)
	}
}

func (w *writer) call(name string, x *record.Expr) {
	w.WriteString(name + "(")
	for i, a := range x.Args {
		if i > 0 {
			w.WriteString(", ")
		}
		w.write(a)
	}
	w.WriteString(")")
}

func (w *writer) infix(x *record.Expr) {
	signs := map[record.Op]string{
		record.Plus: " + ", record.Minus: " - ", record.Times: " x ",
		record.Over: " / ", record.Pow: "^",
	}
	for i, a := range x.Args {
		if i > 0 {
			w.WriteString(signs[x.Op])
		}
		// What binds less is set in brackets, and so is a right operand that
		// binds as much, unless the order does not matter.
		alike := binds(a.Op) == binds(x.Op)
		bracket := binds(a.Op) < binds(x.Op) || i > 0 && alike && (x.Op != a.Op || x.Op == record.Minus ||
			x.Op == record.Over)
		bracket = bracket || x.Op == record.Pow && alike
		if bracket {
			w.WriteString("(")
		}
		w.write(a)
		if bracket {
			w.WriteString(")")
		}
	}
}

func binds(o record.Op) int {
	switch o {
	case record.Plus, record.Minus:
		return 1
	case record.Times, record.Over:
		return 2
	case record.Pow:
		return 3
	default:
		return 4
	}
}
