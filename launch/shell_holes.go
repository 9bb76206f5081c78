package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A part of a word that the file gives no value to is a hole in its text: a mark that goes wherever the text
// goes, through strings that are built and then run, so that each word of them knows what it depends on.

// Signs around the number of a hole; a script cannot have them.
const holeBegin, holeEnd = '\uE000', '\uE001'

var holeForm = regexp.MustCompile(string(holeBegin) + `[0-9]+` + string(holeEnd))

// withoutHoles takes the signs of holes out of the text of a file.
func withoutHoles(text string) string {
	return strings.NewReplacer(string(holeBegin), "\uFFFD", string(holeEnd), "\uFFFD").Replace(text)
}

// hole returns the mark of what depends on something that the file does not give.
func (s *script) hole(why string) string {
	at := slices.Index(s.holes, why)
	if at < 0 {
		if at = len(s.holes); at >= maxHoles {
			at, why = maxHoles-1, "more than is followed"
		}
		s.holes = append(s.holes[:at], why)
	}
	return string(holeBegin) + strconv.Itoa(at) + string(holeEnd)
}

// maxHoles bounds how many different holes a script has.
const maxHoles = 500

// hasHole reports whether a text has a hole.
func hasHole(text string) bool { return strings.ContainsRune(text, holeBegin) }

// reason returns what a text depends on; empty: nothing.
func (s *script) reason(text string) string {
	if !hasHole(text) {
		return ""
	}
	first := ""
	for _, mark := range holeForm.FindAllString(text, -1) {
		n, _ := strconv.Atoi(strings.Trim(mark, string(holeBegin)+string(holeEnd)))
		if n >= len(s.holes) {
			continue
		}
		if strings.HasPrefix(s.holes[n], whether) { // the word may not be there at all
			return s.holes[n]
		}
		first = firstOf(first, s.holes[n])
	}
	return first
}

// legible returns a word as it is shown and read: what it depends on is apart from its text.
func (s *script) legible(f shellField) shellField {
	if !hasHole(f.text) {
		return f
	}
	f.unknown = s.reason(f.text)
	f.bare = strings.TrimSpace(holeForm.ReplaceAllString(f.text, "")) == ""
	f.text = holeForm.ReplaceAllStringFunc(f.text, func(mark string) string {
		switch why := s.reason(mark); {
		case strings.HasPrefix(why, whether):
			return ""
		case strings.HasPrefix(why, "$") && len(why) <= 64:
			return why
		}
		return "?"
	})
	return f
}

func (s *script) legibles(fields []shellField) []shellField {
	out := make([]shellField, len(fields))
	for i, f := range fields {
		out[i] = s.legible(f)
	}
	return out
}

// maybe marks the words of a text as such that may be there or not.
func (s *script) maybe(text, why string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if !strings.HasPrefix(s.reason(word), whether) {
			words[i] = s.hole(why) + word
		}
	}
	return strings.Join(words, " ")
}

// joinValues returns what a variable may be after several ways through a part: what all agree on, and the
// words of each that only some have, in doubt. A way that leaves it unset has no fields.
func (s *script) joinValues(name, what string, line int, ways [][]shellField, array bool) []shellField {
	why := fmt.Sprintf("%s%s of line %d runs", whether, what, line)
	flags := slices.ContainsFunc(ways, func(list []shellField) bool {
		return slices.ContainsFunc(list, func(f shellField) bool { return strings.Contains(f.text, "--") })
	})
	if !array && !flags {
		var words []string
		for _, list := range ways {
			word := "one of the environment"
			if len(list) > 0 {
				if word = s.legible(list[0]).text; word == "" {
					word = "nothing"
				}
			}
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
		return []shellField{{text: s.hole(fmt.Sprintf("%s%s, as the %s of line %d decides ($%s)", amongWords,
			strings.Join(words, " or "), what, line, name)), line: line}}
	}
	var groups [][][]shellField
	for _, list := range ways {
		groups = append(groups, groupsOf(list, !array))
	}
	var out []shellField
	for i := range groups { // each word is compared with all of the others
		for j := range groups {
			s.written += len(groups[i]) * len(groups[j]) >> 6
		}
	}
	for i, way := range groups {
		for _, g := range way {
			if s.tooLong() {
				return out
			}
			all := !slices.ContainsFunc(groups, func(other [][]shellField) bool {
				return !slices.ContainsFunc(other, func(o []shellField) bool { return sameText(o, g) })
			})
			switch {
			case all && i == 0:
				out = append(out, g...)
			case !all:
				for _, f := range g {
					if s.written += len(f.text) + len(why); s.tooLong() {
						return out
					}
					f.text = s.maybe(f.text, why)
					if f.text == "" {
						continue
					}
					out = append(out, f)
				}
			}
		}
	}
	if !array {
		var words []string
		for _, f := range out {
			words = append(words, f.text)
		}
		at := line
		if len(out) > 0 && out[0].line > 0 {
			at = out[0].line
		}
		return []shellField{{text: strings.Join(words, " "), line: at}}
	}
	return out
}

// amongWords begins what a value is that is one of some.
const amongWords = "one of "

// groupsOf returns words as groups, each a flag with its values; split cuts texts at blanks first.
func groupsOf(list []shellField, split bool) (out [][]shellField) {
	for _, f := range list {
		words := []string{f.text}
		if split {
			words = strings.Fields(f.text)
		}
		for _, word := range words {
			one := f
			one.text = word
			plain := holeForm.ReplaceAllString(word, "")
			if len(out) == 0 || strings.HasPrefix(plain,
				"--") || len(out[len(out)-1]) > 1 && dotted.MatchString(plain) ||
				!strings.HasPrefix(holeForm.ReplaceAllString(out[len(out)-1][0].text, ""), "--") {
				out = append(out, []shellField{one})
			} else {
				out[len(out)-1] = append(out[len(out)-1], one)
			}
		}
	}
	return out
}

// dotted finds an override of a key with dots, which belongs to no flag before it.
var dotted = regexp.MustCompile(`^[+]{0,2}[a-z_]+(?:\.[A-Za-z_0-9]+)+=`)

func sameText(a, b []shellField) bool {
	return slices.EqualFunc(a, b,
		func(a, b shellField) bool { return a.text == b.text && a.unknown == b.unknown })
}
