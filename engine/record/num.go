package record

import (
	"slices"
	"strconv"
)

// Num is a number that carries its expression, in the language of formulas, where somebody
// asks for formulas. Else it is the number alone, and nothing is built.
type Num struct {
	V float64

	expr *expr // nil: a number without a name
}

// expr is the text of an expression and the operation at its top.
type expr struct {
	text  string
	binds binding
}

type binding uint8

const (
	atom    binding = iota // a name, a call
	product                // or a quotient
	sum                    // or a difference
)

// Lit is a number of a formula itself.
func Lit(v float64) Num { return Num{V: v} }

// Named returns a number that formulas call by a name, where they are recorded.
func (r *Recorder) Named(name string, v float64) Num {
	if r == nil {
		return Num{V: v}
	}
	return Num{v, &expr{name, atom}}
}

// Written returns a number that formulas write as that text, which may be a sum.
func (r *Recorder) Written(formula string, v float64) Num {
	n := r.Named(formula, v)
	if n.expr != nil {
		n.expr.binds = sum
	}
	return n
}

// With returns a number that follows from n, and is written as that text where n is written.
func (n Num) With(formula string, v float64) Num {
	if n.expr == nil {
		return Num{V: v}
	}
	return Num{v, &expr{formula, sum}}
}

// Named reports whether it has an expression of its own.
func (n Num) Named() bool { return n.expr != nil }

// Text returns the expression.
func (n Num) Text() string {
	if n.expr == nil {
		return strconv.FormatFloat(n.V, 'g', -1, 64)
	}
	return n.expr.text
}

func (n Num) inside(binds binding) string {
	if n.expr != nil && n.expr.binds > binds {
		return "(" + n.expr.text + ")"
	}
	return n.Text()
}

// is reports whether it is that number without a name.
func (n Num) is(v float64) bool { return n.expr == nil && n.V == v }

// Numbers without names, which is all of them where nobody records, are calculated in place: the
// compiler inlines that, and calls what writes the expressions for others alone.

// Plus returns the sum; 0 without a name is left out of it.
func (n Num) Plus(m Num) Num {
	if n.expr == nil && m.expr == nil {
		return Num{V: n.V + m.V}
	}
	return n.plus(m)
}

func (n Num) plus(m Num) Num {
	switch {
	case n.is(0):
		return m
	case m.is(0):
		return n
	}
	return Num{n.V + m.V, &expr{n.Text() + " + " + m.Text(), sum}}
}

// Minus returns the difference.
func (n Num) Minus(m Num) Num {
	if n.expr == nil && m.expr == nil {
		return Num{V: n.V - m.V}
	}
	return n.minus(m)
}

func (n Num) minus(m Num) Num {
	if m.is(0) {
		return n
	}
	return Num{n.V - m.V, &expr{n.Text() + " - " + m.inside(product), sum}}
}

// Times returns the product; 1 without a name is left out of it.
func (n Num) Times(m Num) Num {
	if n.expr == nil && m.expr == nil {
		return Num{V: n.V * m.V}
	}
	return n.times(m)
}

func (n Num) times(m Num) Num {
	switch {
	case n.is(1):
		return m
	case m.is(1):
		return n
	case n.is(0), m.is(0):
		return Num{}
	}
	return Num{n.V * m.V, &expr{n.inside(product) + " * " + m.inside(product), product}}
}

// Over returns the quotient.
func (n Num) Over(m Num) Num {
	if n.expr == nil && m.expr == nil {
		return Num{V: n.V / m.V}
	}
	return n.over(m)
}

func (n Num) over(m Num) Num {
	if m.is(1) || n.is(0) {
		return n
	}
	return Num{n.V / m.V, &expr{n.inside(product) + " / " + m.inside(atom), product}}
}

// AtLeast returns the larger of both.
func (n Num) AtLeast(m Num) Num {
	if n.expr == nil && m.expr == nil {
		return Num{V: max(n.V, m.V)}
	}
	return n.atLeast(m)
}

func (n Num) atLeast(m Num) Num { return n.call("max", m, max(n.V, m.V)) }

// AtMost returns the smaller of both.
func (n Num) AtMost(m Num) Num {
	if n.expr == nil && m.expr == nil {
		return Num{V: min(n.V, m.V)}
	}
	return n.call("min", m, min(n.V, m.V))
}

func (n Num) call(name string, m Num, v float64) Num {
	return Num{v, &expr{name + "(" + n.Text() + ", " + m.Text() + ")", atom}}
}

// Terms is a sum in which equal terms are written once, with their number.
type Terms struct {
	V float64

	list *[]term // nil: nothing with a name is in it
}

type term struct {
	times float64
	of    Num
}

// Add adds so many times a number.
func (t *Terms) Add(times float64, n Num) {
	t.V += times * n.V
	if n.expr == nil && (t.list == nil || times*n.V == 0) {
		return
	}
	t.write(times, n)
}

// write copies the list, so that copies of a sum share nothing.
func (t *Terms) write(times float64, n Num) {
	var list []term
	if t.list != nil {
		list = slices.Clone(*t.list)
	}
	t.list = &list
	for i := range list {
		if e := &list[i]; e.of.V == n.V && e.of.Text() == n.Text() {
			e.times += times
			return
		}
	}
	list = append(list, term{times, n})
}

// Num returns the sum.
func (t *Terms) Num() Num {
	if t.list == nil {
		return Num{V: t.V}
	}
	return t.sum()
}

func (t *Terms) sum() (sum Num) {
	for _, e := range *t.list {
		sum = sum.Plus(Lit(e.times).Times(e.of))
	}
	sum.V = t.V
	return sum
}
