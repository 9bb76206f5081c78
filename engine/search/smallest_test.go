package search_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
)

// TestSmallestMachine: where nothing fits, the machine that would do is the one that a search of every layout
// finds, under the launcher's rules and with what was given.
func TestSmallestMachine(t *testing.T) {
	type question struct {
		model, cluster string
		given          knob.Given
	}
	for _, c := range draws.Some(3,
		question{"llama3.1-405b", "dgx-h100", knob.Given{knob.GPUs: 8}},
		question{"gpt3-175b", "dgx-a100", knob.Given{knob.GPUs: 8, knob.MBS: 2, knob.Recompute: "selective"}},
		question{"llama3.1-70b", "dgx-a100", knob.Given{knob.GPUs: 8, knob.TP: 2, knob.ZeRO: 1}},
		question{"deepseek-v3", "dgx-h100", knob.Given{knob.GPUs: 8}},
		question{"qwen3-235b-a22b", "dgx-h100", knob.Given{knob.GPUs: 8}},
		question{"mixtral-8x22b", "dgx-a100", knob.Given{knob.GPUs: 8, knob.Schedule: "interleaved"}},
		question{"llama3.1-405b", "dgx-h100", knob.Given{knob.GPUs: 8, knob.Calibration: "torchtitan"}},
		question{"llama3.1-70b", "dgx-a100", knob.Given{knob.GPUs: 8, knob.Calibration: "nanotron"}},
	) {
		m, err := presets.Default().Model(c.model)
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := presets.Default().Cluster(c.cluster)
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(m, cluster, c.given)
		d.FollowPublished()
		q, err := search.Begin(d, launch.Limit)
		if err != nil {
			t.Fatal(err)
		}
		s, chosen := q.Choose(context.Background(), 2)
		if chosen.Found || chosen.Smallest <= 8 {
			t.Fatalf("%v: %+v", c, chosen)
		}
		for id, want := range c.given {
			if k, _ := knob.Find(id); id != knob.Calibration && k.Text(s) != fmt.Sprint(want) {
				t.Errorf("%v: the layout has %s %s", c, id, k.Text(s))
			}
		}
		all := *q
		all.Values = map[knob.ID]knob.Values{}
		for id, v := range q.Values {
			if id != knob.GPUs {
				all.Values[id] = v
			}
		}
		all.Objective, all.Margin = search.FewestGPUs, false
		p, err := all.Problem()
		if err != nil {
			t.Fatal(err)
		}
		p.Top, p.Workers = 1, 2
		p.Space.GPUs = slices.DeleteFunc(p.Space.GPUs, func(n int) bool { return n < 8 })
		r := search.Fewest(context.Background(), p, cluster.Node(), nil)
		if len(r.Best) == 0 || r.Best[0].Setup.GPUs != chosen.Smallest {
			t.Errorf("%v: %d GPUs would do, a search of every layout finds %+v", c, chosen.Smallest,
				fewest(r.Best))
		}
	}
}

func fewest(list []search.Found) int {
	if len(list) == 0 {
		return 0
	}
	return list[0].Setup.GPUs
}

// TestUnknownMachine: a query that no search of more GPUs can be made of does not say that none would do.
func TestUnknownMachine(t *testing.T) {
	q := search.NewQuery()
	q.Setup = presets.DefaultSetup()
	for id, text := range map[knob.ID]string{knob.GBS: "4Mtok", knob.Seq: "4096,8192"} {
		if err := q.Set(id, text); err != nil {
			t.Fatal(err)
		}
	}
	n, words := q.SmallestMachine(t.Context(), 1, strconv.Itoa)
	if n != 0 || !strings.Contains(words, "not known (") {
		t.Errorf("%d: %s", n, words)
	}
}
