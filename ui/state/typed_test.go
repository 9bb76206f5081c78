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
		{knob.Schedule, "GPipe", "afab"},
		{knob.Precision, "bfloat16", "bf16"},
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
	if p, _ := knob.Find(knob.Schedule); !strings.HasPrefix(Preview(&s.Setup, &p, "GPipe"), "GPipe = afab") {
		t.Error(Preview(&s.Setup, &p, "GPipe"))
	}
	if _, err := Typed(&s, knob.Offload, "cpu"); err == nil ||
		!strings.HasSuffix(err.Error(), "; nearest optimizer") {
		t.Errorf("cpu: %v", err)
	}
	if _, err := Typed(&s, knob.TP, "--tp 8 --pp 4"); err == nil ||
		!strings.Contains(err.Error(), "tp=8,pp=4") || strings.Contains(err.Error(), "whole number") {
		t.Errorf("flags: %v", err)
	}
}

// TestRefusalsOfTyped: a value that cannot be taken is answered in one true sentence: field, given, allowed
// and nearest, nothing of the command line, and the nearest value can be taken.
func TestRefusalsOfTyped(t *testing.T) {
	s := State{Setup: presets.DefaultSetup()}
	s.Setup.MBS, s.Setup.DP, s.Setup.MicroBatches = 64, 8, 1<<17
	s.Setup.GBS = 64 * 8 << 17
	s.Locks.Batch = true
	for _, c := range []struct {
		knob              knob.ID
		typed, allowed, n string
	}{
		{knob.GBS, "512,", "a whole number from 1 to 1,099,511,627,776", "512"},
		{knob.TP, "8 ,", "a whole number from 1 to 1,048,576", "8"},
		{knob.TP, "4,8", "a whole number from 1 to 1,048,576; the Search screen takes lists", ""},
		{knob.TP, "64M", "a whole number from 1 to 1,048,576", "1,048,576"},
		{knob.MBS, "1", "a value with at most 1048575 micro-batches; here 8388608 follow", "9"},
	} {
		p, _ := knob.Find(c.knob)
		want := p.Label + ": \"" + c.typed + "\" is not " + c.allowed
		if c.n != "" {
			want += "; nearest " + c.n
		}
		if _, err := Typed(&s, c.knob, c.typed); err == nil || err.Error() != want {
			t.Errorf("%s %s: %v\nwant %s", c.knob, c.typed, err, want)
		}
		if c.n != "" {
			if _, err := Typed(&s, c.knob, c.n); err != nil {
				t.Errorf("the nearest of %s %s: %v", c.knob, c.typed, err)
			}
		}
	}
}
