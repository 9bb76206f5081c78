package monotone_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

// A better machine or less work never makes a step longer, and what a setup moves off
// the GPU or keeps in fewer bytes never costs memory. Not asked of automatic schedules: the
// order that they choose depends on the times. At most two setups of a thousand may break
// this, and only for the reason that named gives.
const (
	setupsDrawn  = 400   // in an ordinary run
	setupsDeep   = 6_000 // of each seed, in a deep one
	allowedShare = 0.002
	margin       = 1e-9
	mostShown    = 3 // of each kind
	mostAttempts = 4000
)

// named returns why a setup may break a rule of time; empty: for no reason.
//
// Gradients overlap with the last backward of each chunk of a rank, and the end of the rank
// follows the last gradient through other ranks, which may compute less than that: with
// faster compute less of the traffic may be hidden than the rank's end gains. Where a split
// backward waits for the host, the wait moves to the weight gradient when the input gradient
// gets faster. Next to expert traffic of the other pass it moves between a forward, which
// hides weights once per step, and backwards, which hide gradients in each micro-batch. In a ledger
// the host's wait moves between forward, recomputation and backward, which hide different traffic.
func named(s *engine.Setup) string {
	info, _ := s.Schedule.Info()
	if (s.VPP > 1 || info.Placement == schedule.Bidirectional) && s.DP*s.CP > 1 {
		return "gradients under the last backward of several chunks"
	}
	if s.Model.Pattern != "" && s.Split == "" && s.Stages() > 1 {
		return "stages of a hybrid balance their cost, in which a sequence's attention counts"
	}
	if s.Stack.Traits().Ledger && s.DP > 1 {
		return "the host's wait between phases that hide different traffic"
	}
	if c := s.Cluster.Calibration; c != nil {
		soft := c.For(s.Stack.Resolve())
		host := soft.HostLayer+soft.HostTP+soft.HostMoE8 > 0
		switch {
		case host && info.SplitsBackward:
			return "the host's wait of a split backward"
		case s.EP > 1 && soft.EPOverlap > 0 && soft.Run(&s.Software).EPOverlap == recipe.On:
			return "what hides expert traffic hides less of weights, gradients and the host's wait"
		}
	}
	return ""
}

// better are changes of the machine that can only help.
func better() []change {
	gpu := func(s *engine.Setup) *hardware.GPU { return &s.Cluster.GPU }
	return []change{
		{"compute", func(s *engine.Setup) bool {
			g := gpu(s)
			for _, rate := range []*units.FLOPsPerSecond{
				&g.PeakBF16, &g.PeakFP16, &g.PeakFP8, &g.PeakFP4,
				&g.PeakTF32, &g.PeakFP32, &g.MatmulBF16, &g.MatmulFP8,
			} {
				*rate *= 2
			}
			return true
		}},
		{"HBM", func(s *engine.Setup) bool { gpu(s).MemoryBandwidth *= 2; return true }},
		{"NVLink", func(s *engine.Setup) bool { s.Cluster.Intra.Bandwidth *= 2; return true }},
		{"NIC", func(s *engine.Setup) bool { s.Cluster.Inter.Bandwidth *= 2; return true }},
		{"PCIe", func(s *engine.Setup) bool { gpu(s).HostBandwidth *= 2; return true }},
		{
			"latency",
			func(s *engine.Setup) bool {
				s.Cluster.Intra.Latency /= 2
				s.Cluster.Inter.Latency /= 2
				return true
			},
		},
	}
}

// more are changes that add work.
func more() []change {
	return []change{
		{"micro-batches", func(s *engine.Setup) bool { s.MicroBatches *= 2; s.GBS *= 2; return true }},
		{"sequence", func(s *engine.Setup) bool { s.Seq *= 2; return true }},
		{"micro-batch size", func(s *engine.Setup) bool { s.MBS *= 2; s.GBS *= 2; return true }},
		{"imbalance", func(s *engine.Setup) bool {
			s.Imbalance = 2 * max(s.Imbalance, recipe.EvenLoad)
			return s.Model.IsMoE()
		}},
		{"full recomputation", func(s *engine.Setup) bool {
			was := s.Recompute.Mode
			s.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull}
			// selective costs PyTorch's host time for every operation, which full does not
			eager := s.Stack.Traits().Ledger
			return was == recipe.RecomputeNone || was == recipe.RecomputeModules ||
				was == recipe.RecomputeSelective && !eager
		}},
	}
}

// smaller are changes that can only take memory away. A mixed precision keeps a master
// copy next to its 16-bit weights, so that 16 bits for 32 are held to what they make smaller:
// what a micro-batch keeps. fp8 keeps the output of attention in both widths, which is more
// than it saves where norms and activations run again, or where a stage of a hybrid has attention
// alone: it is asked without recomputation, of layers that are all alike.
func smaller() []change {
	return []change{
		{"offloaded optimizer", func(s *engine.Setup) bool {
			s.Offload = recipe.OffloadOptimizer
			return s.Cluster.GPU.HostBandwidth > 0
		}},
		{"16-bit gradients", func(s *engine.Setup) bool { s.GradDtype = recipe.GradBF16; return true }},
		{sixteenBits, func(s *engine.Setup) bool {
			was := s.Precision
			s.Precision = recipe.BF16
			return was == recipe.FP32 && s.Cluster.GPU.PeakBF16 > 0
		}},
		{"8-bit products", func(s *engine.Setup) bool {
			was := s.Precision
			s.Precision = recipe.FP8Megatron
			return was == recipe.BF16 && s.Cluster.GPU.PeakFP8 > 0 &&
				s.Recompute.Mode == recipe.RecomputeNone && s.Model.Pattern == ""
		}},
	}
}

const sixteenBits = "16 bits for 32"

// compared returns the memory that a change must not add to. Of a ledger that is what it allocates
// without buffers: PyTorch's allocator keeps segments by the order of sizes, not by their sum, and
// an offload brings buffers of its own.
func compared(c change, s *engine.Setup, r *engine.Report) (bytes float64) {
	ledger := s.Stack.Traits().Ledger
	if c.name != sixteenBits && !ledger {
		return float64(r.Memory.Peak)
	}
	for _, m := range r.Memory.Ranks {
		of := m.Activations + m.Logits
		if c.name != sixteenBits {
			of = m.Allocated - m.Buffers
		}
		bytes = max(bytes, float64(of))
	}
	return bytes
}

// change makes another setup of one; it is false where it changes nothing.
type change struct {
	name string
	to   func(*engine.Setup) bool
}

// drawn draws setups that are legal, of every preset, with powers of two for degrees.
type drawn struct {
	*rand.Rand
	models   []model.Model
	clusters []hardware.Cluster
}

func newDrawn(t testing.TB, seed uint64) *drawn {
	t.Helper()
	d := &drawn{Rand: rand.New(rand.NewPCG(seed, 13))}
	for _, m := range presets.Default().Models() {
		d.models = append(d.models, m.Model)
	}
	for _, c := range presets.Default().Clusters() {
		cluster, err := presets.Default().Cluster(c.ID)
		if err == nil {
			d.clusters = append(d.clusters, cluster)
		}
	}
	return d
}

// one draws one of a list.
func one[T any](d *drawn, of ...T) T { return of[d.IntN(len(of))] }

// setup draws until a setup is legal.
func (d *drawn) setup(t testing.TB) engine.Setup {
	t.Helper()
	for range mostAttempts {
		if s := d.any(); engine.Legal(s) {
			return s
		}
	}
	t.Fatal("no legal setup found")
	return engine.Setup{}
}

func (d *drawn) any() engine.Setup {
	s := engine.Setup{Model: one(d, d.models...), Cluster: one(d, d.clusters...)}
	s.Layout = layout.Layout{
		TP: one(d, 1, 1, 2, 4, 8, 16), PP: one(d, 1, 1, 2, 4, 8), VPP: one(d, 1, 1, 1, 2, 4),
		CP: one(d, 1, 1, 1, 2, 4, 8),
		EP: 1, ETP: 1, DP: one(d, 1, 1, 2, 4, 8, 16, 64, 256), SP: d.IntN(2) == 0, ZeRO: d.IntN(4),
		HSDP: one(d, 1, 1, 1, 2),
		MBS:  one(d, 1, 1, 2, 4), MicroBatches: one(d, 1, 1, 2, 4, 8, 16, 32),
		Seq: one(d, 1024, 2048, 4096, 8192, 32768, 131072),
	}
	if s.Model.IsMoE() {
		s.EP, s.ETP = one(d, 1, 2, 4, 8, 16, 32, 64), one(d, 1, 1, 1, 2)
	}
	s.GPUs, s.GBS = s.Ranks(), s.MBS*s.MicroBatches*s.DP
	s.Schedule = schedule.OneFOneB
	if s.PP > 1 {
		kinds := schedule.Kinds()
		s.Schedule = kinds[d.IntN(len(kinds))].Kind
		if info, _ := s.Schedule.Info(); info.Chunks > 0 {
			s.VPP = info.Chunks
		}
	} else {
		s.VPP = 1
	}
	s.Recompute = one(d, recipe.Recompute{Mode: recipe.RecomputeNone},
		recipe.Recompute{Mode: recipe.RecomputeNone}, recipe.Recompute{Mode: recipe.RecomputeSelective},
		recipe.Recompute{Mode: recipe.RecomputeFull},
		recipe.Recompute{Mode: recipe.RecomputeModules, Modules: recipe.AllModules})
	s.Precision = one(d, append(recipe.Precisions(), recipe.BF16, recipe.BF16, recipe.BF16)...)
	s.GradDtype, s.Attention, s.Optimizer = one(d, recipe.GradDtypes()...), one(d, recipe.Attentions()...),
		one(d, recipe.Optimizers()...)
	s.Loss, s.Offload = one(d, append(recipe.Losses(), "")...),
		one(d, recipe.OffloadNone, recipe.OffloadNone, recipe.OffloadOptimizer)
	s.Imbalance, s.Stack = one(d, 100, 100, 150, 300), one(d, recipe.Stacks()...)
	s.MFU, s.TrainMTP = recipe.MFUCausal, d.IntN(2) == 0
	if d.IntN(2) == 0 {
		for _, f := range recipe.SoftwareFields() {
			*f.Of(&s.Software) = one(d, s.Stack.Words(f.Knob)...)
		}
	}
	return s
}

// swept counts what a sweep found.
type swept struct {
	setups, variants int
	broken, unnamed  int // setups
	by               map[string]int
	examples         []string
}

func (w *swept) violation(what string, s *engine.Setup, before, after float64) {
	w.by[what]++
	if w.by[what] > mostShown {
		return
	}
	w.examples = append(w.examples, fmt.Sprintf("%s: %.6g -> %.6g (%+.2f %%): %s", what, before, after,
		100*(after/before-1), brief(s)))
}

// brief writes the knobs of a setup that change its step.
func brief(s *engine.Setup) string {
	return fmt.Sprintf("%s on %s: tp %d pp %d vpp %d cp %d ep %d etp %d dp %d sp %v zero %d hsdp %d mbs %d "+
		"m %d seq %d %s %s recompute %s/%d grads %s %s attention %s %s offload %s imbalance %d loss %s mtp %v "+
		"software %v",
		s.Model.ID, s.Cluster.ID, s.TP, s.PP, s.VPP, s.CP, s.EP, s.ETP, s.DP, s.SP, s.ZeRO, s.HSDP, s.MBS,
		s.MicroBatches, s.Seq, s.Schedule, s.Precision,
		s.Recompute.Mode, s.Recompute.Modules, s.GradDtype, s.Optimizer, s.Attention, s.Stack, s.Offload,
		s.Imbalance, s.Loss, s.TrainMTP, s.Software)
}

// A setup that breaks what must hold is counted once, whatever it breaks.
func TestABetterMachineOrLessWorkIsNeverSlower(t *testing.T) {
	n := setupsDrawn
	if draws.Deep() {
		n = setupsDeep
	}
	w := swept{by: map[string]int{}}
	for _, seed := range draws.Seeds() {
		d := newDrawn(t, seed)
		e := engine.Evaluator{SkipTimeline: true}
		for range n {
			w.sweep(&e, d.setup(t))
		}
		t.Logf("after seed %d: %d setups, %d broken", seed, w.setups, w.broken)
	}
	w.report(t)
}

// sweep asks one setup and all that it can be changed to.
func (w *swept) sweep(e *engine.Evaluator, s engine.Setup) {
	r := e.Evaluate(s)
	if !r.Legal {
		return // an automatic schedule may find no order
	}
	w.setups++
	total, why := w.total(), named(&s)
	info, _ := s.Schedule.Info()
	w.sums(&s, &r)
	if !info.Automatic {
		w.memory(e, s, &r)
	}
	if w.total() > total {
		why = "" // no reason is named but for times
	}
	if !info.Automatic {
		w.times(e, s, &r)
	}
	if w.total() > total {
		w.broken++
		if why == "" {
			w.unnamed++
		}
	}
}

// times are the rules of the step's time.
func (w *swept) times(e *engine.Evaluator, s engine.Setup, r *engine.Report) {
	for _, c := range better() {
		if u, after, ok := w.vary(e, s, c); ok && float64(after.Time.Step) > float64(r.Time.Step)*(1+margin) {
			w.violation("faster "+c.name, &u, float64(r.Time.Step), float64(after.Time.Step))
		}
	}
	for _, c := range more() {
		if u, after, ok := w.vary(e, s, c); ok && float64(after.Time.Step) < float64(r.Time.Step)*(1-margin) {
			w.violation("more "+c.name, &u, float64(r.Time.Step), float64(after.Time.Step))
		}
	}
}

// memory are the rules of memory, and that of the time of what is offloaded.
func (w *swept) memory(e *engine.Evaluator, s engine.Setup, r *engine.Report) {
	for _, c := range smaller() {
		u, after, ok := w.vary(e, s, c)
		if !ok {
			continue
		}
		if was, is := compared(c, &s, r), compared(c, &u, &after); is > was*(1+margin) {
			w.violation("memory of "+c.name, &u, was, is)
		}
		if u.Offload != s.Offload && float64(after.Time.Step) < float64(r.Time.Step)*(1-margin) {
			w.violation("time of "+c.name, &u, float64(r.Time.Step), float64(after.Time.Step))
		}
	}
}

func (w *swept) total() (n int) {
	for _, k := range w.by {
		n += k
	}
	return n
}

// vary evaluates a changed setup; false where nothing is changed or what it becomes is illegal.
func (w *swept) vary(e *engine.Evaluator, s engine.Setup, c change) (engine.Setup, engine.Report, bool) {
	u := s
	if !c.to(&u) || u == s || !engine.Legal(u) {
		return u, engine.Report{}, false
	}
	r := e.Evaluate(u)
	w.variants++
	return u, r, r.Legal
}

// sums are the sums that a report promises.
func (w *swept) sums(s *engine.Setup, r *engine.Report) {
	tm := r.Time
	waits := tm.Exposed + tm.Offload
	if parts := tm.Compute + tm.Recompute + tm.Bubble + waits + tm.Optimizer; !same(float64(parts),
		float64(tm.Step)) {
		w.violation("sum of the step", s, float64(tm.Step), float64(parts))
	}
	rows := 0.0
	for _, c := range r.Communication {
		if c.Dimension != "pp" {
			rows += float64(c.Exposed)
		}
	}
	if d := rows - float64(waits); max(d, -d) > 1e-9*float64(tm.Step) {
		w.violation("sum of the exposed traffic and the offload", s, float64(waits), rows)
	}
	for _, m := range r.Memory.Ranks {
		if sum := m.Weights + m.Gradients + m.Optimizer + m.Activations + m.Logits +
			m.Buffers; !same(float64(sum), float64(m.Allocated)) {
			w.violation("sum of a rank's memory", s, float64(m.Allocated), float64(sum))
		}
	}
}

func (w *swept) report(t *testing.T) {
	t.Helper()
	var found []string
	for what, n := range w.by {
		found = append(found, fmt.Sprintf("%6d %s", n, what))
	}
	slices.Sort(found)
	slices.Reverse(found)
	t.Logf("%d setups, %d variants, %d setups broken, %d of them for no named reason\n%s\n%s",
		w.setups, w.variants, w.broken, w.unnamed, strings.Join(found, "\n"), strings.Join(w.examples, "\n"))
	if w.unnamed > 0 {
		t.Errorf("%d setups break a rule for no named reason", w.unnamed)
	}
	if float64(w.broken) > max(1, allowedShare*float64(w.setups)) {
		t.Errorf("%d of %d setups break a rule", w.broken, w.setups)
	}
}

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))+1e-12 }
