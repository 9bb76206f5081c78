package ui

import (
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/presets"
)

// TestPublishedBatchIsNamed: the note of another model names the run whose batch it brings, unless the reader
// has fixed the batch.
func TestPublishedBatchIsNamed(t *testing.T) {
	m := sample(t, 120, 36)
	of, err := presets.Default().Model("deepseek-v3")
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := presets.Default().GPU("h800-sxm")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(of, presets.Default().NodeOf(gpu), nil)
	d.FollowPublished()
	d.With(knob.Given{knob.GPUs: 2048, knob.TP: 1, knob.PP: 16, knob.EP: 64})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	c := &choice{note: "model DeepSeek-V3"}
	a := m.chosenAction(c, &chosenMsg{setup: s})
	if !strings.Contains(a.Text, ", batch of ") || !strings.Contains(a.Text, "DeepSeek") {
		t.Errorf("%d x %d: %q", s.GBS, s.Seq, a.Text)
	}
	c.of.Fixed = c.of.Fixed.With(knob.GBS)
	if a := m.chosenAction(c, &chosenMsg{setup: s}); strings.Contains(a.Text, ", batch of ") {
		t.Errorf("a fixed batch: %q", a.Text)
	}
}

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
