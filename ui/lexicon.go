package ui

import (
	"strings"

	"meshscope/engine/knob"
	"meshscope/presets/words"
)

// lexicon is what is said in words, read when it is first asked for. The files are the
// program's own; tests hold them sound.
type lexicon struct {
	notes map[knob.ID]words.Method
	words []words.Word
	names map[string]bool // of the words, in lower case
}

// methods are the notes on knobs.
func (l *lexicon) methods() map[knob.ID]words.Method {
	if l.notes == nil {
		l.notes, _ = words.Methods()
	}
	return l.notes
}

// glossary is every word.
func (l *lexicon) glossary() []words.Word {
	if l.words == nil {
		l.words, _ = words.Glossary()
	}
	return l.words
}

// knows says whether a word is in the glossary.
func (l *lexicon) knows(word string) bool {
	if l.names == nil {
		l.names = map[string]bool{}
		all := l.glossary()
		for i := range all {
			for _, name := range all[i].Names() {
				l.names[strings.ToLower(name)] = true
			}
		}
	}
	return l.names[strings.ToLower(word)]
}
