package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/band"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// Evaluate answers a setup. It is the one entry point: pure, safe to call from
// any goroutine. A caller that evaluates many setups in a row keeps an
// Evaluator instead, which reuses memory.
func Evaluate(s Setup) Report {
	var e Evaluator
	return e.Evaluate(s)
}

// EvaluateRecorded answers a setup and gives its arithmetic too: each figure with
// its formula, operands and source.
func EvaluateRecorded(s Setup) (Report, *record.Record) {
	e := Evaluator{record: record.New()}
	r := e.Evaluate(s)
	return r, e.record.Record()
}

// Evaluator evaluates setups one after the other. It keeps the last schedule's
// order and scratch memory, never anything that changes an answer. It is not
// for use by several goroutines at once; the Reports it returns are the
// caller's own.
type Evaluator struct {
	// SkipTimeline leaves the timeline out of the reports, which is nearly all of their
	// memory: for whoever asks many setups for their figures.
	SkipTimeline bool

	record *record.Recorder // records formulas; nil: nobody asked

	// The setup of the last evaluation and what followed from it. Evaluations hand these on from
	// one part to the next; they are kept for their memory, and for questions about that setup.
	setup  Setup
	plan   plan
	timing timing

	order    *schedule.Order // of the last evaluation
	reusable bool            // no report points to the order
	sim      schedule.Simulator
	mem      memory.Evaluator
	parts    step.Parts
	line     schedule.Timeline // of the last report, where that came without it

	timeLens, memoryLens band.Lens // error bands of the setups evaluated last

	link link // between nodes, of the setup evaluated last
}

// link is what decides whether the rate of a link between nodes is plausible, and what is wrong with it.
type link struct {
	name      string
	bandwidth units.BytesPerSecond
	node      int
	wrong     string
}

// checkLink adds a warning where the link between nodes has a rate that its name does not. Names are read
// once for as long as the machine stays: that takes longer than all other checks.
func (e *Evaluator) checkLink(problems []Problem) []Problem {
	c := &e.setup.Cluster
	if e.setup.Nodes() <= 1 {
		return problems
	}
	if l := (link{c.Inter.Name, c.Inter.Bandwidth, c.Node(), e.link.wrong}); l != e.link {
		l.wrong = c.Implausible()
		e.link = l
	}
	if e.link.wrong == "" {
		return problems
	}
	return append(problems, Problem{
		Code: "link-rate", Severity: layout.Warning, Field: "cluster.inter.bandwidth", Message: e.link.wrong,
	})
}

// Evaluate answers a setup, in this order: is it legal, what is on each stage,
// how long is each stage, in which order do the ranks work, when does the
// pipeline end, how much memory is that, how long is the step.
func (e *Evaluator) Evaluate(s Setup) Report {
	r, _ := e.evaluate(&s, nil)
	return r
}

// EvaluateUntil is Evaluate that can be stopped: an automatic schedule of many
// operations takes tens of milliseconds to find (schedule.MaxAutoOps bounds it).
// Once stop says true there is no answer and the second value is false.
func (e *Evaluator) EvaluateUntil(s Setup, stop func() bool) (Report, bool) {
	return e.evaluate(&s, stop)
}

func (e *Evaluator) evaluate(s *Setup, stop func() bool) (Report, bool) {
	e.setup = *s
	known := e.plan.program.Of(&e.setup.Model, e.record) // a program is laid out of sound models alone
	r := Report{Problems: e.checkLink(knob.CheckOf(&e.setup, known))}
	r.Legal = !layout.HasErrors(r.Problems)
	if s.Seq > 0 && !layout.HasCode(r.Problems, "model") {
		if !known {
			e.plan.program = model.Lay(&e.setup.Model, e.record)
		}
		e.plan.current = r.Legal
		r.Model = modelFigures(&e.setup, e.plan.program)
	}
	var t *timing
	if r.Legal {
		var err error
		if t, err = e.figures(&e.setup, &r, stop); err != nil {
			if wasStopped(err) {
				return Report{}, false
			}
			r = Report{Problems: append(r.Problems, Problem{
				Code: "pipeline", Severity: layout.Error, Field: string(knob.Schedule), Message: err.Error(),
			}), Model: r.Model}
		}
	}
	r.Assumptions, r.NotModelled = assumptions(&e.setup, &r, t), notModelled(&e.setup)
	return r, true
}

// Summary returns what the last evaluation knows of its pipeline: the report's timeline, or
// with SkipTimeline its sums alone, which belong to the Evaluator.
func (e *Evaluator) Summary(r *Report) *schedule.Timeline {
	if r.Timeline != nil {
		return r.Timeline
	}
	return &e.line
}

func wasStopped(err error) bool {
	var stopped *schedule.StoppedError
	return errors.As(err, &stopped)
}

// figures returns those of a legal setup.
func (e *Evaluator) figures(s *Setup, r *Report, stop func() bool) (*timing, error) {
	t, err := e.arrange(s, stop)
	if err != nil {
		return nil, err
	}
	line, free, err := e.simulate(t, r)
	if err != nil {
		return nil, err
	}
	a := new(answers)
	r.Memory, r.Pipeline, r.Time, r.Throughput = &a.memory, &a.pipeline, &a.time, &a.throughput
	a.memory = e.memory(t)
	a.memory.Stages = slices.Clone(t.stageMemory)
	a.memory.record(t.record)
	t.pipeline(line, a)
	r.Communication = t.stepTime(line, &a.time)
	if s.PP > 1 {
		r.Communication = append(r.Communication, t.sendRecvs(line, free))
	}
	a.throughput = t.throughput(r.Model, r.Time)
	x := traits(s, r, t.step.Groups, false)
	r.Time.Evidence = e.evidence(s, &x, false)
	markCustom(s, &x, true)
	r.Memory.Evidence = e.evidence(s, &x, true)
	r.Memory.Fit = r.Memory.fit()
	r.Throughput.Evidence = r.Time.Evidence
	r.Run = WholeRun(s, r.Time)
	r.recordGiven(t.record, s)
	t.recordFirstStep(r)
	t.recordLayers()
	t.overPeak(r)
	return t, nil
}

// overPeak warns of a share of the peak over 100 %: of the convention that counts what is never
// computed or, where that does not explain it, of a calibration that is faster than the GPU.
func (t *timing) overPeak(r *Report) {
	if r.Throughput.HFU <= 1 && r.Throughput.MFU <= 1 {
		return
	}
	s := t.setup
	counted := r.Model.TrainingFLOPs * r.Throughput.HFU / r.Throughput.MFU
	computed := (counted - float64(t.skippedFLOPs())) / counted * float64(t.program.TrainingFLOPs(s.Seq, true,
		s.TrainMTP)) / r.Model.TrainingFLOPs
	if r.Throughput.HFU*computed > 1 {
		r.Problems = append(r.Problems, Problem{
			Code: "hfu-over-peak", Severity: layout.Warning, Field: string(knob.Calibration),
			Message: "HFU is over 100 %: a step takes less time than the GPU's peak allows for what it " +
				"computes; a figure of the calibration (such as a factor under 1, or a share of the peak) " +
				"is too fast",
		})
		return
	}
	if r.Throughput.MFU > 1 {
		r.Problems = append(r.Problems, Problem{
			Code: "mfu-over-peak", Severity: layout.Warning, Field: string(knob.MFU),
			Message: "MFU is over 100 %: by convention it counts attention that is never computed (outside " +
				"the causal mask or a local window)",
		})
	}
	if r.Throughput.HFU > 1 {
		r.Problems = append(r.Problems, Problem{
			Code: "hfu-over-peak", Severity: layout.Warning, Field: string(knob.MFU),
			Message: "HFU is over 100 %: by convention it counts attention outside the causal mask or a " +
				"local window, which a fused kernel does not compute",
		})
	}
}

// simulate runs the order of the ranks. Free is the makespan if messages between
// stages took no time.
func (e *Evaluator) simulate(t *timing, r *Report) (line *schedule.Timeline, free float64, err error) {
	line = &e.line
	if !e.SkipTimeline {
		line = new(schedule.Timeline)
		r.Timeline = line
	}
	e.sim.KeepAll = e.SkipTimeline
	free, err = e.sim.SimulateSummary(t.order, t.costs(), line)
	return line, free, err
}

// memory returns the memory of each rank at its peak.
func (e *Evaluator) memory(t *timing) Memory {
	return worst(t.setup, e.mem.Ranks(&t.mem, t.stack, t.params, t.stageMemory))
}

// recordGiven records the whole run and how exact the figures are.
func (r *Report) recordGiven(rec *record.Recorder, s *Setup) {
	r.Run.record(rec, s)
	r.Memory.Evidence.record(rec, "memory", "allocated memory")
	r.Time.record(rec, "time", "step time")
	r.Time.record(rec, "throughput", "step time")
	if r.Run != nil {
		r.Time.record(rec, "run", "step time")
	}
}

// answers are the parts of a Report that lie in one piece of memory.
type answers struct {
	memory     Memory
	pipeline   Pipeline
	time       Time
	throughput Throughput
	closedForm float64
	span       float64
}

func worst(s *Setup, ranks []memory.Rank) Memory {
	m := Memory{Capacity: s.Cluster.GPU.MemoryNominal, Usable: s.Cluster.GPU.MemoryUsable, Ranks: ranks}
	offloads := false
	for i := range ranks {
		if r := &ranks[i]; r.Total > m.Peak {
			m.Peak, m.PeakRank = r.Total, i
		}
		offloads = offloads || ranks[i].Offloaded > 0
	}
	if offloads {
		m.Host, m.HostSize = hostMemory(s, ranks), s.Cluster.HostMemory
	}
	var reasons []string
	if m.Peak > m.Usable {
		reasons = append(reasons, shortfall(s, &m))
	}
	if words := m.HostWords(); words != "" {
		reasons = append(reasons, "what is offloaded is "+words)
	}
	m.Fits, m.Reason = len(reasons) == 0, strings.Join(reasons, "; ")
	return m
}

// hostMemory returns what the GPUs of the fullest node keep in its host memory: a pipeline rank has
// tp x cp x dp GPUs in a row, so that a node has several ranks, or a part of one.
func hostMemory(s *Setup, ranks []memory.Rank) (most units.Bytes) {
	node, each := min(s.GPUs, s.Cluster.Node()), max(s.TP*s.CP*s.DP, 1)
	for i := range ranks { // the node with the first of its GPUs, and the one with the last
		for _, gpu := range [...]int{i * each, (i+1)*each - 1} {
			var sum units.Bytes
			from := gpu / node * node
			for g := from; g < min(from+node, len(ranks)*each); {
				end := min((g/each+1)*each, from+node) // of this rank's on the node
				sum += ranks[g/each].Offloaded * units.Bytes(end-g)
				g = end
			}
			most = max(most, sum)
		}
	}
	return most
}

// record records the formulas of worst.
func (m *Memory) record(rec *record.Recorder) {
	if !rec.On() {
		return
	}
	all := make([]string, len(m.Ranks))
	for r := range m.Ranks {
		all[r] = fmt.Sprintf("{memory.ranks.%d.total}", r)
	}
	const gpu = "the GPU's datasheet and what its driver reports, see presets gpus"
	for _, f := range [...]struct {
		id, symbol, name, formula, source, omits string
		value                                    units.Bytes
	}{
		{
			"peak", "peak memory", "memory of the fullest pipeline rank",
			"max(" + strings.Join(all, ", ") + ")",
			"the largest total of all ranks", "fragmentation beyond the allocator's slack", m.Peak,
		},
		{
			"usable", "usable", "memory that the framework can allocate", "memory_of_the_GPU", gpu, "",
			m.Usable,
		},
		{
			"capacity", "capacity", "memory that the GPU is sold with", "memory_of_the_GPU", gpu, "",
			m.Capacity,
		},
	} {
		rec.Figure(record.Entry{
			ID: "memory." + f.id, Name: f.name, Symbol: f.symbol, Unit: record.Memory, Formula: f.formula,
			Value: float64(f.value), Source: f.source, LeavesOut: f.omits,
		}, record.In("memory_of_the_GPU", f.value))
	}
}

func modelFigures(s *Setup, m *model.Program) *ModelFigures {
	causal := s.MFU != recipe.MFUFull
	convention := recipe.MFUCausal
	if !causal {
		convention = recipe.MFUFull
	}
	flops := m.TrainingFLOPs(s.Seq, causal, s.TrainMTP)
	if n := adapters(s, m); n > 0 {
		flops = m.AdapterFLOPs(s.Seq, causal, n)
	}
	return &ModelFigures{
		Parameters: m.Total(), ActiveParameters: m.Active(), MTPParameters: m.MTP(),
		TrainingFLOPs: float64(flops), Convention: string(convention),
	}
}

// adapters returns the parameters that are trained in place of all weights; 0: all of them are.
func adapters(s *Setup, program *model.Program) float64 {
	stack, ok := memory.For(s.Stack)
	if !ok || !s.Frozen() {
		return 0
	}
	in := memory.Input{
		Model: &s.Model, Program: program, Layout: &s.Layout, Precision: s.Precision,
		Optimizer: s.Optimizer, Loss: s.LossKernel(), Recompute: s.Recompute, Training: s.Training,
	}
	return memory.Adapters(&in, stack)
}

// trainedAdapters is adapters of a setup whose model is not laid out yet.
func trainedAdapters(s *Setup) float64 {
	if !s.Frozen() {
		return 0
	}
	return adapters(s, model.Lay(&s.Model, nil))
}
