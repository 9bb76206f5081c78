package cli

import (
	"regexp"
	"strings"
	"time"

	"meshscope/engine/knob"
)

// parseDays reads 30d, 12h, 2w: how long a training may take, in seconds.
func parseDays(text string) (float64, error) {
	return knob.ParseDeadline("--deadline", text)
}

// parseShare reads 5% or 0.05.
func parseShare(field, text string) (float64, error) {
	return knob.ParseShare(field, text)
}

// parseTime reads how long the program may take, 0 for as long as it needs.
func parseTime(text string) (time.Duration, error) {
	const most = 24 * time.Hour
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err == nil && d >= 0 && d <= most {
		return d, nil
	}
	wrong := &knob.ValueError{Field: "--time", Given: text, Allowed: "a time up to 24h, such as 10s or 2m, or 0 for no bound"}
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
