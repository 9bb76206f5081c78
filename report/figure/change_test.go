package figure

import "testing"

func TestChange(t *testing.T) {
	for _, c := range []struct {
		text string
		v    float64
		want string
	}{
		{"1.5 GiB", 1.5, "+1.5 GiB"},
		{"-1.5 GiB", -1.5, "-1.5 GiB"},
		{"-0.0 GiB", -0.01, "0.0 GiB"},
		{"0.0 GiB", 0.01, "0.0 GiB"},
	} {
		if got := Change(c.text, c.v); got != c.want {
			t.Errorf("%q of %v: %q, want %q", c.text, c.v, got, c.want)
		}
	}
}
