package lanes

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/overlap"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"

	lane "meshscope/engine/lanes"
)

// traffic returns the report's row of a lane; nil: what is computed.
func (v *View) traffic(l *lane.Lane) *engine.Communication {
	for i := range v.drawn.step.Traffic {
		if v.drawn.step.Traffic[i].Dimension == l.Dimension {
			return &v.drawn.step.Traffic[i]
		}
	}
	return nil
}

// explained explains the row under the cursor in at most h lines: what it is, then why.
func (v *View) explained(in *screen.Context, h int) []string {
	if h <= 0 {
		return nil
	}
	head, why := v.words(in)
	lines := []string{widget.NewLine(in.W).Gap(2).Put(in.Paint(themes.Strong), in.Cut(head, in.W-2)).String()}
	text := widget.Wrap(why, min(in.W-4, 110))
	if len(text) > h-1 && h > 1 {
		text = whole(text[:h-1], in.Glyphs.Ellipsis)
	}
	for _, t := range text {
		lines = append(lines, widget.NewLine(in.W).Gap(2).Put(in.Paint(themes.Text), t).String())
	}
	return lines[:min(len(lines), h)]
}

// words returns what is under the cursor and why it is so.
func (v *View) words(in *screen.Context) (head, why string) {
	l := v.laneAt(v.row)
	if l == nil {
		return v.listWords(in, v.listAt(v.row))
	}
	g := v.focused()
	if g == nil {
		return strings.ToUpper(l.Dimension) + ": nothing is sent in this part of the step", ""
	}
	when := fmt.Sprintf(" for %s, from %s to %s", figure.Seconds(g.Length), figure.Seconds(g.Start),
		figure.Seconds(g.End()))
	if l.Dimension == "" {
		return v.computeName(g) + when, v.computeWhy(g)
	}
	c := v.traffic(l)
	head = strings.ToUpper(l.Dimension) + ", " + v.moves(l.Dimension, g)
	why = v.why(in, l, g, c)
	switch g.Kind {
	case lane.Folded:
		return fmt.Sprintf("%s, %s folded: %s exposed, %s hidden", strings.ToUpper(l.Dimension),
				figure.Plural(g.Micros, "operation"), figure.Seconds(g.Exposed), figure.Seconds(g.Hidden)),
			"In the middle of the step every micro-batch is like its neighbours. f draws them all."
	case lane.Exposed:
		head += ": exposed" + when
		if l.Dimension != "pp" {
			why = "The GPU waits. " + why
		}
	default:
		head += ": hidden" + when
		why = "Costs no time. " + why
	}
	if g.Bytes > 0 {
		why = partOf(in, g, c) + over(in, c) + ". " + why
	}
	return head, why
}

// partOf says how much of a row's traffic a segment is: no more than that it is a part while a question is
// open, which the share would answer.
func partOf(in *screen.Context, g *lane.Segment, c *engine.Communication) string {
	const whole = 0.995
	switch {
	case g.Bytes >= whole*c.Bytes:
		return figure.Traffic(g.Bytes)
	case in.Asks:
		return "Part of " + figure.Traffic(c.Bytes)
	default:
		return figure.Traffic(g.Bytes) + " of " + figure.Traffic(c.Bytes)
	}
}

// over says over what a row's group talks.
func over(in *screen.Context, c *engine.Communication) string {
	link, bandwidth := in.Setup.Cluster.Intra.Name, in.Setup.Cluster.Intra.Bandwidth
	if c.Spans == "cluster" {
		link, bandwidth = in.Setup.Cluster.Inter.Name, in.Setup.Cluster.Inter.Bandwidth
	}
	if c.Copies() {
		return ""
	}
	text := " over " + link
	if bandwidth > 0 {
		text += " (" + figure.Three(float64(bandwidth/units.GBps)) + " GB/s)"
	}
	return text
}

// computeName names an operation.
func (v *View) computeName(g *lane.Segment) string {
	name := map[lane.Kind]string{
		lane.Forward: "forward", lane.Backward: "backward", lane.InputGradient: "input gradient",
		lane.WeightGradient: "weight gradient",
		lane.Pair:           "forward and backward together", lane.Recompute: "forward run again",
		lane.Update: "optimizer update", lane.Bubble: "pipeline bubble",
	}[g.Kind]
	if g.Kind == lane.Folded {
		return fmt.Sprintf("%s in the middle of the step", figure.Plural(g.Micros, "operation"))
	}
	return name + v.of(g)
}

// of says to which micro-batch and layers a segment belongs.
func (v *View) of(g *lane.Segment) string {
	if g.Micro < 0 {
		return ""
	}
	text := fmt.Sprintf(" of micro-batch %d", g.Micro+1)
	if first, n := v.layers(g); n > 1 {
		text += fmt.Sprintf(", layers %d to %d", first, first+n-1)
	} else if n == 1 {
		text += fmt.Sprintf(", layer %d", first)
	}
	return text
}

// layers returns the first layer of a segment, counted from 0 over the model, and how many.
func (v *View) layers(g *lane.Segment) (first, n int) {
	if g.Stage < 0 || g.Stage >= len(v.drawn.step.Stages) {
		return 0, 0
	}
	for _, s := range v.drawn.step.Stages[:g.Stage] {
		first += s.Layers()
	}
	if g.Layers == 0 {
		return first, v.drawn.step.Stages[g.Stage].Layers()
	}
	return first + g.First, g.Layers
}

// computeWhy says what an operation waits for or why the rank is idle.
func (v *View) computeWhy(g *lane.Segment) string {
	switch g.Kind {
	case lane.Forward:
		return "The lanes below show what travels meanwhile. Where this lane has a hole, the GPU waits for " +
			"what is exposed below it."
	case lane.Backward, lane.InputGradient, lane.WeightGradient, lane.Pair:
		if len(v.drawn.step.Traffic) == 0 {
			return "A single GPU sends nothing: the next operation follows at once."
		}
		return "The gradients of the last layers are ready first, so they can travel while the earlier " +
			"layers still compute: that is what hides them."
	case lane.Recompute:
		return "Activations that were not kept are computed again before their backward."
	case lane.Update:
		return "Each GPU updates its parameters, or with ZeRO its shard of them, once all gradients have " +
			"arrived."
	case lane.Bubble:
		return "The GPU is idle: another pipeline rank has not yet sent what it needs, or nothing is left " +
			"for it to do."
	case lane.Folded:
		return "Every micro-batch in the middle is like its neighbours, so the picture leaves them out. f " +
			"draws them all."
	default:
		return ""
	}
}

// moves says what a segment of traffic carries.
func (v *View) moves(dimension string, g *lane.Segment) string {
	switch dimension {
	case "tp":
		return "activations of the layers" + v.of(g)
	case "cp":
		return "keys and values" + v.of(g)
	case "ep", "etp":
		return "tokens to their experts and back" + v.of(g)
	case "host":
		return "what is kept in host memory, there and back" + v.of(g)
	case "drives":
		return "what is kept on drives, there and back" + v.of(g)
	case "pp", "pp-wait":
		if g.Micro < 0 {
			return "latency of send/recv"
		}
		return "hidden states to the next stage" + v.of(g)
	case "mirror":
		return "gradients to the mirror rank"
	}
	what := "gradients"
	switch {
	case g.Before:
		what = "updated weights"
	case g.Micro >= 0 && g.Of == schedule.Forward:
		what = "weights"
	case g.Micro >= 0 && v.drawn.step.Never.Shards >= 0 && g.Of == schedule.InputGradient:
		what = "weights"
	case g.Micro >= 0 && g.Of == schedule.Backward && v.gathers():
		what = "weights and gradients"
	}
	if dimension == "expert-dp" {
		what += " of experts"
	}
	return what + v.of(g)
}

// gathers reports whether weights are gathered in every micro-batch: ZeRO-3.
func (v *View) gathers() bool {
	setup := &v.drawn.setup
	if c := v.choice(); c != nil {
		setup = &c.Setup
	}
	return setup.ZeRO == 3
}

// why says why traffic is hidden or exposed.
func (v *View) why(in *screen.Context, l *lane.Lane, g *lane.Segment, c *engine.Communication) string {
	hidden := g.Kind == lane.Hidden
	switch l.Dimension {
	case "tp":
		if hidden {
			return "It travels next to the layer's matrix products."
		}
		return "Every layer needs the sum over the TP group before it can go on: the products wait, in " +
			"each layer, forward and backward."
	case "cp":
		if hidden {
			return "Ring attention: while a GPU computes with the keys and values it has, the next ones " +
				"arrive."
		}
		return "The attention of a block takes less time than the keys and values of the next one need to " +
			"arrive."
	case "ep", "etp":
		if hidden {
			return "Runs next to the computing of another micro-batch."
		}
		return "A token's layer cannot go on until the token has been at its experts and is back."
	case "host":
		if hidden {
			return "Activations move to the host in the forward and back in the backward, next to computing."
		}
		return "Computing waits for what comes from host memory, or goes there."
	case "drives":
		return "Computing and the update wait for the drives, which all GPUs of the node share."
	case "pp-wait":
		return "This stack's sends block: the stage stands still while its message travels."
	case "pp":
		if hidden {
			return "The message travels while this rank goes on; only the stage that needs it may have to " +
				"wait."
		}
		return "Messages between stages delay the whole pipeline by this much; the time is part of the " +
			"bubble, here spread over its waits."
	}
	return v.dataWhy(in, g, c)
}

// nearly is the share by which two times differ that are meant to be equal.
const nearly = 1e-3

// dataWhy explains traffic of gradients and weights.
func (v *View) dataWhy(in *screen.Context, g *lane.Segment, c *engine.Communication) string {
	hidden, never, n, whose := g.Kind == lane.Hidden, v.drawn.step.Never, figure.Comma(c.GroupSize), ""
	if g.Micro < 0 && c.Rank != v.drawn.step.Rank {
		whose = fmt.Sprintf(" It is the traffic of pipeline rank %d, which is done last with it.", c.Rank)
	}
	share := func(x float64, what string) string {
		if x <= 0 || in.Asks {
			return ""
		}
		if x >= 1 {
			return " Nothing of it overlaps here."
		}
		return " meshscope leaves at least " + figure.Percent(x) + " of " + what +
			" exposed, however much there is to compute: a constant of the stack, fitted or assumed."
	}
	switch {
	case g.Micro >= 0 && hidden:
		return "Prefetch: while one layer computes, the weights of the next arrive from the " + n +
			" GPUs that hold a shard each."
	case g.Micro >= 0:
		return "The layer's weights are on " + n + " GPUs and have not arrived, or its gradients have not " +
			"left, when computing could go on." + share(never.Shards, "the traffic of shards")
	case g.Before && hidden:
		return "The first layers' weights arrived first; those of later layers travel under the first " +
			"forward."
	case g.Before:
		return "Each GPU has updated its shard; the forward cannot start without the first layers' new " +
			"weights." + share(never.Weights, "the gathers")
	case hidden:
		return "The gradients of layers whose backward is done travel while the layers before them still " +
			"compute, or while the rank is idle. Only the backward of the last micro-batch hides them: " +
			"earlier ones still add to them." + whose
	case never.Gradients >= 1:
		return "All gradients leave when the backward is over: nothing is left to compute that would hide " +
			"them, and the update waits."
	case float64(c.Exposed) <= max(never.Gradients, never.Weights)*float64(c.Seconds)*(1+nearly):
		return "The backward has room for more of this traffic than it hides." + share(never.Gradients,
			"all gradient traffic") + " The update waits." + whose
	default:
		return "The first layers' gradients are ready only when the backward ends, and nothing is left to " +
			"compute that would hide them. The update waits." + share(never.Gradients,
			"all gradient traffic") + whose
	}
}

// listWords explains a list.
func (v *View) listWords(in *screen.Context, list int) (head, why string) {
	c := &v.drawn.choices.Lists()[list][v.chosen(list)]
	head = listName(list) + " " + v.choiceName(list, c)
	if c.Current {
		head += ": your setup"
	}
	if cost := v.cost(in, list); cost.Known {
		head += fmt.Sprintf(", %s of a step of %s exposed", figure.Seconds(cost.Exposed),
			figure.Seconds(cost.Step))
	}
	switch list {
	case 1:
		why = "More tokens in a micro-batch mean more computing for the same gradients: traffic hides from " +
			"the length on at which it takes as long as the backward."
		for _, o := range overlap.Ratios(in.Setup, in.Report) {
			if o.Dimension == "dp" && len(o.Needs) > 0 {
				why += fmt.Sprintf(" At the rates that large messages and products reach, your traffic "+
					"takes %s times as long as %s; it would take as long at %s tokens.",
					figure.Three(o.Ratio), o.Under, figure.Short(o.Needs[0].Needed))
			}
		}
	case 2:
		why = "More replicas, each with the same work. A GPU sends hardly more, but over more and slower " +
			"links, and each call takes longer: the wall of data parallelism."
	case 3:
		why = "Gradients are sent in buckets. Small ones start early but pay the latency of a call each; a " +
			"large one waits until its last gradient is there. This model counts the calls; the share " +
			"that is never hidden is the stack's, whatever the size."
	default:
		why = variantWords(c.Name)
	}
	if v.list != none && c.Knob {
		why += " enter takes this setup, = goes back to yours."
	}
	return head, why
}

// cost returns that of the chosen one of a list.
func (v *View) cost(in *screen.Context, list int) lane.Cost {
	if v.costs.known && v.costs.setup == *in.Setup {
		if at := v.chosen(list); at < len(v.costs.of[list]) {
			return v.costs.of[list][at]
		}
	}
	return lane.Cost{}
}

// variantWords explains a variant.
func variantWords(name string) string {
	switch name {
	case lane.Naive:
		return "Nothing overlaps: all communication inside the step is exposed (--comm-overlap none). " +
			"Gradients leave when the whole backward is over."
	case lane.NoDP:
		return "Gradients leave when the whole backward is over (--dp-overlap off)."
	case lane.PerLayer:
		return "Gradients leave as soon as a layer has them, one collective per layer: they hide, but each " +
			"call pays its latency."
	case lane.Buckets:
		return "Gradients are collected into buckets and sent when one is full: few calls, and most of " +
			"them hide under the backward."
	case lane.Overlap:
		return "Gradients travel while the backward still computes, as this stack does it; the model " +
			"counts their time as one call."
	case lane.Sharded:
		return "Weights stay whole on each GPU: gradients are scattered and updated weights gathered once " +
			"per step."
	case lane.Prefetch:
		return "Every GPU keeps a shard of the weights. They are gathered layer by layer in the forward " +
			"and again in the backward, each while the layer before computes."
	default:
		return "The setup as it is."
	}
}

// Status adds the step up.
func (v *View) Status(in *screen.Context) string {
	if !known(in) || v.drawn.step == nil {
		return ""
	}
	t, parts := &v.drawn.step.Time, []string{}
	for _, p := range []struct {
		name string
		time units.Seconds
	}{
		{"computing", t.Compute},
		{"recomputation", t.Recompute},
		{"exposed", t.Exposed},
		{"bubble", t.Bubble},
		{"update", t.Optimizer},
		{"offload", t.Offload},
	} {
		if p.time > 0 {
			parts = append(parts, figure.Seconds(p.time)+" "+p.name)
		}
	}
	return in.Cut(figure.Seconds(t.Step)+" = "+strings.Join(parts, " + "), in.W)
}

// Figure returns the name of the figure under the cursor.
func (v *View) Figure(in *screen.Context) string {
	if !known(in) {
		return ""
	}
	l := v.laneAt(v.row)
	if l == nil {
		return "time.exposed"
	}
	g := v.focused()
	if l.Dimension != "" {
		if g != nil && g.Kind == lane.Hidden {
			return "communication." + l.Dimension + ".seconds"
		}
		return "communication." + l.Dimension + ".exposed"
	}
	if g == nil {
		return "time.step"
	}
	switch g.Kind {
	case lane.Bubble:
		return "time.bubble"
	case lane.Update:
		return "time.optimizer"
	case lane.Recompute:
		return "time.recompute"
	default:
		return "time.compute"
	}
}
