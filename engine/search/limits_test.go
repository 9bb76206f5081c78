package search

import (
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// bounded is a step and a peak.
func bounded(step units.Seconds, peak units.Bytes) bound.Bound {
	return bound.Bound{Step: step, Peak: peak}
}

// TestDeadlineToTheSecond: a run that ends exactly at the deadline is in time; of the clock only the goodput
// counts.
func TestDeadlineToTheSecond(t *testing.T) {
	for _, c := range []struct {
		deadline        units.Seconds
		tokens, goodput float64
		step            units.Seconds
		want            bool
	}{
		{100, 1000, 0, 1, true},
		{100, 1000, 0, 1.01, false}, // 100 steps of 10 tokens
		{100, 1000, 50, 0.5, true},
		{100, 1000, 50, 0.51, false},
		{0, 1000, 0, 1e9, true},
		{100, 0, 0, 1e9, true},
	} {
		p := Problem{Deadline: c.deadline, Tokens: c.tokens}
		p.Setup.Goodput = c.goodput
		if got := p.inTime(c.step, 10); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestScoresInOrder: a margin before the lead before the rate; equals are not less than each other.
func TestScoresInOrder(t *testing.T) {
	sorted := []score{{false, 1, 5}, {false, 1, 6}, {false, 2, 1}, {true, 0, 0}, {true, 0, 1}}
	for i, a := range sorted {
		for j, b := range sorted {
			if a.less(b) != (i < j) {
				t.Errorf("%+v < %+v: %v", a, b, a.less(b))
			}
		}
	}
	p := limitProblem()
	p.Margin = true
	peak := p.Setup.Cluster.GPU.MemoryUsable * (1 - engine.DefaultHeadroom)
	if tight := func(peak units.Bytes) bool {
		return p.score(&p.Setup, bounded(1, peak)).tight
	}; tight(peak) || !tight(peak*1.001) {
		t.Error("exactly the least margin is enough")
	}
	s := p.score(&p.Setup, bounded(3, 0))
	if want := 3.0 * 16 / (48 * 4096); s.rate != want || s.lead != 0 {
		t.Errorf("%+v, want %v GPU-seconds per token", s, want)
	}
	for objective, lead := range map[Objective]float64{
		FewestGPUs: 16, LargestMBS: -2, LongestSeq: -4096,
		LeastMemory: 70, Cost: 0,
	} {
		p.Objective, p.Setup.MBS = objective, 2
		if got := p.score(&p.Setup, bounded(3, 70)); got.lead != lead {
			t.Errorf("%s leads with %v, want %v", objective, got.lead, lead)
		}
	}
}

// TestNearCountsTheEdge: a layout exactly a share behind is near, one that was dropped may be, and of what
// was evaluated its result counts, not its bound.
func TestNearCountsTheEdge(t *testing.T) {
	p := Problem{}
	r := run{problem: &p, dropped: 2}
	seen := evaluated{bounds: []score{{rate: 1}, {rate: 1.1}, {rate: 2}}}
	for i, rate := range []float64{1, 1.25, 1.5} {
		seen.fits(&found{candidate: candidate{plane: int32(i)}, exact: score{rate: rate}})
	}
	all := []candidate{
		{key: score{rate: 1}},
		{key: score{rate: 1.1}},
		{key: score{rate: 1.25}},
		{key: score{rate: 1.26}},
		{key: score{tight: true}},
		{key: score{lead: 1}},
	}
	if got, want := r.near(score{rate: 1}, 0.25, &seen, all),
		(Near{Share: 0.25, Least: 2, Most: 2 + 2 + 3 - 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	p.Objective = LeastMemory
	if lead, rate := p.worst(score{lead: 8, rate: 3}, 0.5); lead != 12 || !math.IsInf(rate, 1) {
		t.Errorf("the least memory: %v %v", lead, rate)
	}
}

// TestFrontOfTwo: of layouts with equal speed or memory the one that the other beats in nothing is not on the
// front.
func TestFrontOfTwo(t *testing.T) {
	f := func(plane int32, rate float64, peak units.Bytes) *found {
		return &found{candidate: candidate{plane: plane}, exact: score{rate: rate}, peak: peak}
	}
	for _, c := range []struct {
		list []*found
		want []int32
	}{
		{[]*found{f(0, 1, 9), f(1, 2, 5), f(2, 3, 1)}, []int32{0, 1, 2}},
		{[]*found{f(2, 3, 1), f(1, 2, 5), f(0, 1, 9)}, []int32{0, 1, 2}},
		{[]*found{f(0, 1, 5), f(1, 2, 5)}, []int32{0}},
		{[]*found{f(1, 2, 5), f(0, 1, 5)}, []int32{0}},
		{[]*found{f(0, 1, 5), f(1, 1, 6)}, []int32{0}},
		{[]*found{f(1, 1, 6), f(0, 1, 5)}, []int32{0}},
		{[]*found{f(1, 1, 5), f(0, 1, 5)}, []int32{0}},
		{[]*found{f(0, 1, 5), f(1, 1, 5)}, []int32{0}},
		{[]*found{f(0, 1, 9), f(1, 3, 1), f(2, 2, 9)}, []int32{0, 1}},
	} {
		k := keeper{top: 3, wantFront: true}
		for _, one := range c.list {
			k.keep(one)
		}
		var got []int32
		for i := range k.front {
			got = append(got, k.front[i].plane)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("front %v, want %v", got, c.want)
		}
	}
	k := keeper{front: []found{*f(0, 1, 9), *f(1, 2, 5)}}
	for _, c := range []struct {
		rate float64
		peak units.Bytes
		want bool
	}{
		{0.5, 99, false},
		{1, 9, false},
		{1, 9.5, true},
		{1.5, 9, true},
		{1.5, 8, false},
		{2, 5, false},
		{2, 6, true},
		{3, 5, true},
		{3, 4, false},
	} {
		if got := k.dominated(c.rate, c.peak); got != c.want {
			t.Errorf("%+v: dominated %v", c, got)
		}
	}
}

// TestKeeperWants: a full list wants what is not worse than its last, an equal bound included.
func TestKeeperWants(t *testing.T) {
	k := keeper{problem: &Problem{}, top: 2, ranked: []found{{exact: score{rate: 1}}}}
	if !k.wants(&candidate{key: score{rate: 9}}) || !k.missed(score{rate: 9}) {
		t.Error("a list that is not full wants anything")
	}
	k.ranked = append(k.ranked, found{exact: score{rate: 2}})
	for rate, want := range map[float64]bool{1.5: true, 2: true, 2.5: false} {
		c := []candidate{{key: score{rate: rate}}}
		if k.wants(&c[0]) != want || k.missed(c[0].key) != want || (k.open(c) == 1) != want {
			t.Errorf("a bound of %v: %v, want %v", rate, !want, want)
		}
	}
	if k.wantFront = true; !k.missed(score{rate: 2.5}) {
		t.Error("a front misses what was dropped")
	}
}

// TestRankerDropsTheWorst: beyond its room a ranker keeps the better half and knows the best of what it
// dropped.
func TestRankerDropsTheWorst(t *testing.T) {
	r := ranker{kept: 4}
	for _, rate := range []float64{3, 1, 7} {
		r.add(&candidate{key: score{rate: rate}})
	}
	if len(r.found) != 3 || r.dropped != 0 {
		t.Fatalf("%d kept, %d dropped of 3", len(r.found), r.dropped)
	}
	for _, rate := range []float64{5, 4, 2} {
		r.add(&candidate{key: score{rate: rate}})
	}
	if len(r.found) != 2 || r.found[0].key.rate != 1 || r.found[1].key.rate != 2 || r.dropped != 4 ||
		r.lowest.rate != 3 {
		t.Errorf("%+v, %d dropped from %v on", r.found, r.dropped, r.lowest.rate)
	}
	whole := run{}
	whole.drop(&ranker{})
	whole.drop(&r)
	whole.drop(&ranker{dropped: 1, lowest: score{rate: 9}})
	if whole.dropped != 5 || whole.lowest.rate != 3 {
		t.Errorf("%d dropped from %v on", whole.dropped, whole.lowest.rate)
	}
	all := ranker{kept: 2, everything: true}
	for range 5 {
		all.add(&candidate{})
	}
	if len(all.found) != 5 || all.dropped != 0 {
		t.Errorf("%d kept where everything is", len(all.found))
	}
}

// TestGapsAreCut: in eight steps of whole multiples, without the ends.
func TestGapsAreCut(t *testing.T) {
	for _, c := range []struct {
		low, high, least int
		want             []int
	}{
		{8, 12, 1, []int{9, 10, 11}},
		{16, 32, 8, []int{24}},
		{8, 16, 8, nil},
		{0, 64, 1, []int{8, 16, 24, 32, 40, 48, 56}},
		{64, 128, 8, []int{72, 80, 88, 96, 104, 112, 120}},
	} {
		if got := gap(c.low, c.high, c.least); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	f := func(gbs int, step units.Seconds, peak units.Bytes) (f Found) {
		f.Setup.GBS, f.Setup.Seq, f.Setup.GPUs, f.PessimisticStep, f.Report.Memory = gbs, 1, 1, step,
			&engine.Memory{Peak: peak}
		return f
	}
	front := undominated([]Found{f(4, 2, 7), f(8, 2, 9), f(4, 1, 8), f(8, 8, 7), f(2, 1, 6)})
	if len(front) != 2 || front[0].Report.Memory.Peak != 8 || front[1].Report.Memory.Peak != 6 {
		t.Errorf("front %+v", front)
	}
}

// TestRoomForTheLastOne: what fills the room exactly need not wait, and half of it is no long pipeline.
func TestRoomForTheLastOne(t *testing.T) {
	collected := 0
	r := newRoom(func() { collected++ })
	r.enter(roomOps / 2)
	r.enter(roomOps / 2)
	var e engine.Evaluator
	if r.leave(&e, roomOps/2); collected != 0 || r.used != roomOps/2 {
		t.Errorf("collected %d times, %v used", collected, r.used)
	}
	r.enter(1)
	if r.leave(&e, roomOps/2+1); collected != 1 || !e.SkipTimeline {
		t.Errorf("collected %d times after a long one", collected)
	}
}

// TestConstraintsAreWhatWasAsked: what is at its neutral value excludes nothing.
func TestConstraintsAreWhatWasAsked(t *testing.T) {
	fields := func(p Problem) (out []string) {
		for _, c := range p.constraints() {
			out = append(out, c.field)
		}
		return out
	}
	p := Problem{}
	p.Setup.HSDP = 1
	if got := fields(p); !slices.Equal(got, []string{"gbs", "launchers", "memory"}) {
		t.Errorf("of nothing: %v", got)
	}
	p.Space.Refused = true
	p.Setup.HSDP, p.Setup.GroupSize, p.Setup.MaxInFlight, p.Setup.Split, p.Headroom, p.Deadline = 2, 1, 1,
		"1", 0.1, 1
	p.Space.TP, p.Space.SP, p.Space.Others = []int{1}, []bool{true},
		[]Other{{ID: knob.Loss, Values: []string{"fused"}}, {ID: knob.Price, Values: nil}}
	if got := fields(p); !slices.Equal(got, []string{
		"tp", "sp", "loss", "price", "split", "hsdp",
		"group-size", "max-in-flight", "gbs", "memory", "headroom", "deadline",
	}) {
		t.Errorf("of everything: %v", got)
	}
	if p.legalOnly = true; slices.Contains(fields(p), "memory") {
		t.Error("a setup that cannot run is blamed on memory")
	}
}

// TestAmpleMarginLeads: of layouts that are too close to call the fastest with an ample margin comes first,
// also where the list is full without it; a tight one, one too far behind and one of more GPUs do not.
func TestAmpleMarginLeads(t *testing.T) {
	p := limitProblem()
	p.Margin = true
	f := func(plane int32, s score, ample bool) *found {
		out := &found{candidate: candidate{plane: plane}, exact: s, ample: ample}
		out.Setup.TP, out.Report.Time = int(plane), &engine.Time{Evidence: engine.Evidence{ErrorBand: 0.4}}
		return out
	}
	fast, near, far := f(1, score{rate: 10}, false), f(2, score{rate: 10.9}, true),
		f(3, score{rate: 11.1}, true)
	for _, c := range []struct {
		list []*found
		top  int
		want []int
	}{
		{[]*found{fast, near}, 2, []int{2, 1}},
		{[]*found{fast, near}, 1, []int{2}},
		{[]*found{near, far, fast, f(4, score{rate: 10.95}, true)}, 3, []int{2, 1, 4}},
		{[]*found{fast, far}, 2, []int{1, 3}},
		{[]*found{f(1, score{rate: 10}, true), near}, 2, []int{1, 2}},
		{[]*found{fast, f(2, score{rate: 10.5, lead: 1}, true)}, 2, []int{1, 2}},
		{
			[]*found{f(1, score{rate: 10, tight: true}, false), f(2, score{rate: 10.5, tight: true}, true)},
			2,
			[]int{1, 2},
		},
	} {
		k := keeper{problem: &p, top: c.top}
		for _, one := range c.list {
			k.keep(one)
		}
		var got []int
		for i, one := range k.best() {
			got = append(got, one.Setup.TP)
			fastest := slices.MinFunc(c.list, func(a, b *found) int { return a.better(b) })
			if one.ForMargin != (i == 0 && one.Setup != fastest.Setup) {
				t.Errorf("%v: place %d for its margin: %v", c.want, i+1, one.ForMargin)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	k := keeper{problem: &p, top: 1}
	k.keep(fast)
	roomy, full := candidate{key: score{rate: 10.9}},
		candidate{key: score{rate: 10.9}, peak: p.Setup.Cluster.GPU.MemoryUsable}
	if !k.wants(&roomy) || k.wants(&full) || !k.missed(roomy.key) || k.missed(score{rate: 11.1}) {
		t.Error("what may lead for its margin is not looked at, or what cannot is")
	}
}
