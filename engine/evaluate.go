package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/band"
	"meshscope/engine/hardware"
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

	program  *model.Program   // of the model evaluated last
	record   *record.Recorder // records formulas; nil: nobody asked
	setup    Setup            // what is being evaluated; the inputs below point into it
	memInput memory.Input
	timInput step.Input
	stop     func() bool

	info     schedule.Info // of the setup's schedule
	order    *schedule.Order
	reusable bool // the order: no report points to it
	sim      schedule.Simulator
	mem      memory.Evaluator
	parts    step.Parts
	stages   []layout.Stage
	cost     []step.Cost
	data     []step.DataParallel
	timing   timing
	boundary StepBoundaryTraffic
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

// checkLink adds a warning where the link between nodes has a rate that its name does not. Names are read once
// for as long as the machine stays: that takes longer than all other checks.
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
	r, _ := e.EvaluateUntil(s, nil)
	return r
}

// EvaluateUntil is Evaluate that can be stopped: an automatic schedule of many
// operations takes tens of milliseconds to find (schedule.MaxAutoOps bounds it).
// Once stop says true there is no answer and the second value is false.
func (e *Evaluator) EvaluateUntil(s Setup, stop func() bool) (Report, bool) {
	e.setup, e.stop = s, stop
	r := Report{Problems: e.checkLink(knob.Check(&e.setup))}
	r.Legal = !layout.HasErrors(r.Problems)
	if s.Seq > 0 && !layout.HasCode(r.Problems, "model") {
		e.program = e.program.For(&e.setup.Model, e.record)
		r.Model = modelFigures(&e.setup, e.program)
	}
	if r.Legal {
		if err := e.figures(&e.setup, &r); err != nil {
			if wasStopped(err) {
				return Report{}, false
			}
			r = Report{Problems: append(r.Problems, Problem{
				Code: "pipeline", Severity: layout.Error, Field: string(knob.Schedule), Message: err.Error(),
			}), Model: r.Model}
		}
	}
	r.Assumptions, r.NotModelled = assumptions(&e.setup, &r, &e.timing, &e.timInput.Machine.Software), notModelled(&e.setup)
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
func (e *Evaluator) figures(s *Setup, r *Report) error {
	e.symbols(s)
	e.program.Record(e.record, s.Seq, s.MFU != recipe.MFUFull, s.TrainMTP)
	if err := e.arrange(s); err != nil {
		return err
	}
	line, free, err := e.simulate(r)
	if err != nil {
		return err
	}
	a := new(answers)
	r.Memory, r.Pipeline, r.Time, r.Throughput = &a.memory, &a.pipeline, &a.time, &a.throughput
	a.memory = e.peaks(s)
	e.pipeline(s, line, a)
	r.Communication = e.stepTime(s, &e.timInput, line, &a.time)
	if s.PP > 1 {
		r.Communication = append(r.Communication, e.sendRecvs(s, line, free))
	}
	a.throughput = e.throughput(s, r.Model, r.Time)
	x := traits(s, r, e.timInput.Groups, false)
	r.Time.Evidence = e.evidence(s, &x, false)
	markCustom(s, &x, true)
	r.Memory.Evidence = e.evidence(s, &x, true)
	r.Memory.Fit = FitWithin(r.Memory.Peak, r.Memory.Usable, r.Memory.ErrorBand)
	r.Throughput.Evidence = r.Time.Evidence
	r.Run = WholeRun(s, r.Time)
	r.recordGiven(e.record, s)
	e.recordFirstStep(s, r)
	e.recordLayers(s)
	e.overPeak(s, r)
	return nil
}

// overPeak warns of a share of the peak over 100 %: of the convention that counts what is never
// computed or, where that does not explain it, of a calibration that is faster than the GPU.
func (e *Evaluator) overPeak(s *Setup, r *Report) {
	if r.Throughput.HFU <= 1 && r.Throughput.MFU <= 1 {
		return
	}
	counted := r.Model.TrainingFLOPs * r.Throughput.HFU / r.Throughput.MFU
	computed := (counted - float64(e.skippedFLOPs(s))) / counted * float64(e.program.TrainingFLOPs(s.Seq, true, s.TrainMTP)) / r.Model.TrainingFLOPs
	if r.Throughput.HFU*computed > 1 {
		r.Problems = append(r.Problems, Problem{
			Code: "hfu-over-peak", Severity: layout.Warning, Field: string(knob.Calibration),
			Message: "HFU is over 100 %: a step takes less time than the GPU's peak allows for what it computes; a figure of the calibration (such as a factor under 1, or a share of the peak) is too fast",
		})
		return
	}
	if r.Throughput.MFU > 1 {
		r.Problems = append(r.Problems, Problem{
			Code: "mfu-over-peak", Severity: layout.Warning, Field: string(knob.MFU),
			Message: "MFU is over 100 %: by convention it counts attention that is never computed (outside the causal mask or a local window)",
		})
	}
	if r.Throughput.HFU > 1 {
		r.Problems = append(r.Problems, Problem{
			Code: "hfu-over-peak", Severity: layout.Warning, Field: string(knob.MFU),
			Message: "HFU is over 100 %: by convention it counts attention outside the causal mask or a local window, which a fused kernel does not compute",
		})
	}
}

// simulate runs the order of the ranks. Free is the makespan if messages between
// stages took no time.
func (e *Evaluator) simulate(r *Report) (line *schedule.Timeline, free float64, err error) {
	line = &e.line
	if !e.SkipTimeline {
		line = new(schedule.Timeline)
		r.Timeline = line
	}
	e.sim.KeepAll = e.SkipTimeline
	_, latency := step.SendRecv(&e.timInput)
	free, err = e.sim.SimulateSummary(e.order, e.timing.costs(e.timInput.Latency(latency)), line)
	return line, free, err
}

// peaks returns the memory of each rank at its peak.
func (e *Evaluator) peaks(s *Setup) Memory {
	stack, _ := memory.For(s.Stack)
	m := worst(s, e.mem.Ranks(&e.memInput, stack, make([]memory.Rank, 0, s.PP)))
	m.record(e.record)
	m.Stages = slices.Clone(e.mem.LastStages())
	return m
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

// arrange assigns the layers to the stages, computes how long each stage takes,
// and orders the operations of the ranks.
func (e *Evaluator) arrange(s *Setup) (err error) {
	e.program = e.program.For(&s.Model, e.record)
	if e.stages, err = s.StagesOfStack(e.program, e.stages); err != nil {
		return err
	}
	stack, _ := memory.For(s.Stack)
	spec := s.Spec()
	e.info, _ = spec.Kind.Info()
	hosts := e.hosts(spec)
	e.inputs(s, hosts)
	in := &e.timInput
	e.cost = e.parts.Stages(in, e.cost[:0])
	e.data = e.data[:0]
	params, layers := e.mem.Count(&e.memInput, stack), 0
	for r, p := range params {
		before := layers
		layers = e.layers(hosts, r)
		if r > 0 && p == params[r-1] && layers == before && !e.record.On() {
			e.data = append(e.data, e.data[r-1])
			continue
		}
		e.data = append(e.data, step.Data(in, r, p, layers, hosts.Placement.Copies()))
	}
	_, latency := step.SendRecv(in)
	e.timing.set(e, s, hosts, latency)
	costs := e.timing.costs(e.timInput.Latency(latency))
	if e.info.Automatic {
		costs.Held, costs.HeldForW = e.timing.held(e.mem.Stages(&e.memInput, stack))
	}
	err = e.plan(spec, costs)
	e.memInput.Order = e.order
	e.timing.handmade = err == nil && e.order.Handmade
	return err
}

// layers returns how many layers stand on a rank.
func (e *Evaluator) layers(hosts *schedule.Order, rank int) int {
	n := 0
	for c := range hosts.Chunks() {
		n += e.stages[hosts.StageOf(rank, c)].Layers()
	}
	return n
}

// hosts says which rank has which stages, before there may be an order.
func (e *Evaluator) hosts(spec schedule.Spec) *schedule.Order {
	if e.order != nil && e.order.Spec == spec {
		return e.order
	}
	return spec.Hosts()
}

// plan lays the operations on the ranks. An automatic schedule depends on the
// durations too. An order that an earlier Report points to is left as it is.
func (e *Evaluator) plan(spec schedule.Spec, costs schedule.Costs) (err error) {
	if e.order != nil && e.order.Suits(spec, &costs) {
		e.reusable = e.reusable && e.SkipTimeline
		return nil
	}
	if e.reusable && e.SkipTimeline {
		if err = e.order.RebuildFor(spec, costs, e.stop); err != nil {
			e.order, e.reusable = nil, false
		}
		return err
	}
	order, err := schedule.BuildFor(spec, costs, e.stop)
	if err == nil {
		e.order, e.reusable = order, e.SkipTimeline
	}
	return err
}

// inputs tells the parts of the engine what they depend on.
func (e *Evaluator) inputs(s *Setup, hosts *schedule.Order) {
	Inputs(s, e.program, e.record, &e.memInput, &e.timInput)
	e.memInput.Stages, e.memInput.Order, e.memInput.Recompute = e.stages, hosts, s.Recompute
	if s.OffloadLayers > 0 {
		stack, _ := memory.For(s.Stack)
		e.timInput.OffloadedBytes = func(stage int) units.Bytes { return e.memInput.OffloadedBytes(stack, stage) }
	}
	e.timInput.Stages, e.timInput.Groups, e.timInput.Recompute = e.stages, s.Groups(&s.Cluster), s.Recompute
	if !s.Interleaves() {
		e.timInput.Machine.Software.Blocking = false
	}
}

// Inputs fills in what memory and time depend on and no layout changes. A nil
// recorder records nothing.
func Inputs(s *Setup, program *model.Program, rec *record.Recorder, mem *memory.Input, tim *step.Input) {
	traits := s.Stack.Traits()
	mem.Set(&memory.Input{
		Record: rec,
		Model:  &s.Model, Program: program, Layout: &s.Layout,
		Precision: s.Precision.On(s.Stack), GradDtype: s.GradDtype, Attention: s.Attention, Loss: s.LossKernel(),
		Optimizer: s.Optimizer, Offload: s.Offload, OffloadedLayers: s.OffloadLayers, Load: s.ExpertLoad(), TrainMTP: s.TrainMTP,
		Fitted: s.Cluster.MemoryOf(s.Stack), Node: s.Cluster.Node(),
	})
	*tim = step.Input{
		Record: rec,
		Model:  &s.Model, Program: program, Layout: &s.Layout,
		Machine:   hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software),
		Precision: s.Precision.On(s.Stack), GradDtype: s.GradDtype, Attention: s.Attention, Loss: s.LossKernel(),
		KeepsProducts: traits.KeepsProducts, StoresScores: s.Attention == recipe.Standard, Load: s.ExpertLoad(), Offload: s.Offload, TrainMTP: s.TrainMTP,
	}
	tim.Machine.Record(rec, s.Precision.On(s.Stack))
	if traits.Formulas {
		// The formulas store scores; that is no reason to compute them slowly.
		tim.Attention = recipe.Flash
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
	for i, r := range ranks {
		if r.Total > m.Peak {
			m.Peak, m.PeakRank = r.Total, i
		}
	}
	if m.Fits = m.Peak <= m.Usable; !m.Fits {
		m.Reason = shortfall(s, &m)
	}
	return m
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
		{"peak", "peak memory", "memory of the fullest pipeline rank", "max(" + strings.Join(all, ", ") + ")", "the largest total of all ranks", "fragmentation beyond the allocator's slack", m.Peak},
		{"usable", "usable", "memory that the framework can allocate", "memory_of_the_GPU", gpu, "", m.Usable},
		{"capacity", "capacity", "memory that the GPU is sold with", "memory_of_the_GPU", gpu, "", m.Capacity},
	} {
		rec.Figure(record.Entry{
			ID: "memory." + f.id, Name: f.name, Symbol: f.symbol, Unit: record.Memory, Formula: f.formula, Value: float64(f.value), Source: f.source, LeavesOut: f.omits,
		}, record.In("memory_of_the_GPU", f.value))
	}
}

func modelFigures(s *Setup, m *model.Program) *ModelFigures {
	causal := s.MFU != recipe.MFUFull
	convention := recipe.MFUCausal
	if !causal {
		convention = recipe.MFUFull
	}
	return &ModelFigures{
		Parameters: m.Total(), ActiveParameters: m.Active(), MTPParameters: m.MTP(),
		TrainingFLOPs: float64(m.TrainingFLOPs(s.Seq, causal, s.TrainMTP)), Convention: string(convention),
	}
}
