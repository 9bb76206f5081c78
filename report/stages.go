package report

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/report/figure"
)

// Kinds writes the layers of a pipeline rank by kind: "6 Mamba 2, 6 MoE, 2 full"; empty where the model has
// one kind.
func Kinds(r *engine.RankMemory) string {
	words := make([]string, len(r.Kinds))
	for i, k := range r.Kinds {
		words[i] = fmt.Sprintf("%d %s", k.Layers, k.Name)
	}
	return strings.Join(words, ", ")
}

// AllKinds writes the layers of all ranks by kind, as Kinds those of one.
func AllKinds(m *engine.Memory) string {
	var all engine.RankMemory
	for i := range m.Ranks {
		for _, k := range m.Ranks[i].Kinds {
			at := slices.IndexFunc(all.Kinds, func(of memory.KindLayers) bool { return of.Name == k.Name })
			if at < 0 {
				at, all.Kinds = len(all.Kinds), append(all.Kinds, memory.KindLayers{Name: k.Name})
			}
			all.Kinds[at].Layers += k.Layers
		}
	}
	return Kinds(&all)
}

// KindsOfRanks writes those of all ranks, the ones that have the same together: "ranks 0, 2-3: 15 sliding, 2
// full"; nothing where the model has one kind.
func KindsOfRanks(m *engine.Memory) (lines []string) {
	ranks := map[string][]int{}
	var order []string
	for i := range m.Ranks {
		kinds := Kinds(&m.Ranks[i])
		if ranks[kinds] == nil && kinds != "" {
			order = append(order, kinds)
		}
		ranks[kinds] = append(ranks[kinds], i)
	}
	for _, kinds := range order {
		who := "rank"
		if len(ranks[kinds]) > 1 {
			who = "ranks"
		}
		lines = append(lines, who+" "+figure.Ranges(ranks[kinds])+": "+kinds)
	}
	return lines
}
