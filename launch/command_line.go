package launch

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"meshscope/engine/escape"
)

// IsCommandLine reports whether a text is a command line of this program, such as the explorer
// copies; a prompt may stand before it.
func IsCommandLine(text string) bool {
	first, _, _ := strings.Cut(withoutPrompt(text), "\n")
	words := strings.Fields(first)
	return len(words) > 0 && isProgram(words[0])
}

// CommandLine returns the words after the program's name in a command line of this program, as a
// shell reads them. Nothing is run: a word with a value that only the shell knows is an error.
func CommandLine(text string) ([]string, error) {
	s := parseScript("", []byte(withoutPrompt(text)))
	if len(s.problems) > 0 {
		return nil, errors.New(escape.Line(s.problems[0].Message))
	}
	var words []string
	for _, call := range s.calls {
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

// isProgram reports whether a word of a command line starts this program.
func isProgram(word string) bool { return path.Base(word) == itself }

// withoutPrompt returns a text without the prompt of a shell, as documents have it.
func withoutPrompt(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "$ "); ok {
		return strings.TrimSpace(rest)
	}
	return text
}
