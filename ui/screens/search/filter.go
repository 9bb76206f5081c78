package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/knob"
	"meshscope/presets/near"
	"meshscope/report"
)

// condition is one word of a filter: a column with a comparison, or a part of a
// word in the row.
type condition struct {
	column int // -1: word anywhere
	op     string
	number float64
	word   string
}

// parse reads a filter such as "tp=4 pp>2 1f1b": all of it must hold.
func parse(text string, all []column) ([]condition, error) {
	var out []condition
	for _, part := range strings.Fields(strings.ToLower(text)) {
		c, err := parsePart(part, all)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// readable returns the conditions of the parts of a filter that can be read.
func readable(text string, all []column) []condition {
	var out []condition
	for _, part := range strings.Fields(strings.ToLower(text)) {
		if c, err := parsePart(part, all); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// quoted returns a part of a filter in an error: what would be long is cut.
func quoted(part string) string {
	const most = 20
	if runes := []rune(part); len(runes) > most {
		part = string(runes[:most-3]) + "..."
	}
	return strconv.Quote(part)
}

// parsePart reads one part of a filter.
func parsePart(part string, all []column) (condition, error) {
	at := strings.IndexAny(part, "=<>!")
	if at < 0 {
		return parseWord(part, all)
	}
	name, rest := part[:at], part[at:]
	op := rest[:1]
	if len(rest) > 1 && rest[1] == '=' {
		op = rest[:2]
	}
	value := rest[len(op):]
	if op == "==" {
		op = "="
	}
	if op == "!" {
		return condition{}, fmt.Errorf("%s: write != for unequal", quoted(part))
	}
	if name == "" {
		return condition{}, fmt.Errorf("%s: the name of a column is missing, such as tp%s8", quoted(part), op)
	}
	i := report.ColumnOf(all, name)
	if i < 0 {
		return condition{}, fmt.Errorf("there is no column %s%s; columns are %s", quoted(name),
			nearest(name, columnIDs(all)), columnNames(all))
	}
	c := condition{column: i, op: op, word: value}
	if value == "" {
		return condition{}, fmt.Errorf("%s: a value is missing", quoted(part))
	}
	if all[i].Words() {
		if op != "=" && op != "!=" {
			return condition{}, fmt.Errorf("%s: %s is a word, use = or !=", quoted(part), name)
		}
		if words := columnWords(all[i].ID); !knownWord(value, words,
			func(a, b string) bool { return a == b }) {
			return condition{}, fmt.Errorf("%s has no value %s%s", name, quoted(value), nearest(value, words))
		}
		return c, nil
	}
	digits, unit, _ := knob.Plain(value)
	n, err := strconv.ParseFloat(digits+unit, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return condition{}, fmt.Errorf("%s is beyond all numbers", quoted(value))
	case err != nil, math.IsNaN(n), math.IsInf(n, 0):
		return condition{}, fmt.Errorf("%s is not a number", quoted(value))
	}
	c.number = n
	return c, nil
}

// parseWord reads a part of a filter without a comparison: a part of a word that a row
// can have.
func parseWord(part string, all []column) (condition, error) {
	var words []string
	for i := range all {
		if all[i].Words() && !all[i].Named {
			words = append(words, columnWords(all[i].ID)...)
		}
	}
	if knownWord(part, words, strings.Contains) {
		return condition{column: -1, word: part}, nil
	}
	if report.ColumnOf(all, part) >= 0 {
		return condition{}, fmt.Errorf("%s: a comparison is missing, such as %s=8 or %s>4", part, part, part)
	}
	return condition{}, fmt.Errorf("no layout can have the word %s%s", quoted(part),
		nearest(part, append(words, columnIDs(all)...)))
}

// columnWords returns the words that a column of words can have, layer counts and lists of
// modules aside.
func columnWords(id string) []string {
	switch knob.ID(id) {
	case knob.Schedule:
		return kindWords()
	case knob.SP:
		return []string{"on", "off"}
	default:
		p, _ := knob.Find(knob.ID(id))
		return p.Choices
	}
}

// knownWord reports whether one of the words is what was typed, or contains it; full:4 and
// modules:norm represent themselves.
func knownWord(typed string, words []string, is func(word, typed string) bool) bool {
	return strings.HasPrefix(typed, "full:") || strings.HasPrefix(typed, "modules:") ||
		slices.ContainsFunc(words, func(word string) bool { return is(word, typed) })
}

// nearest names the known word that is spelled most like a typed one, where there is one.
func nearest(typed string, words []string) string {
	if found := near.Words(typed, words, 1); len(found) > 0 {
		return ", nearest " + found[0]
	}
	return ""
}

func columnNames(all []column) string { return strings.Join(columnIDs(all), " ") }

func columnIDs(all []column) []string {
	names := make([]string, 0, len(all))
	for i := range all {
		names = append(names, all[i].ID)
	}
	return names
}

// fixed returns the knobs that a filter turns to one value, as it can be asked of a search.
func fixed(conditions []condition, all []column) map[facet]string {
	out := map[facet]string{}
	for i := range conditions {
		c := &conditions[i]
		if c.column < 0 {
			for _, id := range []string{string(knob.Schedule), string(knob.Recompute)} {
				if k, ok := field(id); ok && slices.Contains(columnWords(id), c.word) {
					out[k] = c.word
				}
			}
			continue
		}
		if id := all[c.column].ID; c.op == "=" && all[c.column].Knob {
			if k, ok := field(id); ok {
				out[k] = c.word
			}
		}
	}
	return out
}

// passes reports whether a row meets every condition.
func passes(r *row, conditions []condition, all []column) bool {
	for i := range conditions {
		if !conditions[i].holds(r, all) {
			return false
		}
	}
	return true
}

func (c *condition) holds(r *row, all []column) bool {
	switch {
	case c.column < 0:
		for i := range all {
			if all[i].Words() && !all[i].Named && strings.Contains(all[i].Text(&r.Candidate), c.word) {
				return true
			}
		}
		return false
	case all[c.column].Words():
		return (all[c.column].Text(&r.Candidate) == c.word) == (c.op == "=")
	}
	v := all[c.column].Number(&r.Candidate)
	switch c.op {
	case "=":
		return v == c.number
	case "!=":
		return v != c.number
	case "<":
		return v < c.number
	case "<=":
		return v <= c.number
	case ">":
		return v > c.number
	default:
		return v >= c.number
	}
}
