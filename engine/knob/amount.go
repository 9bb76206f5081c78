package knob

import (
	"math"
	"strconv"
	"strings"
)

// amountUnit is a word after a number and what it multiplies by.
type amountUnit struct {
	word string
	size float64
}

// amount reads a positive number with one of some units behind it; no unit
// means the one that is empty, where there is one.
func amount(text string, units []amountUnit) (float64, bool) {
	trimmed := strings.TrimSpace(text)
	digits := strings.TrimRight(trimmed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ% ")
	word := strings.TrimSpace(trimmed[len(digits):])
	if strings.Trim(digits, "0123456789.") != "" { // no signs, exponents or hexadecimal
		return 0, false
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, false
	}
	for _, u := range units {
		if v := n * u.size; word == u.word && !math.IsInf(v, 0) {
			return v, true
		}
	}
	return 0, false
}

// signOf takes the sign off a number and reports whether it was a minus.
func signOf(text string) (unsigned string, negative bool) {
	trimmed := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(trimmed, "-"); ok {
		return rest, true
	}
	return strings.TrimPrefix(trimmed, "+"), false
}

// Bounds of a deadline, in seconds.
const (
	minDeadline = 1
	maxDeadline = 1000 * 365 * secondsPerDay

	secondsPerDay = 86400
)

// ParseDeadline reads 30d, 12h, 2w: how long a training may take, in seconds. What it
// refuses names the field, what is allowed and the nearest value.
func ParseDeadline(field, text string) (float64, error) {
	units := []amountUnit{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", secondsPerDay}, {"w", 7 * secondsPerDay}, {"y", 365 * secondsPerDay}}
	s, ok := amount(text, units)
	if ok && s >= minDeadline && s <= maxDeadline {
		return s, nil
	}
	wrong := &ValueError{Field: field, Given: text, Allowed: "a time from 1s to 1000y, such as 30d, 36h or 6w (min, h, d, w, y)"}
	unsigned, negative := signOf(text)
	if size, ok := amount(unsigned, units); ok {
		switch {
		case negative || size < minDeadline:
			wrong.Nearest = "1s"
		case size > maxDeadline:
			wrong.Nearest = "1000y"
		default: // a plus sign before it
			wrong.Nearest = strings.TrimSpace(unsigned)
		}
	}
	return 0, wrong
}

// ParseShare reads 5% or 0.05: a share of the usable memory, from 0 to below 1. What it
// refuses names the field, what is allowed and the nearest value.
func ParseShare(field, text string) (float64, error) {
	units := []amountUnit{{"", 1}, {"%", 0.01}}
	n, ok := amount(text, units)
	if ok && n < 1 {
		return n, nil
	}
	wrong := &ValueError{Field: field, Given: text, Allowed: "a share of the usable memory from 0% to below 100%, such as 5%"}
	switch unsigned, negative := signOf(text); {
	case ok && n < 100 && !strings.Contains(text, "%"): // percent were meant
		wrong.Nearest = strings.TrimSpace(text) + "%"
	case ok:
		wrong.Nearest = "99%"
	case negative:
		if _, ok := amount(unsigned, units); ok {
			wrong.Nearest = "0%"
		}
	}
	return 0, wrong
}
