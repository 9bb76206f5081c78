package step

import (
	"fmt"

	"meshscope/engine/ledger"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Update is the update of one rank's shard: what it takes, and its copies to host memory, drives and back.
type Update struct {
	Seconds units.Seconds
	Copies  Links
}

// Whole returns the time of all of it, one after the other.
func (u *Update) Whole() units.Seconds { return u.Seconds + u.Copies.Copying() }

// OptimizerTime returns the update of one rank's shard, memory traffic and no
// arithmetic worth counting (gradient, two moments, master copy read and
// written, weight written: 30 bytes per parameter with fused Adam, more where
// kernels are not fused), and what the host does once per step. Offloaded, its
// gradients cross PCIe to the host, whose processors update the shards of all GPUs of
// the node, and the updated weights come back, one after the other. NVFP4 casts all weights
// of the rank but those of embedding and head after it.
func OptimizerTime(in *Input, rank int, p memory.Parameters) Update {
	soft, rec, l := &in.Machine.Software, in.Record, in.Layout
	of := func(kind string, v float64) record.Num {
		if v == 0 || !rec.On() {
			return record.Lit(v)
		}
		return rec.Named(parametersOf(rec, rank, kind), v)
	}
	dense, expert := of("dense", p.Dense), of("expert", p.Expert)
	mine := shardOf(
		dense,
		rec.Named("shards", float64(l.DenseShards())),
		in,
	).Plus(shardOf(expert, rec.Named("expert_shards", float64(l.ExpertShards())), in))
	bytes := in.GradDtype.ReduceBytes(
		in.Precision,
	) + in.Precision.GatherBytes() // over PCIe: a gradient and the updated weight
	if in.Offload.Weights() { // the ledger has them where modules gather and reduce
		bytes = 0
	}
	gpus := min(
		l.GPUs,
		in.Machine.Cluster.Node(),
	) // which share the processors of a node
	if k := in.Known; k != nil && in.Offload.Optimizer() { // adapters alone
		mine = mine.Times(rec.Named("share_that_is_trained", k.Trained))
		rec.Given(record.In("share_that_is_trained", k.Trained))
	}
	t := in.Machine.Streamed(rec.Named("bytes_per_parameter", soft.Optimizer).Times(mine))
	var out Update
	var operands []record.Operand
	if rec.On() {
		operands = []record.Operand{
			record.In("shards", l.DenseShards()), record.In("expert_shards", l.ExpertShards()),
			record.In("bytes_per_parameter", soft.Optimizer), record.In("host_time_per_step", soft.HostStep),
			record.In("bytes_over_PCIe", bytes), record.In("PCIe", in.Machine.Cluster.GPU.Host()),
			record.In("host_time_per_parameter", soft.HostUpdate), record.In("GPUs_of_a_node", gpus),
		}
	}
	factor := rec.Named("factor_of_the_stack", soft.Factor)
	if in.Offload.Optimizer() {
		t = rec.Named("host_time_per_parameter",
			float64(soft.HostUpdate)).Times(rec.Named("GPUs_of_a_node", float64(gpus)).Times(mine))
		moved := rec.Named("bytes_over_PCIe", bytes).Times(mine)
		out.Copies.Host = copies(in, rank, "host", moved, moved.Over(rec.Named("PCIe",
			float64(in.Machine.Cluster.GPU.Host()))).Times(factor), operands)
	}
	if in.Offload.NVMe() {
		moved, t := drives(in, gpus, mine)
		out.Copies.Drives = copies(in, rank, "drives", moved, t.Times(factor), operands)
	}
	if in.Precision == recipe.NVFP4 { // Transformer Engine keeps the 4-bit weights for all micro-batches
		t = t.Plus(
			in.Machine.Streamed(
				record.Lit(recipe.CastBytes).Times(dense.Plus(expert).Minus(of("embedding", p.Embedding))),
			),
		)
	}
	t = t.Plus(rec.Named("host_time_per_step", float64(soft.HostStep))).Times(factor)
	if k := in.Known; k != nil && !in.Offload.Optimizer() {
		t = rec.Named("update_of_the_ledger", float64(k.Optimizer))
		rec.Given(record.InUnit(record.Seconds, "update_of_the_ledger", float64(k.Optimizer)))
		if gathers := updateGathers(in); gathers > 0 {
			t = t.Plus(rec.Named("gathers_of_the_update", gathers))
			rec.Given(record.InUnit(record.Seconds, "gathers_of_the_update", gathers))
		}
		if c := k.UpdateCopies.Host; c.Bytes > 0 {
			out.Copies.Host = copies(in, rank, "host", rec.Named("bytes_of_the_ledger", c.Bytes),
				rec.Named("copies_of_the_ledger", c.Seconds), []record.Operand{
					record.InUnit(record.Traffic, "bytes_of_the_ledger", c.Bytes),
					record.InUnit(record.Seconds, "copies_of_the_ledger", c.Seconds),
				})
		}
	}
	if rec.On() {
		rec.At("time.optimizer", "rank", rank).Figure(record.Entry{
			Name: fmt.Sprintf(
				"optimizer step of pipeline rank %d",
				rank,
			), Symbol: fmt.Sprintf("optimizer of rank %d", rank), Unit: record.Seconds,
			Formula: t.Text(), Value: t.V,
			Source: "memory traffic of fused Adam over the rank's shard, or the update by the host's " +
				"processors (CPU-Adam: deepspeedai/DeepSpeed, pull request 735), and its part; " +
				record.From(soft.From),
			LeavesOut: "arithmetic, gradient clipping's norm over ranks",
		}, operands...)
	}
	out.Seconds = units.Seconds(t.V)
	return out
}

// copies returns what an update moves between a GPU and another memory, in so long.
func copies(in *Input, rank int, dimension string, bytes, t record.Num, operands []record.Operand) Traffic {
	if rec := in.Record; rec.On() && bytes.V > 0 {
		at := rec.At("time.offload."+dimension, "rank", rank)
		words := fmt.Sprintf("the update's copies of rank %d, %s", rank, dimension)
		for _, f := range [...]struct {
			id   string
			unit record.Unit
			of   record.Num
		}{{"bytes", record.Traffic, bytes}, {"seconds", record.Seconds, t}} {
			at.Figure(record.Entry{
				ID: f.id, Name: f.id + " of " + words, Symbol: f.id + " of " + words, Unit: f.unit,
				Formula: f.of.Text(), Value: f.of.V,
				Source: "gradients and updated weights over the link to the host, or paged moments from it " +
					"and back (bitsandbytes-foundation/bitsandbytes@51294d90, " +
					"bitsandbytes/optim/optimizer.py: Optimizer8bit.step); states and gradients from " +
					"drives and back, of all GPUs of the node",
			}, operands...)
		}
	}
	return Traffic{units.Bytes(bytes.V), units.Seconds(t.V), units.Seconds(t.V)}
}

// drives returns what a GPU moves to drives and back, and the seconds in which the drives of a node write
// fp32 gradients of the parameters of each GPU, read them with the states, and write these again, and 16-bit
// weights where these are there: one after the other, as DeepSpeed does without pipeline_read and
// pipeline_write.
func drives(in *Input, gpus int, mine record.Num) (bytes, t record.Num) {
	const gradient, weight = 4, 2
	states := in.Optimizer.StateBytes(in.Precision)
	read, write := in.Machine.Cluster.Drives()
	written := gradient + states
	if in.Offload.Weights() && !ledger.StaysInHost(int64(mine.V)) {
		written += weight
	}
	rec := in.Record
	rec.Given(record.In("bytes_read_of_a_parameter", gradient+states),
		record.In("bytes_written_of_a_parameter", written), record.In("drives_read", float64(read)),
		record.In("drives_write", float64(write)))
	parameters := rec.Named("GPUs_of_a_node", float64(gpus)).Times(mine)
	from, back := rec.Named("bytes_read_of_a_parameter", gradient+states),
		rec.Named("bytes_written_of_a_parameter", written)
	return mine.Times(from.Plus(back)), parameters.Times(from.Over(rec.Named("drives_read", float64(read))).
		Plus(back.Over(rec.Named("drives_write", float64(write)))))
}

// updateGathers returns the seconds in which an update gathers whole matrices from the shards, one after the
// other.
func updateGathers(in *Input) float64 {
	k, g := in.Known, in.Groups.DenseShard
	if k.Matrices == 0 || g.Size < 2 {
		return 0
	}
	n := float64(k.Matrices)
	return n * float64(in.Machine.AllGather(nil, k.MatrixBytes/units.Bytes(n), members(g)))
}
