package engine_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is this program's import path.
const module = "meshscope"

// arrow says what the packages of one folder may import of this module. The
// longest matching folder is the rule that counts.
type arrow struct {
	from string   // folder, "" is main.go
	to   []string // folders, each with everything below it; "engine." is the package alone
}

// arrows is the picture of docs/architecture.md as a table.
func arrows() []arrow {
	leaves := []string{
		"engine/knob/id", "engine/escape", "engine/units", "engine/recipe", "engine/record",
		"engine/band",
	}
	below := append([]string{"engine/model", "engine/hardware", "engine/ledger"}, leaves...)
	middle := append([]string{"engine/layout", "engine/memory", "engine/schedule", "engine/step"}, below...)
	setup := append([]string{"engine/knob"}, middle...)
	root := append([]string{"engine."}, setup...)
	return []arrow{
		{"", []string{"cli"}},
		{"cli", []string{
			"docs/schema", "ui", "report", "serve", "launch", "lessons", "presets", "themes",
			"engine",
		}},
		{"serve", []string{"serve", "ui", "lessons", "presets", "engine"}},
		{"ui", []string{"ui", "report", "engine", "presets", "lessons", "launch", "themes"}},
		{"themes", nil},
		{"launch", []string{"launch", "presets", "engine"}},
		{"lessons", []string{"lessons", "presets", "engine"}},
		{"report", []string{"report", "presets", "engine"}},
		{"presets", []string{"presets", "engine"}},
		{"docs/schema", nil},
		{"docs/performance", []string{"cli", "presets", "engine"}},
		{"release", nil},
		{"docs", []string{"cli", "ui", "report", "presets", "engine", "themes"}},

		{"engine", append([]string{"engine."}, setup...)},
		{"engine/knob", setup},
		{"engine/knob/id", nil},
		{"engine/calibrate", nil},
		{"engine/figures", root},
		{"engine/fit", root},
		{"engine/lanes", root},
		{"engine/overlap", root},
		{"engine/ring", root},
		{"engine/cards", root},
		{"engine/compare", append([]string{"engine/figures"}, root...)},
		{"engine/scan", append([]string{"engine/figures"}, root...)},
		{"engine/explain", append([]string{"engine/figures", "engine/fit"}, root...)},
		{"engine/search", append([]string{"engine/search"}, root...)},
		{"engine/advise", append([]string{"engine/advise", "engine/compare", "engine/search"}, root...)},
		{"engine/step", middle},
		{"engine/memory", middle},
		{"engine/schedule", middle},
		{"engine/layout", middle},
		{"engine/ledger", below},
		{"engine/model", below},
		{"engine/hardware", below},
		{"engine/recipe", leaves},
		{"engine/escape", nil},
		{"engine/record", []string{"engine/units"}},
		{"engine/band", nil},
		{"engine/units", nil},
		{"engine_test/differential", nil},
		{"engine_test/mutate", nil},
		{"engine_test/draws", nil},
		{"engine_test/monotone", []string{"presets", "engine"}},
		{"engine_test/starts", []string{"ui/state", "presets", "launch", "engine"}},
		{"engine_test/residuals", []string{"presets", "engine"}},
		{"engine_test/shared", nil},
	}
}

// listed is what this test reads of `go list -json`.
type listed struct {
	ImportPath string
	Standard   bool
	Dir        string
	GoFiles    []string
	Imports    []string
}

// listPackages lists every package of the module and everything below them.
func listPackages(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps",
		"-json=ImportPath,Standard,Dir,GoFiles,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]listed{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages[p.ImportPath] = p
	}
	if len(packages) == 0 {
		t.Fatal("go list found no packages")
	}
	return packages
}

// folder is the path inside the module, and whether it is ours.
func folder(importPath string) (string, bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// within says whether a folder is the given one or below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// allowed says whether one folder may import another.
func (a arrow) allowed(to string) bool {
	return slices.ContainsFunc(a.to, func(target string) bool {
		if alone, ok := strings.CutSuffix(target, "."); ok {
			return to == alone
		}
		return within(to, target)
	})
}

// ruleFor is the most exact rule for a folder.
func ruleFor(from string) (arrow, bool) {
	var best arrow
	found := false
	for _, a := range arrows() {
		if a.from == "" && from != "" || !within(from, a.from) {
			continue
		}
		if !found || len(a.from) > len(best.from) {
			best, found = a, true
		}
	}
	return best, found
}

// TestArrows checks every import between our own packages.
func TestArrows(t *testing.T) {
	for path, p := range listPackages(t) {
		from, ours := folder(path)
		if !ours || from == "engine_test" {
			continue
		}
		rule, ok := ruleFor(from)
		if !ok {
			t.Errorf("%s: no rule says what this folder may import; add it to arrows and to "+
				"docs/architecture.md", path)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := folder(imported)
			if ours && !rule.allowed(to) {
				t.Errorf("forbidden arrow: %s -> %s (%s may import %v)", path, imported, module+"/"+rule.from,
					rule.to)
			}
		}
	}
}

// TestEngineImportsOnlyTheStandardLibrary also rules out the parts of the
// standard library that read or change the world.
func TestEngineImportsOnlyTheStandardLibrary(t *testing.T) {
	impure := []string{
		"crypto/rand", "embed", "io/fs", "log", "math/rand", "net", "os", "path/filepath",
		"plugin", "runtime", "syscall", "testing", "time", "unsafe",
	}
	packages := listPackages(t)
	engines := 0
	for path, p := range packages {
		from, ours := folder(path)
		if !ours || !within(from, "engine") {
			continue
		}
		engines++
		for _, imported := range p.Imports {
			if _, ours := folder(imported); ours {
				continue // TestArrows
			}
			if !packages[imported].Standard {
				t.Errorf("forbidden arrow: %s -> %s: the engine imports the standard library only", path,
					imported)
			}
			for _, bad := range impure {
				if within(imported, bad) {
					t.Errorf("forbidden arrow: %s -> %s: the engine is pure", path, imported)
				}
			}
		}
	}
	if engines == 0 {
		t.Fatal("go list found no engine packages")
	}
}

// TestNothingStallsTheStart looks through third-party packages too: compat
// queries the terminal in its package initialisation, for seconds where nobody
// answers, whoever imports it.
func TestNothingStallsTheStart(t *testing.T) {
	for path, p := range listPackages(t) {
		if slices.Contains(p.Imports, "charm.land/lipgloss/v2/compat") {
			t.Errorf("forbidden arrow: %s -> charm.land/lipgloss/v2/compat", path)
		}
	}
}

// TestScreensStayAtHome: no processes and no network below ui, and widgets
// know cells, not physics.
func TestScreensStayAtHome(t *testing.T) {
	for path, p := range listPackages(t) {
		from, ours := folder(path)
		if !ours || !within(from, "ui") && !within(from, "themes") {
			continue
		}
		for _, imported := range p.Imports {
			switch to, ours := folder(imported); {
			case within(imported, "os/exec"), within(imported, "net"):
				t.Errorf("forbidden arrow: %s -> %s", path, imported)
			case ours && within(from, "ui/widget") && !within(to, "ui/widget") && !within(to, "themes"):
				t.Errorf("forbidden arrow: %s -> %s: widgets know cells, not physics", path, imported)
			}
		}
	}
}

// TestEngineStartsNothing reads the source: only engine/search may start
// goroutines, and no package runs code when the program starts.
func TestEngineStartsNothing(t *testing.T) {
	set := token.NewFileSet()
	files := 0
	err := filepath.WalkDir(filepath.Join("..", "engine"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if !strings.Contains(filepath.ToSlash(path), "/engine/search/") {
					t.Errorf("%s: a goroutine in the engine", set.Position(n.Pos()))
				}
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: an init function in the engine", set.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("no engine source was found")
	}
}
