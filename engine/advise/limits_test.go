package advise

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
	"meshscope/presets"
)

// limited is an adviser on the default setup, with a report of round numbers: a step of 100 s of which
// nothing is exposed, 50 of 100 bytes in use.
func limited() *adviser {
	a := &adviser{now: presets.DefaultSetup()}
	a.report = engine.Report{
		Legal: true, Time: &engine.Time{Step: 100},
		Memory: &engine.Memory{Usable: 100, Peak: 50, Fits: true},
	}
	a.step = 100
	return a
}

// named returns a rule of the table.
func named(t *testing.T, id string) rule {
	t.Helper()
	list := rules()
	i := slices.IndexFunc(list, func(r rule) bool { return r.id == id })
	if i < 0 {
		t.Fatalf("no rule %s", id)
	}
	return list[i]
}

// TestRulesAtTheirLimits: the sizes that a rule names belong to it, or to the next one, exactly.
func TestRulesAtTheirLimits(t *testing.T) {
	params := func(n int64) func(a *adviser) { // so many in all
		return func(a *adviser) { a.now.Model.ExtraParams += n - a.now.Model.Total() }
	}
	type change = func(a *adviser)
	both := func(list ...change) change {
		return func(a *adviser) {
			for _, f := range list {
				f(a)
			}
		}
	}
	gpus := func(n int) change { return func(a *adviser) { a.now.GPUs = n } }
	cut := func(tp, pp, cp, zero int) change {
		return func(a *adviser) { a.now.TP, a.now.PP, a.now.CP, a.now.ZeRO = tp, pp, cp, zero }
	}
	tokens := func(gbs, seq int) change { return func(a *adviser) { a.now.GBS, a.now.Seq = gbs, seq } }
	exposed := func(dp, expert units.Seconds) change {
		return func(a *adviser) {
			a.report.Communication = []engine.Communication{
				{Dimension: "dp", Exposed: dp},
				{Dimension: "tp", Exposed: 50},
				{Dimension: "expert-dp", Exposed: expert},
			}
		}
	}
	full := func(a *adviser) { a.now.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull} }
	for _, c := range []struct {
		id                string
		set               change
		applies, followed bool
	}{
		{"one-method", both(params(10e9-1), gpus(8), cut(8, 1, 1, 1)), true, true},
		{"one-method", both(params(10e9), gpus(8), cut(8, 1, 1, 1)), false, true},
		{"one-method", both(params(9e9), gpus(7), cut(8, 1, 1, 3)), false, false}, // TP and ZeRO-3 are two
		{"one-method", both(params(9e9), gpus(8), cut(1, 1, 1, 3), full), true, true},
		{"one-method", both(params(9e9), gpus(8), cut(1, 1, 1, 3)), true, false},
		{"one-method", both(params(9e9), gpus(8), cut(4, 1, 1, 1)), true, false},
		{"one-method", both(params(9e9), gpus(8), cut(8, 2, 1, 1)), true, false},
		{"one-method", both(params(9e9), gpus(8), cut(8, 1, 2, 1)), true, false},
		{"two-methods", both(params(10e9), gpus(9), cut(8, 2, 1, 1)), true, true},
		{"two-methods", both(params(100e9), gpus(9), cut(8, 1, 1, 3)), true, true},
		{"two-methods", both(params(10e9-1), gpus(9), cut(8, 1, 1, 1)), false, false},
		{"two-methods", both(params(100e9+1), gpus(9), cut(1, 1, 1, 3)), false, true},
		{"two-methods", both(params(20e9), gpus(8), cut(4, 1, 1, 3)), false, false},
		{"two-methods", both(params(20e9), gpus(64), cut(1, 2, 1, 3)), true, false},
		{"two-methods", both(params(20e9), gpus(64), cut(1, 1, 2, 3)), true, false},
		{"not-data-alone", both(gpus(512), cut(1, 1, 1, 3)), true, false},
		{"not-data-alone", both(gpus(511), cut(2, 1, 1, 3)), false, true},
		{"not-data-alone", both(gpus(512), cut(1, 2, 1, 3)), true, true},
		{"three-methods", both(gpus(1024), cut(8, 2, 1, 2)), true, true},
		{"three-methods", both(gpus(1023), cut(8, 1, 1, 2)), false, false},
		{"three-methods", both(gpus(1024), cut(8, 2, 1, 3)), true, false},
		{"long-sequences", both(tokens(8, 32768), cut(1, 1, 2, 1)), true, true},
		{"long-sequences", both(tokens(8, 32767), cut(1, 1, 1, 1)), false, false},
		{"replicas-to-512", func(a *adviser) { a.now.DP = 512 }, true, false},
		{"replicas-to-512", func(a *adviser) { a.now.DP = 511 }, false, false},
		{
			"replicas-before-accumulation",
			func(a *adviser) { a.now.PP, a.now.MicroBatches, a.now.GPUs, a.now.TP = 1, 2, 2, 1 }, true, true,
		},
		{
			"replicas-before-accumulation",
			func(a *adviser) { a.now.PP, a.now.MicroBatches, a.now.GPUs = 1, 1, 2 }, false, false,
		},
		{
			"replicas-before-accumulation",
			func(a *adviser) { a.now.PP, a.now.MicroBatches, a.now.GPUs = 1, 2, 1 }, false, false,
		},
		{
			"replicas-before-accumulation",
			func(a *adviser) { a.now.PP, a.now.MicroBatches, a.now.TP, a.now.CP = 2, 2, 1, 2 }, false, false,
		},
		{"tp-to-the-node", both(gpus(8), cut(8, 1, 1, 1)), true, true},
		{"tp-to-the-node", both(gpus(7), cut(4, 1, 1, 1)), false, false},
		{"tp-to-the-node", func(a *adviser) { a.now.Cluster.ScaleUpGPUs, a.now.TP = 1, 1 }, false, true},
		{"dp-with-zero3", both(gpus(2), cut(4, 1, 1, 3)), true, true},
		{"dp-with-zero3", both(gpus(1), cut(1, 2, 1, 3)), false, false},
		{"dp-with-zero3", both(gpus(8), cut(1, 1, 2, 3)), true, false},
		{"pp-where-dp-waits", exposed(2, 3), true, false},
		{"pp-where-dp-waits", exposed(2, 2.9), false, false},
		{"pp-where-dp-waits", exposed(5, 0), true, false},
		{"tune-mbs", func(a *adviser) { a.now.GBS, a.now.DP = 9, 8 }, true, true},
		{"tune-mbs", func(a *adviser) { a.now.GBS, a.now.DP = 8, 8 }, false, true},
		{"fill-the-pipeline", func(a *adviser) { a.now.PP, a.now.MicroBatches = 2, 2 }, true, true},
		{"fill-the-pipeline", func(a *adviser) { a.now.PP, a.now.MicroBatches = 2, 1 }, true, false},
		{"fill-the-pipeline", func(a *adviser) { a.now.PP, a.now.MicroBatches = 1, 1 }, false, true},
		{"global-batch", tokens(450, 8000), true, true}, // nine tenths of 4 M
		{"global-batch", tokens(449, 8000), true, false},
		{"global-batch", tokens(6666, 10000), true, true}, // 60 M over nine tenths
		{"global-batch", tokens(6667, 10000), true, false},
		{"headroom", func(a *adviser) { a.report.Memory.Peak = 95 }, true, true},
		{"headroom", func(a *adviser) { a.report.Memory.Peak = 95.1 }, true, false},
		{"headroom", func(a *adviser) { a.report.Memory.Fits = false }, false, true},
		{"few-gpus", func(a *adviser) { a.report.Memory.Fits, a.now.MBS = false, 1; full(a) }, true, true},
		{"few-gpus", func(a *adviser) { a.now.MBS = 2; full(a) }, false, false},
		{
			"a-layer-must-fit",
			both(cut(1, 1, 1, 3), func(a *adviser) { a.report.Memory.Usable = a.layer() }),
			true, false,
		},
		{
			"a-layer-must-fit",
			both(cut(1, 1, 1, 2), func(a *adviser) { a.report.Memory.Usable = a.layer() * 1.01 }), false,
			true,
		},
	} {
		a := limited()
		c.set(a)
		r := named(t, c.id)
		if applies, followed := r.applies(a), r.followed(a); applies != c.applies || followed != c.followed {
			t.Errorf("%s of %+v: applies %v, followed %v, want %v, %v", c.id, a.now.Layout, applies, followed,
				c.applies, c.followed)
		}
	}
}

// TestRulesTurnByTwoAndFour: what a rule would have one do doubles or halves its knob, and more.
func TestRulesTurnByTwoAndFour(t *testing.T) {
	for id, want := range map[string][]string{
		"replicas-to-512":              {"tp 4", "pp 4", "tp 8", "pp 8"},
		"pp-where-dp-waits":            {"pp 4", "pp 8"},
		"tune-mbs":                     {"mbs 4", "mbs 1"},
		"fill-the-pipeline":            {"mbs 1", "pp 1"},
		"long-sequences":               {"cp 2", "cp 4"},
		"replicas-before-accumulation": {"tp 1", ""},
		"tp-to-the-node":               {"tp 8", "tp 4"},
		"a-layer-must-fit":             {"tp 4", "tp 8"},
	} {
		a := limited()
		a.now.TP, a.now.PP, a.now.MBS, a.now.DP, a.now.MicroBatches = 2, 2, 2, 16, 16
		var got []string
		for _, s := range named(t, id).cases(a) {
			turned := ""
			for _, k := range []knob.ID{knob.TP, knob.PP, knob.MBS, knob.CP} {
				if p, _ := knob.Find(k); p.Text(s) != p.Text(a.now) {
					turned += string(k) + " " + p.Text(s)
				}
			}
			got = append(got, turned)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	a := limited()
	a.now.TP = 4
	var cuts [][2]int
	for _, s := range named(t, "dp-with-zero3").cases(a) {
		if cuts = append(cuts, [2]int{s.TP, s.DP}); s.ZeRO != 3 || s.PP != 1 {
			t.Errorf("ZeRO-3 with %+v", s.Layout)
		}
	}
	if want := [][2]int{{4, 16}, {2, 32}, {1, 64}}; !slices.Equal(cuts, want) {
		t.Errorf("ZeRO-3 with TP and DP of %v, want %v", cuts, want)
	}
}

// TestLargestGatheredLayer: of Mixtral the weights and gradients of a layer, 2 + 4 bytes each, attention over
// TP and experts over EP: 8 of three matrices of 4,096 x 14,336, attention of 4,096 x (4,096 + 2 x 1,024 +
// 4,096), a router and two norms.
func TestLargestGatheredLayer(t *testing.T) {
	a := limited()
	m, err := presets.Default().Model("mixtral-8x7b")
	if err != nil {
		t.Fatal(err)
	}
	a.now.Model, a.now.Stack, a.now.GradDtype = m, recipe.Textbook, recipe.GradFP32
	a.now.TP, a.now.EP, a.now.ETP = 2, 4, 2
	const h, experts = 4096, 8 * 3 * 4096 * 14336
	rest := h*(h+2*1024+h) + 8*h + 2*h
	want := (float64(rest)/2 + experts/8.0) * (2 + 4)
	if got := float64(a.layer()); got < want*(1-1e-9) || got > want*(1+1e-9) {
		t.Errorf("%v bytes, by hand %v", got, want)
	}
}

// TestMarginsToTheByte: a bound that leaves exactly the margin may fit, and a layout with it is roomy.
func TestMarginsToTheByte(t *testing.T) {
	a := limited()
	for _, c := range []struct {
		limited  bool
		headroom float64
		most     units.Bytes
	}{{false, 0.5, 95}, {true, 0.25, 75}, {true, 0, 100}} {
		a.options = Options{Limited: c.limited, Headroom: c.headroom}
		for peak, want := range map[units.Bytes]bool{c.most: true, c.most + 0.01: false} {
			if got := a.mayFit(bound.Bound{Peak: peak}); got != want {
				t.Errorf("%+v: a bound of %v may fit: %v", c, peak, got)
			}
			m := engine.Memory{Usable: 100, Peak: peak, Fits: true}
			if got := a.roomy(&m); got != want || (a.tight(&m) == "") != want {
				t.Errorf("%+v: a peak of %v is roomy: %v, %q", c, peak, got, a.tight(&m))
			}
		}
	}
	if !a.mayBeTight(bound.Bound{Peak: 100}) || a.mayBeTight(bound.Bound{Peak: 100.1}) {
		t.Error("a bound of all the memory may fit")
	}
	if a.tight(&engine.Memory{Usable: 100, Peak: 120}) != "" {
		t.Error("what does not fit has no tight margin")
	}
}

// TestWhatComesLast: offload, a naive pipeline and TP over the network, each only where the setup has not got
// it.
func TestWhatComesLast(t *testing.T) {
	for _, c := range []struct {
		now, then func(s *engine.Setup)
		want      string
	}{
		{nil, func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizer }, "host"},
		{func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizer }, func(*engine.Setup) {}, ""},
		{nil, func(s *engine.Setup) { s.Offload = recipe.OffloadWeightsNVMe }, "machine, and the drives'"},
		{
			func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizer },
			func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizerNVMe }, "drives' rates are assumed",
		},
		{
			func(s *engine.Setup) { s.Cluster.DriveRead, s.Cluster.DriveWrite = 1e9, 1e9 },
			func(s *engine.Setup) { s.Offload = recipe.OffloadWeightsNVMe }, "one measured machine",
		},
		{nil, func(s *engine.Setup) { s.Schedule = schedule.Naive }, "one pipeline rank works"},
		{nil, func(s *engine.Setup) { s.Schedule, s.PP = schedule.Naive, 1 }, ""},
		{func(s *engine.Setup) { s.Schedule = schedule.Naive }, func(*engine.Setup) {}, ""},
		{nil, func(s *engine.Setup) { s.TP = 16 }, "TP over the network"},
		{func(s *engine.Setup) { s.TP = 16 }, func(*engine.Setup) {}, ""},
		{func(s *engine.Setup) { s.TP = 16 }, func(s *engine.Setup) { s.TP = 32 }, "TP over the network"},
		{func(s *engine.Setup) { s.TP = 32 }, func(s *engine.Setup) { s.TP = 16 }, ""},
		{nil, func(s *engine.Setup) { s.TP = 4 }, ""},
	} {
		a := limited()
		if c.now != nil {
			c.now(&a.now)
		}
		m := Move{Setup: a.now, fuller: a.report.Memory}
		c.then(&m.Setup)
		if got := a.last(&m); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestMovesThatStay: the fastest that fits takes the last place of those that are wanted, each setup once.
func TestMovesThatStay(t *testing.T) {
	move := func(gpus int, speed float64, fit bool) Move {
		m := Move{Speed: speed, Fits: fit}
		m.Setup.GPUs = gpus
		return m
	}
	list := []Move{
		move(1, 1, true), move(2, 2, true), move(1, 9, true), move(3, 3, true), move(4, 3, true),
		move(5, 8, false),
	}
	for most, want := range map[int][]int{
		9: {1, 2, 3, 4, 5}, 5: {1, 2, 3, 4, 5}, 3: {1, 2, 3}, 2: {1, 3},
		1: {1},
	} {
		a := limited()
		a.options.Moves = most
		var got []int
		for _, m := range a.distinct(slices.Clone(list)) {
			got = append(got, m.Setup.GPUs)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d of them: %v, want %v", most, got, want)
		}
	}
	if all := knob.Advised(); !slices.Equal(later(all[0]), all[1:]) || len(later(all[len(all)-1])) != 0 {
		t.Error("a pair is tried in one order, with each later knob")
	}
	if got := fastest([]Move{{Speed: 2}, {Speed: 3, Last: "why"}, {Speed: 1}}); got != 2 {
		t.Errorf("the fastest that does not come last has %v", got)
	}
}

// TestKnobEndsAndBest: of equal values the current one stays, what does not fit is no best one, and what some
// launcher refuses is one where nothing else fits.
func TestKnobEndsAndBest(t *testing.T) {
	k := Knob{Now: Value{Text: "now", Step: 5, Fits: true}, Values: []Value{
		{Text: "equal", Step: 5, Fits: true},
		{Text: "over", Step: 1},
		{Text: "refused", Step: 2, Fits: true, Refused: true},
		{Text: "last", Step: 3, Fits: true, Last: "x"},
		{Text: "slow", Step: 9, Fits: true},
		{Text: "as slow", Step: 9, Fits: true},
	}}
	fast, slow := k.Ends()
	if fast.Text != "over" || slow.Text != "slow" || k.Best().Text != "now" {
		t.Errorf("from %s to %s, best %s", fast.Text, slow.Text, k.Best().Text)
	}
	over := Knob{Values: []Value{
		{Text: "over", Step: 1},
		{Text: "refused", Step: 2, Fits: true, Refused: true},
	}}
	if best := over.Best(); best == nil || best.Text != "refused" {
		t.Errorf("best %v where only a refused one fits", best)
	}
	k.Values = k.Values[:1]
	if fast, slow = k.Ends(); fast.Text != "now" || slow.Text != "now" {
		t.Errorf("from %s to %s of equals", fast.Text, slow.Text)
	}
	if k.Now.Fits = false; k.Best().Text != "equal" {
		t.Errorf("best %s", k.Best().Text)
	}
	if from, to, ok := k.Reach(); !ok || from != 5 || to != 5 {
		t.Errorf("from %v to %v %v", from, to, ok)
	}
}

// TestLimitsAreWhatTakesTime: shares of the step, the largest first, without what takes none and without the
// pipeline's messages, which are in the bubble.
func TestLimitsAreWhatTakesTime(t *testing.T) {
	r := engine.Report{
		Time: &engine.Time{Step: 10, Compute: 5, Bubble: 3},
		Communication: []engine.Communication{
			{Dimension: "pp", Exposed: 4},
			{Dimension: "tp", Exposed: 2},
			{Dimension: "dp"},
		},
	}
	got := limits(&r)
	want := []Limit{{"compute", 5, 0.5}, {"bubble", 3, 0.3}, {"tp", 2, 0.2}}
	if len(got) != 3 || got[0] != want[0] || got[2] != want[2] || got[1].Name != "bubble" {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.Memory = &engine.Memory{
		PeakRank: 1,
		Ranks:    []engine.RankMemory{{}, {Weights: 30, Logits: 50, Overhead: 20, Total: 100}},
	}
	if list := terms(&r); list[0].Name != "logits" || list[0].Share != 0.5 || list[2].Name != "overhead" ||
		list[3].Bytes != 0 {
		t.Errorf("%+v", list)
	}
}

// TestEases: a move eases what is too small, GPU or host, and makes neither worse than fits.
func TestEases(t *testing.T) {
	memory := func(peak, host units.Bytes) *engine.Memory {
		return &engine.Memory{Peak: peak, Usable: 80, Host: host, HostSize: 1000}
	}
	for _, c := range []struct {
		was, is *engine.Memory
		eases   bool
	}{
		{memory(60, 1500), memory(70, 1200), true}, // more on the GPU, where there is room
		{memory(60, 1500), memory(50, 1500), false},
		{memory(60, 1500), memory(81, 1200), false},
		{memory(90, 0), memory(85, 900), true},
		{memory(90, 0), memory(85, 1001), false},
		{memory(90, 1500), memory(90, 1200), true}, // both too small, and one is eased
		{memory(90, 1500), memory(91, 1200), false},
	} {
		a := adviser{report: engine.Report{Memory: c.was}}
		if got := a.eases(&Move{Report: engine.Report{Memory: c.is}}); got != c.eases {
			t.Errorf("from %v and %v on the host to %v and %v: %v", c.was.Peak, c.was.Host, c.is.Peak,
				c.is.Host, got)
		}
	}
	// 20 % of the host's memory too much counts as 20 % of the GPU's
	if got := memory(60, 1200).Needs(); got != 96 {
		t.Errorf("needs %v", got)
	}
}
