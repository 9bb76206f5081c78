// Package shared finds the reference material that lies beside the project's
// root, for tests. Where it is missing a test skips and says so, or fails when
// MESHSCOPE_REQUIRE_SHARED=1.
package shared

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"
)

// Path is the place of a file or folder of the reference material. Tests run
// in their package's folder; the project's root is the one that holds go.mod.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for root != filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	path := filepath.Join(append([]string{root, "..", "shared"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("MESHSCOPE_REQUIRE_SHARED") == "1" {
			t.Fatalf("reference material is required: %v", err)
		}
		t.Skipf("reference material is not here: %v", err)
	}
	return path
}

// Row is one line of a table, by column name.
type Row map[string]string

// CSV reads a table of the reference material.
func CSV(t testing.TB, parts ...string) []Row {
	t.Helper()
	file, err := os.Open(Path(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 2 {
		t.Fatalf("%v has no rows", parts)
	}
	rows := make([]Row, 0, len(lines)-1)
	for _, line := range lines[1:] {
		row := Row{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}
