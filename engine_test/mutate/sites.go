package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// site is a place whose operator can be another one: call is the function of the generated package
// that takes its operands instead, and ways are what it can do.
type site struct {
	file      string
	line      int
	call      string
	from, to  int // offsets of the whole
	op, after int // of the operator
	ways      []string
	first     int    // number of its first mutant; the others follow
	name      string // of the variable that ++ counts
}

// mutant is one way of a site.
type mutant struct {
	id   int
	site *site
	way  string
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d\t%s", m.site.file, m.site.line, m.way) }

func mutants(sites []*site) (out []mutant) {
	for _, s := range sites {
		for i, way := range s.ways {
			out = append(out, mutant{s.first + i, s, way})
		}
	}
	return out
}

// find lists the sites of engine/ in a tree, in a fixed order.
func find(ctx context.Context, tree string) ([]*site, error) {
	list, err := packages.Load(&packages.Config{
		Context: ctx, Dir: tree,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, "./engine/...")
	if err != nil {
		return nil, err
	}
	var sites []*site
	next := 1
	for _, p := range list {
		for _, e := range p.Errors {
			return nil, e
		}
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				s := siteOf(p, n)
				if s == nil {
					return true
				}
				if s.file, err = filepath.Rel(tree, p.Fset.Position(n.Pos()).Filename); err != nil {
					return false
				}
				s.line, s.first = p.Fset.Position(n.Pos()).Line, next
				next += len(s.ways)
				sites = append(sites, s)
				return true
			})
		}
	}
	return sites, err
}

// calls are the functions for operators, and what they can do instead.
func calls() map[token.Token]struct {
	name string
	ways []string
} {
	type call = struct {
		name string
		ways []string
	}
	return map[token.Token]call{
		token.ADD: {"Add", []string{"+ is -"}}, token.SUB: {"Sub", []string{"- is +"}},
		token.MUL: {"Mul", []string{"* is /"}}, token.QUO: {"Quo", []string{"/ is *"}},
		token.REM: {"Rem", []string{"% is *"}},
		token.LSS: {"Lss", []string{"< is <=", "< is >="}},
		token.LEQ: {"Leq", []string{"<= is <", "<= is >"}},
		token.GTR: {"Gtr", []string{"> is >=", "> is <="}},
		token.GEQ: {"Geq", []string{">= is >", ">= is <"}},
		token.EQL: {"Eql", []string{"== is !="}}, token.NEQ: {"Neq", []string{"!= is =="}},
	}
}

// siteOf returns the site of a node; nil where it is none.
func siteOf(p *packages.Package, n ast.Node) *site {
	at := func(pos token.Pos) int { return p.Fset.Position(pos).Offset }
	switch n := n.(type) {
	case *ast.BinaryExpr:
		call, ok := calls()[n.Op]
		if !ok || p.TypesInfo.Types[n].Value != nil || !alike(p.TypesInfo, n, call.name) {
			return nil
		}
		return &site{
			call: call.name, from: at(n.Pos()), to: at(n.End()), op: at(n.OpPos),
			after: at(n.OpPos) + len(n.Op.String()), ways: call.ways,
		}
	case *ast.UnaryExpr:
		if n.Op != token.SUB || p.TypesInfo.Types[n].Value != nil {
			return nil
		}
		return &site{
			call: "Neg", from: at(n.Pos()), to: at(n.End()), op: at(n.OpPos), after: at(n.OpPos) + 1,
			ways: []string{"-x is x"},
		}
	case *ast.IncDecStmt:
		if _, plain := n.X.(*ast.Ident); !plain {
			return nil
		}
		s := &site{
			call: "Inc", name: p.TypesInfo.ObjectOf(n.X.(*ast.Ident)).Name(), from: at(n.Pos()),
			to: at(n.End()), ways: []string{"++ is --"},
		}
		if n.Tok == token.DEC {
			s.call, s.ways = "Dec", []string{"-- is ++"}
		}
		return s
	}
	return nil
}

// alike reports whether both operands have one type that the function of an operator takes.
func alike(info *types.Info, n *ast.BinaryExpr, call string) bool {
	x, y := info.Types[n.X], info.Types[n.Y]
	if x.IsNil() || y.IsNil() {
		return false
	}
	same := types.Identical(x.Type, y.Type)
	if !same {
		return false
	}
	if call == "Eql" || call == "Neq" {
		return !types.IsInterface(x.Type) || isParam(x.Type)
	}
	basic, ok := x.Type.Underlying().(*types.Basic)
	if !ok {
		return false
	}
	if call == "Rem" {
		return basic.Info()&types.IsInteger != 0
	}
	return basic.Info()&(types.IsInteger|types.IsFloat) != 0
}

func isParam(t types.Type) bool { _, ok := t.(*types.TypeParam); return ok }

// write rewrites the sites of the drawn mutants, and adds the package that they call.
func write(tree string, sites []*site, drawn []mutant) error {
	wanted := map[*site]bool{}
	for _, m := range drawn {
		wanted[m.site] = true
	}
	byFile := map[string][]edit{}
	for _, s := range sites {
		if wanted[s] {
			byFile[s.file] = append(byFile[s.file], s.edits()...)
		}
	}
	for file, edits := range byFile {
		name := filepath.Join(tree, file)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(apply(string(text), edits)),
			0o644); err != nil { //nolint:gosec // a copy of the source
			return err
		}
	}
	folder := filepath.Join(tree, "engine", "mutant")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	last := sites[len(sites)-1]
	text := fmt.Sprintf(generated, last.first+len(last.ways))
	return os.WriteFile(filepath.Join(folder, "mutant.go"), []byte(text), 0o644) //nolint:gosec // as above
}

// edit replaces text. Of several at one place those that open come from the outside in, those
// that close from the inside out.
type edit struct {
	from, to int
	text     string
	depth    int // length of the whole site: the outer one is longer
}

func (s *site) edits() []edit {
	size := s.to - s.from
	head := fmt.Sprintf("mutant.%s(%d, ", s.call, s.first)
	switch s.call {
	case "Neg":
		return []edit{{s.op, s.after, head, size}, {s.to, s.to, ")", size}}
	case "Inc", "Dec":
		return []edit{{s.from, s.to, s.name + " = " + head + s.name + ")", size}}
	}
	return []edit{{s.from, s.from, head, size}, {s.op, s.after, ", ", size}, {s.to, s.to, ")", size}}
}

// apply makes the edits of a file, which is then a client of the generated package.
func apply(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int {
		switch {
		case a.from != b.from:
			return a.from - b.from
		case (a.text == ")") != (b.text == ")"): // what ends here ends first
			if a.text == ")" {
				return -1
			}
			return 1
		case a.text == ")":
			return a.depth - b.depth
		default:
			return b.depth - a.depth
		}
	})
	var out strings.Builder
	last := 0
	for _, e := range edits {
		out.WriteString(text[last:e.from])
		out.WriteString(e.text)
		last = e.to
	}
	out.WriteString(text[last:])
	whole := out.String()
	at := strings.Index(whole, "\npackage ") + 1
	if strings.HasPrefix(whole, "package ") {
		at = 0
	}
	end := at + strings.IndexByte(whole[at:], '\n') + 1
	return whole[:end] + "\nimport \"meshscope/engine/mutant\"\n" + whole[end:]
}
