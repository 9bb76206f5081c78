package cli_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A first place that leaves less than its error band, or 5 %, of the memory free is said to be
// unsure, with the headroom that leaves it out; one that is farther is said to be so.
func TestSearchSaysHowSureItFits(t *testing.T) {
	near, far := 0, 0
	for _, flags := range []string{
		"--dp 64 --tp 1 --mbs 2 --zero 0", "--dp 64 --tp 1 --mbs 2 --zero 1",
		"--dp 64 --tp 1 --mbs 1 --zero 0", "--dp 32 --tp 2 --mbs 8",
	} {
		arguments := append(strings.Fields("search --calibration nanotron --model llama3.2-1b --gpus 64 "+
			"--gbs 512 --top 1 --headroom 0"), strings.Fields(flags)...)
		_, text, _ := run(t, arguments...)
		text = strings.Join(strings.Fields(text), " ")
		_, document, _ := run(t, append(arguments, "--json")...)
		var answer struct {
			Unsure  *bool `json:"fit_unsure"`
			Results []struct {
				Report struct {
					Memory struct {
						Usable float64  `json:"usable_bytes"`
						Peak   float64  `json:"peak_bytes"`
						Band   *float64 `json:"error_band"`
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(document), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Results) == 0 {
			continue
		}
		m := answer.Results[0].Report.Memory
		if m.Band == nil {
			if answer.Unsure != nil || !strings.Contains(text, "GiB free; its memory has no error band") {
				t.Errorf("%s: no band: %s", flags, text)
			}
			continue
		}
		unsure := m.Peak*(1+*m.Band) > m.Usable || m.Peak > 0.95*m.Usable
		if answer.Unsure == nil || *answer.Unsure != unsure {
			t.Errorf("%s: unsure %v, want %t", flags, answer.Unsure, unsure)
		}
		want := "more than the error band of its memory ("
		if unsure {
			want = "The best layout is tight: it has "
			near++
		} else {
			far++
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", flags, want, text)
		}
		_, headroom, ok := strings.Cut(text, "--headroom ")
		if ok != unsure {
			t.Errorf("%s names a headroom: %t", flags, ok)
		}
		if !unsure {
			continue
		}
		value, _, _ := strings.Cut(headroom, " ")
		_, with, _ := run(t, append(arguments, "--headroom", value)...)
		if strings.Contains(strings.Join(strings.Fields(with), " "), want) {
			t.Errorf("%s --headroom %s is still unsure", flags, value)
		}
	}
	if near == 0 || far == 0 {
		t.Errorf("%d near, %d far", near, far)
	}
}

// A search that finds nothing says the arithmetic where that is plain, and how to learn
// the number of GPUs that the model needs.
func TestSearchSaysWhy(t *testing.T) {
	for flags, want := range map[string]string{
		"--gpus 64 --tp 8 --pp 16":       "tp x pp = 8 x 16 = 128 does not divide the 64 GPUs",
		"--gpus 64 --dp 8 --gbs 7":       "dp = 8 does not divide the 7 sequences of the batch",
		"--model llama3.1-70b --nodes 1": "fit: --offload optimizer. 24 GPUs (3 nodes) would do.",
		"--model llama3.1-405b --gpus 8,16": "To find how many GPUs are enough, use --objective " +
			"fewest-gpus without --gpus and --nodes.",
		"--gpus 64 --deadline 1d --tokens 15T":         "15.00 T tokens within 1 day (--deadline) excludes",
		"--model llama3.1-70b --gpus 64 --dp 5 --cp 1": "dp: 5 replicas do not divide the 64 GPUs",
	} {
		_, text, _ := run(t, append([]string{"search", "--time", "0"}, strings.Fields(flags)...)...)
		if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, want) {
			t.Errorf("search %s does not say %q: %s", flags, want, text)
		}
	}
	for _, flags := range []string{"--model llama3.1-8b --nodes 1 --gbs 512", "--gpus 64 --gbs 512"} {
		_, text, _ := run(t, append([]string{"search", "--time", "0"}, strings.Fields(flags)...)...)
		text = strings.Join(strings.Fields(text), " ")
		if alone := strings.Contains(text,
			"No other layout with as much margin of memory is within 1 % of the best."); alone == strings.Contains(text, "The model cannot tell which of these is the fastest") {
			t.Errorf("search %s speaks of the order of layouts near the best where there are none, or not "+
				"where there are: %s", flags, text)
		}
	}
}

// TestSearchCountsWhatItMarks: where the list has all layouts that are too close to call, as many are marked
// as are counted, from the one that leads for its margin.
func TestSearchCountsWhatItMarks(t *testing.T) {
	counted := regexp.MustCompile(`Too close to call: (\d+) layouts are within a quarter`)
	for _, flags := range []string{
		"--model llama3.1-70b --nodes 32 --seq 32k", "--model llama3.1-70b --nodes 8",
		"--model llama3.1-8b --nodes 2",
	} {
		given := append([]string{"search", "--time", "0", "--top", "30"}, strings.Fields(flags)...)
		_, text, _ := run(t, given...)
		n := counted.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
		if marked := strconv.Itoa(1 + strings.Count(text, "\n    ~")); n != nil && n[1] != marked {
			t.Errorf("search %s counts %s layouts and marks %s", flags, n[1], marked)
		}
		if n == nil && strings.Contains(flags, "32k") {
			t.Errorf("search %s counts no layouts", flags)
		}
	}
}
