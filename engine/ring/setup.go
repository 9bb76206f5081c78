package ring

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Facts are the sizes and times of a setup that the pictures of rings show.
type Facts struct {
	Groups   []Group // that talk, in the order of the report
	Forward  Pass    // ring attention of one layer and micro-batch; zero without CP
	Backward Pass
}

// Pass is core attention in one pass of a layer on the busiest rank, next to the send/recv of
// keys and values that it hides.
type Pass struct {
	Attention units.Seconds // all steps
	Message   units.Bytes   // keys and values of a step; in the backward their gradients too
	SendRecv  units.Seconds // all CP-1 messages
	Exposed   units.Seconds // of SendRecv
}

// Group is a communication group of a setup.
type Group struct {
	Dimension string // as in the report
	Size      int
	PerDomain int // members in one scale-up domain
	Volume    units.Bytes
	What      string // the volume is of
	Uses      []Op   // what the setup does in the group

	gather, reduce [2]Link // inside a domain and between two, at the rates of gathers and of all-reduces
	model          map[Op]units.Seconds
}

// Links returns what the members send over in a collective: inside a domain and between two. A link
// that the group does not have has no rate.
func (g *Group) Links(op Op) (near, far Link) {
	if op == AllReduce {
		return g.reduce[0], g.reduce[1]
	}
	return g.gather[0], g.gather[1]
}

// Link is what a member of a group sends over.
type Link struct {
	Name    string
	Rate    units.BytesPerSecond // that large messages reach, per GPU and direction
	Latency units.Seconds        // of a hop
}

// Models returns the engine's time for a collective of the group's volume; false where the engine
// has none, because training does not wait for it.
func (g *Group) Models(op Op) (units.Seconds, bool) {
	t, ok := g.model[op]
	return t, ok
}

// Of evaluates a setup; false where it is illegal.
func Of(s *engine.Setup) (*Facts, bool) {
	r, rec := engine.EvaluateRecorded(*s)
	if !r.Legal {
		return nil, false
	}
	m, groups := hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software), s.Groups(&s.Cluster)
	f := new(Facts)
	for i := range r.Communication {
		c := &r.Communication[i]
		if g, of, ok := groupOf(s, &groups, rec, c); ok {
			g.setLinks(s, &m, of)
			f.Groups = append(f.Groups, g)
		}
	}
	if s.CP > 1 && !s.SharesHeads() {
		layer := attending(&s.Model)
		hop, far, hops := units.Bytes(value(rec, layer.Scope("cp-hop"))), groups.CP.Crosses(),
			units.Seconds(s.CP-1)
		pass := func(name string, message units.Bytes) Pass {
			return Pass{
				Attention: units.Seconds(value(rec, layer.Scope("attention")+"."+name)), Message: message,
				SendRecv: hops * m.Send(message, far),
				Exposed:  units.Seconds(value(rec, "layer."+layer.ID+".cp-"+name+".exposed")),
			}
		}
		f.Forward, f.Backward = pass("forward", hop), pass("backward", 2*hop)
	}
	return f, true
}

// attending returns the layer of the module, or the first that has core attention where that has none.
func attending(m *model.Model) *model.Layer {
	p := model.Lay(m, nil)
	if _, ok := p.Module().Core(); ok {
		return p.Module()
	}
	for i := range p.Layers {
		if _, ok := p.Layers[i].Core(); ok {
			return &p.Layers[i]
		}
	}
	return p.Module()
}

// value returns a recorded figure, 0 where there is none.
func value(rec *record.Record, id string) float64 {
	if e, ok := rec.Entry(id); ok {
		return e.Value
	}
	return 0
}

// groupOf returns the group of a row of the traffic with what it sends in one collective; false
// for rows that are no group of GPUs.
func groupOf(s *engine.Setup, all *layout.Groups, rec *record.Record, c *engine.Communication) (Group,
	layout.Group, bool,
) {
	g, of := Group{Dimension: c.Dimension, Size: c.GroupSize}, layout.Group{}
	sharded := []Op{ReduceScatter, AllGather}
	data := func(kind string) {
		g.Volume, g.What, g.Uses = units.Bytes(value(rec, fmt.Sprintf("data.%d.%s.gradients", c.Rank, kind))),
			"gradients", sharded
		if s.ZeRO == 0 {
			g.Uses = []Op{AllReduce}
		}
	}
	routed := units.Bytes(value(rec, "layer.experts.volume"))
	switch c.Dimension {
	case "tp":
		of, g.What, g.Uses = all.TP, "hidden states", sharded
		g.Volume = units.Bytes(value(rec, "layout.hidden-states"))
		if !s.SP {
			g.Uses = []Op{AllReduce}
		}
	case "cp":
		of, g.Volume, g.What, g.Uses = all.CP, units.Bytes(value(rec, attending(&s.Model).Scope("cp-hop"))),
			"keys and values", []Op{SendRecv}
		if s.SharesHeads() {
			to := attending(&s.Model).Scope("cp-attention-to-heads")
			whole := float64(s.CP) / float64(s.CP-1) // a rank keeps its own part
			g.Volume, g.What, g.Uses = units.Bytes(value(rec, to+".sent")*whole), "queries, keys and values",
				[]Op{AllToAll}
		}
	case "dp":
		of = all.DenseDP
		data("dense")
	case "expert-dp":
		of = all.ExpertDP
		data("expert")
	case "ep":
		of, g.Volume, g.What, g.Uses = all.EP, routed, "routed tokens", []Op{AllToAll}
	case "etp":
		of, g.Volume, g.What, g.Uses = all.ETP, routed*units.Bytes(s.ETP), "routed tokens", sharded
	case "pp":
		of, g.Volume, g.What, g.Uses = all.PP, units.Bytes(value(rec, "pipeline.message")), "hidden states",
			[]Op{SendRecv}
	}
	return g, of, of.Size > 1 && g.Volume > 0
}

// setLinks gives a group its links and the engine's times.
func (g *Group) setLinks(s *engine.Setup, m *hardware.Machine, of layout.Group) {
	members := hardware.Members{Size: of.Size, PerDomain: of.PerDomain, Stride: of.Stride}
	g.PerDomain = min(of.PerDomain, of.Size)
	g.gather, g.reduce = links(m, m.AllGather, 1, members), links(m, m.AllReduce, 2, members)
	var experts hardware.Routing // elsewhere everything that is sent travels
	if g.Dimension == "ep" {
		experts = hardware.Routing{
			Copies: s.Model.TopK, Experts: s.Model.Experts,
			Groups: s.Model.ExpertGroups, Limit: s.Model.RoutedGroups,
		}
	}
	exchange, _ := m.AllToAll(nil, g.Volume, members, experts)
	g.model = map[Op]units.Seconds{
		AllReduce: m.AllReduce(nil, g.Volume, members), AllGather: m.AllGather(nil, g.Volume, members),
		ReduceScatter: m.AllGather(nil, g.Volume, members),
		AllToAll:      exchange, SendRecv: m.Send(g.Volume, of.Crosses()),
	}
}

// collective is a collective of the machine.
type collective func(*record.Recorder, units.Bytes, hardware.Members) units.Seconds

// links returns the links of a group inside a domain and between two of single members, at the rate
// that large messages of a collective reach in so many passes.
func links(m *hardware.Machine, time collective, passes float64, g hardware.Members) (out [2]Link) {
	c, in := m.Cluster, min(g.PerDomain, g.Size)
	if in > 1 {
		out[0] = Link{
			c.Intra.Name,
			reached(time, passes, hardware.Members{Size: in, PerDomain: in, Stride: g.Stride}),
			c.Intra.Latency,
		}
	}
	if g.Size > in {
		out[1] = Link{
			c.Inter.Name,
			reached(time, passes, hardware.Members{Size: 2, PerDomain: 1, Stride: g.Stride}), c.Inter.Latency,
		}
	}
	return out
}

// reached returns the rate of what grows with the volume.
func reached(time collective, passes float64, g hardware.Members) units.BytesPerSecond {
	const volume = units.GB
	longer := time(nil, 2*volume, g) - time(nil, volume, g)
	if longer <= 0 {
		return 0
	}
	return units.BytesPerSecond(passes * float64(volume) * float64(g.Size-1) / float64(g.Size) /
		float64(longer))
}

// Slowest returns the slowest link of the ring.
func (c *Collective) Slowest(near, far Link) Link {
	if c.Ranks > max(c.PerNode, 1) {
		return far
	}
	return near
}

// Seconds returns the time of one ring: every step takes as long as its slowest link needs for a
// chunk, and in most steps a chunk is on each.
func (c *Collective) Seconds(volume units.Bytes, near, far Link) units.Seconds {
	link := c.Slowest(near, far)
	chunk := volume / units.Bytes(c.Chunks())
	if c.Op == Barrier {
		chunk = 0
	}
	if link.Rate <= 0 {
		return 0
	}
	return units.Seconds(c.Steps()) * (link.Latency + chunk.Over(link.Rate))
}
