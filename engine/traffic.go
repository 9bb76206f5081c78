package engine

import (
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// onRank says of which pipeline rank the traffic inside layers is, and that of
// gradients and weights.
type onRank struct{ links, data int }

func (t *timing) communication(on onRank, links step.Links, data step.DataParallel,
	saved float64,
) []Communication {
	usual := 4 // tp, cp, dp, pp
	if t.setup.Model.IsMoE() {
		usual = 7 // and ep, etp, expert-dp
	}
	out := make([]Communication, 0, usual)
	s, g, rank := t.setup, &t.step.Groups, on.links
	add := func(dimension, operation string, group layout.Group, of step.Traffic) {
		if group.Size != 1 && of.Bytes > 0 {
			out = append(out, Communication{
				Dimension: dimension, Rank: rank, Operation: operation, GroupSize: max(group.Size, 1),
				Spans: string(group.Span),
				Bytes: of.Bytes, Seconds: of.Seconds, Exposed: of.Exposed,
			})
			if t.record.On() {
				t.recordRow(&out[len(out)-1], saved)
			}
		}
	}
	sharded := "all-gather + reduce-scatter"
	tp := "all-reduce"
	if s.SP {
		tp = sharded
	}
	add("tp", tp, g.TP, links.TP)
	ring := "send/receive (ring)"
	if s.SharesHeads() {
		ring = "all-to-all (Ulysses)"
	}
	add("cp", ring, g.CP, links.CP)
	add("ep", "all-to-all", g.EP, links.EP)
	add("etp", sharded, g.ETP, links.ETP)
	one := layout.Group{Span: layout.WithinNode} // each GPU by itself
	what := "weights, gradients to the host and back"
	switch {
	case s.OffloadLayers > 0 && !s.Offload.Optimizer() || s.Offload == recipe.OffloadActivations:
		what = "activations to the host and back"
	case s.OffloadLayers > 0 || s.Offload == recipe.OffloadEverything:
		what = "weights, activations to the host and back"
	}
	if s.Optimizer.States().Paged {
		if s.Offload == recipe.OffloadNone && s.OffloadLayers == 0 {
			what = " to the host and back"
		} else {
			what = ", " + what
		}
		what = "moments" + what
	}
	add("host", what, one, links.Host)
	add("drives", "states, weights to drives and back", one, links.Drives)
	gradients := "reduce-scatter + all-gather"
	if s.ZeRO == 0 {
		gradients = "all-reduce"
	}
	rank = on.data
	add("dp", gradients, g.DenseDP, data.Dense)
	add("expert-dp", gradients, g.ExpertDP, data.Expert)
	add("mirror", "send/receive", layout.Group{Size: 2, Span: g.PP.Span}, data.Mirror)
	return out
}

// blockingSendTraffic returns the time that the busiest rank is blocked in send and receive for its own
// messages, where the stack's stages do: part of the exposed time, not of the bubble. Its
// bytes are counted with those of the pipeline.
func (t *timing) blockingSendTraffic(rank int, waits units.Seconds) Communication {
	c := Communication{
		Dimension: "pp-wait", Rank: rank, Operation: "blocking send/receive", GroupSize: t.setup.PP,
		Spans: string(t.step.Groups.PP.Span), Seconds: waits, Exposed: waits,
	}
	if t.record.On() {
		sum, operands := t.waits(rank)
		all := record.Sum(sum...)
		t.recordTraffic(&c, rowFormulas{group: "p", bytes: "0", seconds: all, exposed: all}, operands...)
	}
	return c
}

// sendRecvs returns the traffic between stages of one step on a rank in the middle.
// Its exposed time is what send/recv latency adds to the pipeline, at most its own: what it waits for
// messages of others is theirs. It is part of the bubble, because the rank waits.
func (t *timing) sendRecvs(line *schedule.Timeline, free float64) Communication {
	s, in := t.setup, &t.step
	message, latency := step.SendRecv(in)
	sends := float64(t.spec.Sends())
	c := Communication{
		Dimension: "pp", Rank: s.PP / 2, Operation: "send/receive", GroupSize: s.PP,
		Spans: string(in.Groups.PP.Span),
		Bytes: message * units.Bytes(sends), Seconds: latency * units.Seconds(sends),
	}
	c.Exposed = min(c.Seconds, units.Seconds(max(0, units.Difference(line.Makespan, free))))
	if t.record.On() {
		count, operand := "2 * m * v", record.In("messages", t.spec.Messages())
		if s.PP == 2 { // each rank sends half of all messages
			count = "messages / 2"
		}
		t.recordTraffic(&c, rowFormulas{
			group: "p", bytes: count + " * v_pp", seconds: count + " * t_pp",
			exposed: "min({communication.pp.seconds}, max(0, {pipeline.makespan} - " +
				"simulated_makespan_if_messages_took_no_time))", simulated: true,
		}, operand, record.InUnit(record.Seconds, "simulated_makespan_if_messages_took_no_time", free))
	}
	return c
}

// rowFormulas are the formulas of a row of the traffic.
type rowFormulas struct {
	group, bytes, seconds, exposed string
	simulated                      bool // what nothing hides
}

// recordTraffic records a row of the traffic.
func (t *timing) recordTraffic(c *Communication, f rowFormulas, operands ...record.Operand) {
	m, big := &t.step.Machine, strings.ToUpper(c.Dimension)
	figure := func(id, name, formula string, unit record.Unit, value float64, source, omits string) {
		t.record.Figure(record.Entry{
			ID: "communication." + c.Dimension + "." + id, Name: name, Symbol: big + " " + id, Unit: unit,
			Formula: formula, Value: value,
			Source: source, LeavesOut: omits, Simulated: f.simulated && id == "exposed",
		}, operands...)
	}
	pass := ""
	switch {
	case strings.HasPrefix(c.Operation, "all-to-all"):
		pass = ": an all-to-all sends (n-1)/n of the volume"
	case strings.Contains(c.Operation, "reduce"), strings.Contains(c.Operation, "ring"):
		pass = ": a ring pass sends (n-1)/n of the volume"
	}
	figure("bytes", "bytes that one GPU sends over "+big+" in a step", f.bytes, record.Traffic,
		float64(c.Bytes), c.Operation+pass, "")
	figure("seconds", "time of the "+big+" traffic of a step", f.seconds, record.Seconds, float64(c.Seconds),
		c.Operation+"; "+record.From(m.Network.From), "other traffic on the same links")
	figure("exposed", "time of the "+big+" traffic that is exposed", f.exposed, record.Seconds,
		float64(c.Exposed), record.From(m.Software.From), "")
	figure("group-size", "ranks of a "+big+" group", f.group, record.Count, float64(c.GroupSize),
		"the layout", "")
}

// recordRow records a row of the traffic of layers or of gradients and weights.
func (t *timing) recordRow(c *Communication, saved float64) {
	switch c.Dimension {
	case "dp", "expert-dp", "mirror":
		t.recordDataRow(c)
		return
	}
	group := map[string]string{
		"tp": "t", "cp": "c", "ep": "EP", "etp": "ETP",
	}[c.Dimension]
	if step.Copies(c.Dimension) {
		group = "1"
	}
	f := rowFormulas{group: group}
	var operands []record.Operand
	sum := func(what string) string {
		terms, counts := t.onChunks(c.Rank, func(s *record.Recorder, stage int) string {
			if t.copiesNothing(c.Dimension, stage) {
				return ""
			}
			return s.Ref(c.Dimension + "." + what)
		}, schedule.Forward)
		operands = counts
		return record.Sum(append(terms, t.ofUpdate(c.Dimension, what)...)...)
	}
	f.bytes, f.seconds, f.exposed = sum("bytes"), sum("seconds"), sum("exposed")
	switch {
	case c.Dimension == "tp":
		split, counts := t.onChunks(c.Rank, func(s *record.Recorder, _ int) string {
			return s.Ref("split-backward-exposed-tp")
		}, schedule.InputGradient)
		f.exposed = record.Sum(append([]string{f.exposed}, split...)...)
		operands = append(operands, counts...)
	case c.Dimension == "ep" && saved > 0:
		f.exposed = "max(0, " + f.exposed + " - hidden_in_overlapped_pairs)"
		operands = append(operands, record.InUnit(record.Seconds, "hidden_in_overlapped_pairs", saved))
	}
	t.recordTraffic(c, f, operands...)
}

// copiesNothing reports whether a dimension is that of host memory or drives, and a stage has nothing of it.
func (t *timing) copiesNothing(dimension string, stage int) bool {
	f, b := &t.cost[stage].ForwardLinks, &t.cost[stage].BackwardLinks
	return step.Copies(dimension) && f.Of(dimension).Bytes+b.Of(dimension).Bytes == 0
}

// ofUpdate returns the formula of what the slowest update adds to a row; nothing to most.
func (t *timing) ofUpdate(dimension, what string) []string {
	u, rank := t.update()
	if u.Copies.Of(dimension).Bytes > 0 {
		if what == "exposed" {
			what = "seconds"
		}
		return []string{t.record.At("time.offload."+dimension, "rank", rank).Ref(what)}
	}
	return nil
}

// recordDataRow records a row of the traffic of gradients and weights. The rows share
// what is exposed by the time that they take. Where that is more than the rank's own
// traffic, because another rank's counts after the last micro-batch, the time counts
// as long as that (step.DataParallel.AddExposed).
func (t *timing) recordDataRow(c *Communication) {
	const exposed = "{time.exposed.data-parallel}"
	rec, d := t.record.At("data", "rank", c.Rank), &t.data[c.Rank]
	parts := []struct {
		dimension, group, bytes, seconds string
		t                                *step.Traffic
	}{
		{"dp", "dp * c", rec.Ref("dense.sent"), rec.Ref("dense.seconds"), &d.Dense},
		{"expert-dp", "GPUs / (EP * ETP * p)", rec.Ref("expert.sent"), rec.Ref("expert.seconds"), &d.Expert},
		{"mirror", "2", rec.Ref("mirror"), "(" + rec.Sum("mirror") + ")", &d.Mirror},
	}
	var f rowFormulas
	var whole []string
	var seconds, of units.Seconds
	for _, p := range parts {
		if p.t.Seconds > 0 {
			whole = append(whole, p.seconds)
		}
		seconds += p.t.Seconds
		if p.dimension == c.Dimension {
			of = p.t.Seconds
			f = rowFormulas{group: p.group, bytes: p.bytes, seconds: p.seconds, exposed: exposed}
		}
	}
	if len(whole) > 1 {
		f.exposed += " * " + f.seconds + " / (" + record.Sum(whole...) + ")"
	}
	if c.Seconds > of {
		f.seconds = f.exposed
	}
	if seconds == 0 {
		f.exposed = "0"
	}
	t.recordTraffic(c, f)
}
