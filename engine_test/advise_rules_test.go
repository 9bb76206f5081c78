package engine_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/presets"
)

// ruleOf is what a rule of thumb says of a setup.
func ruleOf(t *testing.T, s engine.Setup, id string) (advise.Rule, bool) {
	t.Helper()
	a, ok := advise.For(s, advise.Options{Alone: true, Moves: 1})
	if !ok {
		t.Fatalf("no advice: %v", engine.Check(s))
	}
	i := slices.IndexFunc(a.Rules, func(r advise.Rule) bool { return r.ID == id })
	if i < 0 {
		return advise.Rule{}, false
	}
	return a.Rules[i], true
}

func turnedTo(t *testing.T, s engine.Setup, id knob.ID, text string) engine.Setup {
	t.Helper()
	out, err := knob.Turn(s, id, text, knob.Locks{GPUs: true})
	if err != nil || !engine.Legal(out) {
		t.Fatalf("%s %s: %v %v", id, text, err, engine.Check(out))
	}
	return out
}

// The batch of the playbook is 4 to 60 M tokens, its cheatsheet's 4 to 40 M: both
// are named, and a batch between the two says so.
func TestRuleOfGlobalBatch(t *testing.T) {
	start := presets.DefaultSetup() // 8,192 tokens a sequence
	for _, c := range []struct {
		gbs, why string
		verdict  advise.Verdict
	}{
		{"64", "0.524 M tokens", advise.Warns},
		{"512", "4.19 M tokens", advise.Followed},
		{"4096", "33.6 M tokens", advise.Followed},
		// DeepSeek-V3: 15,360 x 4,096
		{"7680", "62.9 M tokens, more than the 40 M of the cheatsheet", advise.Followed},
		{"16384", "134 M tokens", advise.Warns},
	} {
		r, ok := ruleOf(t, turnedTo(t, start, "gbs", c.gbs), "global-batch")
		if !ok || r.Verdict != c.verdict || !strings.Contains(r.Why, c.why) || r.Step != 2 {
			t.Errorf("gbs %s: %+v, want %s because %s", c.gbs, r, c.verdict, c.why)
		}
		if !strings.Contains(r.Text, "4 M tokens (Llama 1) to 60 M (DeepSeek)") ||
			!strings.Contains(r.Source, "cheatsheet says 4 to 40 M") {
			t.Errorf("%s (%s)", r.Text, r.Source)
		}
	}
	adapters, _ := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{knob.GPUs: 8, knob.LoRA: 16})
	if r, ok := ruleOf(t, adapters, "global-batch"); ok {
		t.Errorf("of adapters: %+v", r)
	}
}

// The moves of the third step: each where it applies, held against the model, with a
// source that is the one it comes from.
func TestRulesOfThroughput(t *testing.T) {
	start := presets.DefaultSetup() // tp 8, pp 2, ZeRO 1
	for _, c := range []struct {
		id      string
		setup   engine.Setup
		applies bool
		verdict advise.Verdict // empty: whatever the model says, but with a move
	}{
		{"tp-to-the-node", start, true, advise.Followed},
		{"tp-to-the-node", turnedTo(t, start, "tp", "4"), true, ""},
		{"tp-to-the-node", turnedTo(t, start, "tp", "16"), true, ""},
		{"dp-with-zero3", start, true, ""},
		{"dp-with-zero3", turnedTo(t, turnedTo(t, start, "pp", "1"), "zero", "3"), true, advise.Followed},
		{"pp-where-dp-waits", start, false, ""}, // its traffic hides
		{"tune-mbs", start, true, ""},
		{"fill-the-pipeline", start, true, advise.Followed},
		{"fill-the-pipeline", turnedTo(t, start, "pp", "1"), false, ""},
	} {
		r, applies := ruleOf(t, c.setup, c.id)
		if applies != c.applies || applies && c.verdict != "" && r.Verdict != c.verdict {
			t.Errorf("%s: %+v, applies %t; want %t, %q", c.id, r, applies, c.applies, c.verdict)
		}
		if applies && (r.Step != 3 || (r.Move == nil) != (r.Verdict == advise.Followed)) {
			t.Errorf("%s: %+v", c.id, r)
		}
		if applies && (c.id == "fill-the-pipeline") == strings.Contains(r.Source, "step 3") {
			t.Errorf("%s comes from %s", c.id, r.Source)
		}
	}
	// Where the gradients' traffic is a good part of the step, the rule speaks.
	slow := start
	slow.Cluster.Inter.Bandwidth /= 20
	slow = turnedTo(t, turnedTo(t, slow, "gbs", "32"), "pp", "1")
	r, ok := ruleOf(t, slow, "pp-where-dp-waits")
	if !ok || !strings.Contains(r.Why, "% of the step is exposed data-parallel traffic") || r.Move == nil ||
		r.Move.Setup.PP < 2 {
		t.Errorf("slow links: %+v", r)
	}
}

// Rules of replicas and of a layer that must fit: when they apply and what they say.
func TestRulesOfReplicas(t *testing.T) {
	t.Parallel()
	few := setupOf(t, knob.Given{knob.GPUs: 64, knob.TP: 4, knob.GBS: 1024, knob.Seq: 4096})
	many := setupOf(t, knob.Given{knob.GPUs: 512, knob.DP: 512, knob.GBS: 512, knob.Seq: 4096, knob.ZeRO: 3})
	if r, ok := ruleOf(t, few, "replicas-before-accumulation"); !ok || r.Move == nil ||
		r.Move.Report.Time == nil || r.Verdict == advise.Followed {
		t.Errorf("TP 4 with 64 micro-batches: %+v", r)
	}
	for _, id := range []string{"replicas-before-accumulation", "replicas-to-512", "a-layer-must-fit"} {
		if _, ok := ruleOf(t, few, id); ok != (id == "replicas-before-accumulation") {
			t.Errorf("%s on 16 replicas: %v", id, ok)
		}
	}
	if r, ok := ruleOf(t, many, "replicas-to-512"); !ok || r.Verdict == advise.Followed ||
		!strings.Contains(r.Why, "512 replicas") {
		t.Errorf("512 replicas: %+v", r)
	}
	// 218.1 M parameters in 16 bits, their gradients in 16 or in 32.
	for why, s := range map[string]engine.Setup{
		"0.813 of 79.1 GiB": many,
		"1.22 of 79.1 GiB":  turnedTo(t, many, knob.GradDtype, "fp32"),
	} {
		if r, ok := ruleOf(t, s, "a-layer-must-fit"); !ok || r.Verdict != advise.Followed ||
			!strings.Contains(r.Why, why) {
			t.Errorf("a layer of 8 B, wanted %s: %+v", why, r)
		}
	}
	wide := many
	wide.Model.FFN *= 400 // a layer of 141 GB
	if r, ok := ruleOf(t, wide, "a-layer-must-fit"); !ok || r.Verdict == advise.Followed {
		t.Errorf("a layer larger than a GPU: %+v", r)
	}
}

// TestRuleOfOneMethod: the rule is followed by the two methods that it names, and not by replicas alone.
func TestRuleOfOneMethod(t *testing.T) {
	plain := setupOf(t, knob.Given{knob.GPUs: 1024, knob.DP: 1024, knob.GBS: 1024, knob.Seq: 4096})
	zero := turnedTo(t, plain, knob.ZeRO, "3")
	for i, c := range []struct {
		s        engine.Setup
		followed bool
	}{
		{plain, false},
		{zero, false},
		{turnedTo(t, zero, knob.Recompute, "full"), true},
		{turnedTo(t, plain, knob.TP, "8"), true},
		{turnedTo(t, plain, knob.TP, "2"), false},
	} {
		if r, ok := ruleOf(t, c.s, "one-method"); !ok || (r.Verdict == advise.Followed) != c.followed {
			t.Errorf("case %d: %v %+v", i, ok, r)
		}
	}
}

// setupOf returns a setup of an 8B model, legal, with what is given.
func setupOf(t *testing.T, given knob.Given) engine.Setup {
	t.Helper()
	d := textbookDraft(t, "llama3.1-8b", 4096)
	leaveOut(&d, knob.DP, knob.MicroBatches, knob.GPUs)
	d.With(given)
	s, err := d.Resolve()
	if err != nil || !engine.Legal(s) {
		t.Fatalf("%v: %v %v", given, err, engine.Check(s))
	}
	return s
}
