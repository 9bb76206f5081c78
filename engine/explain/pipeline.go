package explain

import (
	"fmt"

	"meshscope/engine/schedule"
)

func (b *Book) pipelineFigure(rest string) *Explanation {
	s, line := b.w.Setup, b.r.Timeline
	info, _ := s.Schedule.Info()
	rank := b.busiest()
	makespan := func() *Expr { return ref(b.pipelineFigure("makespan")) }
	a := about{symbol: rest, unit: Share, simulated: true}
	var formula func() *Expr
	switch rest {
	case "makespan":
		a.name, a.unit = "Duration of the pipeline", Seconds
		a.source = fmt.Sprintf("simulated in the order of %s (%s); exact: busy and idle time of rank %d", info.Name, info.Paper, rank)
		a.omits = "jitter between ranks"
		formula = func() *Expr {
			return add(b.work(rank), num(fmt.Sprintf("simulated idle time of rank %d", rank), line.Ranks[rank].Idle, Seconds))
		}
	case "bubble-over-ideal":
		a.name, a.symbol, a.source = "Bubble over the work of the busiest rank", "bubble", "Narayanan et al. (arXiv 2104.04473) section 2.2; the makespan is simulated"
		formula = func() *Expr {
			return maxOf(lit(0), div(sub(makespan(), b.work(rank)), b.work(rank)))
		}
	case "bubble-over-total":
		a.name, a.source = "Idle share of the time of all ranks", "GPipe (arXiv 1811.06965) section 2.3; the makespan is simulated"
		formula = func() *Expr {
			var sum []*Expr
			for r := range s.PP {
				sum = append(sum, b.work(r))
			}
			return maxOf(lit(0), sub(lit(1), div(add(sum...), mul(count("p", s.PP), makespan()))))
		}
	case "bubble-span-over-ideal":
		a.name, a.source = "Wait inside the longest rank's own first start and last end, over its work", "what the zero-bubble papers measure (arXiv 2401.10241); the span is simulated"
		formula = func() *Expr {
			return maxOf(lit(0), div(sub(num("simulated longest span", line.LongestSpan(), Seconds), b.work(rank)), b.work(rank)))
		}
	case "bubble-closed-form":
		a.name, a.source, a.simulated = "Bubble over ideal, for equal stages and no hand-over time", info.Paper+"; idle time "+info.Idle, false
		a.omits = "unequal stages, hand-over time"
		formula = b.closedForm
	case "ranks", "stages", "microbatches":
		a.unit, a.simulated, a.source = Count, false, "the layout"
		a.name, a.symbol, formula = b.sizes(rest)
	default:
		return nil
	}
	return b.explain("pipeline."+rest, a, formula)
}

// sizes are the figures of the pipeline that the setup gives.
func (b *Book) sizes(rest string) (name, symbol string, formula func() *Expr) {
	s := b.w.Setup
	switch rest {
	case "ranks":
		return "Pipeline ranks", "p", func() *Expr { return count("p", s.PP) }
	case "stages":
		return "Stages of the model", "stages", func() *Expr { return mul(count("p", s.PP), count("v", s.VPP)) }
	}
	return "Micro-batches of a pipeline and step", "m", func() *Expr {
		return div(count("gbs", s.GBS), mul(count("b", s.MBS), count("dp", s.DP)))
	}
}

// mean is the average over stages of a pass with everything in it.
func (b *Book) mean(id, name string, of func(stage int) *Expr) *Expr {
	return b.term("pipeline.mean-"+id, about{
		name: "Mean over stages: " + name + " of one micro-batch", symbol: id, unit: Seconds, source: "the mean stage, for closed forms",
	}, func() *Expr {
		var sum []*Expr
		for stage := range b.w.Stages {
			sum = append(sum, of(stage))
		}
		return div(add(sum...), count("stages", len(b.w.Stages)))
	})
}

// closedForm is the exact idle time of equal stages over their work.
func (b *Book) closedForm() *Expr {
	s := b.w.Setup
	info, _ := s.Schedule.Info()
	both := b.mean("tF+tB", "forward and backward", b.perMicroBatch)
	if info.SplitsBackward {
		both = b.mean("tF+tI+tW", "forward, input and weight gradient", func(stage int) *Expr {
			return add(b.perMicroBatch(stage), b.unhidden(stage), b.apart(stage))
		})
	}
	work := mul(both, count("v", s.VPP), count("m", s.MicroBatches))
	switch s.Schedule {
	case schedule.AFAB, schedule.OneFOneB:
		return div(mul(sub(count("p", s.PP), lit(1)), both), work)
	default:
	}
	idle := b.term("pipeline.closed-form-idle", about{
		name: "Idle time of the worst rank, for equal stages and no hand-over time", symbol: "idle", unit: Seconds,
		source: info.Paper + "; " + info.Idle, omits: "which of the passes is longest: the form has cases, evaluated for the mean stage",
	}, func() *Expr {
		t, _ := s.Spec().ClosedFormIdle(b.w.Mean)
		return num(info.Idle, t, Seconds)
	})
	return div(idle, work)
}
