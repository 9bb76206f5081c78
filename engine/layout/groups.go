package layout

import "meshscope/engine/hardware"

// Span is the widest connection that a group of ranks crosses.
type Span string

// Spans, from near to far.
const (
	WithinNode   Span = "node"    // all members in one node
	WithinDomain Span = "domain"  // several nodes joined by the scale-up link (NVL72)
	WithinMany   Span = "cluster" // members in several scale-up domains
)

// Group is a set of ranks that communicate: Size members, each Stride ranks
// from the next, PerDomain of them in one scale-up domain.
type Group struct {
	Size, Stride int
	PerDomain    int
	Span         Span
}

// Crosses reports whether the group leaves the scale-up domain.
func (g Group) Crosses() bool { return g.Span == WithinMany }

// Groups are the communication groups of a layout on a cluster. The rank order
// is tp, cp, dp, pp with tp fastest for the dense part of the model and etp,
// ep, expert-dp, pp for the experts: consecutive ranks fill a node.
type Groups struct {
	TP, CP, DP, PP Group
	DenseDP        Group // dp x cp ranks: they hold the same dense weights
	ETP, EP        Group
	ExpertDP       Group

	// With replicas (HSDP) the two data-parallel groups are a product: shards
	// next to each other, replicas of the same shard far apart. Without, the
	// replica groups have one member.
	DenseShard, DenseReplica   Group
	ExpertShard, ExpertReplica Group
}

// Domain returns how many GPUs of each scale-up domain the layout takes. Where all of
// them would not divide the job, schedulers leave some free, so that groups do
// not straddle two domains: 64 of the 72 of an NVL72 rack for a job of a power of
// two (Slurm's block topology with --segment). At least half of a domain is
// taken.
func (l *Layout) Domain(c *hardware.Cluster) int {
	whole, node := c.Domain(), c.Node()
	if l.GPUs <= whole {
		return whole
	}
	for d := whole / node * node; d >= node && 2*d >= whole; d -= node {
		if l.GPUs%d == 0 {
			return d
		}
	}
	return whole
}

// Groups places the layout on the cluster.
func (l *Layout) Groups(c *hardware.Cluster) Groups {
	p := placer{node: c.Node(), domain: l.Domain(c), gpus: l.GPUs}
	shards, experts, replicas := l.DenseShards(), l.ExpertShards(), l.Replicas()
	return Groups{
		TP:       p.group(l.TP, 1),
		CP:       p.group(l.CP, l.TP),
		DP:       p.group(l.DP, l.TP*l.CP),
		DenseDP:  p.group(l.DP*l.CP, l.TP),
		PP:       p.group(l.PP, l.TP*l.CP*l.DP),
		ETP:      p.group(l.ETP, 1),
		EP:       p.group(l.EP, l.ETP),
		ExpertDP: p.group(l.ExpertDP(), l.ETP*l.EP),

		DenseShard:    p.group(shards, l.TP),
		DenseReplica:  p.group(replicas, l.TP*shards),
		ExpertShard:   p.group(experts, l.ETP*l.EP),
		ExpertReplica: p.group(max(l.ExpertDP()/experts, 1), l.ETP*l.EP*experts),
	}
}

// Part returns a group of so many data-parallel ranks, each so many of them from the next.
func (l *Layout) Part(c *hardware.Cluster, ranks, apart int) Group {
	return placer{node: c.Node(), domain: l.Domain(c), gpus: l.GPUs}.group(ranks, apart*l.TP*l.CP)
}

type placer struct{ node, domain, gpus int }

// group places size ranks at a stride. A group lies inside a node (or a
// domain) when its block of size*stride consecutive ranks does, which for
// every group holds only if blocks tile the node.
func (p placer) group(size, stride int) Group {
	g := Group{Size: size, Stride: stride, PerDomain: size, Span: WithinNode}
	extent := size * stride
	switch {
	case size <= 1:
	case p.inside(extent, p.domain): // a domain can be smaller than a node (bridged pairs)
		if !p.inside(extent, p.node) {
			g.Span = WithinDomain
		}
	default:
		g.Span = WithinMany
		g.PerDomain = p.perDomain(size, stride)
	}
	return g
}

// perDomain returns how many members of a group that leaves its domain share one:
// the smallest number that a domain holds of any such group, because the group
// with the worst split is the one that the others wait for. Blocks of
// size*stride ranks start at multiples of their extent; what they leave in a
// domain is a multiple of the greatest common divisor.
func (p placer) perDomain(size, stride int) int {
	extent := size * stride
	if stride >= p.domain || extent%p.domain == 0 {
		return min(max(p.domain/stride, 1), size)
	}
	return min(max(GCD(p.domain, extent)/stride, 1), size)
}

// GCD returns the greatest common divisor of two numbers.
func GCD(a, b int) int {
	// a power of two, which most numbers of GPUs are: searches ask for each layout
	if a > 0 && b > 0 && b&(b-1) == 0 {
		return min(a&-a, b)
	}
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

func (p placer) inside(extent, block int) bool {
	return extent <= block && (block%extent == 0 || p.gpus <= block)
}
