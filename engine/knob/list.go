package knob

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/recipe"
)

// MaxValues is how many values of one parameter a list or a stepped range may
// have.
const MaxValues = 1000

// maxValuesLen bounds the text of a list, in bytes.
const maxValuesLen = 1 << 14

// Values is a set of values of one parameter as it is written: numbers and
// ranges, or words.
type Values struct {
	Words []string // of a switch, a choice or a figure, in the order given, each once

	numbers []int
	ranges  []valueRange
	items   []string // what was given, as Text writes it
	between string   // the items of Text; empty: commas
}

// Text returns the list as it is written: digits without signs and leading zeros, nothing twice, with
// blanks where commas would make one number of it. What ParseValues makes of it is the same set.
func (v *Values) Text() string { return strings.Join(v.items, cmp.Or(v.between, ",")) }

// All reports whether it is the word all: every choice there is.
func (v *Values) All() bool { return len(v.items) == 1 && v.items[0] == "all" }

// add takes in one item, unless it is there already.
func (v *Values) add(item string) (fresh bool) {
	if slices.Contains(v.items, item) {
		return false
	}
	v.items = append(v.items, item)
	return true
}

// valueRange is low..high. Without a step it means whatever may be legal
// in it, with one for low, low + step and so on, or low, low x factor.
type valueRange struct{ low, high, step, factor int }

// ParseValues reads a list such as 2,4,8 or 1f1b,zb-h1, the word all, and of
// numbers ranges too: 2..8, ..8, 2.., with a step 64..512:64 or a factor
// 1..64:x2. What cannot be taken is a *ValueError.
func (k *Knob) ParseValues(text string) (Values, error) {
	var v Values
	if len(text) > maxValuesLen {
		return v, k.noList(text[:32]+"...", "")
	}
	clean := strings.TrimSpace(text)
	switch {
	case k.recompute != nil:
		return k.words(recomputeItems(clean), text)
	case k.Kind == Choice, k.Kind == Switch:
		return k.words(strings.Split(clean, ","), text)
	case k.Kind == List && clean == "all":
		v.items = []string{clean}
		return v, nil
	case k.Kind == List:
		return k.words([]string{clean}, text)
	case k.Kind == Rate:
		return v, &ValueError{Field: string(k.ID), Given: text, Allowed: "one value: it takes no lists"}
	}
	items, err := k.Items(clean)
	if err != nil {
		return Values{}, err
	}
	if k.Kind == Figure {
		return k.words(items, text)
	}
	for _, item := range items {
		if !strings.Contains(item, "..") {
			n, err := k.ParseInt(item)
			switch {
			case item == "" && clean != "": // an empty place of a list
				return Values{}, k.noList(shortened(text), "; between commas there is a value")
			case err != nil:
				return Values{}, k.listed(err)
			}
			v.add(strconv.Itoa(n))
			v.numbers = append(v.numbers, n)
			continue
		}
		r, written, err := k.parseRange(item)
		if err != nil {
			return Values{}, err
		}
		v.add(written)
		v.ranges = append(v.ranges, r)
	}
	if len(v.numbers)+len(v.ranges) > MaxValues || v.stepped() > MaxValues {
		return Values{}, k.noList(shortened(text), fmt.Sprintf(", at most %d values", MaxValues))
	}
	if again, err := k.Items(v.Text()); err != nil || !slices.Equal(again, v.items) {
		v.between = " "
	}
	return v, nil
}

// stepped returns how many values the ranges with a step have.
func (v *Values) stepped() (n int) {
	for _, r := range v.ranges {
		r.each(func(int) bool {
			n++
			return n <= MaxValues
		})
	}
	return n
}

// each goes through a range with a step, until told to stop.
func (r *valueRange) each(take func(int) bool) {
	switch {
	case r.step > 0:
		for n := r.low; n <= r.high && take(n); n += r.step {
		}
	case r.factor > 1:
		for n := max(r.low, 1); n <= r.high && take(n); n = product(n, r.factor) {
		}
	}
}

// parseRange reads a range and says how it is written.
func (k *Knob) parseRange(item string) (r valueRange, written string, err error) {
	ends, step, stepped := strings.Cut(item, ":")
	from, to, _ := strings.Cut(ends, "..")
	r = valueRange{low: k.Min, high: k.Max}
	for i, end := range []struct {
		text string
		into *int
	}{{from, &r.low}, {to, &r.high}} {
		if i == 1 {
			written += ".."
		}
		if strings.TrimSpace(end.text) == "" {
			continue
		}
		n, err := k.ParseInt(end.text)
		if err != nil {
			return r, "", k.listed(err)
		}
		*end.into = n
		written += strconv.Itoa(n)
	}
	if r.low > r.high {
		return r, "", k.noList(item, ", from the smaller to the larger end").near(to + ".." + from)
	}
	if !stepped {
		return r, written, nil
	}
	factor, times := strings.CutPrefix(strings.TrimSpace(step), "x")
	n, err := strconv.Atoi(factor)
	switch {
	case err != nil, n < 1, times && n < 2, strings.HasPrefix(factor, "+"):
		return r, "", k.noList(item, "; a step is a whole number from 1, a factor x2 or more")
	case times:
		r.factor = n
		written += ":x"
	default:
		r.step = n
		written += ":"
	}
	return r, written + strconv.Itoa(n), nil
}

// noList says what a list of the parameter looks like.
func (k *Knob) noList(given, more string) *ValueError {
	return &ValueError{Field: string(k.ID), Given: given, Allowed: k.AllowedValues() + more}
}

func (e *ValueError) near(text string) *ValueError {
	e.Nearest = text
	return e
}

// listed adds to an error about one number that lists are allowed too.
func (k *Knob) listed(err error) error {
	var wrong *ValueError
	if errors.As(err, &wrong) && (k.ID != GBS || bareMillions(wrong.Given) == nil) {
		wrong.Allowed = k.AllowedValues()
	}
	return err
}

// AllowedValues says in words what a list of the parameter looks like.
func (k *Knob) AllowedValues() string {
	switch k.Kind {
	case Number:
		return k.Allowed() + ", a list (2,4,8) or a range (2..8, ..8, 2.., 64..512:64, 1..64:x2)"
	case Choice:
		return "all, or a list of " + strings.TrimPrefix(k.Allowed(), "one of ")
	case Switch:
		return "on, off, or on,off for both"
	case Figure:
		return k.Allowed() + ", or a list of them"
	case List:
		return "all, or " + k.Allowed()
	case Rate:
	}
	return k.Allowed()
}

func shortened(text string) string {
	const keep = 60
	if len(text) > keep {
		return text[:keep] + "..."
	}
	return text
}

// words reads a list of choices.
func (k *Knob) words(items []string, text string) (Values, error) {
	var v Values
	if one := slices.Compact(slices.Clone(items)); len(one) == 1 && len(k.Choices) > 0 &&
		(one[0] == "all" || k.Kind == Switch && one[0] == "both") {
		v.Words, v.items = slices.Clone(k.Choices), one
		return v, nil
	}
	for _, item := range items {
		var s Setup
		if err := k.setTo(&s, strings.TrimSpace(item)); err != nil {
			value, _ := errors.AsType[*ValueError](err) // as all errors of values are
			if k.Kind == Figure && value.Allowed != k.Allowed() {
				return Values{}, value // two readings of a number
			}
			wrong := k.noList(shortened(strings.TrimSpace(item)), "")
			if strings.TrimSpace(item) == "" {
				wrong.Given = shortened(text)
			}
			if strings.TrimSpace(item) == "all" && len(k.Choices) > 0 {
				wrong.Given, wrong.Allowed = shortened(text),
					"all by itself, "+strings.TrimPrefix(wrong.Allowed, "all, ")
				return Values{}, wrong.near("all")
			}
			return Values{}, wrong.near(value.Nearest)
		}
		if word := k.textOf(&s); v.add(word) {
			v.Words = append(v.Words, word)
		}
	}
	return v, nil
}

// recomputeItems cuts none,modules:norm,act,full into none, modules:norm,act and
// full: what is no mode of its own belongs to the list of modules before it.
func recomputeItems(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		last := len(items) - 1
		var r recipe.Recompute
		if last >= 0 && strings.HasPrefix(items[last], "modules:") &&
			r.UnmarshalText([]byte(strings.TrimSpace(item))) != nil {
			items[last] += "," + strings.TrimSpace(item)
			continue
		}
		items = append(items, strings.TrimSpace(item))
	}
	return items
}

// Single returns the one number that is meant; false for a list, a range or words.
func (v *Values) Single() (int, bool) {
	if len(v.numbers) == 1 && len(v.ranges) == 0 {
		return v.numbers[0], true
	}
	return 0, false
}

// Numbers lists the numbers in ascending order, each once. A range without a step
// means those of the candidates that lie in it, and where there is none for
// its lower end, so that a range never means "anything".
func (v *Values) Numbers(candidates []int) []int {
	out := slices.Clone(v.numbers)
	for _, r := range v.ranges {
		before := len(out)
		r.each(func(n int) bool {
			out = append(out, n)
			return true
		})
		if r.step == 0 && r.factor == 0 {
			for _, n := range candidates {
				if r.low <= n && n <= r.high {
					out = append(out, n)
				}
			}
		}
		if len(out) == before {
			out = append(out, r.low)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// List returns every value that is meant, as the command line writes it. A range without a
// step means those values of the knob's ladder that lie in it.
func (k *Knob) List(v *Values, s *Setup) []string {
	if len(v.Words) > 0 {
		return slices.Clone(v.Words)
	}
	var out []string
	for _, n := range v.Numbers(candidates(s, k, Locks{})) {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// Bounds returns the least and the largest number that can be meant.
func (v *Values) Bounds() (low, high int) {
	for i, n := range v.numbers {
		if i == 0 {
			low, high = n, n
		}
		low, high = min(low, n), max(high, n)
	}
	for i, r := range v.ranges {
		if i == 0 && len(v.numbers) == 0 {
			low, high = r.low, r.high
		}
		low, high = min(low, r.low), max(high, r.high)
	}
	return low, high
}
