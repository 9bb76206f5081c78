package rings

import (
	"meshscope/engine/record"
	"meshscope/engine/ring"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// Tables returns the example step by step, the work of the setup's ranks under both splits, and
// attention next to the send/recv that it hides.
func (v *attention) Tables(in *screen.Context) []report.Table {
	if !known(in) {
		return nil
	}
	count := func(n int) report.Cell { return report.Figure(record.Count, float64(n)) }
	a := v.example(in)
	straight := a
	a.ZigZag, straight.ZigZag = true, false
	steps := report.Table{
		Title: "ring attention of " + report.Figure(record.Count, float64(a.Tokens)).Text +
			" tokens, step by step",
		Head: []string{"step", "GPU", "K/V of GPU", "pairs zig-zag", "pairs contiguous"},
	}
	for step := range a.Ranks {
		for rank := range a.Ranks {
			steps.Rows = append(steps.Rows,
				[]report.Cell{
					count(step + 1), count(rank), count(a.From(rank, step)),
					count(a.Work(rank, step)), count(straight.Work(rank, step)),
				})
		}
	}
	if in.Setup.CP < 2 || in.Setup.SharesHeads() {
		return []report.Table{steps}
	}
	work := report.Table{
		Title: "query-key pairs of a CP rank",
		Head:  []string{"split", "least", "most", "most over mean"},
	}
	for _, zigzag := range []bool{true, false} {
		own := v.own(in, zigzag)
		_, most, mean := own.Busiest()
		least := most
		for rank := range own.Ranks {
			least = min(least, own.Total(rank))
		}
		name := map[bool]string{true: "zig-zag", false: "contiguous"}[zigzag]
		work.Rows = append(work.Rows, []report.Cell{
			report.Word(name), exact(least), exact(most),
			report.Ratio(float64(most) / mean),
		})
	}
	all := []report.Table{steps, work}
	if f := v.facts.now(in); f != nil {
		passes := report.Table{
			Title: "ring attention of one layer and micro-batch",
			Head:  []string{"pass", "attention", "messages", "of", "send/recv", "exposed"},
		}
		for _, p := range []struct {
			name string
			ring.Pass
		}{{"forward", f.Forward}, {"backward", f.Backward}} {
			passes.Rows = append(passes.Rows, []report.Cell{
				report.Word(p.name), report.Figure(record.Seconds, float64(p.Attention)),
				count(in.Setup.CP - 1), report.Figure(record.Traffic, float64(p.Message)),
				report.Figure(record.Seconds, float64(p.SendRecv)),
				report.Figure(record.Seconds, float64(p.Exposed)),
			})
		}
		all = append(all, passes)
	}
	return all
}

// exact returns a count with all its digits.
func exact(n int) report.Cell {
	return report.Cell{Text: figure.Comma(n), Value: float64(n), Unit: record.Count, Number: true}
}

// Tables returns what the collectives of the setup send and take in its groups, in the shown group all
// of them.
func (v *collectives) Tables(in *screen.Context) []report.Table {
	if !known(in) {
		return nil
	}
	f := v.facts.now(in)
	if f == nil {
		return nil
	}
	t := report.Table{
		Title: "collectives on a ring",
		Head: []string{
			"group", "collective", "GPUs", "per domain", "data", "steps", "sent", "one ring",
			"predicted",
		},
	}
	shown := v.group(in)
	for i := range f.Groups {
		g := &f.Groups[i]
		ops := g.Uses
		if g == shown {
			ops = ring.Ops()
		}
		for _, op := range ops {
			c := ring.Collective{Op: op, Ranks: g.Size, PerNode: g.PerDomain}
			near, far := g.Links(op)
			predicted := report.Word("")
			if model, ok := g.Models(op); ok {
				predicted = report.Figure(record.Seconds, float64(model))
			}
			t.Rows = append(t.Rows, []report.Cell{
				report.Word(g.Dimension), report.Word(string(op)),
				report.Figure(record.Count, float64(g.Size)),
				report.Figure(record.Count, float64(g.PerDomain)),
				report.Figure(record.Traffic, float64(g.Volume)),
				report.Figure(record.Count, float64(c.Steps())),
				report.Figure(record.Traffic, float64(units.Bytes(c.Share())*g.Volume)),
				report.Figure(record.Seconds, float64(c.Seconds(g.Volume, near, far))), predicted,
			})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []report.Table{t}
}
