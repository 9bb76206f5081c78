package step

import (
	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// scan adds a scan in chunks: what its kernels move through memory at the rate that scans reach, or their
// arithmetic at the rate of attention where that takes longer. The rate is fitted to runs with Mamba-2; such
// kernels have not been measured alone on any GPU.
func (k *kernels) scan(c *Cost, o *model.Op) {
	rec := k.rec.Scope(o.ID, o.Name)
	for pass, to := range [...]*units.Seconds{&c.Forward, &c.InputGrad} {
		id, name := [...]string{"forward", "input-gradient"}[pass], [...]string{"forward", "backward"}[pass]
		moved, work := k.tokens.Times(o.Scan.Moved[pass]).
			Over(k.t),
			k.tokens.Times(o.Scan.FLOPs[pass]).
				Over(k.t)
		arithmetic, _ := k.m.Attention(&hardware.Core{FLOPs: work})
		t := k.m.Scanned(k.bytes(moved)).AtLeast(arithmetic)
		if rec.On() {
			t = rec.Figure(record.Entry{
				ID: name, Name: o.Name + ", " + name, Symbol: "t(" + o.Name + ", " + name + ")",
				Unit: record.Seconds, Value: t.V, Formula: t.Text(),
				Source: "what the kernels of flash-linear-attention read and write, and compute (fla/ops), " +
					"counted; at the rate of scans, fitted to 10 runs with Mamba-2",
			})
		}
		k.add(to, id, t)
	}
}

// gatherStates adds what context parallelism of a scan costs where each rank keeps its part of the sequence:
// the states of all ranks, forward, and their gradients (flash-linear-attention, fla/ops/cp). All of it is
// exposed.
func (k *kernels) gatherStates(c *Cost, layer *model.Layer, scan *model.Op) {
	named := k.in.Record.Named
	ranks := named("c", float64(k.in.Layout.CP))
	volume := record.Lit(4).Times(ranks).Times(named("b",
		float64(k.in.Layout.MBS))).Times(scan.Scan.Gathers).Over(k.t)
	id := layer.Scope("cp-states")
	t := k.m.AllGather(k.collective(id, "CP all-gather of states", volume), units.Bytes(volume.V),
		members(k.in.Groups.CP))
	seconds := k.rec.Named(record.Ref(id), float64(t))
	all := flow{around(volume, ranks), seconds, seconds}
	k.send(&c.ForwardLinks.CP, "forward", "cp", all)
	k.send(&c.BackwardLinks.CP, "backward", "cp", all)
}

// exchange adds the all-to-alls of context parallelism around a scan: what the projection gives goes from a
// part of the sequence to a part of the heads before the convolution, the scan's output back after it, and
// their gradients the other way (NVIDIA/Megatron-LM, megatron/core/ssm/gated_delta_net/gdn.py:
// tensor_a2a_cp2hp). All of it is exposed.
func (k *kernels) exchange(c *Cost, layer *model.Layer, scan *model.Op) {
	into := layer.WidthOn(scan.In, k.t, k.etp)
	for i := range layer.Ops {
		if o := &layer.Ops[i]; o.Kind == model.Convolution {
			into = layer.WidthOn(o.In, k.t, k.etp).Plus(k.copiedHeads(layer, o.Out))
		}
	}
	k.overHeads(c, layer, "cp", into, layer.Tensor(scan.Out[0]))
}

// onHeads is the width of tensors that CP ranks exchange for heads, of which each rank has one at least
// (DeepSpeed-Ulysses, arXiv 2309.14509, section 3; kv_replication_factor of
// deepspeed/runtime/sequence_parallel/ulysses_sp.py).
func (k *kernels) onHeads(layer *model.Layer, list [3]model.Ref) record.Num {
	return layer.WidthOn(list, k.t, k.etp).Plus(k.copiedHeads(layer, list))
}

// copiedHeads is the width of groups of heads that are copied for each rank that has one.
func (k *kernels) copiedHeads(layer *model.Layer, list [3]model.Ref) (more record.Num) {
	for _, r := range list {
		if t, c := layer.Tensor(r),
			k.in.Record.Named("c", float64(k.in.Layout.CP)); r != 0 && t.Cut == model.KeyValue {
			more = more.Plus(t.On(k.t.Times(c), k.etp).Times(c).Minus(t.On(k.t, k.etp)))
		}
	}
	return more
}

// overHeads adds all-to-alls from a part of the sequence to a part of the heads and back, and those of the
// gradients the other way. All of it is exposed.
func (k *kernels) overHeads(c *Cost, layer *model.Layer, id string, into record.Num, out *model.Tensor) {
	there := k.allToAll(
		layer,
		id+"-to-heads",
		"CP all-to-all to heads",
		k.in.Groups.CP,
		k.bytes(k.tokens.Times(into)),
		hardware.Routing{},
	)
	back := k.allToAll(
		layer,
		id+"-from-heads",
		"CP all-to-all to the sequence",
		k.in.Groups.CP,
		k.bytes(k.tokens.Times(out.On(k.t, k.etp))),
		hardware.Routing{},
	)
	all := there.plus(back)
	all.exposed = all.seconds
	k.send(&c.ForwardLinks.CP, "forward", "cp", all)
	k.send(&c.BackwardLinks.CP, "backward", "cp", all)
}
