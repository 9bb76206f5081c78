package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"meshscope/engine/advise"
	"meshscope/ui/figure"
)

// Every rule of advise has the name and the words for its verdict that the three
// steps of the Search screen have, and says what it would have one turn.
func TestAdviseNamesItsRules(t *testing.T) {
	flags := strings.Fields("advise --gpus 64 --tp 8 --pp 1 --gbs 32")
	_, text, _ := run(t, flags...)
	_, document, _ := run(t, append(flags, "--json")...)
	var answer struct {
		Looked struct{ Singles, Pairs, Triples int } `json:"looked_at"`
		Rules  []struct {
			ID, Text string
			Verdict  advise.Verdict
			Move     *struct {
				Changes []struct{ Field, B, Follows string }
			}
		}
	}
	if err := json.Unmarshal([]byte(document), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Rules) < 5 {
		t.Fatalf("%d rules", len(answer.Rules))
	}
	for _, r := range answer.Rules {
		_, after, ok := strings.Cut(text, "  "+r.ID+": "+r.Text+"\n    "+r.Verdict.Words())
		if !ok {
			t.Errorf("%s is not called %q in\n%s", r.ID, r.Verdict.Words(), text)
			continue
		}
		line, _, _ := strings.Cut(after, "\n")
		if r.Move == nil {
			continue
		}
		for _, c := range r.Move.Changes {
			if word := c.Field + " " + c.B; c.Follows == "" && !strings.Contains(line, word) {
				t.Errorf("%s does not say %s: %s", r.ID, word, line)
			}
		}
	}
	l := answer.Looked
	want := fmt.Sprintf("looked at %s turns of one knob, %s of two, %s of three", figure.Comma(l.Singles), figure.Comma(l.Pairs), figure.Comma(l.Triples))
	if words := strings.Join(strings.Fields(text), " "); l.Pairs <= l.Singles || l.Triples <= l.Pairs || !strings.Contains(words, want) {
		t.Errorf("it does not say %q of %+v", want, l)
	}
}
