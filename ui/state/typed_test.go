package state

import (
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/presets"
)

// TestTypedMeans: a number typed into a rate has the unit that the row draws, the only word that begins with
// what was typed is that word, and a refusal names the row.
func TestTypedMeans(t *testing.T) {
	s := State{Setup: presets.DefaultSetup()}
	for _, c := range []struct {
		knob        knob.ID
		typed, want string
	}{
		{"node-bandwidth", "100", "100Gb/s"},
		{"node-bandwidth", "12.5GB/s", "12.5GB/s"},
		{knob.Calibration, "transf", "transformers"},
		{knob.Calibration, "Transf", "transformers"},
		{knob.Schedule, "1f1b", "1f1b"},
		{knob.Schedule, "interleaved", "interleaved"},
		{knob.Recompute, "2", "full:2"},
		{knob.Recompute, "sel", "selective"},
		{"lora-targets", "q", "q"},
	} {
		a, err := Typed(&s, c.knob, c.typed)
		if err != nil || a.Text != c.want {
			t.Errorf("%s %s: %q, %v, not %q", c.knob, c.typed, a.Text, err, c.want)
		}
	}
	_, err := Typed(&s, "node-bandwidth", "1.2.3")
	if err == nil || !strings.Contains(err.Error(), `"1.2.3" `) {
		t.Errorf("1.2.3: %v", err)
	}
	for text, want := range map[string]string{"transformerz": "nearest transformers", "de": "is not one of"} {
		_, err := Typed(&s, knob.Calibration, text)
		if err == nil || !strings.HasPrefix(err.Error(), "stack: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Typed(&s, knob.TP, "--tp 8 --pp 4"); err == nil ||
		!strings.Contains(err.Error(), "tp=8,pp=4") || strings.Contains(err.Error(), "whole number") {
		t.Errorf("flags: %v", err)
	}
}
