package ui

import "testing"

// TestEscTwice: two esc that a terminal sends at once are two, not one with alt: the first clears what is
// typed into a list, the second closes it.
func TestEscTwice(t *testing.T) {
	m := sample(t, 120, 36)
	keys(m, "m")
	typeText(m, "llama")
	if keys(m, "alt+esc"); !m.overlays.Empty() {
		t.Errorf("the list is still open:\n%s", screenText(m))
	}
}
