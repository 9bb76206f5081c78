//go:build unix

package cli_test

import (
	"debug/buildinfo"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesDocument: docs/dependencies.md has a row for every direct dependency of go.mod and
// no other, and says rightly whether it is in the program.
func TestDependenciesDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(build(t))
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{}
	for _, m := range info.Deps {
		where[m.Path] = "program"
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") {
			direct[fields[0]] = true
		}
	}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\w+) \\| .+ \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		path, in := m[1], m[2]
		if !direct[path] {
			t.Errorf("docs/dependencies.md has %s, which go.mod does not name directly", path)
		}
		delete(direct, path)
		if want := where[path]; (in == "program") != (want == "program") {
			t.Errorf("docs/dependencies.md says %q of %s; it is in the program: %v", in, path,
				want == "program")
		}
	}
	for path := range direct {
		t.Errorf("docs/dependencies.md has no row for %s: say why it is needed", path)
	}
}
