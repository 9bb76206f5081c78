package step

import (
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// scan adds a scan in chunks: what its kernels move through memory, or their arithmetic at the
// rate of attention where that takes longer. Of no GPU have such kernels been measured here.
func (k *kernels) scan(c *Cost, o *model.Op) {
	for pass, to := range [...]*units.Seconds{&c.Forward, &c.InputGrad} {
		moved, work := k.tokens.Times(o.Scan.Moved[pass]).Over(k.t), k.tokens.Times(o.Scan.FLOPs[pass]).Over(k.t)
		stream := k.m.Stream(units.Bytes(k.elem * moved.V))
		arithmetic, _ := k.m.Attention(units.FLOPs(work.V), 0)
		*to += max(stream, arithmetic)
		if k.rec.On() {
			k.recordScan(o, pass, moved.Text(), work.Text(), stream, max(stream, arithmetic))
		}
	}
}

func (k *kernels) recordScan(o *model.Op, pass int, moved, work string, stream, t units.Seconds) {
	name := [...]string{"forward", "backward"}[pass]
	arithmetic, _ := k.m.AttentionFormulas(0)
	rec := k.rec.Scope(o.ID, o.Name)
	rec.Figure(record.Entry{
		ID: name, Name: o.Name + ", " + name, Symbol: "t(" + o.Name + ", " + name + ")", Unit: record.Seconds, Value: float64(t),
		Formula: "max(" + k.m.StreamFormula("bytes * "+moved, stream) + ", " + strings.ReplaceAll(arithmetic, "F_core", work) + ")",
		Source:  "what the kernels of flash-linear-attention read and write, and compute (fla/ops); counted, not measured",
	})
	k.rec.Term([...]string{"forward", "input-gradient"}[pass], rec.Ref(name))
}

// exchange adds the all-to-alls of context parallelism around a scan: what the projection gives goes from a part of the
// sequence to a part of the heads before the convolution, the scan's output back after it, and their gradients the
// other way (NVIDIA/Megatron-LM, megatron/core/ssm/gated_delta_net/gdn.py: tensor_a2a_cp2hp). All of it is exposed.
func (k *kernels) exchange(c *Cost, layer *model.Layer, scan *model.Op) {
	into := layer.WidthOn(scan.In, k.t, k.etp)
	for i := range layer.Ops {
		o := &layer.Ops[i]
		if o.Kind != model.Convolution {
			continue
		}
		into = layer.WidthOn(o.In, k.t, k.etp)
		for _, r := range o.Out { // groups of heads are copied for each rank that has one
			if t, c := layer.Tensor(r), k.in.Record.Named("c", float64(k.in.Layout.CP)); t.Cut == model.KeyValue {
				into = into.Plus(t.On(k.t.Times(c), k.etp).Times(c).Minus(t.On(k.t, k.etp)))
			}
		}
	}
	var all Traffic
	var bytes, seconds []string
	for _, way := range [...]struct {
		id, name string
		width    record.Num
	}{{"cp-to-heads", "CP all-to-all to heads", into}, {"cp-from-heads", "CP all-to-all to the sequence", layer.Tensor(scan.Out[0]).On(k.t, k.etp)}} {
		volume := k.tokens.Times(way.width)
		id := layer.Scope(way.id)
		rec := k.collective(id, way.name, "bytes * ("+volume.Text()+")")
		t, sent := k.m.AllToAll(rec, units.Bytes(k.elem*volume.V), members(k.in.Groups.CP), hardware.Routing{})
		all.add(Traffic{Bytes: sent, Seconds: t, Exposed: t}, 1)
		bytes, seconds = append(bytes, "{"+id+".sent}"), append(seconds, record.Ref(id))
	}
	c.ForwardLinks.CP.add(all, 1)
	c.BackwardLinks.CP.add(all, 1)
	if k.rec.On() {
		b, s := "("+strings.Join(bytes, " + ")+")", "("+strings.Join(seconds, " + ")+")"
		k.recordTraffic("forward.cp", 1, traffic{b, s, s})
		k.recordTraffic("backward.cp", 1, traffic{b, s, s})
	}
}
