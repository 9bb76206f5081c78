package engine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/search"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

// TestReasonsAreTrue asks for what excludes everything, at random, and holds what is
// said of it: where the batch is not among the reasons, no other batch helps; a limit
// that is said to be enough to give up leaves layouts, and one that is not does not.
func TestReasonsAreTrue(t *testing.T) {
	small := presets.DefaultSetup()
	draws.CheckFew(t, 8, func(t *rapid.T) {
		some := func(name string, list ...int) []int {
			if rapid.Bool().Draw(t, "any "+name) {
				return nil
			}
			return []int{rapid.SampledFrom(list).Draw(t, name)}
		}
		p := search.Problem{
			Setup: small, Workers: 1,
			Headroom: rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "headroom"),
		}
		p.Setup.GPUs = rapid.SampledFrom([]int{8, 16, 24, 64}).Draw(t, "gpus")
		p.Setup.GBS = rapid.SampledFrom([]int{1, 7, 24, 512, 1000}).Draw(t, "gbs")
		p.Space.DP, p.Space.TP = some("dp", 3, 8, 16), some("tp", 1, 3, 8, 16)
		p.Space.PP, p.Space.MBS = some("pp", 1, 2, 16), some("mbs", 1, 3, 5)
		p.Space.MicroBatches = some("m", 1, 7, 12)
		c := search.Explain(t.Context(), p, nil)
		if c == nil {
			return
		}
		has := func(p search.Problem) bool {
			p.Objective, p.Top = search.LeastMemory, 1
			return len(search.Run(t.Context(), p, nil).Best) > 0
		}
		if has(p) {
			t.Fatalf("a reason %v for a problem with layouts", c.Fields)
		}
		if !slices.Contains(c.Fields, "gbs") {
			for gbs := 1; gbs <= 400; gbs++ { // all of them, not those that the reason tried
				q := p
				q.Setup.GBS, q.Space.GBS = gbs, []int{gbs}
				if has(q) {
					t.Fatalf("%v exclude everything, but a batch of %d does not", c.Fields, gbs)
				}
			}
		}
		for field, giveUp := range map[string]func(*search.Problem){
			"dp":           func(q *search.Problem) { q.Space.DP = nil },
			"tp":           func(q *search.Problem) { q.Space.TP = nil },
			"pp":           func(q *search.Problem) { q.Space.PP = nil },
			"mbs":          func(q *search.Problem) { q.Space.MBS = nil },
			"microbatches": func(q *search.Problem) { q.Space.MicroBatches = nil },
			"headroom":     func(q *search.Problem) { q.Headroom = 0 },
		} {
			if !c.Tried || !slices.Contains(c.Fields, field) {
				continue
			}
			q := p
			giveUp(&q)
			if said := slices.Contains(c.Frees, field); said != has(q) {
				t.Fatalf("%v: giving up %s alone leaves some: said %v, is %v", c.Fields, field, said, has(q))
			}
		}
	})
}
