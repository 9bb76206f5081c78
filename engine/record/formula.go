package record

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
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

// reader makes the tree of a formula, whose syntax is that of Go expressions, with figures in braces.
type reader struct {
	named  func(string) (*Expr, error)
	record *Record
}

func read(text string, named func(string) (*Expr, error), r *Record) (*Expr, error) {
	x, err := parser.ParseExpr(strings.NewReplacer("{", "`", "}", "`").Replace(text))
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", text, err)
	}
	return (&reader{named, r}).expr(x)
}

func (p *reader) expr(x ast.Expr) (*Expr, error) {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return p.expr(x.X)
	case *ast.Ident:
		return p.named(x.Name)
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			return p.record.figure(strings.Trim(x.Value, "`"))
		}
		v, err := strconv.ParseFloat(x.Value, 64)
		return &Expr{Op: Literal, Value: v}, err
	case *ast.BinaryExpr:
		return p.apply(map[string]Op{"+": Plus, "-": Minus, "*": Times, "/": Over}, x.Op.String(), 2, x.X,
			x.Y)
	case *ast.CallExpr:
		if name, ok := x.Fun.(*ast.Ident); ok {
			most := map[string]int{"ceil": 1, "log2": 1, "pow": 2}[name.Name]
			return p.apply(map[string]Op{"max": Max, "min": Min, "ceil": Ceil, "log2": Log2, "pow": Pow},
				name.Name, most, x.Args...)
		}
	}
	return nil, fmt.Errorf("no formula has a %T", x)
}

// apply returns an operation on operands: at most so many, 0: any number.
func (p *reader) apply(known map[string]Op, name string, most int, operands ...ast.Expr) (*Expr, error) {
	op, ok := known[name]
	if !ok || len(operands) == 0 || most > 0 && len(operands) != most {
		return nil, fmt.Errorf("no function %s of %d operands", name, len(operands))
	}
	x := &Expr{Op: op}
	for i, operand := range operands {
		arg, err := p.expr(operand)
		if err != nil {
			return nil, err
		}
		if i == 0 && arg.Op == op && (op == Plus || op == Times) {
			x.Args = slices.Clone(arg.Args)
			continue
		}
		x.Args = append(x.Args, arg)
	}
	return x, nil
}

func inName(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// isName reports whether formulas can use a symbol as a name.
func isName(s string) bool {
	return s != "" && unicode.IsLetter(rune(s[0])) && strings.TrimLeftFunc(s, inName) == ""
}
