package engine_test

import (
	"errors"
	"strings"
	"testing"

	"meshscope/engine/knob"
)

func TestParamsAreDescribed(t *testing.T) {
	seen := map[knob.ID]bool{}
	for _, p := range knob.All() {
		if seen[p.ID] {
			t.Errorf("%s is listed twice", p.ID)
		}
		seen[p.ID] = true
		if p.Label == "" || p.Allowed() == "" {
			t.Errorf("%s: label %q, allowed %q", p.ID, p.Label, p.Allowed())
		}
		if !strings.HasSuffix(p.Help, ".") {
			t.Errorf("%s: help is not a sentence: %q", p.ID, p.Help)
		}
		if p.Kind == knob.Number && p.Min >= p.Max {
			t.Errorf("%s: bounds %d to %d", p.ID, p.Min, p.Max)
		}
	}
	for _, id := range strings.Fields("dp tp pp vpp cp ep etp sp zero mbs microbatches gbs seq nodes gpus " +
		"schedule group-size " +
		"recompute precision grad-dtype attention loss optimizer offload mtp calibration mfu split hsdp " +
		"imbalance") {
		if !seen[knob.ID(id)] {
			t.Errorf("%s is missing", id)
		}
	}
}

// What a parameter writes it reads back as the same setup.
func TestParamTextRoundTrip(t *testing.T) {
	s, err := draftOf(t, "tp=8 pp=2 gbs=512 recompute=full:3").Resolve()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range knob.All() {
		got, err := p.Set(s, p.Text(s))
		if err != nil || got != s {
			t.Errorf("%s: setting its own text %q changes the setup (%v)", p.ID, p.Text(s), err)
		}
	}
}

func TestParamSet(t *testing.T) {
	s, err := draftOf(t, "tp=8 pp=2 gbs=512").Resolve()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		id          knob.ID
		given, want string
	}{
		{"tp", "4", "4"},
		{"seq", " 4096 ", "4096"},
		{"nodes", "3", "3"},
		{"sp", "false", "off"},
		{"sp", "on", "on"},
		{"schedule", "afab", "afab"},
		{"recompute", "full:12", "full:12"},
		{"split", "39, 41", "39,41"},
		{"split", "balanced", "balanced"},
		{"grad-dtype", "bf16+fp32", "bf16+fp32"},
		{"precision", "fp8:deepseek", "fp8:deepseek"},
		{"recompute", "modules:act, norm", "modules:norm,act"},
		{"recompute", "modules:shared,moe-act,mla-up", "modules:mla-up,moe-act,shared"},
		{"offload", "optimizer", "optimizer"},
		{"loss", "unfused", "unfused"},
		{"imbalance", "150", "150"},
		{"hsdp", "2", "2"},
		{"calibration", "nanotron", "nanotron"},
	}
	for _, tc := range tests {
		p, _ := knob.Find(tc.id)
		got, err := p.Set(s, tc.given)
		if err != nil || p.Text(got) != tc.want {
			t.Errorf("%s set to %q reads %q (%v), want %q", tc.id, tc.given, p.Text(got), err, tc.want)
		}
	}
}

func TestParamRefuses(t *testing.T) {
	s, err := draftOf(t, "").Resolve()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		id             knob.ID
		given, nearest string
	}{
		{"tp", "0", "1"},
		{"tp", "-8", "1"},
		{"tp", "eight", ""},
		{"tp", "8.5", "9"},
		{"tp", "", ""},
		{"tp", "1e400", "1048576"},
		{"tp", "NaN", ""},
		{"tp", "99999999999999999999999999", "1048576"},
		{"tp", "-99999999999999999999999999", "1"},
		{"tp", "2000000", "1048576"},
		{"zero", "4", "3"},
		{"nodes", "16777216", "2097152"},
		{"seq", "2147483648", "1073741824"},
		{"schedule", "1f1c", "1f1b"},
		{"precision", "fp8:other", "fp8:te"},
		{"sp", "maybe", ""},
		{"recompute", "full:0", "full:1"},
		{"recompute", "modules:head", ""},
		{"recompute", "modules:", ""},
		{"offload", "moments", ""},
		{"loss", "half", ""},
		{"imbalance", "99", "100"},
		{"hsdp", "0", "1"},
		{"split", "40,,40", ""},
		{"split", "40,-1", ""},
		{"split", strings.Repeat("1,", 40000) + "1", ""},
	}
	for _, tc := range tests {
		p, ok := knob.Find(tc.id)
		if !ok {
			t.Fatalf("no parameter %s", tc.id)
		}
		got, err := p.Set(s, tc.given)
		var value *knob.ValueError
		if !errors.As(err, &value) {
			t.Errorf("%s=%.30s: got %v, want a refused value", tc.id, tc.given, err)
			continue
		}
		if got != s || value.Field != string(tc.id) || value.Allowed == "" || value.Nearest != tc.nearest {
			t.Errorf("%s=%.30s: %+v (changed: %v), want nearest %q", tc.id, tc.given, value, got != s,
				tc.nearest)
		}
	}
}
