package advise

import (
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/units"
)

// exposedEnough is from what share of the step on data-parallel traffic that nothing
// hides counts as a bottleneck; the playbook names no number.
const exposedEnough = 0.05

// replicaRules returns those about how many replicas there should be.
func replicaRules() []rule {
	return []rule{
		{
			id:     "replicas-to-512",
			source: "Ultra-Scale Playbook, data parallelism and zero redundancy optimizer: limits", step: 1,
			text: "Below 512 replicas: beyond, a ring's latency shows, and neither the reduction of " +
				"gradients nor ZeRO-3's gathering hides",
			applies:  func(a *adviser) bool { return a.now.DP >= many },
			followed: func(*adviser) bool { return false },
			cases: func(a *adviser) []engine.Setup {
				return slices.Concat(a.turned(knob.TP, 2*a.now.TP), a.turned(knob.PP, 2*a.now.PP),
					a.turned(knob.TP, 4*a.now.TP), a.turned(knob.PP, 4*a.now.PP))
			},
			why: func(a *adviser) string { return fmt.Sprintf("%d replicas", a.now.DP) },
		},
		{
			id:     "replicas-before-accumulation",
			source: "Ultra-Scale Playbook, data parallelism: revisiting the global batch size", step: 2,
			text: "Without a pipeline, replicas rather than micro-batches one after the other: they do " +
				"the same work at once",
			applies: func(a *adviser) bool {
				return a.now.PP == 1 && a.now.MicroBatches > 1 && a.now.GPUs > 1
			},
			followed: func(a *adviser) bool { return a.now.TP*a.now.CP == 1 },
			cases: func(a *adviser) []engine.Setup {
				return append(a.turned(knob.TP, max(a.now.TP/2, 1)), a.turned(knob.CP, max(a.now.CP/2, 1))...)
			},
		},
	}
}

// layer returns the bytes of one layer's weights and gradients on a GPU, as ZeRO-3 gathers
// them, each in its own width: divided by TP, routed experts by EP and ETP, of the larger kind of layer.
func (a *adviser) layer() units.Bytes {
	s, most := &a.now, 0.0
	soft := hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software).Software
	layers := model.Lay(&s.Model, nil).Layers
	for i := range layers {
		p := layers[i].Params()
		experts := p.ExpertsSharded + p.ExpertsReplicated
		most = max(most, float64(p.Total()-experts)/float64(s.TP)+float64(experts)/float64(s.EP*s.ETP))
	}
	return units.Bytes(most * (s.Precision.Bytes() + soft.ReduceBytes(s.GradDtype, s.Precision.On(s.Stack))))
}

// throughputRules returns the moves of the playbook's third step, in its order: one
// dimension at a time.
func throughputRules() []rule {
	return []rule{
		{
			id: "tp-to-the-node", source: playbookThroughput, step: 3,
			text:     "Raise TP up to the size of the scale-up domain, not beyond",
			applies:  func(a *adviser) bool { return a.domain() > 1 && a.now.GPUs >= a.domain() },
			followed: func(a *adviser) bool { return a.now.TP == a.domain() },
			cases: func(a *adviser) []engine.Setup {
				list := a.turned(knob.TP, a.domain())
				if n := a.now.TP * 2; n < a.domain() {
					list = append(list, a.turned(knob.TP, n)...)
				}
				return list
			},
		},
		{
			id: "dp-with-zero3", source: playbookThroughput, step: 3,
			text:     "More data parallelism with ZeRO-3 at the same global batch, instead of TP, PP and CP",
			applies:  func(a *adviser) bool { return a.now.GPUs > 1 },
			followed: func(a *adviser) bool { return a.now.ZeRO == 3 && a.now.PP*a.now.CP == 1 },
			cases: func(a *adviser) []engine.Setup {
				list := a.withDegrees(degrees{tp: a.now.TP, zero: 3})
				if a.now.TP > 1 {
					list = append(list,
						a.withDegrees(degrees{tp: a.now.TP / 2, zero: 3}, degrees{zero: 3})...)
				}
				return list
			},
		},
		{
			id:     "pp-where-dp-waits",
			source: playbookThroughput + "; the bound of 5 % of the step is meshscope's", step: 3,
			text: "Where data-parallel traffic becomes the bottleneck: pipeline parallelism instead",
			applies: func(a *adviser) bool {
				return a.exposed("dp")+a.exposed("expert-dp") >= exposedEnough
			},
			followed: func(*adviser) bool { return false },
			cases: func(a *adviser) []engine.Setup {
				return append(a.turned(knob.PP, 2*a.now.PP), a.turned(knob.PP, 4*a.now.PP)...)
			},
			why: func(a *adviser) string {
				return fmt.Sprintf("%.0f %% of the step is exposed data-parallel traffic",
					100*(a.exposed("dp")+a.exposed("expert-dp")))
			},
		},
		{
			id: "tune-mbs", source: playbookThroughput, step: 3,
			text: "Try micro-batch sizes: larger ones run faster kernels, smaller ones reduce bubble " +
				"and memory",
			applies:  func(a *adviser) bool { return a.now.GBS > a.now.DP },
			followed: func(a *adviser) bool { return a.best(knob.MBS) },
			cases: func(a *adviser) []engine.Setup {
				return append(a.turned(knob.MBS, 2*a.now.MBS), a.turned(knob.MBS, max(a.now.MBS/2, 1))...)
			},
		},
		{
			id: "fill-the-pipeline", step: 3,
			source: "Ultra-Scale Playbook, pipeline parallelism: the bubble is (p-1)/m; its sweep " +
				"excludes fewer than p-1, meshscope requires p",
			text:     "At least as many micro-batches as pipeline ranks, preferably many more",
			applies:  func(a *adviser) bool { return a.now.PP > 1 },
			followed: func(a *adviser) bool { return a.now.MicroBatches >= a.now.PP },
			cases: func(a *adviser) []engine.Setup {
				return append(a.turned(knob.MBS, max(a.now.MBS/2, 1)),
					a.turned(knob.PP, max(a.now.PP/2, 1))...)
			},
		},
	}
}

// domain returns how many GPUs the fast link joins of those that there are.
func (a *adviser) domain() int { return a.now.Cluster.Domain() }

// exposed returns the share of the step that traffic of a dimension adds.
func (a *adviser) exposed(dimension string) float64 {
	var sum units.Seconds
	for i := range a.report.Communication {
		if c := &a.report.Communication[i]; c.Dimension == dimension {
			sum += c.Exposed
		}
	}
	return float64(sum / a.report.Time.Step)
}

// best reports whether no other value of a knob that fits is faster, where the setup
// fits itself.
func (a *adviser) best(id knob.ID) bool {
	if !a.report.Memory.Fits {
		return false
	}
	for i := range a.turns {
		if t := &a.turns[i]; t.knob == id && sound(&t.Move) && t.Speed > worthwhile {
			return false
		}
	}
	return true
}
