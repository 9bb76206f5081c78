package search

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/presets"
)

// TestDigitsType: in the settings digits type a value, which enter takes; what it
// cannot be is refused with the nearest value, which a second enter takes.
func TestDigitsType(t *testing.T) {
	in := small(t)
	for _, c := range []struct {
		k       facet
		typed   string
		refused bool // by the first enter
		want    string
	}{
		{tensor, "4", false, "4"},
		{tensor, "16", false, "16"}, // legal or not: the search says why there is nothing
		{zero, "7", true, "3"},
		{microBatch, "3", false, "3"},
		{headroom, "7", false, "7 %"},
		{headroom, "2.5%", false, "2.5 %"},
		{headroom, "400", true, "99 %"},
		{deadline, "45", false, "45 days"},
		{deadline, "1", false, "1 day"},
		{deadline, "0", false, ""},
		{deadline, "60d", false, "60 days"}, // as on the command line
		{deadline, "36h", false, "1.5 days"},
		{deadline, "2w", false, "14 days"},
		{budget, "1.5T", false, "1.5T"},
		{budget, "1234567890", false, "1234567890"},
		{numbers, "64", false, "to 64"},
		{numbers, "100", true, "to 128"},
	} {
		v := New(presets.Default())
		v.Refresh(in)
		v.press(in, "f")
		v.knob = c.k
		for _, key := range strings.Split(c.typed, "") {
			v.press(in, key)
		}
		if !v.Typing() {
			t.Fatalf("%s: %q does not type", c.k.label(), c.typed)
		}
		shown := strings.Join(v.Render(in.At(118, 32)), "\n")
		if !strings.Contains(shown, "\x1b[7m") && !strings.Contains(shown, ";7m") {
			t.Errorf("%s: no caret", c.k.label())
		}
		if !strings.Contains(shown, c.typed[:len(c.typed)-1]) {
			t.Errorf("%s: what is typed is not shown:\n%s", c.k.label(), shown)
		}
		v.press(in, "enter")
		if v.Typing() != c.refused {
			t.Errorf("%s %s: still typing %t, want %t: %s", c.k.label(), c.typed, v.Typing(), c.refused,
				v.entry.wrong)
		}
		if c.refused {
			if status := v.Status(in.At(200, 1)); !strings.Contains(status, "allowed") ||
				!strings.Contains(status, "nearest") {
				t.Errorf("%s %s: %q", c.k.label(), c.typed, status)
			}
			v.press(in, "enter")
		}
		if v.Typing() || v.chosen[c.k] != c.want {
			t.Errorf("%s %s gives %q, want %q", c.k.label(), c.typed, v.chosen[c.k], c.want)
		}
		if c.want != "" && !slices.Contains(v.values[c.k], c.want) {
			t.Errorf("%s: %q is not among %q, and cannot be turned from", c.k.label(), c.want, v.values[c.k])
		}
		p := (&query{base: base(in.Setup), chosen: v.chosen}).problem()
		switch {
		case c.k == headroom && c.typed == "2.5%" && p.Headroom != 0.025:
			t.Errorf("a headroom of 2.5 %% is %v", p.Headroom)
		case c.k == deadline && c.want == "45 days" && p.Deadline != 45*86400:
			t.Errorf("45 days are %v s", p.Deadline)
		case c.k == microBatch && !slices.Equal(p.Space.MBS, []int{3}):
			t.Errorf("mbs 3 is %v", p.Space.MBS)
		}
	}
}

// TestNoNumberIsRefused: what is no plain number is refused for headroom and deadline,
// as the command line refuses it, and never read as another number.
func TestNoNumberIsRefused(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in)
	for _, k := range []facet{headroom, deadline, budget, microBatch} {
		for _, text := range []string{
			"nan", "NaN", "inf", "-inf", "2,5,5", "2,50,0%", "1,5,0T", "1,,5d",
			"0x10", "-3", "",
		} {
			word, err := v.read(k, text)
			var value *knob.ValueError
			if err == nil || !errors.As(err, &value) || value.Allowed == "" {
				t.Errorf("%s %q is read as %q, %v", k.label(), text, word, err)
			}
		}
	}
	if word, err := v.read(budget, "1,000,000,000"); err != nil || word == "" {
		t.Errorf("commas between thousands: %q, %v", word, err)
	}
	for k, typed := range map[facet][2]string{
		headroom: {"2,5", "2.5 %"}, deadline: {"1,5d", "1.5 days"},
		budget: {"1,5T", "1.5T"},
	} {
		if word, err := v.read(k, typed[0]); err != nil || word != typed[1] {
			t.Errorf("%s %s is read as %q, %v", k.label(), typed[0], word, err)
		}
	}
}

// TestTypedStays: a value that was typed is still asked when the setup changes, and
// another digit begins anew; esc takes nothing.
func TestTypedStays(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in)
	v.press(in, "f")
	v.knob = headroom
	v.press(in, "7", "enter")
	s := *in.Setup
	s.GBS, s.MicroBatches = 64, 16
	in.Setup = &s
	v.Refresh(in)
	if v.chosen[headroom] != "7 %" || !slices.Contains(v.values[headroom], "7 %") {
		t.Errorf("headroom is %q of %q", v.chosen[headroom], v.values[headroom])
	}
	v.press(in, "9", "esc")
	if v.Typing() || v.chosen[headroom] != "7 %" {
		t.Errorf("after esc %t, %q", v.Typing(), v.chosen[headroom])
	}
	v.knob = schedules
	v.press(in, "1")
	if v.Typing() || !strings.Contains(v.Status(in.At(200, 1)), "takes one of: usual, all") {
		t.Errorf("schedules: %t, %q", v.Typing(), v.Status(in.At(200, 1)))
	}
	v.press(in, "down")
	if strings.Contains(v.Status(in.At(200, 1)), "takes one of") {
		t.Error("the refusal stays under another knob")
	}
}
