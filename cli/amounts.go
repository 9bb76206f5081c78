package cli

import (
	"regexp"
	"strings"
	"time"

	"meshscope/engine/knob"
)

// parseDays parses the longest duration of a run, such as 30d, 12h or 2w, in seconds.
func parseDays(text string) (float64, error) {
	return knob.ParseDeadline("--deadline", text)
}

// autoHeadroom is the value of --headroom that makes the default margin a preference.
const autoHeadroom = "auto"

// parseHeadroom parses --headroom: a share that is a limit, or auto, which is none.
func parseHeadroom(text string) (float64, error) {
	if text == autoHeadroom {
		return 0, nil
	}
	return parseShare("--headroom", text)
}

// parseShare parses a share, such as 5% or 0.05.
func parseShare(field, text string) (float64, error) {
	return knob.ParseShare(field, text)
}

// parseTime parses how long the program may take; 0 is no limit.
func parseTime(text string) (time.Duration, error) {
	const most = 24 * time.Hour
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err == nil && d >= 0 && d <= most {
		return d, nil
	}
	wrong := &knob.ValueError{
		Field: "--time", Given: text,
		Allowed: "a time up to 24h, such as 10s or 2m, or 0 for no limit",
	}
	switch {
	case err == nil && d < 0:
		wrong.Nearest = "1s"
	case err == nil || beyondDuration(text):
		wrong.Nearest = "24h"
	}
	return 0, wrong
}

// beyondDuration reports whether a text is a duration that is longer than a
// time.Duration holds: with one digit per number it parses.
func beyondDuration(text string) bool {
	_, err := time.ParseDuration(longNumbers().ReplaceAllString(strings.TrimSpace(text), "1"))
	return err == nil && !strings.HasPrefix(strings.TrimSpace(text), "-")
}

func longNumbers() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) }
