package search

import (
	"context"

	"meshscope/engine"
)

// alternativesTop is how many ranked layouts alternatives are taken from: neighbours in rank often
// differ in the micro-batch or the recompute alone.
const alternativesTop = 100

// Alternatives searches a problem for layouts that differ from its setup and from each other in a
// degree that splits the model (TP, PP, CP, EP, ETP or ZeRO), the best first. The result is that of
// the whole search.
func Alternatives(ctx context.Context, p Problem) ([]Found, Result) {
	type shape struct{ tp, pp, cp, ep, etp, zero int }
	of := func(s *engine.Setup) shape { return shape{s.TP, s.PP, s.CP, s.EP, s.ETP, s.ZeRO} }
	p.Top = alternativesTop
	p.Setup.Split = "" // of its own stages
	r := Run(ctx, p, nil)
	seen := map[shape]bool{of(&p.Setup): true}
	var out []Found
	for i := range r.Best {
		if s := of(&r.Best[i].Setup); !seen[s] {
			seen[s] = true
			out = append(out, r.Best[i])
		}
	}
	return out, r
}
