package search

import (
	"testing"

	"meshscope/engine"
)

// The arithmetic behind constraints that exclude everything together.
func TestWhy(t *testing.T) {
	s := engine.Setup{}
	s.GPUs, s.GBS = 64, 7
	for _, c := range []struct {
		space  Space
		fields []string
		want   string
	}{
		{
			Space{TP: []int{8}, PP: []int{16}},
			[]string{"tp", "pp"},
			"tp x pp = 8 x 16 = 128 does not divide the 64 GPUs",
		},
		{
			Space{TP: []int{8}, PP: []int{4}, CP: []int{4}},
			[]string{"tp", "pp", "cp"},
			"tp x pp x cp = 8 x 4 x 4 = 128 does not divide the 64 GPUs",
		},
		{Space{DP: []int{8}}, []string{"dp", "gbs"}, "dp = 8 does not divide the 7 sequences of the batch"},
		{
			Space{DP: []int{2}, MBS: []int{4}},
			[]string{"dp", "mbs", "gbs"},
			"dp x mbs = 2 x 4 = 8 does not divide the 7 sequences of the batch",
		},
		// they divide: something else is wrong
		{Space{TP: []int{8}, PP: []int{8}}, []string{"tp", "pp"}, ""},
		{Space{TP: []int{8, 16}, PP: []int{16}}, []string{"tp", "pp"}, ""}, // several values
		{Space{TP: []int{8}}, []string{"tp", "memory"}, ""},
		{Space{TP: []int{3}}, []string{"tp"}, ""}, // one has its own rule
	} {
		conflict := Conflict{Fields: c.fields}
		if got := conflict.Why(&Problem{Setup: s, Space: c.space}); got != c.want {
			t.Errorf("%v: %q, want %q", c.fields, got, c.want)
		}
	}
}
