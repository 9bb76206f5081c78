package launch

import (
	"errors"
	"fmt"
	"strings"

	"meshscope/engine/escape"
)

// IsCommandLine reports whether a text is a command line of this program, such as the explorer
// copies; a prompt may stand before it.
func IsCommandLine(text string) bool {
	_, ok := afterProgram(text)
	return ok
}

// CommandLine returns the words after the program's name in a command line of this program, as a
// shell reads them. Nothing is run: a word with a value that only the shell knows is an error.
func CommandLine(text string) ([]string, error) {
	if rest, ok := afterProgram(text); ok {
		text = itself + rest
	}
	s := parseScript("", []byte(text), Given{})
	if len(s.problems) > 0 {
		return nil, errors.New(escape.Line(s.problems[0].Message))
	}
	var words []string
	for i := range s.calls {
		call := s.calls[i].fields
		if !isProgram(call[0].text) {
			continue
		}
		if words != nil {
			return nil, errors.New("two command lines: give one")
		}
		words = []string{}
		for _, f := range call[1:] {
			if f.unknown != "" {
				return nil, fmt.Errorf("%s: its value is known to the shell only", escape.Quote(f.unknown))
			}
			words = append(words, f.text)
		}
	}
	return words, nil
}

// isProgram reports whether a word of a command line starts this program: its name, or a path that
// ends in it.
func isProgram(word string) bool {
	name := word[strings.LastIndexAny(word, `/\`)+1:]
	return name == itself || name == itself+".exe"
}

// afterProgram returns what follows the program in a command line of this program, which may begin
// with the prompt of a shell, as documents have it; false for any other text.
func afterProgram(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "$ "); ok {
		text = strings.TrimSpace(rest)
	}
	first, rest := cutWord(text)
	if isProgram(first) {
		return rest, true
	}
	for _, word := range []string{"go", "run", "."} { // of its source
		if first != word {
			return "", false
		}
		text = rest
		first, rest = cutWord(strings.TrimLeft(text, " \t"))
	}
	return text, true
}

// cutWord cuts a text after its first word.
func cutWord(text string) (word, rest string) {
	end := strings.IndexAny(text, " \t\n")
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end:]
}
