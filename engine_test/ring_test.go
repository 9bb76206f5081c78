package engine_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/ring"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
)

// TestRingAttentionCoversTheTriangle: over all ranks and steps each block under the mask is
// worked exactly once by the owner of its queries, zig-zag gives all the same in every step, and
// both agree with the closed forms.
func TestRingAttentionCoversTheTriangle(t *testing.T) {
	draws.CheckFew(t, 15, func(r *rapid.T) {
		a := ring.Attention{
			Ranks:  rapid.IntRange(1, 12).Draw(r, "ranks"),
			ZigZag: rapid.Bool().Draw(r, "zig-zag"),
		}
		whole := rapid.Bool().Draw(r, "divides")
		if a.Tokens = rapid.IntRange(1, 500).Draw(r, "tokens"); whole {
			a.Tokens *= a.Parts()
		}
		worked, sum := map[[2]int]int{}, 0
		for rank := range a.Ranks {
			seen, done := map[int]bool{}, 0
			for step := range a.Ranks {
				from := a.From(rank, step)
				if seen[from] {
					r.Fatalf("rank %d meets the keys of rank %d twice", rank, from)
				}
				seen[from] = true
				for _, q := range a.Own(rank) {
					for _, k := range a.Own(from) {
						if at, ok := a.Step(q, k); ok != (k <= q) || at != step {
							r.Fatalf("block %d, %d: step %d %v, want %d", q, k, at, ok, step)
						}
						if k <= q {
							worked[[2]int{q, k}]++
						}
					}
				}
				done += a.Work(rank, step)
				if whole && a.ZigZag && a.Work(rank, step) != a.Work(0, step) {
					r.Fatalf("step %d: rank %d has %d, rank 0 %d", step, rank, a.Work(rank, step),
						a.Work(0, step))
				}
			}
			if done != a.Total(rank) || done != a.Done(rank, a.Ranks) {
				r.Fatalf("rank %d: %d in steps, %d in all", rank, done, a.Total(rank))
			}
			sum += done
		}
		if want := a.Tokens * (a.Tokens + 1) / 2; sum != want {
			r.Fatalf("%d pairs, want %d", sum, want)
		}
		for q := range a.Parts() {
			for k := range a.Parts() {
				if want := map[bool]int{true: 1}[k <= q]; worked[[2]int{q, k}] != want {
					r.Fatalf("block %d, %d is worked %d times", q, k, worked[[2]int{q, k}])
				}
			}
		}
		if !whole {
			return
		}
		for rank, want := range layout.CausalWork(a.Tokens, a.Ranks, a.ZigZag) {
			if a.Total(rank) != want {
				r.Fatalf("rank %d: %d, CausalWork has %d", rank, a.Total(rank), want)
			}
		}
		_, most, mean := a.Busiest()
		if l := (layout.Layout{Seq: a.Tokens, CP: a.Ranks}); a.ZigZag &&
			float64(most)/mean != l.CausalImbalance() {
			r.Fatalf("busiest %d of %g, imbalance %g", most, mean, l.CausalImbalance())
		}
	})
}

// TestCollectivesArrive: a rank sends only what it holds, one chunk a step, and after the last step
// every rank has what the collective promises: each chunk's sum of all ranks exactly once.
func TestCollectivesArrive(t *testing.T) {
	for _, op := range ring.Ops() {
		for n := 2; n <= 9; n++ {
			c := ring.Collective{Op: op, Ranks: n, PerNode: max(n/2, 1)}
			most := 0.0
			for step := range c.Steps() {
				before, from, to := c.After(step), map[int]bool{}, map[int]bool{}
				for _, s := range c.Sends(step) {
					if from[s.From] || to[s.To] || s.From == s.To {
						t.Errorf("%s of %d: rank %d sends or %d receives twice in step %d", op, n, s.From,
							s.To, step)
					}
					from[s.From], to[s.To] = true, true
					if before[s.From][s.Chunk].Size == 0 {
						t.Errorf("%s of %d: rank %d has no chunk %d to send in step %d", op, n, s.From,
							s.Chunk, step)
					}
				}
			}
			if len(c.Sends(-1))+len(c.Sends(c.Steps())) > 0 {
				t.Errorf("%s of %d sends before or after its steps", op, n)
			}
			end := c.After(c.Steps())
			for rank := range end {
				most = max(most, float64(c.Sent(rank, c.Steps()))/float64(c.Chunks()))
				for chunk, has := range end[rank] {
					if want := c.Wanted(rank, chunk); want.Size > 0 && has != want {
						t.Errorf("%s of %d: rank %d has %v of chunk %d, want %v", op, n, rank, has, chunk,
							want)
					}
				}
			}
			if op != ring.Barrier && math.Abs(most-c.Share()) > 1e-12 {
				t.Errorf("%s of %d: sends %g of the data, want %g", op, n, most, c.Share())
			}
		}
	}
}

// TestRingTimes: in one domain the steps of one ring take the engine's time for an all-reduce and a
// gather, but for the start of a call.
func TestRingTimes(t *testing.T) {
	cluster := hgx()
	cluster.Intra.Latency = 3e-6
	m := hardware.Machine{Cluster: &cluster, Network: hardware.Network{AllReduce: 0.8, Gather: 0.8}}
	draws.CheckFew(t, 15, func(r *rapid.T) {
		n, volume := rapid.IntRange(2, 8).Draw(r, "ranks"),
			units.Bytes(rapid.Float64Range(1, 1e11).Draw(r, "bytes"))
		g := hardware.Members{Size: n, PerDomain: n, Stride: 1}
		near := ring.Link{Rate: 0.8 * cluster.Intra.Bandwidth, Latency: cluster.Intra.Latency}
		for op, want := range map[ring.Op]units.Seconds{
			ring.AllReduce: m.AllReduce(nil, volume, g), ring.AllGather: m.AllGather(nil, volume, g),
			ring.ReduceScatter: m.AllGather(nil, volume, g),
		} {
			c := ring.Collective{Op: op, Ranks: n, PerNode: n}
			if got := c.Seconds(volume, near, ring.Link{}); math.Abs(float64(got/want)-1) > 1e-9 {
				r.Fatalf("%s of %d: %g s, the engine has %g", op, n, got, want)
			}
		}
	})
}

// TestRingFactsAreTheReports: the bytes of the groups' collectives and the send/recv of ring
// attention add up to the report's traffic.
func TestRingFactsAreTheReports(t *testing.T) {
	w := newWorld(t)
	// so much that latency and start of a call, some 40 us, do not count with the smallest volume
	const many = 1e12
	draws.CheckFew(t, 13, func(r *rapid.T) {
		s := w.legalSetup(r)
		report := engine.Evaluate(s)
		f, ok := ring.Of(&s)
		if ok != report.Legal {
			r.Fatalf("facts %v of a setup that is legal: %v", ok, report.Legal)
		}
		if !ok {
			return
		}
		for i := range f.Groups {
			g := &f.Groups[i]
			row := trafficOf(&report, g.Dimension)
			near, far := g.Links(ring.AllReduce)
			if g.Volume <= 0 || near.Rate+far.Rate <= 0 || len(g.Uses) == 0 || g.Size != row.GroupSize {
				r.Fatalf("group %+v of %+v", g, row)
			}
			whole := ring.Collective{Op: ring.AllReduce, Ranks: g.Size, PerNode: g.PerDomain}
			one := whole.Seconds(many*g.Volume, near, far)
			if m := timesOf(&s, g, many); (g.Dimension == "tp" || g.Dimension == "dp") &&
				g.PerDomain == g.Size && math.Abs(float64(one/m)-1) > 1e-6 {
				r.Fatalf("%s: one ring in a domain takes %g s, the engine has %g", g.Dimension, one, m)
			}
			if c := (ring.Collective{Op: ring.AllReduce, Ranks: g.Size}); g.Dimension == "dp" &&
				s.ZeRO == 0 && s.PP == 1 &&
				math.Abs(c.Share()*float64(g.Volume)/float64(row.Bytes)-1) > 1e-9 {
				r.Fatalf("dp sends %g, an all-reduce of %g over %d is %g of it", row.Bytes, g.Volume, g.Size,
					c.Share())
			}
		}
		if s.CP == 1 || s.PP > 1 || report.Memory.Ranks[0].Layers == 0 {
			return
		}
		row := trafficOf(&report, "cp")
		passes := float64(row.Bytes) / (float64(f.Forward.Message) * float64(s.CP-1))
		// forward 1, backward 2, recomputed 1, of each layer and micro-batch
		if n := math.Round(passes); math.Abs(passes-n) > 1e-6*n {
			r.Fatalf("cp sends %g passes of %g", passes, f.Forward.Message)
		}
		if f.Forward.Exposed > f.Forward.SendRecv*(1+1e-9) ||
			(row.Exposed > 0) != (f.Forward.Exposed+f.Backward.Exposed > 0) {
			r.Fatalf("exposed %g and %g of %g, the report has %g", f.Forward.Exposed, f.Backward.Exposed,
				f.Forward.SendRecv, row.Exposed)
		}
	})
}

// timesOf returns the engine's time for an all-reduce of so many times the volume of a group.
func timesOf(s *engine.Setup, g *ring.Group, times float64) units.Seconds {
	m := hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software)
	of := map[string]layout.Group{
		"tp": s.Groups(&s.Cluster).TP,
		"dp": s.Groups(&s.Cluster).DenseDP,
	}[g.Dimension]
	return m.AllReduce(nil, units.Bytes(times)*g.Volume,
		hardware.Members{Size: of.Size, PerDomain: of.PerDomain, Stride: of.Stride})
}

// trafficOf returns the report's row of a dimension.
func trafficOf(r *engine.Report, dimension string) engine.Communication {
	for _, c := range r.Communication {
		if c.Dimension == dimension {
			return c
		}
	}
	return engine.Communication{}
}

// TestNoLinkOutrun: no time that the pictures predict needs more than the links' nominal rates, of an
// all-to-all of tokens apart, of which copies travel once.
func TestNoLinkOutrun(t *testing.T) {
	w := newWorld(t)
	check := func(t rapid.TB, s *engine.Setup) {
		f, ok := ring.Of(s)
		if !ok {
			return
		}
		for i := range f.Groups {
			g := &f.Groups[i]
			n, in := float64(g.Size), float64(g.PerDomain)
			// of the volume: what a rank sends inside its domain and out of it
			near, far := (in-1)/n, (n-in)/n
			for op, sent := range map[ring.Op][2]float64{
				ring.AllToAll: {near, far}, ring.AllGather: {near, far / in},
				ring.ReduceScatter: {near, far / in}, ring.AllReduce: {0, 2 * far / in},
			} {
				t1, known := g.Models(op)
				if !known || op == ring.AllToAll && g.Dimension == "ep" {
					continue
				}
				for j, link := range [...]units.BytesPerSecond{
					s.Cluster.Intra.Bandwidth,
					s.Cluster.Inter.Bandwidth,
				} {
					if rate := float64(g.Volume) * sent[j] / float64(t1); rate > float64(link)*(1+1e-9) {
						t.Fatalf("%s of %s: %g GB in %g s are %.3g GB/s over a link of %.3g", op, g.Dimension,
							float64(g.Volume)*sent[j]/1e9, t1, rate/1e9, link/1e9)
					}
				}
			}
		}
	}
	big := claimedSetup(t, "deepseek-v3 dgx-h100 gpus=2048 pp=16 ep=64 gbs=2048")
	check(t, &big)
	draws.CheckFew(t, 13, func(r *rapid.T) {
		s := w.legalSetup(r)
		check(r, &s)
	})
}
