package engine_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlainWords: no name and no comment of the tree has a word that readers stumbled over.
func TestPlainWords(t *testing.T) {
	banned := regexp.MustCompile(`(?i)settle|besides|alongside|standsstill|unhidden|cautious|doubtful|hasty|zeroapart|` +
		`misfit|seated|hurry|hardy|knobbed|fulfil|\bwhat of\b|\bfor want of\b|\bwhere that is not\b`)
	files := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || filepath.Base(path) == "plain_words_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		set := token.NewFileSet()
		file := set.AddFile(path, set.Base(), len(text))
		var s scanner.Scanner
		s.Init(file, text, nil, scanner.ScanComments)
		comment := "" // paragraphs of line comments, whose words may stand on two lines
		for {
			at, kind, word := s.Scan()
			switch {
			case kind == token.COMMENT:
				comment += " " + strings.TrimPrefix(word, "//")
				continue
			case kind == token.SEMICOLON && word == "\n":
				continue
			}
			for _, found := range append(banned.FindAllString(strings.Join(strings.Fields(comment), " "), -1),
				nameWith(banned, kind, word)...) {
				t.Errorf("before %s: %q", set.Position(at), found)
			}
			if comment = ""; kind == token.EOF {
				return nil
			}
		}
	})
	if err != nil || files < 500 {
		t.Errorf("%d files were read, %v", files, err)
	}
}

// nameWith returns what a name has of the banned words.
func nameWith(banned *regexp.Regexp, kind token.Token, word string) []string {
	if kind != token.IDENT {
		return nil
	}
	return banned.FindAllString(word, -1)
}
