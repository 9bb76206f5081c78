package knob

import (
	"math"
	"slices"
	"strings"
)

// amountUnit is a word after a number and what it multiplies by.
type amountUnit struct {
	word string
	size float64
}

// amount reads a positive number with one of some units behind it; no unit means the one that is empty,
// where there is one. What can mean two amounts up to a largest is a *ValueError.
func amount(field, text string, most float64, units []amountUnit) (v float64, ok bool, err error) {
	w, ok := readWritten(text)
	if !ok || w.sign+w.exponent != "" {
		return 0, false, nil
	}
	at := slices.IndexFunc(units, func(u amountUnit) bool { return u.word == w.unit })
	if at < 0 {
		return 0, false, nil
	}
	meant := w.meant(false)
	if size := units[at].size; len(meant) > 1 && w.number(meant[0])*size <= most {
		return 0, false, w.twoReadings(field, text, false)
	}
	v = w.number(meant[len(meant)-1]) * units[at].size
	return v, !math.IsInf(v, 0), nil
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
	units := []amountUnit{
		{"s", 1},
		{"min", 60},
		{"h", 3600},
		{"d", secondsPerDay},
		{"w", 7 * secondsPerDay},
		{"y", 365 * secondsPerDay},
	}
	s, ok, err := amount(field, text, maxDeadline, units)
	if err != nil || ok && s >= minDeadline && s <= maxDeadline {
		return s, err
	}
	wrong := &ValueError{
		Field: field, Given: text,
		Allowed: "a time from 1s to 1000y, such as 30d, 36h or 6w (min, h, d, w, y)",
	}
	unsigned, negative := signOf(text)
	if size, ok, _ := amount(field, unsigned, maxDeadline, units); ok {
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
	n, ok, err := amount(field, text, 1, units)
	if err != nil || ok && n < 1 {
		return n, err
	}
	wrong := &ValueError{
		Field: field, Given: text,
		Allowed: "a share of the usable memory from 0% to below 100%, such as 5%",
	}
	switch unsigned, negative := signOf(text); {
	case ok && n < 100 && !strings.Contains(text, "%"): // percent were meant
		wrong.Nearest = strings.TrimSpace(text) + "%"
	case ok:
		wrong.Nearest = "99%"
	case negative:
		if _, ok, _ := amount(field, unsigned, 1, units); ok {
			wrong.Nearest = "0%"
		}
	}
	return 0, wrong
}
