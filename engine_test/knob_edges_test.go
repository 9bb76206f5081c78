package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
)

// knobOf returns a knob that there is.
func knobOf(t *testing.T, id knob.ID) *knob.Knob {
	t.Helper()
	k, ok := knob.Find(id)
	if !ok {
		t.Fatalf("no knob %s", id)
	}
	return &k
}

// TestOffAtTheLimits: a knob without effect says so exactly where it has none, and has one from the first
// value on that gives it something to do, and where it is not at its neutral value.
func TestOffAtTheLimits(t *testing.T) {
	plain := startSetup(t)
	plain.DP, plain.TP, plain.PP, plain.SP, plain.ZeRO, plain.HSDP = 1, 1, 1, false, 0, 1
	for _, c := range []struct {
		id     knob.ID
		change func(s *engine.Setup)
		why    string
	}{
		{knob.HSDP, func(s *engine.Setup) { s.DP = 8 }, "needs ZeRO and DP > 1"},
		{knob.HSDP, func(s *engine.Setup) { s.ZeRO = 1 }, "needs ZeRO and DP > 1"},
		{knob.HSDP, func(s *engine.Setup) { s.ZeRO, s.DP = 1, 2 }, ""},
		{knob.HSDP, func(s *engine.Setup) { s.HSDP = 2 }, ""},
		{knob.HSDP, func(s *engine.Setup) { s.HSDP = 0 }, "needs ZeRO and DP > 1"},
		{knob.VPP, func(*engine.Setup) {}, "needs PP > 1"},
		{knob.VPP, func(s *engine.Setup) { s.PP = 2 }, ""},
		{knob.VPP, func(s *engine.Setup) { s.VPP = 2 }, ""},
		{knob.SP, func(*engine.Setup) {}, "needs TP > 1"},
		{knob.SP, func(s *engine.Setup) { s.TP = 2 }, ""},
		{knob.SP, func(s *engine.Setup) { s.SP = true }, ""},
		{knob.EP, func(*engine.Setup) {}, "dense model"},
		{knob.EP, func(s *engine.Setup) { s.EP = 2 }, ""},
		{knob.ETP, func(s *engine.Setup) { s.ETP = 2 }, ""},
		{knob.ETP, func(s *engine.Setup) { withExperts(&s.Model) }, ""},
		{knob.Imbalance, func(*engine.Setup) {}, "dense model"},
		{knob.Imbalance, func(s *engine.Setup) { withExperts(&s.Model) }, ""},
		{knob.MTP, func(*engine.Setup) {}, "model has none"},
		{knob.MTP, func(s *engine.Setup) { s.Model.MTPLayers = 1 }, ""},
		{knob.MTP, func(s *engine.Setup) { s.TrainMTP = true }, ""},
		{knob.MaxInFlight, func(*engine.Setup) {}, "zb-auto only"},
		{knob.MaxInFlight, func(s *engine.Setup) { s.Schedule = schedule.ZBAuto }, ""},
		{knob.MaxInFlight, func(s *engine.Setup) { s.MaxInFlight = 1 }, ""},
	} {
		s := plain
		c.change(&s)
		if why, word := knobOf(t, c.id).Off(&s); why != c.why || c.id != knob.MaxInFlight &&
			(word == "") != (why == "") {
			t.Errorf("%s of %+v: %q %q, want %q", c.id, s.Layout, why, word, c.why)
		}
	}
}

// TestLaddersByHand: the legal values of a knob, worked out from what must divide what: 64 GPUs, 80 layers,
// 64 heads with 8 of keys, a batch of 512.
func TestLaddersByHand(t *testing.T) {
	for _, c := range []struct {
		said  string
		id    knob.ID
		locks knob.Locks
		want  string
	}{
		{"tp=8 pp=2 gbs=512", knob.TP, locksOn(), "1 2 4 8 16 32"},
		{"tp=8 pp=2 gbs=512", knob.CP, locksOn(), "1 2 4"},
		{"tp=8 pp=2 gbs=512", knob.PP, locksOn(), "1 2 4 8"},
		{"tp=8 pp=2 gbs=512", knob.ZeRO, locksOn(), "0 1 2 3"},
		{"tp=8 pp=2 gbs=512", knob.HSDP, locksOn(), "1 2 4"},
		{"tp=8 pp=2 gbs=512 mbs=4", knob.MBS, locksOn(), "1 2 4 8 16 32 64 128"},
		{"tp=8 pp=4 microbatches=4 schedule=zb-auto", knob.MaxInFlight, locksOn(), "0 1 2 3 4 6 7 8 12 16"},
		{"tp=8 pp=1 microbatches=4 schedule=zb-auto", knob.MaxInFlight, locksOn(), "0 1 2 3 4"},
		{"tp=8 pp=4 microbatches=8 vpp=2", knob.GroupSize, locksOn(), "0 4 8"},
		{"tp=8 pp=2 gbs=512", "offload-layers", locksOn(), "0 1 2 4 5 8 10 20 40"},
		{"tp=8 pp=2 gbs=512", knob.Loss, locksOn(), "fused unfused native"},
	} {
		s, err := draftOf(t, c.said).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		s.Cluster.GPU.HostBandwidth = 50e9
		var got []string
		for _, step := range knob.Steps(s, c.id, c.locks) {
			got = append(got, step.Text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s of %s: %v, want %s", c.id, c.said, got, c.want)
		}
	}
}

// TestLaddersEndWithTheMachine: no value takes more GPUs than there are, all of them are one, and a
// machine of unknown size ends none.
func TestLaddersEndWithTheMachine(t *testing.T) {
	s := startSetup(t) // 4 replicas of 16
	for most, want := range map[int]string{64: "1 2 3 4", 80: "1 2 3 4", 96: "1 2 3 4 6", 0: "1 2 3 4 6 8"} {
		s.Cluster.MaxGPUs = most
		var got []string
		for _, step := range knob.Steps(s, knob.DP, knob.Locks{}) {
			if len(got) < 6 &&
				!slices.ContainsFunc(engine.Check(step.Setup),
					func(p engine.Problem) bool { return p.Code == "cluster-size" }) {
				got = append(got, step.Text)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("of %d GPUs: %v, want %s", most, got, want)
		}
	}
}

// TestFiguresAtTheirBounds: the ends of the range are in it; what is written reads back.
func TestFiguresAtTheirBounds(t *testing.T) {
	for _, c := range []struct {
		id          knob.ID
		given, text string // text is what it reads as; empty: refused
		nearest     string
	}{
		{knob.PUE, "1", "1", ""},
		{knob.PUE, "10", "10", ""},
		{knob.PUE, "0.999", "", "1"},
		{knob.PUE, "10.001", "", "10"},
		{knob.PUE, "none", "none", ""},
		{knob.FacilityPUE, "0.999", "", "1"},
		{knob.FacilityPUE, "10", "10", ""},
		{knob.PUE, "0", "", "1"},
		{knob.PUE, "1e-400", "", "1"}, // too small for a float is not zero
		{knob.Goodput, "0", "", "1"},
		{knob.Goodput, "100", "100", ""},
		{knob.Price, "0.001", "0.001", ""},
		{knob.Price, "1e6", "1000000", ""},
		{knob.Tokens, "1T", "1T", ""},
		{knob.Tokens, "999", "", "999T"},
		{knob.Tokens, "1000", "1k", ""},
		{knob.Tokens, "1234567", "1234567", ""},
		{knob.Tokens, "1.5b", "1.5B", ""},
		{knob.Tokens, "1e18", "1e+06T", ""},
		{knob.Tokens, "T", "", ""},
		{knob.Tokens, "1.1e18", "", "1e+06T"},
		{knob.Tokens, "2.4", "", "2.4T"},
		{knob.Tokens, "1000.4", "1k", ""},
	} {
		k := knobOf(t, c.id)
		s, err := k.Set(startSetup(t), c.given)
		var refused *knob.ValueError
		switch {
		case errors.As(err, &refused):
			back, _ := k.ParseFigure(refused.Nearest)
			want, _ := k.ParseFigure(c.nearest)
			if c.text != "" || back != want {
				t.Errorf("%s %s: %v, nearest %q, want %q", c.id, c.given, err, refused.Nearest, c.nearest)
			}
		case c.text == "":
			t.Errorf("%s %s is taken as %s", c.id, c.given, k.Text(s))
		default:
			back, err := k.ParseFigure(k.Text(s))
			if was, _ := k.ParseFigure(c.given); err != nil || back != was || c.id != knob.Tokens &&
				k.Text(s) != c.text || c.id == knob.Tokens && was < 1e15 && k.Text(s) != c.text {
				t.Errorf("%s %s reads %s, want %s", c.id, c.given, k.Text(s), c.text)
			}
		}
	}
}

// TestNumbersAtTheirBounds: k and M up to 2^53, whole and not, and the nearest value of what is refused.
func TestNumbersAtTheirBounds(t *testing.T) {
	for _, c := range []struct {
		id             knob.ID
		given, nearest string // nearest empty: taken
	}{
		{knob.Seq, "1024M", ""},
		{knob.Seq, "1025M", "1073741824"},
		{knob.Seq, "8589934592M", "1073741824"}, // 2^53
		{knob.Seq, "1.5k", ""},
		{knob.Seq, "9.2k", "9421"},
		{knob.Seq, "0k", "1"},
		{knob.GBS, "0tok", "1tok"},
		{knob.GBS, "1tok", ""},
		{knob.GBS, "1.5tok", "2tok"},
		{knob.GBS, "1125899906842624tok", ""},
		{knob.GBS, "1125899906842625tok", "1073741824Mtok"},
		{knob.GBS, "4Gtok", "4096Mtok"},
		{knob.GBS, "0.5Btok", "512Mtok"},
		{knob.Schedule, "z12", "zb-h1"}, // a third of it is enough
		{knob.Schedule, "zb-v-aut", "zb-v-auto"},
		{"dispatcher", "xalltoall", "alltoall"},
		{knob.Recompute, "full:100000", ""},
		{knob.Recompute, "full:100001", "full:100000"},
	} {
		_, err := knobOf(t, c.id).Set(startSetup(t), c.given)
		var refused *knob.ValueError
		if errors.As(err, &refused) != (c.nearest != "") || c.nearest != "" && refused.Nearest != c.nearest {
			t.Errorf("%s %s: %v, want %q", c.id, c.given, err, c.nearest)
		}
	}
	var refused *knob.ValueError
	if _, err := knobOf(t, knob.Schedule).Set(startSetup(t), "z123"); !errors.As(err, &refused) ||
		refused.Nearest != "" {
		t.Errorf("a quarter of a word: %v", err)
	}
}

// TestListsAtTheirBounds: both ends of a stepped range are in it, and 1,000 values are as many as there may
// be.
func TestListsAtTheirBounds(t *testing.T) {
	k, s := knobOf(t, knob.TP), startSetup(t)
	for text, want := range map[string]string{
		"4..12:4": "4 8 12", "4..11:4": "4 8", "1..8:x2": "1 2 4 8",
		"3..3:5": "3", "2..7:x3": "2 6", "5..6": "6",
	} {
		v, err := k.ParseValues(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(k.List(&v, &s), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, legal := range map[string]bool{
		"1..1000:1": true, "1..1001:1": false, "1..999:1,1000": true,
		"1..500:1,501..1001:1": false,
	} {
		if _, err := k.ParseValues(text); (err == nil) != legal {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string][2]int{
		"4,2": {2, 4}, "8,2..4": {2, 8}, "3..5,4": {3, 5}, "7": {7, 7},
		"2..3,9..12:3": {2, 12},
	} {
		v, err := k.ParseValues(text)
		low, high := v.Bounds()
		if err != nil || low != want[0] || high != want[1] {
			t.Errorf("%s: from %d to %d, want %v (%v)", text, low, high, want, err)
		}
	}
}

// TestTurnsEndAtTheBounds: what follows a turn may be exactly as large as its bound.
func TestTurnsEndAtTheBounds(t *testing.T) {
	small := startSetup(t)
	small.TP, small.PP, small.DP, small.GPUs, small.MBS, small.SP = 1, 1, 1, 1, 1, false
	wide := small
	wide.DP, wide.MicroBatches = knob.MaxDegree, knob.MaxBatch/knob.MaxDegree/2
	full := small
	full.GPUs, full.TP, full.DP = knob.MaxGPUs, 32, knob.MaxGPUs/32
	for _, c := range []struct {
		s           engine.Setup
		id          knob.ID
		at, beyond  int
		says        string
		locks       knob.Locks
		followed    func(s *engine.Setup) int
		wantsFollow int
	}{
		{
			wide, knob.MBS, 2, 3, "sequences in a global batch",
			knob.Locks{},
			func(s *engine.Setup) int { return s.GBS }, knob.MaxBatch,
		},
		{
			small, knob.GBS, knob.MaxMicroBatches, knob.MaxMicroBatches + 1, "micro-batches", locksOn(),
			func(s *engine.Setup) int { return s.MicroBatches }, knob.MaxMicroBatches,
		},
		{
			full, knob.TP, 16, 8, "replicas (dp)", locksOn(), func(s *engine.Setup) int { return s.DP },
			knob.MaxDegree,
		},
		{
			full, knob.CP, 1, 2, "GPUs; here",
			knob.Locks{},
			func(s *engine.Setup) int { return s.GPUs },
			knob.MaxGPUs,
		},
	} {
		out, err := knob.Turn(c.s, c.id, fmt.Sprint(c.at), c.locks)
		if err != nil || c.followed(&out) != c.wantsFollow {
			t.Errorf("%s %d: %v, follows %d, want %d", c.id, c.at, err, c.followed(&out), c.wantsFollow)
		}
		if _, err := knob.Turn(c.s, c.id, fmt.Sprint(c.beyond), c.locks); err == nil ||
			!strings.Contains(err.Error(), c.says) ||
			!strings.HasSuffix(err.Error(), ", nearest "+fmt.Sprint(c.at)) {
			t.Errorf("%s %d: %v, want %q", c.id, c.beyond, err, c.says)
		}
	}
}

// TestSchedulesFollowStages: a schedule keeps splitting backwards, or not, where the stages per rank make
// it another one, and one that can have that many stays.
func TestSchedulesFollowStages(t *testing.T) {
	for _, c := range []struct {
		from schedule.Kind
		has  int
		vpp  int
		want schedule.Kind
	}{
		{schedule.OneFOneB, 1, 2, schedule.Interleaved},
		{schedule.ZBH1, 1, 2, schedule.InterleavedZB},
		{schedule.Interleaved, 2, 1, schedule.OneFOneB},
		{schedule.Interleaved, 2, 4, schedule.Interleaved},
		{schedule.InterleavedZB, 2, 1, schedule.ZBH1},
		{schedule.ZBV, 2, 1, schedule.ZBH1},
		{schedule.ZBV, 2, 3, schedule.InterleavedZB},
		{schedule.LoopedBFS, 3, 2, schedule.LoopedBFS},
	} {
		s := startSetup(t)
		s.Schedule, s.VPP = c.from, c.has
		out, err := knob.Turn(s, knob.VPP, fmt.Sprint(c.vpp), locksOn())
		if err != nil || out.Schedule != c.want {
			t.Errorf("%s with %d stages: %s, want %s (%v)", c.from, c.vpp, out.Schedule, c.want, err)
		}
	}
	for kind, vpp := range map[schedule.Kind]int{
		schedule.ZBV: 2, schedule.OneFOneB: 1,
		schedule.Interleaved: 3, schedule.LoopedBFS: 3,
	} {
		s := startSetup(t)
		s.VPP, s.Schedule = 3, schedule.InterleavedZB
		if out, err := knob.Turn(s, knob.Schedule, string(kind), locksOn()); err != nil || out.VPP != vpp {
			t.Errorf("%s: %d stages per rank, want %d (%v)", kind, out.VPP, vpp, err)
		}
	}
}
