package record

import "strconv"

// Num is a number that carries its expression, in the language of formulas, where somebody
// asks for formulas. Else it is the number alone, and nothing is built.
type Num struct {
	V float64

	text  string // empty: a number without a name
	binds uint8  // the operation at the top: 0 none, 1 a product, 2 a sum
}

// Lit is a number of a formula itself.
func Lit(v float64) Num { return Num{V: v} }

// Named returns a number that formulas call by a name, where they are recorded.
func (r *Recorder) Named(name string, v float64) Num {
	if r == nil {
		return Num{V: v}
	}
	return Num{V: v, text: name}
}

// Written returns a number that formulas write as a product of names.
func (r *Recorder) Written(formula string, v float64) Num {
	n := r.Named(formula, v)
	n.binds = 1
	return n
}

// Named reports whether it has an expression of its own.
func (n Num) Named() bool { return n.text != "" }

// Text returns the expression.
func (n Num) Text() string {
	if n.text == "" {
		return strconv.FormatFloat(n.V, 'g', -1, 64)
	}
	return n.text
}

func (n Num) inside(binds uint8) string {
	if n.binds > binds {
		return "(" + n.text + ")"
	}
	return n.Text()
}

// Numbers without names, which is all of them where nobody records, are calculated in place: the
// compiler inlines that, and calls what writes the expressions for others alone.

// Plus returns the sum; 0 without a name is left out of it.
func (n Num) Plus(m Num) Num {
	if n.text == "" && m.text == "" {
		return Num{V: n.V + m.V}
	}
	return n.plus(m)
}

func (n Num) plus(m Num) Num {
	v := n.V + m.V
	switch {
	case n.text == "" && n.V == 0:
		return m
	case m.text == "" && m.V == 0:
		return n
	}
	return Num{v, n.Text() + " + " + m.Text(), 2}
}

// Minus returns the difference.
func (n Num) Minus(m Num) Num {
	if n.text == "" && m.text == "" {
		return Num{V: n.V - m.V}
	}
	return n.minus(m)
}

func (n Num) minus(m Num) Num {
	v := n.V - m.V
	switch {
	case m.text == "" && m.V == 0:
		return n
	}
	return Num{v, n.Text() + " - " + m.inside(1), 2}
}

// Times returns the product; 1 without a name is left out of it.
func (n Num) Times(m Num) Num {
	if n.text == "" && m.text == "" {
		return Num{V: n.V * m.V}
	}
	return n.times(m)
}

func (n Num) times(m Num) Num {
	v := n.V * m.V
	switch {
	case n.text == "" && n.V == 1:
		return m
	case m.text == "" && m.V == 1:
		return n
	case n.text == "" && n.V == 0, m.text == "" && m.V == 0:
		return Num{}
	}
	return Num{v, n.inside(1) + " * " + m.inside(1), 1}
}

// Over returns the quotient.
func (n Num) Over(m Num) Num {
	if n.text == "" && m.text == "" {
		return Num{V: n.V / m.V}
	}
	return n.over(m)
}

func (n Num) over(m Num) Num {
	v := n.V / m.V
	if m.text == "" && m.V == 1 {
		return n
	}
	return Num{v, n.inside(1) + " / " + m.inside(0), 1}
}

// AtLeast returns the larger of both.
func (n Num) AtLeast(m Num) Num {
	if n.text == "" && m.text == "" {
		return Num{V: max(n.V, m.V)}
	}
	return n.atLeast(m)
}

func (n Num) atLeast(m Num) Num {
	v := max(n.V, m.V)
	return Num{v, "max(" + n.Text() + ", " + m.Text() + ")", 0}
}

// Terms is a sum in which equal terms are written once, with their number.
type Terms struct {
	V float64

	list []term
}

type term struct {
	times float64
	of    Num
}

// Add adds so many times a number.
func (t *Terms) Add(times float64, n Num) {
	t.V += times * n.V
	if n.text == "" {
		if t.list == nil || times*n.V == 0 {
			return
		}
	}
	t.write(times, n)
}

func (t *Terms) write(times float64, n Num) {
	for i := range t.list {
		if t.list[i].of == n {
			t.list[i].times += times
			return
		}
	}
	t.list = append(t.list, term{times, n})
}

// Num returns the sum.
func (t *Terms) Num() Num {
	if t.list == nil {
		return Num{V: t.V}
	}
	return t.sum()
}

func (t *Terms) sum() (sum Num) {
	for i := range t.list {
		sum = sum.Plus(Lit(t.list[i].times).Times(t.list[i].of))
	}
	sum.V = t.V
	return sum
}
