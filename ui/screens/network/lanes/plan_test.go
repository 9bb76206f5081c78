package lanes

import (
	"slices"
	"testing"
)

// TestWhole: text that is cut ends with a whole sentence, where it has one.
func TestWhole(t *testing.T) {
	for _, c := range []struct{ lines, want []string }{
		{
			[]string{"The GPU waits. The first", "layers' gradients come last. The"},
			[]string{"The GPU waits. The first", "layers' gradients come last."},
		},
		{[]string{"The GPU waits.", "The first layers'"}, []string{"The GPU waits."}},
		{
			[]string{"Over NVLink 4 (450 GB/s", "and more,"},
			[]string{"Over NVLink 4 (450 GB/s", "and more…"},
		},
		{[]string{"One. Two 1.5"}, []string{"One."}},
	} {
		if got := whole(slices.Clone(c.lines), "…"); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, wanted %q", c.lines, got, c.want)
		}
	}
}
