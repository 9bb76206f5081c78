package engine_test

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources returns the tree's Go files without tests, by their path from the project's root.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err == nil && entry.IsDir() && slices.Contains([]string{"testdata", ".git", ".ci", "dist"}, name) {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		out[strings.TrimPrefix(filepath.ToSlash(path), "../")] = text
		return err
	})
	if err != nil || len(out) < 500 {
		t.Fatalf("%d files were read, %v", len(out), err)
	}
	return out
}

// TestTokensByRoom holds what there is to read against the limits of .ci/tokens.
func TestTokensByRoom(t *testing.T) {
	limits, err := os.ReadFile("../.ci/tokens")
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]int{}
	for path, text := range sources(t) {
		room, _, below := strings.Cut(path, "/")
		if !below {
			room = "(root)"
		}
		tokens[room] += tokensOf(text)
		tokens["all"] += tokensOf(text)
	}
	for line := range strings.Lines(string(limits)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			limit, err := strconv.Atoi(words[1])
			if got := tokens[words[0]]; err != nil || got > limit {
				t.Errorf("%s has %d tokens, allowed are %d (.ci/tokens, %v): take some out, or name in its "+
					"line the feature that needs them", words[0], got, limit, err)
			}
			if len(words) < 3 {
				t.Errorf(".ci/tokens: %s does not say what its limit bought", words[0])
			}
			delete(tokens, words[0])
		}
	}
	for room, got := range tokens {
		t.Errorf(".ci/tokens has no limit for %s, which has %d tokens", room, got)
	}
}

// tokensOf counts the tokens of a file, without comments and line ends.
func tokensOf(text []byte) int {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", -1, len(text)), text, nil, 0)
	for n := 0; ; {
		switch _, kind, word := s.Scan(); {
		case kind == token.EOF:
			return n
		case kind != token.SEMICOLON || word != "\n":
			n++
		}
	}
}

// TestOneMechanism: what the whole program does in one way is imported by these packages alone.
func TestOneMechanism(t *testing.T) {
	for library, allowed := range map[string][]string{
		"github.com/agext/levenshtein": {"presets/near"}, // the nearest word
		"github.com/sahilm/fuzzy":      {"ui/overlay"},   // what a list finds
		"text/tabwriter":               {},               // tables are report's
		"encoding/csv": { // rows read
			"docs/soak", "engine/escape", "engine_test/residuals", "engine_test/shared", "presets/measured",
		},
	} {
		found := map[string]bool{}
		for path, text := range sources(t) {
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range file.Imports {
				if at.Path.Value == strconv.Quote(library) {
					found[filepath.ToSlash(filepath.Dir(path))] = true
				}
			}
		}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, slices.Sorted(slices.Values(allowed))) {
			t.Errorf("%s is imported by %q, allowed are %q", library, got, allowed)
		}
	}
}

// TestPackagesAreWorthTheirName: a package has 300 lines or a second importer.
func TestPackagesAreWorthTheirName(t *testing.T) {
	apart := map[string]string{
		"presets/own":          "the one place of presets that opens a user's files",
		"engine/cards":         "texts of cards, which the program reads when one is opened",
		"docs/schema":          "embeds the schemas, which lie beside it",
		"release/sbom":         "a program",
		"docs/picture":         "a program",
		"docs/soak":            "a program",
		".":                    "a program",
		"engine_test/draws":    "of tests alone",
		"engine_test/shared":   "of tests alone",
		"ui/screen/screentest": "of tests alone",
	}
	lines, importers := map[string]int{}, map[string]map[string]bool{}
	for path, text := range sources(t) {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		lines[folder] += strings.Count(string(text), "\n")
		for _, at := range file.Imports {
			name, _ := strconv.Unquote(at.Path.Value)
			if of, ours := strings.CutPrefix(name, module+"/"); ours {
				if importers[of] == nil {
					importers[of] = map[string]bool{}
				}
				importers[of][folder] = true
			}
		}
	}
	for folder, n := range lines {
		small := n < 300 && len(importers[folder]) < 2
		if reason := apart[folder]; small != (reason != "") {
			t.Errorf("%s has %d lines and %d importers; exception: %q", folder, n, len(importers[folder]),
				reason)
		}
		delete(apart, folder)
	}
	for folder := range apart {
		t.Errorf("%s is an exception and no package", folder)
	}
}
