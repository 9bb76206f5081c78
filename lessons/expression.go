package lessons

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"meshscope/engine/figures"
	"meshscope/engine/record"
)

// Limits of an expression.
const (
	maxExpression = 300 // characters
	maxNodes      = 60
)

// Expression is a condition of an act. It knows numbers, figures of both sides such as
// peak(before), before and after, which are the act's own figure on each side, + - * /,
// comparisons, and, not. Nothing else is accepted.
type Expression struct {
	text    string
	program *vm.Program
	uses    []operand
}

// operand is a figure of one side; name is empty for the act's own.
type operand struct{ name, side string }

func (o operand) key() string { return o.name + "|" + o.side }

// Sides of an act.
const (
	beforeSide = "before"
	afterSide  = "after"
)

// compile reads a condition. It does not know yet which figures there are.
func compile(text string) (*Expression, error) { return compileAs(text, expr.AsBool()) }

// compileAs reads an expression of a kind.
func compileAs(text string, kind expr.Option) (*Expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("has %d characters, more than %d", len(text), maxExpression)
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, plain(err)
	}
	e := &Expression{text: text}
	r := reader{}
	ast.Walk(&tree.Node, &r)
	if r.err != nil {
		return nil, r.err
	}
	e.uses = r.uses
	env := map[string]any{}
	for _, u := range e.uses {
		env[u.key()] = zero(u.name)
	}
	e.program, err = expr.Compile(text, expr.Env(env), expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes),
		kind,
		expr.Function("divide", divide, new(func(float64, float64) float64)),
		expr.Function("equal", equal, new(func(any, any) bool)),
		expr.Patch(&reader{}))
	if err != nil {
		return nil, plain(err)
	}
	return e, nil
}

// place is where in an expression the library finds an error; the file names the line itself.
var place = regexp.MustCompile(` \(\d+:\d+\)$`)

// plain returns the first line of an error of the library, which draws a picture below it.
func plain(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(place.ReplaceAllString(first, ""))
}

// reader accepts the nodes that an expression may have, notes its figures, and replaces
// what is evaluated here: figures of a side, division and equality.
type reader struct {
	uses  []operand
	nodes int
	err   error
}

// Visit takes a node after those inside it.
func (r *reader) Visit(node *ast.Node) {
	if r.nodes++; r.nodes > maxNodes && r.err == nil {
		r.err = fmt.Errorf("has more than %d parts", maxNodes)
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if !strings.Contains(n.Value, "|") && (n.Value == beforeSide || n.Value == afterSide) {
			r.use(node, operand{side: n.Value})
		}
	case *ast.FloatNode:
	case *ast.IntegerNode:
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	case *ast.UnaryNode:
		r.allow(n.Operator, "-", "+", "not", "!")
	case *ast.BinaryNode:
		r.allow(n.Operator, "+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "&&")
		if named := map[string]string{"/": "divide", "==": "equal"}[n.Operator]; named != "" {
			ast.Patch(node, &ast.CallNode{
				Callee:    &ast.IdentifierNode{Value: named},
				Arguments: []ast.Node{n.Left, n.Right},
			})
		}
	case *ast.CallNode:
		r.call(node, n)
	default:
		r.refusef("only figures, before, after, numbers, + - * /, comparisons, and, not are allowed")
	}
}

func (r *reader) refusef(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) allow(operator string, allowed ...string) {
	if !slices.Contains(allowed, operator) {
		r.refusef("%q is not allowed: + - * /, comparisons, and, not", operator)
	}
}

// call takes a figure of a side: peak(after).
func (r *reader) call(node *ast.Node, n *ast.CallNode) {
	callee, named := n.Callee.(*ast.IdentifierNode)
	if !named || len(n.Arguments) != 1 {
		r.refusef("a figure has one side in brackets: peak(before) or peak(after)")
		return
	}
	side, ok := n.Arguments[0].(*ast.IdentifierNode)
	if !ok || side.Value != "|"+beforeSide && side.Value != "|"+afterSide {
		r.refusef("%s: a figure is of before or of after", callee.Value)
		return
	}
	r.uses = r.uses[:max(0, len(r.uses)-1)] // the side was noted as the act's own figure
	r.use(node, operand{callee.Value, side.Value[1:]})
}

func (r *reader) use(node *ast.Node, o operand) {
	r.uses = append(r.uses, o)
	ast.Patch(node, &ast.IdentifierNode{Value: o.key()})
}

// divide is the division of expressions.
func divide(args ...any) (any, error) {
	a, b := number(args[0]), number(args[1])
	if b == 0 {
		return nil, errors.New("divides by zero")
	}
	return a / b, nil
}

// sameRatio is how far two equal figures may be apart through the rounding of floating point.
const sameRatio = 1e-9

// equal compares two figures, but for rounding, or two conditions.
func equal(args ...any) (any, error) {
	if b, ok := args[0].(bool); ok {
		return b == (args[1] == true), nil
	}
	return alike(number(args[0]), number(args[1])), nil
}

// alike reports whether two numbers are one but for rounding.
func alike(a, b float64) bool { return math.Abs(a-b) <= sameRatio*max(math.Abs(a), math.Abs(b)) }

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// holds evaluates a condition of an act.
func (e *Expression) holds(a *Act) (bool, error) {
	out, err := e.run(a, "", 1)
	return out == true, err
}

// run evaluates an expression of an act, with the figures of a unit scaled.
func (e *Expression) run(a *Act, unit record.Unit, scale float64) (any, error) {
	env := map[string]any{}
	for _, u := range e.uses {
		v, err := a.operand(u)
		if err != nil {
			return nil, err
		}
		if f, number := v.(float64); number && unit != "" && a.unit(u) == unit {
			v = f * scale
		}
		env[u.key()] = v
	}
	out, err := expr.Run(e.program, env)
	if err != nil {
		return nil, plain(err)
	}
	return out, nil
}

// computed evaluates arithmetic of an act. Its unit is that of the figures with which it grows: seconds
// over micro-batches are seconds, seconds over seconds are a number.
func computed(text string, a *Act) (figures.Figure, error) {
	e, err := compileAs(text, expr.AsFloat64())
	if err != nil {
		return figures.Figure{}, err
	}
	out, err := e.run(a, "", 1)
	if err != nil {
		return figures.Figure{}, err
	}
	f := figures.Figure{ID: text, Value: number(out), Unit: record.Count}
	for _, u := range e.uses {
		unit := a.unit(u)
		if unit == record.Count {
			continue
		}
		const twice = 2
		scaled, err := e.run(a, unit, twice)
		switch {
		case err != nil:
			return f, err
		case alike(number(scaled), f.Value):
		case alike(number(scaled), twice*f.Value):
			f.Unit = unit
		default:
			return f, fmt.Errorf("%s has no unit: it is neither a ratio nor an amount of %s", text, unit)
		}
	}
	return f, nil
}

// unit returns the unit of an operand.
func (a *Act) unit(o operand) record.Unit {
	side, name := &a.Before, cmp.Or(o.name, a.figure)
	if o.side == afterSide {
		side = &a.After
		if o.name == "" {
			return a.Against.Unit
		}
	}
	f, err := side.figure(name)
	if err != nil {
		return record.Count
	}
	return f.Unit
}
