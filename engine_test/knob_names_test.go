package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine/knob"
)

// builtPackage is what the go command says of a package.
type builtPackage struct {
	ImportPath, Export, Dir string
	GoFiles                 []string
	DepOnly                 bool
}

// TestKnobsHaveConstants: no literal becomes the name of a knob outside of the
// constants in engine/knob, and a literal that is spelled like one stands only
// where it means something else.
func TestKnobsHaveConstants(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps",
		"-json=ImportPath,Export,Dir,GoFiles,DepOnly", "./...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	var own []builtPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p builtPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && !strings.HasSuffix(p.ImportPath, "/knob/id") {
			own = append(own, p)
		}
	}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for i := range own {
		for _, lit := range knobLiterals(t, &own[i], files, imports) {
			at := files.Position(lit.at)
			path, _ := filepath.Rel(root, at.Filename)
			switch kind := meansSomethingElse(filepath.ToSlash(path)); {
			case lit.typed:
				t.Errorf("%s:%d: %q names a knob: it has a constant", path, at.Line, lit.word)
			case kind == "":
				t.Errorf("%s:%d: %q is spelled like a knob: use its constant, or say in this test what it "+
					"means", path, at.Line, lit.word)
			}
		}
	}
}

// knobLiteral is a string in the source that is spelled like a knob.
type knobLiteral struct {
	word  string
	typed bool // it is a knob.ID
	at    token.Pos
}

// knobLiterals are those of a package, without its struct tags and, in engine/knob,
// without the constants themselves.
func knobLiterals(t *testing.T, p *builtPackage, set *token.FileSet, imports types.Importer) []knobLiteral {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		if strings.HasSuffix(p.ImportPath, "/knob") && name == "id.go" {
			continue
		}
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: imports, Error: func(error) {}} // what the constants left out is unknown
	_, _ = conf.Check(p.ImportPath, set, files, info)
	var found []knobLiteral
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil {
				return false // a struct tag, or the type beside it
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			word, _ := strconv.Unquote(lit.Value)
			if _, known := knob.Find(knob.ID(word)); known {
				of := info.Types[lit].Type
				found = append(found,
					knobLiteral{
						word, of != nil && strings.HasSuffix(of.String(), "engine/knob/id.ID"),
						lit.Pos(),
					})
			}
			return true
		})
	}
	return found
}

// meansSomethingElse says what a word that is spelled like a knob means in a file
// or folder; empty where it can only be the knob.
func meansSomethingElse(path string) string {
	for _, e := range []struct{ kind, places string }{
		{"dimension of traffic", "engine/explain/ engine/lanes/ engine/overlap/ engine/ring/ " +
			"engine/timing.go engine/traffic.go engine/step/ engine/layout/place.go " +
			"engine/advise/rules_speed.go lessons/figure.go " +
			"ui/screens/network/ ui/screens/compare/methods.go presets/published/"},
		{"term of memory, time or parameters", "engine/memory/ engine/memory_detail.go engine/model/ " +
			"engine/compare/compare.go engine/figures/figures.go engine/fit/ engine/advise/advise.go " +
			"engine/recipe/ " +
			"ui/screen/parts.go ui/screens/memory/ ui/screens/explore/ ui/screens/compare/ " +
			"ui/screens/scan/ themes/ report/ lessons/mask.go lessons/moved.go lessons/play.go " +
			"cli/timeline_streams.go"},
		{"symbol of a formula or figure of the report", "engine/setup.go engine/run.go engine/pipeline.go " +
			"engine/step_time.go engine/throughput.go engine/figures/words.go ui/screens/search/figure.go"},
		{
			"key of a document, a file or a list of presets",
			"cli/search_doc.go cli/presets presets/ cli/flags.go launch/",
		},
		{"column or label of a table of layouts", "engine_test/residuals/ ui/screens/search/ " +
			"ui/screens/evidence/ ui/screens/pipeline/ cli/presets_runs.go"},
		{
			"code of a problem or of a launcher's rule; label or unit of a row",
			"engine/layout/rules.go engine/knob/",
		},
		{"operation of PyTorch, or a part of its step", "engine/ledger/"},
		{"lock", "cli/scan.go"},
		{"name of a lesson, or a word of its prose", "lessons/lesson.go lessons/prose.go"},
		{"word that people type into the palette", "ui/keys.go ui/palette.go"},
		{"question of a comparison of two builds", "engine_test/differential/"},
	} {
		for place := range strings.FieldsSeq(e.places) {
			if path == place || strings.HasSuffix(place, "/") && strings.HasPrefix(path, place) ||
				!strings.HasSuffix(place, ".go") && strings.HasPrefix(path, place) {
				return e.kind
			}
		}
	}
	return ""
}
