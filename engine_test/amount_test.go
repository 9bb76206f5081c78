package engine_test

import (
	"errors"
	"testing"

	"meshscope/engine/knob"
)

// TestDeadlinesAndShares: times are in seconds, shares of one, and what is refused says what is nearest.
func TestDeadlinesAndShares(t *testing.T) {
	type row struct {
		text    string
		want    float64
		nearest string // of what is refused
	}
	check := func(parse func(field, text string) (float64, error), rows []row) {
		for _, c := range rows {
			got, err := parse("of", c.text)
			var wrong *knob.ValueError
			switch {
			case err == nil && (got != c.want || c.nearest != ""):
				t.Errorf("%q is %v, want %v%s", c.text, got, c.want, c.nearest)
			case err != nil && (!errors.As(err, &wrong) || c.want >= 0 || wrong.Nearest != c.nearest ||
				wrong.Given != c.text || wrong.Field != "of"):
				t.Errorf("%q: %#v, want %v and %q", c.text, err, c.want, c.nearest)
			}
		}
	}
	const no = -1
	check(knob.ParseDeadline, []row{
		{"1s", 1, ""},
		{"90min", 5400, ""},
		{"36h", 129_600, ""},
		{" 30 d ", 2_592_000, ""},
		{"6w", 3_628_800, ""},
		{"1.5y", 47_304_000, ""},
		{"1000y", 31_536_000_000, ""},
		{"0.99s", no, "1s"},
		{"0d", no, "1s"},
		{"1000.01y", no, "1000y"},
		{"+3d", no, "3d"},
		{"-3d", no, "1s"},
		{"1e3s", no, ""},
		{"0x10s", no, ""},
		{"30", no, ""},
		{"30 days", no, ""},
		{"", no, ""},
	})
	check(knob.ParseShare, []row{
		{"0", 0, ""},
		{"0.05", 0.05, ""},
		{"5%", 0.05, ""},
		{"99.5 %", 0.995, ""},
		{"1", no, "1%"},
		{"99", no, "99%"},
		{"100", no, "99%"},
		{"100%", no, "99%"},
		{"-5%", no, "0%"},
		{"-x", no, ""},
		{"x", no, ""},
	})
}
