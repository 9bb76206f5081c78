package step

import (
	"strings"

	"meshscope/engine/ledger"
	"meshscope/engine/memory"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// toHost adds the way of a stage's offloaded activations to host memory, next to its forward,
// and back, next to its backward. Copies run next to the compute on a link of their own
// (NVIDIA/TransformerEngine@d0067d0d, pytorch/cpu_offload.py): a pass takes as long as the
// longer of both, or as both where no overlap is taken to work.
func (k *kernels) toHost(c *Cost, rec *record.Recorder, stage int) {
	if k.in.OffloadedBytes == nil {
		return
	}
	bytes, soft := rec.Named("offloaded_activations", float64(k.in.OffloadedBytes(stage))), &k.m.Software
	once := bytes.Over(rec.Named("host_link", float64(k.m.Cluster.GPU.Host())))
	least, forward, backward := rec.Named("never_hidden", soft.HostCopies).
		Times(once),
		record.Lit(
			float64(c.Forward),
		), record.Lit(
			float64(c.InputGrad+c.WeightGrad+c.Recompute),
		)
	if rec.On() {
		forward = rec.Named(rec.Ref("forward"), forward.V)
		backward = rec.Written(
			record.Sum(rec.Ref("input-gradient"), rec.Ref("weight-gradient"), rec.Ref("recompute")),
			backward.V,
		)
	}
	out, back := least.AtLeast(once.Minus(forward)), least.AtLeast(once.Minus(backward))
	c.ForwardLinks.Host.add(Traffic{units.Bytes(bytes.V), units.Seconds(once.V), units.Seconds(out.V)}, 1)
	c.BackwardLinks.Host.add(Traffic{units.Bytes(bytes.V), units.Seconds(once.V), units.Seconds(back.V)}, 1)
	if !rec.On() {
		return
	}
	two := record.Lit(2)
	for _, f := range [...]struct {
		id   string
		unit record.Unit
		of   record.Num
	}{
		{"bytes", record.Traffic, two.Times(bytes)},
		{"seconds", record.Seconds, two.Times(once)},
		{"exposed", record.Seconds, out.Plus(back)},
	} {
		rec.Figure(record.Entry{
			ID:     "host." + f.id,
			Name:   "activations of one micro-batch on " + rec.What() + " to the host and back: " + f.id,
			Symbol: "host " + f.id + " of " + rec.What(),
			Unit:   f.unit, Formula: f.of.Text(), Value: f.of.V,
			Source: "out next to the forward, back next to the backward, each as long as the longer of " +
				"both (NVIDIA/TransformerEngine@d0067d0d, pytorch/cpu_offload.py)",
			LeavesOut: "memory bandwidth that the copies take from the compute",
		}, record.InUnit(record.Traffic, "offloaded_activations", bytes.V),
			record.In("host_link", k.m.Cluster.GPU.Host()), record.In("never_hidden", soft.HostCopies))
	}
}

// copied adds the copies that a ledger times: no compute hides them.
func (c *Cost) copied(k *memory.StepTimes) {
	c.ForwardLinks.copied(&k.Copies[0])
	c.BackwardLinks.copied(&k.Copies[1])
	c.ForwardCopies, c.BackwardCopies = c.ForwardLinks.Copying(), c.BackwardLinks.Copying()
	c.BackwardLinks.copied(&k.Copies[2])
}

func (l *Links) copied(c *ledger.Copies) {
	host, drives := units.Seconds(c.Host.Seconds), units.Seconds(c.Drives.Seconds)
	l.Host.add(Traffic{units.Bytes(c.Host.Bytes), host, host}, 1)
	l.Drives.add(Traffic{units.Bytes(c.Drives.Bytes), drives, drives}, 1)
}

// recordCopies records those of one micro-batch on a stage.
func (c *Cost) recordCopies(rec *record.Recorder) {
	f, b := &c.ForwardLinks, &c.BackwardLinks
	host, drives := f.Host.Exposed+b.Host.Exposed, f.Drives.Exposed+b.Drives.Exposed
	for _, x := range [...]struct {
		id, name string
		unit     record.Unit
		value    float64
	}{
		{"forward-copies", "copies in the forward", record.Seconds, float64(c.ForwardCopies)},
		{"backward-copies", "copies in the backward", record.Seconds, float64(c.BackwardCopies)},
		{"host.bytes", "bytes to host memory and back", record.Traffic, float64(f.Host.Bytes + b.Host.Bytes)},
		{"host.seconds", "copies to host memory and back", record.Seconds, float64(host)},
		{"host.exposed", "exposed copies to host memory and back", record.Seconds, float64(host)},
		{"drives.bytes", "bytes from drives", record.Traffic, float64(f.Drives.Bytes + b.Drives.Bytes)},
		{"drives.seconds", "reads from drives", record.Seconds, float64(drives)},
		{"drives.exposed", "exposed reads from drives", record.Seconds, float64(drives)},
	} {
		if x.value == 0 {
			continue
		}
		operand := strings.NewReplacer("-", "_", ".", "_").Replace(x.id) + "_of_the_ledger"
		of := " of " + rec.What()
		rec.Figure(record.Entry{
			ID: x.id, Name: x.name + " of one micro-batch on " + rec.What(), Symbol: x.id + of,
			Unit: x.unit, Formula: operand, Value: x.value,
			Source: "bytes over the link to the host, or what the drives of a node read for its GPUs; " +
				"nothing runs next to them but gathers and reductions of ZeRO",
		}, record.InUnit(x.unit, operand, x.value))
	}
}
