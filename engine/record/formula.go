package record

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"meshscope/engine/units"
)

// Op is what a node of a formula does.
type Op uint8

// The operations. A Leaf is an operand or a figure, a Literal a number of the
// formula itself.
const (
	Leaf Op = iota
	Literal
	Plus
	Minus
	Times
	Over
	Max
	Min
	Ceil
	Log2
	Pow
)

// Expr is a formula as a tree, with its operands in it.
type Expr struct {
	Op    Op
	Args  []*Expr
	Name  string  // of a leaf: the operand, or the symbol of the figure
	Value float64 // of a leaf and a literal
	Unit  Unit    // of a leaf
	Of    *Entry  // of a leaf that is a figure
}

// Formula reads the text of a figure's formula with the values of its operands.
func (r *Record) Formula(id string) (*Expr, error) {
	e, ok := r.Entry(id)
	if !ok {
		return nil, fmt.Errorf("no figure %s", id)
	}
	x, err := read(e.Formula, func(name string) (*Expr, error) {
		for _, o := range e.operands {
			if o.Name == name {
				return leaf(o), nil
			}
		}
		return e.scope.meant(name)
	}, r)
	if err != nil {
		return nil, fmt.Errorf("%s = %s: %w", id, e.Formula, err)
	}
	return x, nil
}

func leaf(o Operand) *Expr {
	name := o.Shown
	if name == "" {
		name = Words(o.Name)
	}
	return &Expr{Name: name, Value: o.Value, Unit: o.Unit}
}

// Words returns a name as one reads it: the blanks are underscores in a formula, but for
// the index of a single letter.
func Words(name string) string {
	if strings.IndexByte(name, '_') == 1 {
		return name
	}
	return strings.ReplaceAll(name, "_", " ")
}

// meant returns what a name means in a scope.
func (r *Recorder) meant(name string) (*Expr, error) {
	for s := r; s != nil; s = s.outer {
		m, ok := s.names[name]
		switch {
		case !ok:
			continue
		case m.ambiguous:
			return nil, fmt.Errorf("%s has several values in %q", name, s.id)
		case m.figure != "":
			return r.record.figure(m.figure)
		case m.formula != "":
			return read(m.formula, m.words.meant, r.record)
		}
		return leaf(m.given), nil
	}
	return nil, fmt.Errorf("nothing is called %s", name)
}

func (r *Record) figure(id string) (*Expr, error) {
	e, ok := r.entries[id]
	if !ok {
		return nil, fmt.Errorf("no figure %s", id)
	}
	return &Expr{Name: Words(e.Symbol), Value: e.Value, Unit: e.Unit, Of: e}, nil
}

// Result evaluates the formula. A difference of two sums that are equal but for
// rounding is 0.
func (x *Expr) Result() float64 {
	switch x.Op {
	case Leaf, Literal:
		return x.Value
	case Ceil:
		return math.Ceil(x.Args[0].Result())
	case Log2:
		return math.Log2(x.Args[0].Result())
	case Pow:
		return math.Pow(x.Args[0].Result(), x.Args[1].Result())
	default:
	}
	v := x.Args[0].Result()
	for _, a := range x.Args[1:] {
		switch w := a.Result(); x.Op {
		case Plus:
			v += w
		case Minus:
			v = units.Difference(v, w)
		case Times:
			v *= w
		case Over:
			v /= w
		case Max:
			v = max(v, w)
		default:
			v = min(v, w)
		}
	}
	return v
}

// Leaves calls f for every leaf, from the left.
func (x *Expr) Leaves(f func(*Expr)) {
	if x.Op == Leaf {
		f(x)
	}
	for _, a := range x.Args {
		a.Leaves(f)
	}
}

// reader reads a formula from the left.
type reader struct {
	rest   string
	named  func(string) (*Expr, error)
	record *Record
}

func read(text string, named func(string) (*Expr, error), r *Record) (*Expr, error) {
	p := reader{rest: text, named: named, record: r}
	x, err := p.sum()
	if err == nil && p.next() != 0 {
		err = fmt.Errorf("cannot read %q", p.rest)
	}
	return x, err
}

// next returns the next byte that is not a blank, 0 at the end.
func (p *reader) next() byte {
	p.rest = strings.TrimLeft(p.rest, " ")
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *reader) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *reader) sum() (*Expr, error) { return p.chain('+', '-', Plus, Minus, p.product) }

func (p *reader) product() (*Expr, error) { return p.chain('*', '/', Times, Over, p.atom) }

// chain reads operands joined by two signs that bind alike.
func (p *reader) chain(sign, inverse byte, op, undo Op, operand func() (*Expr, error)) (*Expr, error) {
	x, err := operand()
	for err == nil {
		o := op
		switch {
		case p.take(sign):
		case p.take(inverse):
			o = undo
		default:
			return x, nil
		}
		var y *Expr
		if y, err = operand(); err != nil {
			break
		}
		if x.Op == o && o == op {
			x = &Expr{Op: o, Args: append(x.Args[:len(x.Args):len(x.Args)], y)}
		} else {
			x = &Expr{Op: o, Args: []*Expr{x, y}}
		}
	}
	return nil, err
}

func (p *reader) atom() (*Expr, error) {
	switch c := p.next(); {
	case p.take('('):
		x, err := p.sum()
		if err == nil && !p.take(')') {
			err = fmt.Errorf("no bracket closes at %q", p.rest)
		}
		return x, err
	case p.take('{'):
		id, rest, ok := strings.Cut(p.rest, "}")
		if !ok {
			return nil, fmt.Errorf("no brace closes %q", id)
		}
		p.rest = rest
		return p.record.figure(id)
	case c >= '0' && c <= '9':
		return p.literal()
	}
	name := p.rest[:len(p.rest)-len(strings.TrimLeftFunc(p.rest, inName))]
	p.rest = p.rest[len(name):]
	if name != "" && p.take('(') {
		return p.call(name)
	}
	if name == "" {
		return nil, fmt.Errorf("no operand at %q", p.rest)
	}
	return p.named(name)
}

// literal returns a number: digits, a point, an exponent.
func (p *reader) literal() (*Expr, error) {
	n := 0
	for n < len(p.rest) && (strings.IndexByte("0123456789.e", p.rest[n]) >= 0 || strings.IndexByte("+-", p.rest[n]) >= 0 && p.rest[n-1] == 'e') {
		n++
	}
	v, err := strconv.ParseFloat(p.rest[:n], 64)
	p.rest = p.rest[n:]
	return &Expr{Op: Literal, Value: v}, err
}

// call returns a function of its arguments.
func (p *reader) call(name string) (*Expr, error) {
	ops := map[string]Op{"max": Max, "min": Min, "ceil": Ceil, "log2": Log2, "pow": Pow}
	op, ok := ops[name]
	if !ok {
		return nil, fmt.Errorf("no function %s", name)
	}
	x := &Expr{Op: op}
	for {
		a, err := p.sum()
		if err != nil {
			return nil, err
		}
		x.Args = append(x.Args, a)
		if p.take(',') {
			continue
		}
		most := map[Op]int{Ceil: 1, Log2: 1, Pow: 2}[op]
		if !p.take(')') || most > 0 && len(x.Args) != most {
			return nil, fmt.Errorf("%s has wrong arguments at %q", name, p.rest)
		}
		return x, nil
	}
}

func inName(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// isName reports whether formulas can use a symbol as a name.
func isName(s string) bool {
	return s != "" && unicode.IsLetter(rune(s[0])) && strings.TrimLeftFunc(s, inName) == ""
}
