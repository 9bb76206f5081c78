package engine_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// FuzzEntry types any text as the value of any knob: what is taken reads back as itself, what is
// not says which field, what was given and what is allowed, and changes nothing.
func FuzzEntry(f *testing.F) {
	knobs := knob.All()
	start := presets.DefaultSetup()
	for i := range knobs {
		f.Add(knobs[i].Text(start), uint8(i))
	}
	for _, seed := range []string{
		"16k", "1.5T", "full:3", "modules:norm,act", "1e9", "-1", "٣", "1_000",
		"0x10", "15,16,16,33", "megatron-core@2025.04", "\x1b[31m", "\u202e8", "on",
		strings.Repeat("\x16", 300),
	} {
		for i := range knobs {
			f.Add(seed, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		k := &knobs[int(which)%len(knobs)]
		s, err := k.Set(start, text)
		if err != nil {
			var wrong *knob.ValueError
			if !errors.As(err, &wrong) || wrong.Field != string(k.ID) || wrong.Allowed == "" {
				t.Fatalf("%s %q: %v", k.ID, text, err)
			}
			if said := err.Error(); len(said) > 1000 || !utf8.ValidString(said) ||
				strings.ContainsAny(said, "\x1b\n\u202e\u009b") {
				t.Fatalf("%s %q: %q", k.ID, text, said)
			}
			if s != start {
				t.Fatalf("%s %q is refused and changes the setup", k.ID, text)
			}
			return
		}
		written := k.Text(s)
		again, err := k.Set(start, written)
		if err != nil || again != s {
			t.Fatalf("%s %q reads back as %q: %v", k.ID, text, written, err)
		}
		_ = engine.Check(s) // legal or not, it is checked
	})
}

// FuzzSplit reads any text as layers of stages: what is taken adds up to the model's layers.
func FuzzSplit(f *testing.F) {
	f.Add("15,16,16,14", uint8(4), uint16(61))
	f.Add("0, 80", uint8(2), uint16(80))
	f.Add("-1,81", uint8(2), uint16(80))
	f.Add("9223372036854775807,1", uint8(2), uint16(80))
	f.Fuzz(func(t *testing.T, text string, stages uint8, layers uint16) {
		out, err := layout.ParseSplit(text, int(stages), int(layers))
		if err != nil {
			if len(out) > 0 {
				t.Fatalf("%q is refused with %v", text, out)
			}
			return
		}
		sum := 0
		for _, n := range out {
			if n < 0 {
				t.Fatalf("%q: %v", text, out)
			}
			sum += n
		}
		if len(out) != int(stages) || sum != int(layers) {
			t.Fatalf("%q: %v for %d stages of %d layers", text, out, stages, layers)
		}
	})
}

// FuzzRecompute reads any text as what a backward recomputes: what is taken is written as a word
// that says the same.
func FuzzRecompute(f *testing.F) {
	for _, seed := range []string{
		"none", "selective", "full", "full:3", "full:0", "full:-1", "modules:norm",
		"modules:norm, act,moe-act", "modules:", ":", "modules:norm,norm",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r, again recipe.Recompute
		if err := r.UnmarshalText([]byte(text)); err != nil {
			return
		}
		if err := again.UnmarshalText([]byte(r.String())); err != nil || again != r {
			t.Fatalf("%q is written as %q, which is %+v: %v", text, r.String(), again, err)
		}
		if r.Layers < 0 || r.Layers > recipe.MaxRecomputeLayers {
			t.Fatalf("%q: %d layers", text, r.Layers)
		}
	})
}
