package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"meshscope/engine/advise"
	"meshscope/engine_test/draws"
	"meshscope/report/figure"
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
	want := fmt.Sprintf("looked at %s single-knob changes, %s pairs, %s triples", figure.Comma(l.Singles),
		figure.Comma(l.Pairs), figure.Comma(l.Triples))
	if words := strings.Join(strings.Fields(text), " "); l.Pairs <= l.Singles || l.Triples <= l.Pairs ||
		!strings.Contains(words, want) {
		t.Errorf("it does not say %q of %+v", want, l)
	}
}

// The tornado of advise has a bar for each knob that is longer to the side that moves
// the step more, names the values at its ends, marks those that do not fit, and names
// the best that fits.
func TestAdviseTornado(t *testing.T) {
	for _, line := range draws.Some(1,
		"advise --model llama3.1-70b --gpu a100-sxm-80g --gpus 32 --tp 8 --pp 1",
		"advise --gpus 64 --tp 8 --pp 2 --gbs 512",
	) {
		flags := strings.Fields(line)
		_, text, _ := run(t, flags...)
		_, document, _ := run(t, append(flags, "--json")...)
		var answer struct {
			Fits  bool
			Knobs []struct {
				Knob, Current string
				Values        []struct {
					Value   string
					Step    float64 `json:"step_seconds"`
					Slow    float64 `json:"pessimistic_step_seconds"`
					Fits    bool
					Refused bool
				}
			}
		}
		if err := json.Unmarshal([]byte(document), &answer); err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(text, "EACH KNOB ALONE  step time")
		table, _, _ = strings.Cut(table, "EACH KNOB ALONE  peak memory")
		drawn := 0
		for _, k := range answer.Knobs {
			_, rest, ok := strings.Cut(table, "\n  "+k.Knob+" ")
			if !ok {
				t.Fatalf("no %s in\n%s", k.Knob, text)
			}
			row, _, _ := strings.Cut(rest, "\n")
			best, bestStep := "no value fits", 0.0
			fastest, slowest := -1, -1
			for i, v := range k.Values {
				if fastest < 0 || v.Step < k.Values[fastest].Step {
					fastest = i
				}
				if slowest < 0 || v.Step > k.Values[slowest].Step {
					slowest = i
				}
				if v.Fits && !v.Refused && (bestStep == 0 || v.Slow < bestStep) {
					best, bestStep = v.Value, v.Slow
				}
			}
			for _, i := range []int{fastest, slowest} {
				v := k.Values[i]
				_, after, ok := strings.Cut(row, " at "+v.Value)
				if !ok {
					continue // the value now is the end
				}
				if drawn++; strings.HasPrefix(after, " x") == v.Fits {
					t.Errorf("%s at %s fits: %v, but %s", k.Knob, v.Value, v.Fits, row)
				}
			}
			if !strings.Contains(row, best) && !strings.Contains(row, k.Current+" (now)") {
				t.Errorf("%s: the best that fits is %s: %s", k.Knob, best, row)
			}
			if k.Knob == "tp" && strings.Count(row, "█")+strings.Count(row, "░")+strings.Count(row,
				"#")+strings.Count(row, ":") < 5 {
				t.Errorf("no bar: %s", row)
			}
		}
		if drawn < len(answer.Knobs) {
			t.Errorf("%d ends of %d knobs are named:\n%s", drawn, len(answer.Knobs), table)
		}
	}
}

// TestAdviseWithoutMargin: where no move leaves a margin, advice says so, marks the moves and gives
// no command.
func TestAdviseWithoutMargin(t *testing.T) {
	args := strings.Fields("advise --model llama3.1-8b --gpus 8 --tp 8 --headroom")
	_, text, _ := run(t, append(args, "90%")...)
	if !strings.Contains(text, "none leaves a margin") || !strings.Contains(text, "\n  ? tp 2 ") ||
		strings.Contains(text, "Command of") {
		t.Errorf("no margin:\n%.3000s", text)
	}
	if _, text, _ = run(t, append(args, "0")...); strings.Contains(text, "none leaves") ||
		!strings.Contains(text, "Command of the first one:") {
		t.Errorf("no headroom:\n%.3000s", text)
	}
}
