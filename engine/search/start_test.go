package search

import (
	"strconv"
	"strings"
	"testing"
)

// TestChosenWords: a search that was stopped early does not say that nothing is legal.
func TestChosenWords(t *testing.T) {
	for want, c := range map[string]Chosen{
		"layout not given: of the first 7 the one that needs least memory; --tp 4 to set one yourself": {
			Found: true, least: true, Partial: true, Layouts: 7, Own: "--tp 4",
		},
		"no legal one found":                    {},
		"was stopped before it found any":       {Partial: true},
		"none of 7 legal ones fits":             {Layouts: 7},
		"best of the first 7":                   {Layouts: 7, Found: true, Partial: true},
		"stopped before it found any: every de": {Layouts: 7, Partial: true},
	} {
		if got := c.Words(strconv.Itoa); !strings.Contains(got, want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
