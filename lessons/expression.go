package lessons

import (
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

// compile reads an expression. It does not know yet which figures there are.
func compile(text string) (*Expression, error) {
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
	e.program, err = expr.Compile(text, expr.Env(env), expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes), expr.AsBool(),
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
			ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: named}, Arguments: []ast.Node{n.Left, n.Right}})
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
	a, b := number(args[0]), number(args[1])
	return math.Abs(a-b) <= sameRatio*max(math.Abs(a), math.Abs(b)), nil
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// Holds evaluates an expression of an act.
func (e *Expression) holds(a *Act) (bool, error) {
	env := map[string]any{}
	for _, u := range e.uses {
		v, err := a.operand(u)
		if err != nil {
			return false, err
		}
		env[u.key()] = v
	}
	out, err := expr.Run(e.program, env)
	if err != nil {
		return false, plain(err)
	}
	return out == true, nil
}
