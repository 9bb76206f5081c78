package search

import (
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	find "meshscope/engine/search"
	"meshscope/report/figure"
)

// Words of the knobs about the whole run.
const (
	autoValue  = "auto"
	noDeadline = "none"
	yourBatch  = "yours"
)

// mostNodes is up to how many nodes are tried, doubled from one on.
const mostNodes = 2048

// numbersOf returns the words for how many GPUs are tried: auto, or up to so many.
func numbersOf(s *engine.Setup) []string {
	out := []string{autoValue}
	for _, n := range doubled(s) {
		if n > s.Cluster.Node() {
			out = append(out, upTo(n))
		}
	}
	return out
}

func upTo(gpus int) string { return "to " + figure.Comma(gpus) }

// doubled returns the GPUs of 1, 2, 4 and more nodes, as far as the machine goes.
func doubled(s *engine.Setup) []int {
	most := knob.MaxGPUs
	if m := s.Cluster.MaxGPUs; m > 0 {
		most = m
	}
	var out []int
	for n := 1; n <= mostNodes && n*s.Cluster.Node() <= most; n *= 2 {
		out = append(out, n*s.Cluster.Node())
	}
	return out
}

// gpus lists the numbers of GPUs that are tried; empty: what a search takes by itself.
func (a *query) gpus(o find.Objective) string {
	all := doubled(&a.base)
	switch word := a.chosen[numbers]; {
	case word == "" && o != find.Cost:
		return ""
	case word != "":
		if i := slices.IndexFunc(all, func(n int) bool { return upTo(n) == word }); i >= 0 {
			all = all[:i+1]
		}
	}
	// The fewest are looked for among the numbers that the command line takes.
	if o != find.FewestGPUs {
		all = append(all, a.base.GPUs)
	}
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// usualBatch says what a batch is that nobody gave.
func usualBatch(s *engine.Setup) string {
	if tokens, _ := s.PublishedTokens(s.GPUs); tokens > 0 {
		return "of published runs"
	}
	return find.UsualBatch(s, 0, 0)
}

// batchWords say at which global batch was searched, and in brief.
func (a *query) batchWords() (long, short string) {
	if a.problem().Space.FollowGBS {
		return "batch " + usualBatch(&a.base), "own batch each"
	}
	n := figure.Comma(a.base.GBS)
	return "at your batch of " + n, "batch " + n
}

// lacking says what the query needs to know and nobody gave.
func (a *query) lacking() string {
	p := a.problem()
	switch {
	case p.Tokens > 0 && p.Objective == find.Cost && p.Setup.Price == 0 && p.Setup.Cluster.GPU.PriceUSD == 0:
		return "no price of " + p.Setup.Cluster.GPU.Name + " is known: r sets one; the order is the same"
	case p.Tokens > 0:
		return ""
	case p.Deadline > 0:
		return "the deadline is ignored: it needs tokens (f, or r)"
	case p.Objective == find.Cost:
		return "costs need tokens (f, or r); the order is the same"
	}
	return ""
}
