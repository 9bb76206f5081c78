package engine

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// plan is what a legal setup puts on each rank, and the inputs of time and memory.
type plan struct {
	setup     *Setup
	record    *record.Recorder
	program   *model.Program
	stack     memory.Stack
	info      schedule.Info // of the schedule
	spec      schedule.Spec
	placement *schedule.Order // which rank has which stages; its operations are not read
	stages    []layout.Stage
	mem       memory.Input
	step      step.Input
	params    []memory.Parameters // by rank
	current   bool                // the program is that of the setup
}

// layOut assigns the layers to the stages and the stages to the ranks.
func (e *Evaluator) layOut(s *Setup) (p *plan, err error) {
	p = &e.plan
	p.setup, p.record = s, e.record
	if !p.current {
		p.program = p.program.For(&s.Model, p.record)
	}
	p.current = false
	p.symbols()
	p.program.Record(p.record, s.Seq, s.MFU != recipe.MFUFull, s.TrainMTP, adapters(s, p.program))
	if p.stages, err = s.StagesOfStack(p.program, p.stages); err != nil {
		return nil, err
	}
	p.stack, _ = memory.For(s.Stack)
	p.spec = s.Spec()
	p.info, _ = p.spec.Kind.Info()
	if p.placement = e.order; p.placement == nil || p.placement.Spec != p.spec {
		p.placement = p.spec.Hosts()
	}
	Inputs(s, p.program, p.record, &p.mem, &p.step)
	p.mem.Stages, p.mem.Order, p.mem.Recompute = p.stages, p.placement, s.Recompute
	p.step.Stages, p.step.Groups, p.step.Recompute = p.stages, s.Groups(&s.Cluster), s.Recompute
	if s.OffloadLayers > 0 {
		mem, stack := &p.mem, p.stack
		p.step.OffloadedBytes = func(stage int) units.Bytes { return mem.OffloadedBytes(stack, stage) }
	}
	if !s.Interleaves() {
		p.step.Machine.Software.Blocking = false
	}
	return p, nil
}

// Inputs fills in what memory and time depend on and no layout changes. A nil
// recorder records nothing.
func Inputs(s *Setup, program *model.Program, rec *record.Recorder, mem *memory.Input, tim *step.Input) {
	traits := s.Stack.Traits()
	mem.Set(&memory.Input{
		Record: rec,
		Model:  &s.Model, Program: program, Layout: &s.Layout,
		Precision: s.Precision.On(s.Stack), GradDtype: s.GradDtype, Attention: s.Attention,
		Loss:      s.LossKernel(),
		Optimizer: s.Optimizer, Offload: s.Offload, OffloadedLayers: s.OffloadLayers, Load: s.ExpertLoad(),
		TrainMTP: s.TrainMTP,
		Training: s.Training,
		Fitted:   s.Cluster.MemoryOf(s.Stack), Node: s.Cluster.Node(),
	})
	if traits.Ledger {
		var known bool
		if mem.Rates, known = s.Cluster.Rates(s.Precision); known && s.Offload.NVMe() {
			read, _ := s.Cluster.Drives()
			mem.Rates.Drives = float64(read)
		}
	}
	*tim = step.Input{
		Record: rec,
		Model:  &s.Model, Program: program, Layout: &s.Layout,
		Machine:   hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software),
		Precision: s.Precision.On(s.Stack), GradDtype: s.GradDtype, Attention: s.Attention,
		Loss:          s.LossKernel(),
		KeepsProducts: traits.KeepsProducts, StoresScores: s.Attention == recipe.Standard,
		Load: s.ExpertLoad(), Offload: s.Offload, Optimizer: s.Optimizer, TrainMTP: s.TrainMTP,
		HPZ: s.HPZ, QWZ: s.QWZ, QGZ: s.QGZ, Ulysses: s.Exchanges() == recipe.Ulysses,
	}
	tim.Machine.Record(rec, s.Precision.On(s.Stack))
	if traits.Formulas {
		// The formulas store scores; that is no reason to compute them slowly.
		tim.Attention = recipe.Flash
	}
}
