package search

import (
	"fmt"
	"strconv"
	"strings"
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
		at := strings.IndexAny(part, "=<>!")
		if at < 0 {
			out = append(out, condition{column: -1, word: part})
			continue
		}
		name, rest := part[:at], part[at:]
		op := rest[:1]
		if len(rest) > 1 && rest[1] == '=' {
			op = rest[:2]
		}
		value := strings.ReplaceAll(rest[len(op):], ",", "")
		if op == "==" {
			op = "="
		}
		if op == "!" {
			return nil, fmt.Errorf("%q: write != for unequal", part)
		}
		i := columnOf(all, name)
		if i < 0 {
			return nil, fmt.Errorf("%q: there is no column %q; columns are %s", part, name, columnNames(all))
		}
		c := condition{column: i, op: op, word: value}
		if value == "" {
			return nil, fmt.Errorf("%q: a value is missing", part)
		}
		if all[i].words {
			if op != "=" && op != "!=" {
				return nil, fmt.Errorf("%q: %s is a word, use = or !=", part, name)
			}
		} else {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %q is not a number", part, value)
			}
			c.number = n
		}
		out = append(out, c)
	}
	return out, nil
}

func columnNames(all []column) string {
	names := make([]string, 0, len(all))
	for i := range all {
		names = append(names, all[i].id)
	}
	return strings.Join(names, " ")
}

// passes says whether a row meets every condition.
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
			if all[i].words && strings.Contains(all[i].text(r), c.word) {
				return true
			}
		}
		return false
	case all[c.column].words:
		return (all[c.column].text(r) == c.word) == (c.op == "=")
	}
	v := all[c.column].value(r)
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
