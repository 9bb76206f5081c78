package cli

import (
	"math"
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

// parseDays reads 30d, 12h, 2w: how long a training may take, in seconds.
func parseDays(text string) (float64, error) {
	const day = 86400
	s, ok := amount(text, []unit{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", day}, {"w", 7 * day}, {"y", 365 * day}})
	if !ok || s <= 0 || s > 1000*365*day {
		return 0, &engine.ValueError{Field: "--deadline", Given: clip(text), Allowed: "a time such as 30d, 36h or 6w (min, h, d, w, y)"}
	}
	return s, nil
}

// parseShare reads 5% or 0.05.
func parseShare(field, text string) (float64, error) {
	n, ok := amount(text, []unit{{"", 1}, {"%", 0.01}})
	if !ok || n >= 1 {
		wrong := &engine.ValueError{Field: field, Given: clip(text), Allowed: "a share of the usable memory from 0% to below 100%, such as 5%"}
		if ok && n < 100 && !strings.Contains(text, "%") {
			wrong.Nearest = strings.TrimSpace(text) + "%"
		}
		return 0, wrong
	}
	return n, nil
}

// parseTime reads how long the program may take, 0 for as long as it needs.
func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 || d > 24*time.Hour {
		return 0, &engine.ValueError{Field: "--time", Given: clip(text), Allowed: "a time up to 24h, such as 10s or 2m, or 0 for no bound"}
	}
	return d, nil
}
