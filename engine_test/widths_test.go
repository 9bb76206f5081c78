package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	widths := []string{"Heads", "KVHeads", "HeadDim", "FFN", "SharedFFN", "ExpertFFN", "QLoraRank", "KVLoraRank", "QKNopeDim", "QKRopeDim", "VHeadDim", "NormsPer"}
	allowed := []string{
		"engine/model/check.go",    // limits
		"engine/layout/rules.go",   // what divides what
		"engine/layout/balance.go", // how nanotron weighs a layer, a rule of a stack
	}
	found := 0
	walk := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			b, ok := n.(*ast.BinaryExpr)
			if !ok || !slices.Contains([]token.Token{token.MUL, token.QUO, token.ADD, token.SUB}, b.Op) {
				return true
			}
			ast.Inspect(b, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains(widths, s.Sel.Name) || !ofModel(s.X) {
					return true
				}
				if found++; !strings.HasPrefix(name, "engine/model/") && !slices.Contains(allowed, name) {
					t.Errorf("%s counts with %s.%s: read it from the operations of a layer (engine/model)", name, text(s.X), s.Sel.Name)
				}
				return true
			})
			return false
		})
		return nil
	}
	for _, dir := range []string{"model", "memory", "step", "layout", "cards", "lanes", "ring", "search", "advise", "scan", "compare"} {
		if err := filepath.WalkDir("../engine/"+dir, walk); err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no arithmetic found at all: the names of the widths are not those of the model")
	}
}

// ofModel reports whether an expression is a model by its name.
func ofModel(x ast.Expr) bool {
	switch name := text(x); name {
	case "m", "Model":
		return true
	default:
		return false
	}
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
				id := kinds[i].Figure(o)
				e, ok := book.Explain(id)
				switch {
				case !ok:
					t.Errorf("%s, %s: no figure %s", c.model, o.Name, id)
				case o.Forward > 0 && (e.Value <= 0 || e.Value > float64(o.Forward)*(1+1e-9)):
					t.Errorf("%s, %s: %s is %v of %v", c.model, o.Name, id, e.Value, o.Forward)
				}
			}
		}
	}
}
