package advise

import (
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Verdict is how a rule of thumb stands to a setup and to the model.
type Verdict string

// Verdicts. The last three are about what the rule would have one do instead.
const (
	Followed  Verdict = "followed"
	Agrees    Verdict = "agrees"    // the model predicts that it helps
	Disagrees Verdict = "disagrees" // the model predicts that it does not
	NoFit     Verdict = "no-fit"    // by the model's count it does not fit
	Warns     Verdict = "warns"     // broken, and nothing that advice may turn mends it
)

// Words returns what a verdict is called wherever people read it.
func (v Verdict) Words() string {
	switch v {
	case Agrees:
		return "meshscope agrees"
	case Disagrees:
		return "meshscope disagrees"
	case NoFit:
		return "does not fit"
	case Warns:
		return "not followed"
	case Followed:
	}
	return "followed"
}

// Rule is a rule of thumb that applies to the setup, compared with what the model
// predicts.
type Rule struct {
	ID      string  `json:"id"` // its name, also where people read it
	Text    string  `json:"text"`
	Source  string  `json:"source"`
	Step    int     `json:"-"` // of the playbook's three to a configuration that it belongs to; 0: none
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"` // in numbers
	// what the rule would have one do; nil where it is followed or warns
	Move *Move `json:"-"`
}

// Reason is why the verdict is what it is, with what the rule would have one turn.
func (r *Rule) Reason() string {
	switch {
	case r.Move == nil:
		return r.Why
	case r.Why == "":
		return r.Move.Turns()
	}
	return r.Why + " (" + r.Move.Turns() + ")"
}

// rule is one entry of the table.
type rule struct {
	id, text, source string
	step             int
	applies          func(*adviser) bool
	followed         func(*adviser) bool
	// what it would have one do; nil: nothing that may be turned
	cases func(*adviser) []engine.Setup
	why   func(*adviser) string
}

const (
	playbookFit = "Ultra-Scale Playbook, finding the best training configuration, step 1: fitting a " +
		"training step in memory"
	playbookBatch = "Ultra-Scale Playbook, finding the best training configuration, step 2: target " +
		"global batch size"
	playbookThroughput = "Ultra-Scale Playbook, finding the best training configuration, step 3: " +
		"optimizing training throughput"
)

// Bounds that the rules name. The playbook has the sizes, numbers of GPUs and
// tokens; what counts as a long sequence, as close to the limit and as exposed is ours.
const (
	small, large      = 10e9, 100e9 // parameters
	many, thousands   = 512, 1024   // GPUs
	batchLow          = 4e6         // tokens per step: Llama 1
	batchHigh         = 60e6        // the same: DeepSeek, 15,360 sequences of 4,096
	batchCheatsheet   = 40e6        // the same: where the playbook's cheatsheet ends
	nearly            = 0.9         // of these bounds: "4 M" is 512 x 8,192, "60 M" is 62.9 M
	longSequence      = 32768       // tokens
	tightHeadroom     = 0.05        // of the usable memory
	nodeOfThePlaybook = 8           // GPUs
)

// UsualBatch reports whether so many tokens per step are within the 4 to 60 M of large models.
func UsualBatch(tokens float64) bool {
	return tokens >= batchLow*nearly && tokens <= batchHigh/nearly
}

// BatchHint says that the global batch of a model of more than small parameters is outside that
// of large models; empty where it is not, and of adapters, of which no rule is known.
func BatchHint(s *engine.Setup) string {
	n, than := s.Tokens(), "below"
	if s.Frozen() || s.Model.Total() <= small || UsualBatch(n) {
		return ""
	}
	if n > batchHigh {
		than = "above"
	}
	return fmt.Sprintf("%s tokens per step are %s the 4 to 60 M of large models.", knob.TokenWords(n),
		than)
}

func rules() []rule {
	return slices.Concat(sizeRules(), modelRules(), fitRules(), replicaRules(), throughputRules())
}

// sizeRules returns those about which methods a model and a machine of some size need.
func sizeRules() []rule {
	return []rule{
		{
			id: "one-method", source: playbookFit, step: 1,
			text: "Below 10 B parameters one method is enough on a node: TP over its GPUs, or ZeRO-3 " +
				"with full recomputation",
			applies: func(a *adviser) bool {
				return a.now.Model.Total() < small && a.now.GPUs >= nodeOfThePlaybook
			},
			followed: func(a *adviser) bool {
				s := &a.now
				return methods(s) == 1 &&
					(s.TP == nodeOfThePlaybook || s.ZeRO == 3 && s.Recompute.Mode == recipe.RecomputeFull)
			},
			cases: func(a *adviser) []engine.Setup {
				return a.withDegrees(degrees{tp: nodeOfThePlaybook}, degrees{zero: 3, full: true})
			},
		},
		{
			id: "two-methods", source: playbookFit, step: 1,
			text: "From 10 to 100 B parameters on more than 8 GPUs: TP 8 with PP, TP 8 with ZeRO-3, or " +
				"ZeRO-3 alone",
			applies: func(a *adviser) bool {
				n := float64(a.now.Model.Total())
				return n >= small && n <= large && a.now.GPUs > nodeOfThePlaybook
			},
			followed: func(a *adviser) bool {
				s := &a.now
				return s.TP == nodeOfThePlaybook && (s.PP > 1 || s.ZeRO == 3) ||
					s.ZeRO == 3 && s.TP*s.PP*s.CP == 1
			},
			cases: func(a *adviser) []engine.Setup {
				return a.withDegrees(degrees{tp: 8, pp: 2}, degrees{tp: 8, pp: 4}, degrees{tp: 8, pp: 8},
					degrees{tp: 8, zero: 3}, degrees{zero: 3})
			},
		},
		{
			id: "not-data-alone", source: playbookFit, step: 1,
			text: "From 512 GPUs on, traffic limits data parallelism alone, ZeRO-3 included: add TP or " +
				"PP",
			applies:  func(a *adviser) bool { return a.now.GPUs >= many },
			followed: func(a *adviser) bool { return a.now.TP > 1 || a.now.PP > 1 },
			cases: func(a *adviser) []engine.Setup {
				return a.withDegrees(degrees{tp: 2, zero: a.now.ZeRO}, degrees{tp: 8, zero: a.now.ZeRO},
					degrees{pp: 4}, degrees{pp: 8})
			},
		},
		{
			id: "three-methods", source: playbookFit, step: 1,
			text:     "From 1,024 GPUs on: TP 8 with ZeRO-2 and PP",
			applies:  func(a *adviser) bool { return a.now.GPUs >= thousands },
			followed: func(a *adviser) bool { return a.now.TP == 8 && a.now.PP > 1 && a.now.ZeRO == 2 },
			cases: func(a *adviser) []engine.Setup {
				return a.withDegrees(degrees{tp: 8, pp: 2, zero: 2}, degrees{tp: 8, pp: 4, zero: 2},
					degrees{tp: 8, pp: 8, zero: 2}, degrees{tp: 8, pp: 16, zero: 2})
			},
		},
	}
}

// modelRules returns those about what a model is and how long its sequences are.
func modelRules() []rule {
	return []rule{
		{
			id: "long-sequences", source: playbookFit, step: 1,
			text:     "Very long sequences: CP, across nodes if needed",
			applies:  func(a *adviser) bool { return a.now.Seq >= longSequence },
			followed: func(a *adviser) bool { return a.now.CP > 1 },
			cases: func(a *adviser) []engine.Setup {
				return append(a.turned(knob.CP, 2), a.turned(knob.CP, 4)...)
			},
		},
		{
			id: "experts", source: playbookFit, step: 1,
			text:     "Mixtures of experts: EP, across nodes if needed",
			applies:  func(a *adviser) bool { return a.now.Model.IsMoE() },
			followed: func(a *adviser) bool { return a.now.EP > 1 },
			cases: func(a *adviser) []engine.Setup {
				return append(a.turned(knob.EP, 8), a.turned(knob.EP, a.now.Model.Experts)...)
			},
		},
	}
}

// fitRules returns those about memory and batch.
func fitRules() []rule {
	return []rule{
		{
			id: "few-gpus", source: playbookFit, step: 1,
			text:    "Short of memory: full recomputation and more, smaller micro-batches",
			applies: func(a *adviser) bool { return !a.report.Memory.Fits },
			followed: func(a *adviser) bool {
				return a.now.Recompute.Mode == recipe.RecomputeFull && a.now.MBS == 1
			},
			cases: func(a *adviser) []engine.Setup {
				s := a.now
				s.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull}
				list := []engine.Setup{s}
				if t, err := knob.Turn(s, knob.MBS, "1", locks()); err == nil {
					list = append(list, t)
				}
				return list
			},
		},
		{
			id: "a-layer-must-fit", source: "Ultra-Scale Playbook, zero redundancy optimizer: ZeRO-3",
			step: 1,
			text: "ZeRO-3 gathers a whole layer: its weights and gradients must fit on a GPU, or TP " +
				"has to divide them",
			applies:  func(a *adviser) bool { return a.now.ZeRO == 3 },
			followed: func(a *adviser) bool { return a.layer() < a.report.Memory.Usable },
			cases: func(a *adviser) []engine.Setup {
				return append(a.turned(knob.TP, 2*a.now.TP), a.turned(knob.TP, a.domain())...)
			},
			why: func(a *adviser) string {
				return fmt.Sprintf("one takes %.3g of %.3g GiB", a.layer().GiB(),
					a.report.Memory.Usable.GiB())
			},
		},
		{
			id: "global-batch", source: playbookBatch + "; its cheatsheet says 4 to 40 M", step: 2,
			text:     "A global batch of 4 M tokens (Llama 1) to 60 M (DeepSeek)",
			applies:  func(a *adviser) bool { return !a.now.Frozen() },
			followed: func(a *adviser) bool { return UsualBatch(a.now.Tokens()) },
			why: func(a *adviser) string {
				n := a.now.Tokens()
				text := fmt.Sprintf("a step has %s tokens", knob.TokenWords(n))
				switch {
				case n > batchHigh/nearly:
					text += "; fewer with less DP or fewer micro-batches: GPUs then go to TP, PP or CP"
				case n > batchCheatsheet:
					text += ", more than the 40 M of the cheatsheet"
				case n < batchLow*nearly:
					text += "; more with DP, or with micro-batches where GPUs are few"
				}
				return text
			},
		},
		{
			id: "headroom", source: "meshscope: room for the allocator and for other ranks",
			text:    "Leave 5 % of the memory free",
			applies: func(a *adviser) bool { return a.report.Memory.Fits },
			followed: func(a *adviser) bool {
				m := a.report.Memory
				return float64((m.Usable-m.Peak)/m.Usable) >= tightHeadroom
			},
			why: func(a *adviser) string {
				m := a.report.Memory
				return fmt.Sprintf("%.1f of %.1f GiB are free", (m.Usable - m.Peak).GiB(), m.Usable.GiB())
			},
		},
	}
}

// methods counts what splits the model in addition to plain data parallelism.
func methods(s *engine.Setup) int {
	n := 0
	for _, on := range [...]bool{s.TP > 1, s.PP > 1, s.CP > 1, s.ZeRO == 3} {
		if on {
			n++
		}
	}
	return n
}

// rules says how the rules that apply stand.
func (a *adviser) rules() []Rule {
	var out []Rule
	for _, r := range rules() {
		if !r.applies(a) {
			continue
		}
		said := Rule{ID: r.id, Text: r.text, Source: r.source, Step: r.step}
		switch {
		case r.followed(a):
			said.Verdict = Followed
		case r.cases == nil:
			said.Verdict = Warns
		default:
			a.weigh(&said, r.cases(a))
		}
		if r.why != nil {
			if said.Why != "" {
				said.Why += "; "
			}
			said.Why += r.why(a)
		}
		if said.Verdict != "" {
			out = append(out, said)
		}
	}
	return out
}

// weigh evaluates what a rule would have one do: the best case that fits, or the
// one that is closest to it.
func (a *adviser) weigh(r *Rule, cases []engine.Setup) {
	for _, s := range cases {
		if s == a.now || !engine.Legal(s) || a.slow(&s) {
			continue
		}
		m, ok := a.try(s, turns(&a.now, &s))
		if !ok {
			continue
		}
		better := r.Move == nil || m.Fits && !r.Move.Fits ||
			m.Fits == r.Move.Fits && (m.Fits && m.Speed > r.Move.Speed ||
				!m.Fits && m.Report.Memory.Needs() < r.Move.Report.Memory.Needs())
		if better {
			r.Move = &m
		}
	}
	switch m := r.Move; {
	case m == nil: // it cannot be applied here
	case m.Report.Memory.Fit == engine.Over:
		r.Verdict, r.Why = NoFit, fmt.Sprintf("the fullest rank needs %.1f GiB", m.Report.Memory.Peak.GiB())
		if m.Report.Memory.HostOver() > 0 {
			r.Why = m.Report.Memory.Reason
		}
	case !a.report.Memory.Fits && m.Report.Memory.Fit == engine.Tight:
		r.Verdict, r.Why = Agrees, fmt.Sprintf("tight with %.1f GiB, at %.3g s per step",
			m.Report.Memory.Peak.GiB(), m.Report.Time.Step)
	case !a.report.Memory.Fits:
		r.Verdict, r.Why = Agrees, fmt.Sprintf("fits in %.1f GiB, at %.3g s per step",
			m.Report.Memory.Peak.GiB(), m.Report.Time.Step)
	case m.Speed > 1:
		r.Verdict, r.Why = Agrees, a.against(m)
	default:
		r.Verdict, r.Why = Disagrees, a.against(m)
	}
}

// SlowEnd says of which step the slow end is, by which everything here ranks.
const SlowEnd = "where no unproven overlap works"

// against compares the steps of a move and of now by their slow ends, and names those where they are others
// than the steps that a report shows.
func (a *adviser) against(m *Move) string {
	text := fmt.Sprintf("predicted %.3g s per step instead of %.3g", m.PessimisticStep, a.step)
	if a.step > a.report.Time.Step || m.PessimisticStep > m.Report.Time.Step {
		text += " " + SlowEnd
	}
	return text
}

// degrees are those of a plain layout; 0 means 1 (ZeRO: the setup's own
// stage, but not 3).
type degrees struct {
	tp, pp, zero int
	full         bool // recompute everything
}

// withDegrees returns the setup with each of these layouts, the same batch and GPUs.
func (a *adviser) withDegrees(list ...degrees) []engine.Setup {
	var out []engine.Setup
	for _, c := range list {
		s := a.now
		s.TP, s.PP, s.VPP, s.CP, s.Split = max(c.tp, 1), max(c.pp, 1), 1, 1, ""
		s.Schedule, s.GroupSize, s.SP = schedule.OneFOneB, 0, c.tp > 1
		if s.ETP = 1; !s.Model.IsMoE() {
			s.EP = 1
		}
		switch {
		case c.zero > 0:
			s.ZeRO = c.zero
		case s.ZeRO == 3:
			s.ZeRO = 1
		}
		if c.full {
			s.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull}
		}
		plane := s.TP * s.PP
		if s.GPUs%plane != 0 {
			continue
		}
		s.DP = s.GPUs / plane
		for _, mbs := range []int{s.MBS, 1} {
			if s.GBS%(mbs*s.DP) == 0 {
				s.MBS, s.MicroBatches = mbs, s.GBS/(mbs*s.DP)
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// turned returns the setup with one knob at a number, where that is legal.
func (a *adviser) turned(id knob.ID, n int) []engine.Setup {
	if t, err := knob.Turn(a.now, id, fmt.Sprint(n), locks()); err == nil && engine.Legal(t) {
		return []engine.Setup{t}
	}
	return nil
}
