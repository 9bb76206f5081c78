package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// TestTokensForSequences: a batch that only tokens would explain is warned of; the
// batches that people train with are not.
func TestTokensForSequences(t *testing.T) {
	s := claimedSetup(t, "llama3.1-8b dgx-h100 gpus=8 tp=1 zero=2")
	for gbs, want := range map[string]bool{"4194304": true, "131072": true, "7680": false, "512": false} {
		turned, err := knob.Turn(s, "gbs", gbs, knob.Locks{GPUs: true, Batch: true})
		if err != nil {
			t.Fatal(err)
		}
		if problems := engine.Check(turned); hasProblem(problems, "vast-batch") != want ||
			!engine.Legal(turned) {
			t.Errorf("gbs %s: %+v", gbs, problems)
		} else if text := fmt.Sprint(problems); gbs == "4194304" &&
			!strings.Contains(text, "34.4 billion tokens per step") ||
			strings.Contains(text, "not tokens") { // nothing is known here of what was given
			t.Errorf("gbs %s: %s", gbs, text)
		} else if text = fmt.Sprint(knob.GivenBatch(problems, &turned)); want &&
			!strings.Contains(text, "not tokens; "+gbs+" tokens are ") {
			t.Errorf("gbs %s: %s", gbs, text)
		}
	}
}

// TestNoWholeNumberOfThem: 9.2k is refused with what it would be.
func TestNoWholeNumberOfThem(t *testing.T) {
	p, _ := knob.Find("seq")
	_, err := p.ParseInt("9.2k")
	bad, ok := errors.AsType[*knob.ValueError](err)
	if !ok || bad.Nearest != "9421" || !strings.Contains(bad.Allowed, "this is 9420.8") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]int{"8k": 8192, "1.5k": 1536} {
		if n, err := p.ParseInt(text); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
}
