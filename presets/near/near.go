// Package near finds the known words nearest to one that was typed: for commands, flags, files,
// lessons, filters and the key file. The names of presets have more to go by, families and sizes
// (presets/unknown.go), and the choices of a knob are matched in the engine, which has no libraries
// (engine/knob/parse.go).
package near

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"meshscope/engine/knob"
)

// longest is the part of a typed word that is compared, in bytes: a paste costs the square of it.
const longest = 128

// Words returns at most n known words that are spelled like a typed one, nearest first; a word with
// dots counts by its last part too. A third of its letters and one more may differ, of three letters
// one; blanks, hyphens and underscores do not count. Where there is none it returns those that
// contain what was typed. Of what launchers call a knob it returns the knob (knob.Meant).
func Words(typed string, known []string, n int) []string {
	typed = Plain(typed[:min(len(typed), longest)])
	if meant := knob.Meant(typed, known); len(meant) > 0 {
		return meant[:min(n, len(meant))]
	}
	slips := make(map[string]int, len(known))
	var out []string
	for _, word := range known {
		whole, last := Plain(word), Plain(word[strings.LastIndexByte(word, '.')+1:])
		slips[word] = min(levenshtein.Distance(typed, whole, nil), levenshtein.Distance(typed, last, nil))
		allowed := 1 + len(last)/3
		if slices.Equal(letters(typed), letters(last)) {
			slips[word] = min(slips[word], 1)
		} else if len(last) <= 3 {
			allowed = 1
		}
		if slips[word] <= min(allowed, len(last)-1, len(typed)-1) {
			out = append(out, word)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(slips[a], slips[b]) })
	if len(out) == 0 && len(typed) > 2 {
		out = slices.DeleteFunc(slices.Clone(known), func(word string) bool {
			return !strings.Contains(Plain(word), typed)
		})
	}
	return out[:min(n, len(out))]
}

// Question returns a question that proposes the nearest known word, to end an error with; empty where
// none is near.
func Question(typed string, known []string) string {
	if words := Words(typed, known, 1); len(words) > 0 {
		return ": did you mean " + words[0] + "?"
	}
	return ""
}

// Likeness returns the share of two words' letters that are alike, from 0 to 1.
func Likeness(a, b string) float64 { return levenshtein.Match(a, b, nil) }

// Separator reports whether a sign stands between the parts of a word.
func Separator(r rune) bool { return strings.ContainsRune(" -_./:", r) }

// Plain returns a word in small letters, without what separates its parts.
func Plain(word string) string {
	return strings.Map(func(r rune) rune {
		if Separator(r) {
			return -1
		}
		return r
	}, strings.ToLower(word))
}

// letters returns the letters of a word in the order of the alphabet: two that are exchanged are one slip.
func letters(word string) []rune {
	out := []rune(word)
	slices.Sort(out)
	return out
}
