package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"meshscope/engine/knob"
	"meshscope/presets/near"
)

// bounded is a flag that describes its allowed values and gives the nearest allowed value
// to one that is not; "" if there is none.
type bounded interface {
	pflag.Value
	allowed() string
	nearest(given string) string
}

// number parses a decimal number. One beyond the range of a float64 is infinite, which is
// enough to find the nearest bound.
func number(text string) (float64, bool) {
	digits, unit, ok := knob.Plain(text)
	if !ok || unit != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(digits, 64)
	if math.IsNaN(v) || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return v, true
}

// nearestIn returns the number of an interval that is nearest to a text; "" if the text is
// no number.
func nearestIn(text string, low, high float64, whole bool) string {
	if _, _, err := knob.ReadDecimal("", text); err != nil && !whole {
		if both, ok := errors.AsType[*knob.ValueError](err); ok {
			return both.Allowed // 1,500 is 1500 or 1.5
		}
	}
	v, ok := number(text)
	if !ok {
		return ""
	}
	if v = min(max(v, low), high); whole {
		v = math.Round(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// counted is the value of a flag that takes a whole number within bounds.
type counted struct {
	value     *int
	low, high int
	lowest    string // what the lowest value means; "": itself
	kind      string // of the value, as the help names it; "": int
}

func within(value *int, low, high int, lowest string) *counted {
	return &counted{value: value, low: low, high: high, lowest: lowest}
}

func (c *counted) String() string {
	if c.value == nil || *c.value < c.low { // the flag parser asks the zero value which default is none
		return ""
	}
	return strconv.Itoa(*c.value)
}
func (c *counted) Type() string { return cmp.Or(c.kind, "int") }

func (c *counted) Set(text string) error {
	n, ok, err := knob.ReadWhole("", text)
	if err != nil || !ok || n < int64(c.low) || n > int64(c.high) {
		return errors.New("out of bounds")
	}
	*c.value = int(n)
	return nil
}

func (c *counted) allowed() string {
	lowest := strconv.Itoa(c.low)
	if c.lowest != "" {
		lowest += " (" + c.lowest + ")"
	}
	return fmt.Sprintf("a whole number from %s to %d", lowest, c.high)
}

func (c *counted) nearest(given string) string {
	return nearestIn(given, float64(c.low), float64(c.high), true)
}

// filled is the value of a flag that takes a text, and no empty one.
type filled struct {
	value  *string
	wanted string
}

func (f *filled) String() string {
	if f.value == nil {
		return ""
	}
	return *f.value
}
func (f *filled) Type() string { return "string" }

func (f *filled) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("empty")
	}
	*f.value = text
	return nil
}
func (f *filled) allowed() string     { return f.wanted }
func (*filled) nearest(string) string { return "" }

// oneOf returns an error if a word is none of those that a flag takes, with the nearest
// one.
func oneOf(flag, given string, words []string) error {
	if slices.Contains(words, given) {
		return nil
	}
	return noneOf(flag, given, words)
}

// noneOf is the error of a word that is none of those that a flag takes.
func noneOf(flag, given string, words []string) *knob.ValueError {
	wrong := &knob.ValueError{Field: flag, Given: given, Allowed: "one of " + strings.Join(words, ", ")}
	if found := near.Words(given, words, 1); len(found) > 0 {
		wrong.Nearest = found[0]
	}
	return wrong
}
