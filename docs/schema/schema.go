// Package schema holds the JSON Schemas of the documents that the program prints. Tests validate
// the documents against them.
package schema

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

const ending = ".schema.json"

// Names lists the schemas.
func Names() []string {
	entries, _ := files.ReadDir(".")
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ending)
	}
	slices.Sort(names)
	return names
}

// Text returns a schema; false for a name that is none.
func Text(name string) ([]byte, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	text, err := files.ReadFile(name + ending)
	return text, err == nil
}
