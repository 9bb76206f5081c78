package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"meshscope/engine/knob"
)

// bounded is a flag that says itself what it takes and what is nearest to something
// it does not take; empty where nothing is.
type bounded interface {
	pflag.Value
	allowed() string
	nearest(given string) string
}

// number reads a decimal number as far as it can be told which side of the bounds it
// is on: one beyond what a float holds is infinite.
func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if math.IsNaN(v) || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return v, true
}

// nearestIn writes the number of an interval that is nearest to a text.
func nearestIn(text string, low, high float64, whole bool) string {
	v, ok := number(text)
	if !ok {
		return ""
	}
	if v = min(max(v, low), high); whole {
		v = math.Round(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// counted is a flag that takes a whole number within bounds.
type counted struct {
	value     *int
	low, high int
	lowest    string // what the lowest value means; empty: itself
}

func within(value *int, low, high int, lowest string) *counted {
	return &counted{value, low, high, lowest}
}

func (c *counted) String() string {
	if c.value == nil { // the flag parser asks an empty one for what is no default
		return ""
	}
	return strconv.Itoa(*c.value)
}
func (c *counted) Type() string { return "int" }

func (c *counted) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < c.low || n > c.high {
		return errors.New("out of bounds")
	}
	*c.value = n
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

// oneOf refuses a word that is none of those a flag takes, with the one that is
// spelled most like it.
func oneOf(flag, given string, words []string) error {
	if slices.Contains(words, given) {
		return nil
	}
	wrong := &knob.ValueError{Field: flag, Given: given, Allowed: "one of " + strings.Join(words, ", ")}
	if near := closest(given, words); len(near) > 0 {
		wrong.Nearest = near[0]
	}
	return wrong
}
