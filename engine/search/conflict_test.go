package search

import (
	"strings"
	"testing"
)

// A list that nobody had the time to prove does not say that it is proved.
func TestPartialReasonSaysSo(t *testing.T) {
	proved, partial := Conflict{}, Conflict{Partial: true}
	if strings.Contains(partial.Together(), "any one") || !strings.Contains(partial.Together(), "no time") || strings.Contains(proved.Together(), "no time") {
		t.Errorf("%q and %q", proved.Together(), partial.Together())
	}
}
