package explain

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/schedule"
)

func (b *Book) row(dimension string) *engine.Communication {
	for i := range b.r.Communication {
		if c := &b.r.Communication[i]; c.Dimension == dimension {
			return c
		}
	}
	return nil
}

// communication explains a figure of a row of the traffic.
func (b *Book) communication(dimension, what string) *Explanation {
	row := b.row(dimension)
	if row == nil {
		return nil
	}
	big := strings.ToUpper(dimension)
	a := about{symbol: big + " " + what, unit: Seconds}
	switch what {
	case "bytes":
		a.name, a.unit, a.source = "Bytes that one GPU sends over "+big+" in a step", Traffic, row.Operation+": a ring pass sends (n-1)/n of the volume"
	case "seconds":
		a.name, a.source = "Time of the "+big+" traffic of a step", row.Operation+"; "+from(b.machine().Network.From)
		a.omits = "other traffic on the same links"
	case "exposed":
		a.name, a.source = "Time of the "+big+" traffic that nothing hides", from(b.machine().Software.From)
	case "group-size":
		a.name, a.unit, a.source = "Ranks of a "+big+" group", Count, "the layout"
	default:
		return nil
	}
	var formula func() *Expr
	switch {
	case what == "group-size":
		formula = func() *Expr { return b.groupSize(dimension) }
	case dimension == "pp":
		a.simulated = what == "exposed"
		formula = func() *Expr { return b.handOvers(what) }
	case dimension == "dp", dimension == "expert-dp", dimension == "mirror":
		formula = func() *Expr { return b.dataRow(dimension, what) }
	default:
		formula = func() *Expr { return b.insideLayers(dimension, what) }
	}
	return b.explain("communication."+dimension+"."+what, a, formula)
}

func (b *Book) groupSize(dimension string) *Expr {
	s := b.w.Setup
	switch dimension {
	case "tp":
		return b.tp()
	case "cp":
		return count("c", s.CP)
	case "ep":
		return count("EP", s.EP)
	case "etp":
		return count("ETP", s.ETP)
	case "dp":
		return mul(count("dp", s.DP), count("c", s.CP))
	case "expert-dp":
		return div(count("GPUs", s.GPUs), mul(count("EP", s.EP), count("ETP", s.ETP), count("p", s.PP)))
	case "pp":
		return count("p", s.PP)
	}
	return lit(2)
}

// insideLayers is traffic of every micro-batch on the busiest rank.
func (b *Book) insideLayers(dimension, what string) *Expr {
	x := b.onChunks(func(stage int) *Expr { return b.stageTraffic(stage, dimension, what) })
	if what != "exposed" {
		return x
	}
	o, rank := b.r.Timeline.Order, b.busiest()
	switch dimension {
	case "tp":
		sum := []*Expr{x}
		for c := range o.Chunks() {
			if n := o.Count(rank, c, schedule.InputGradient); n > 0 {
				sum = append(sum, mul(count("split backwards", n), b.unhidden(o.StageOf(rank, c))))
			}
		}
		return add(sum...)
	case "ep":
		if saved := b.r.Timeline.Ranks[rank].Saved; saved > 0 {
			return maxOf(lit(0), sub(x, num("hidden in overlapped pairs", saved, Seconds)))
		}
	}
	return x
}

// dataRow is the traffic of gradients and weights of the rank that the report
// shows: the slowest, or the busiest where it is exposed in every micro-batch.
func (b *Book) dataRow(dimension, what string) *Expr {
	rank := b.slowest()
	if b.everyMicroBatch().Value() > 0 {
		rank = b.busiest()
	}
	d := b.data(rank)
	f := map[string]flow{"dp": d.dense, "expert-dp": d.expert, "mirror": d.mirror}[dimension]
	if what == "bytes" {
		return add(f.bytes...)
	}
	// The parts share what is exposed by the time that they take. Where that is
	// more than the rank's own traffic, because another rank's counts after the
	// last micro-batch, the time counts as long as that.
	whole := append(append(append([]*Expr{}, d.dense.seconds...), d.expert.seconds...), d.mirror.seconds...)
	exposed, longer := b.dataExposed(), b.dataExposed().Value() > add(whole...).Value()
	if what == "seconds" && !longer {
		return add(f.seconds...)
	}
	if len(whole) == len(f.seconds) {
		return exposed
	}
	return mul(exposed, div(add(f.seconds...), add(whole...)))
}

// handOvers are the messages between stages.
func (b *Book) handOvers(what string) *Expr {
	s := b.w.Setup
	message, latency := b.handOver()
	sends := mul(lit(2), count("m", s.MicroBatches), count("v", s.VPP))
	if spec := s.Spec(); s.PP == 2 { // each rank sends half of all messages
		sends = div(count("messages", spec.Messages()), lit(2))
	}
	switch what {
	case "bytes":
		return mul(sends, message)
	case "seconds":
		return mul(sends, latency)
	}
	return maxOf(lit(0), sub(ref(b.pipelineFigure("makespan")), num("simulated makespan if hand-overs took no time", b.w.FreeMakespan, Seconds)))
}

// String is the explanation on one line.
func (e *Explanation) String() string {
	return fmt.Sprintf("%s = %s = %s = %s", e.Symbol, e.Formula, e.Numbers, e.Text())
}
