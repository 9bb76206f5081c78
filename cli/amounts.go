package cli

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"meshscope/engine"
)

// unit is a word after a number and what it multiplies by.
type unit struct {
	word string
	size float64
}

// amount reads a positive number with one of some units behind it; no unit
// stands for the one that is empty, where there is one.
func amount(text string, units []unit) (float64, bool) {
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

// sign takes the sign off a number and says whether it was a minus.
func sign(text string) (unsigned string, negative bool) {
	trimmed := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(trimmed, "-"); ok {
		return rest, true
	}
	return strings.TrimPrefix(trimmed, "+"), false
}

// Bounds of a deadline, in seconds.
const (
	day         = 86400
	minDeadline = 1
	maxDeadline = 1000 * 365 * day
)

// parseDays reads 30d, 12h, 2w: how long a training may take, in seconds.
func parseDays(text string) (float64, error) {
	units := []unit{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", day}, {"w", 7 * day}, {"y", 365 * day}}
	s, ok := amount(text, units)
	if ok && s >= minDeadline && s <= maxDeadline {
		return s, nil
	}
	wrong := &engine.ValueError{Field: "--deadline", Given: clip(text), Allowed: "a time from 1s to 1000y, such as 30d, 36h or 6w (min, h, d, w, y)"}
	unsigned, negative := sign(text)
	if size, ok := amount(unsigned, units); ok {
		if wrong.Nearest = "1000y"; negative || size < minDeadline {
			wrong.Nearest = "1s"
		}
	}
	return 0, wrong
}

// parseShare reads 5% or 0.05.
func parseShare(field, text string) (float64, error) {
	units := []unit{{"", 1}, {"%", 0.01}}
	n, ok := amount(text, units)
	if ok && n < 1 {
		return n, nil
	}
	wrong := &engine.ValueError{Field: field, Given: clip(text), Allowed: "a share of the usable memory from 0% to below 100%, such as 5%"}
	switch unsigned, negative := sign(text); {
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

// parseTime reads how long the program may take, 0 for as long as it needs.
func parseTime(text string) (time.Duration, error) {
	const most = 24 * time.Hour
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err == nil && d >= 0 && d <= most {
		return d, nil
	}
	wrong := &engine.ValueError{Field: "--time", Given: clip(text), Allowed: "a time up to 24h, such as 10s or 2m, or 0 for no bound"}
	switch {
	case err == nil && d < 0:
		wrong.Nearest = "1s"
	case err == nil || beyondDuration(text):
		wrong.Nearest = "24h"
	}
	return 0, wrong
}

// beyondDuration says that a text is a time, but one longer than a time.Duration
// holds: with one digit for each number it is read.
func beyondDuration(text string) bool {
	_, err := time.ParseDuration(longNumbers().ReplaceAllString(strings.TrimSpace(text), "1"))
	return err == nil && !strings.HasPrefix(strings.TrimSpace(text), "-")
}

func longNumbers() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) }
