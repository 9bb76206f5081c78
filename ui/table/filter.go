package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/knob"
	"meshscope/presets/near"
	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Condition is one word of a filter: a column with a comparison, or a part of a
// word in the row.
type Condition struct {
	Column int // -1: word anywhere
	Op     string
	Number float64
	Word   string
}

// parse reads a filter such as "tp=4 pp>2 1f1b": all of it must hold.
func (t *Table[R]) parse(text string) ([]Condition, error) {
	var out []Condition
	for _, part := range strings.Fields(strings.ToLower(text)) {
		c, err := t.parsePart(part)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// readable returns the conditions of the parts of a filter that can be read.
func (t *Table[R]) readable(text string) []Condition {
	var out []Condition
	for _, part := range strings.Fields(strings.ToLower(text)) {
		if c, err := t.parsePart(part); err == nil {
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
func (t *Table[R]) parsePart(part string) (Condition, error) {
	at := strings.IndexAny(part, "=<>!")
	if at < 0 {
		return t.parseWord(part)
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
		return Condition{}, fmt.Errorf("%s: write != for unequal", quoted(part))
	}
	if name == "" {
		return Condition{}, fmt.Errorf("%s: the name of a column is missing, such as tp%s8", quoted(part), op)
	}
	i := report.ColumnOf(t.All, name)
	if i < 0 {
		return Condition{}, fmt.Errorf("there is no column %s%s; columns are %s", quoted(name),
			nearest(name, t.ids()), strings.Join(t.ids(), " "))
	}
	c := Condition{Column: i, Op: op, Word: value}
	if value == "" {
		return Condition{}, fmt.Errorf("%s: a value is missing", quoted(part))
	}
	if t.All[i].Words() {
		if op != "=" && op != "!=" {
			return Condition{}, fmt.Errorf("%s: %s is a word, use = or !=", quoted(part), name)
		}
		if words := t.All[i].Choices; words != nil && !knownWord(value, words,
			func(a, b string) bool { return a == b }) {
			p, _ := knob.Find(knob.ID(name))
			meant, same := p.MeantValue(value)
			if !same {
				return Condition{}, fmt.Errorf("%s has no value %s%s", name, quoted(value),
					nearest(cmp.Or(meant, value), words))
			}
			c.Word = meant
		}
		return c, nil
	}
	digits, unit, _ := knob.Plain(value)
	n, err := strconv.ParseFloat(digits+unit, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return Condition{}, fmt.Errorf("%s is beyond all numbers", quoted(value))
	case err != nil, math.IsNaN(n), math.IsInf(n, 0):
		return Condition{}, fmt.Errorf("%s is not a number", quoted(value))
	}
	c.Number = n
	return c, nil
}

// parseWord reads a part of a filter without a comparison: a part of a word that a row
// can have.
func (t *Table[R]) parseWord(part string) (Condition, error) {
	var words []string
	free := false
	for i := range t.All {
		if t.All[i].Words() && !t.All[i].Named {
			words = append(words, t.All[i].Choices...)
			free = free || t.All[i].Choices == nil
		}
	}
	if free || knownWord(part, words, strings.Contains) {
		return Condition{Column: -1, Word: part}, nil
	}
	if report.ColumnOf(t.All, part) >= 0 {
		return Condition{}, fmt.Errorf("%s: a comparison is missing, such as %s=8 or %s>4", part, part, part)
	}
	return Condition{}, fmt.Errorf("no row can have the word %s%s", quoted(part),
		nearest(part, append(words, t.ids()...)))
}

// knownWord reports whether one of the words is what was typed, or contains it; one that
// ends with a colon has more behind it, such as full:4.
func knownWord(typed string, words []string, is func(word, typed string) bool) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return is(word, typed) || strings.HasSuffix(word, ":") && strings.HasPrefix(typed, word)
	})
}

// nearest names the known word that is spelled most like a typed one, where there is one.
func nearest(typed string, words []string) string {
	if found := near.Words(typed, words, 1); len(found) > 0 {
		return ", nearest " + found[0]
	}
	return ""
}

func (t *Table[R]) ids() []string {
	names := make([]string, 0, len(t.All))
	for i := range t.All {
		names = append(names, t.All[i].ID)
	}
	return names
}

// Passes reports whether a row meets every condition.
func (t *Table[R]) Passes(r *R) bool {
	return !slices.ContainsFunc(t.Conditions, func(c Condition) bool { return !t.holds(&c, r) })
}

func (t *Table[R]) holds(c *Condition, r *R) bool {
	if c.Column < 0 {
		return slices.ContainsFunc(t.All, func(of report.Column[R]) bool {
			return of.Words() && !of.Named && strings.Contains(strings.ToLower(of.Text(r)), c.Word)
		})
	}
	of := &t.All[c.Column]
	if of.Words() {
		return strings.EqualFold(of.Text(r), c.Word) == (c.Op == "=")
	}
	v := of.Number(r)
	if math.IsNaN(v) { // not known
		return false
	}
	switch c.Op {
	case "=":
		return v == c.Number
	case "!=":
		return v != c.Number
	case "<":
		return v < c.Number
	case "<=":
		return v <= c.Number
	case ">":
		return v > c.Number
	default:
		return v >= c.Number
	}
}

// Type gives a key to the filter that is typed.
func (t *Table[R]) Type(key string) {
	switch key {
	case "esc":
		if t.Input.Value() == "" {
			t.Typing = false
			return
		}
		t.Input.Reset()
	case "enter", "up", "down":
		if t.Wrong == "" { // what cannot be read stays under the caret, with the reason
			t.Typing = false
		}
		return
	default:
		t.Input.Type(key)
	}
	t.Take()
}

// Paste puts pasted text into the filter.
func (t *Table[R]) Paste(text string) {
	t.Input.Paste(text)
	t.Take()
}

// Clear removes the filter.
func (t *Table[R]) Clear() {
	t.Input.Reset()
	t.Take()
}

// Take reads the typed conditions; one that cannot be read is named and ignored.
func (t *Table[R]) Take() {
	conditions, err := t.parse(t.Input.Value())
	t.Wrong = ""
	if err != nil {
		t.Wrong, conditions = err.Error(), t.readable(t.Input.Value())
	}
	t.Conditions, t.Row = conditions, 0
}

// Filtering reports whether a filter is there or typed.
func (t *Table[R]) Filtering() bool { return t.Typing || t.Input.Value() != "" }

// Prompt returns the footer while a filter is typed.
func (t *Table[R]) Prompt() []widget.Hint {
	if t.Wrong != "" {
		return []widget.Hint{{Key: "esc", Text: "removes it"}}
	}
	return []widget.Hint{{Key: "enter", Text: "keeps the filter"}, {Key: "esc", Text: "removes it"}}
}

// Filter draws the line of the filter: what is typed with an example, or what is in force and how many pass.
func (t *Table[R]) Filter(in *screen.Context, w int, example, pass string) string {
	l := widget.NewLine(w).Gap(Gap).Put(in.Paint(themes.Key), "filter").Gap(1)
	if !t.Typing {
		l.Put(in.Paint(themes.Current), t.Input.Value()).Gap(2)
		return l.Put(in.Paint(themes.Muted), in.Cut(pass+"esc removes it", l.Left())).String()
	}
	in.Typed(l, &t.Input)
	switch {
	case t.Wrong != "":
		l.Gap(2).Put(in.Paint(themes.Bad), in.Cut(t.Wrong, l.Left()))
	case t.Input.Value() == "":
		l.Gap(2).Put(in.Paint(themes.Muted), in.Cut("such as: "+example, l.Left()))
	}
	return l.String()
}
