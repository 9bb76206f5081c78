package search

import (
	"strings"
	"testing"
)

// A list that nobody had the time to prove does not say that it is proved.
func TestPartialReasonSaysSo(t *testing.T) {
	proved, partial := Conflict{Fields: []string{"tp", "pp"}, Frees: []string{"tp", "pp"}, Tried: true},
		Conflict{Partial: true}
	if strings.Contains(partial.Together(), "any one") || !strings.Contains(proved.Together(), "any one") ||
		!strings.Contains(partial.Together(), "no time") || strings.Contains(proved.Together(), "no time") {
		t.Errorf("%q and %q", proved.Together(), partial.Together())
	}
}

// What giving up one of a list does is said only where it was tried.
func TestGivingUpOneIsSaidAsItIs(t *testing.T) {
	fields := []string{"tp", "memory"}
	for _, c := range []struct {
		conflict Conflict
		want     string
	}{
		{Conflict{Fields: fields, Tried: true}, "exclude every layout; dropping one of them is not enough, " +
			"because other constraints exclude all layouts too"},
		{
			Conflict{Fields: fields, Frees: fields[1:], Tried: true},
			"exclude every layout; dropping the memory limit leaves some, dropping another does not",
		},
		{Conflict{Fields: fields}, "exclude every layout, whichever others are dropped"},
	} {
		if got := c.conflict.Together(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.conflict, got, c.want)
		}
	}
	if alone := (&Conflict{Fields: fields[:1], Tried: true}).Alone(); !strings.Contains(alone, "not enough") {
		t.Errorf("%q", alone)
	}
	if alone := (&Conflict{
		Fields: fields[:1], Frees: fields[:1],
		Tried: true,
	}).Alone(); strings.Contains(alone, "not enough") {
		t.Errorf("%q", alone)
	}
}
