package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// TestWidthsStandInKinds: arithmetic on the widths of a layer stands in the files of its kinds
// alone. Everything else reads the operations that these list.
func TestWidthsStandInKinds(t *testing.T) {
	widths := []string{
		"Heads", "KVHeads", "HeadDim", "FFN", "SharedFFN", "ExpertFFN", "QLoraRank",
		"KVLoraRank", "QKNopeDim", "QKRopeDim", "VHeadDim", "NormsPer", "Hidden",
		"LocalHeads", "LocalKVHeads", "LocalHeadDim", "LocalVHeadDim", "IndexHeads", "IndexDim",
		"LinearKeyHeads", "LinearKeyDim", "LinearValueHeads", "LinearValueDim", "ConvWidth", "LinearRank",
		"AdapterRank", "OutputGroups", "OutputRank", "LaurelRank", "LayerInput", "ExpertLatent",
	}
	allowed := []string{"engine/layout/rules.go"} // what divides what
	found, arithmetic := 0, []token.Token{token.MUL, token.QUO, token.REM, token.ADD, token.SUB}
	walk := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			of := widthsOf(d, widths)
			ast.Inspect(d, func(n ast.Node) bool {
				b, ok := n.(*ast.BinaryExpr)
				if !ok || !slices.Contains(arithmetic, b.Op) {
					return true
				}
				ast.Inspect(b, func(n ast.Node) bool {
					if x, ok := n.(ast.Expr); ok && of.width(x) {
						if found++; !strings.HasPrefix(name, "engine/model/") &&
							!slices.Contains(allowed, name) {
							t.Errorf("%s: line %d counts with %s: read it from the operations of a layer "+
								"(engine/model)", name, set.Position(x.Pos()).Line, text(x))
						}
					}
					return true
				})
				return false
			})
		}
		return nil
	}
	if err := filepath.WalkDir("../engine", walk); err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no arithmetic found at all: the names of the widths are not those of the model")
	}
}

// aliases are the names that a declaration has for a model and for its widths.
type aliases struct{ widths, models, copies []string }

// widthsOf collects the names of models, by their type or by what they are assigned, and of copies of widths.
func widthsOf(d ast.Decl, widths []string) *aliases {
	a := &aliases{widths: widths, models: []string{"m", "Model", "model"}}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if typ := strings.TrimPrefix(types.ExprString(n.Type), "*"); typ == "model.Model" {
				for _, name := range n.Names {
					a.models = append(a.models, name.Name)
				}
			}
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				if len(n.Rhs) != len(n.Lhs) {
					break
				}
				switch from := unwrapped(n.Rhs[i]); {
				case slices.Contains(a.models, text(from)):
					a.models = append(a.models, text(x))
				case a.width(from):
					a.copies = append(a.copies, text(x))
				}
			}
		}
		return true
	})
	return a
}

// width reports whether an expression is a width of a model or a copy of one.
func (a *aliases) width(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return slices.Contains(a.widths, x.Sel.Name) && slices.Contains(a.models, text(unwrapped(x.X)))
	case *ast.Ident:
		return slices.Contains(a.copies, x.Name)
	}
	return false
}

// unwrapped returns what an address, a value behind a pointer or a conversion is of.
func unwrapped(x ast.Expr) ast.Expr {
	switch of := x.(type) {
	case *ast.ParenExpr:
		return unwrapped(of.X)
	case *ast.UnaryExpr:
		return unwrapped(of.X)
	case *ast.StarExpr:
		return unwrapped(of.X)
	case *ast.CallExpr:
		if len(of.Args) == 1 {
			return unwrapped(of.Args[0])
		}
	}
	return x
}

// text returns the last name of an expression.
func text(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// TestOperationsAreExplained: each operation inside a layer has a figure with a formula, and its
// time is what that formula gives.
func TestOperationsAreExplained(t *testing.T) {
	for _, c := range []struct {
		model string
		given knob.Given
	}{
		{"llama3.1-8b", knob.Given{knob.GPUs: 8, knob.TP: 2}},
		{"deepseek-v3", knob.Given{knob.GPUs: 256, knob.TP: 2, knob.PP: 16, knob.EP: 8, knob.Seq: 4096}},
		{"gpt-oss-120b", knob.Given{knob.GPUs: 64, knob.EP: 8, knob.Calibration: recipe.TorchTitan}},
	} {
		d := textbookDraft(t, c.model, 4096)
		d = knob.DraftOf(presetModel(t, c.model), d.Cluster(), c.given)
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		kinds, ok := new(engine.Evaluator).Layers(s)
		book, legal := explain.Of(s)
		if !ok || !legal {
			t.Fatalf("%s: no layers: %v", c.model, engine.Check(s))
		}
		for i := range kinds {
			for j := range kinds[i].Operations {
				o := &kinds[i].Operations[j]
				for _, f := range engine.OperationFigures() {
					id := kinds[i].Figure(o, &f)
					e, ok := book.Explain(id)
					switch {
					case !ok:
						t.Errorf("%s, %s: no figure %s", c.model, o.Name, id)
					case f.Of(o) > 0 && !same(e.Value, f.Of(o)):
						t.Errorf("%s, %s: %s is %v of %v", c.model, o.Name, id, e.Value, f.Of(o))
					}
				}
			}
		}
	}
}
