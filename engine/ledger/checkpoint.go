package ledger

// frame is one checkpointed call of a block (torch.utils.checkpoint, use_reentrant=False): what its nodes
// save are empty slots. The first that is read runs the block again, up to its last saved tensor; each
// recomputed tensor dies with the node that reads it.
type frame struct {
	block     *binding
	args      []saved // in host memory where all that is saved is: checkpoint.py's _NoopSaveInputs
	slots     []tensor
	filled    int
	alive     int // slots that a node still has
	selective bool
	cache     map[int][]tensor // outputs that selective checkpointing keeps, by operation
	running   bool
	done      bool
}

// checkpoint runs a block without keeping what its backward reads.
func (r *run) checkpoint(b *binding, x tensor, selective bool) tensor {
	f := &frame{block: b, selective: selective, args: []saved{r.pack(x)}}
	for _, s := range b.shared {
		f.args = append(f.args, r.pack(s))
	}
	if selective {
		f.cache = map[int][]tensor{}
	}
	r.packers = append(r.packers, f)
	y := r.call(b, x, f)
	r.packers = r.packers[:len(r.packers)-1]
	return y
}

// recompute fills the slots.
func (f *frame) recompute(r *run) {
	if f.done {
		return
	}
	f.done, f.running, f.filled = true, true, 0
	var fetched []tensor
	args := make([]tensor, len(f.args))
	for i := range f.args {
		if args[i] = f.args[i].t; f.args[i].host {
			args[i] = r.fetch(&f.args[i])
			fetched = append(fetched, args[i])
		}
	}
	shared := f.block.shared
	f.block.shared = args[1:]
	// Checkpointing enters autocast again, with a cache of its own.
	casts := r.casts
	r.casts = nil
	r.packers = append(r.packers, f)
	r.recomputing = true
	kind, begin, copied := r.kind, r.clock.gpu(), r.clock.copies
	r.kind = Activations
	y := r.call(f.block, args[0], f)
	r.kind, f.block.shared = kind, shared
	r.recomputed += r.clock.gpu() - begin
	r.copiedAgain = r.copiedAgain.Plus(r.clock.copies, 1).Plus(copied, -1)
	r.drop(&y)
	for i := range fetched {
		r.drop(&fetched[i])
	}
	r.recomputing, r.stopped, f.running = false, false, false
	r.packers = r.packers[:len(r.packers)-1]
	r.clearCasts()
	r.casts = casts
	for _, n := range r.again {
		for i := range n.saved {
			r.forget(&n.saved[i])
		}
	}
	r.again = r.again[:0]
}

// free drops what a frame holds once no node needs it.
func (f *frame) free(r *run) {
	for i := range f.args {
		r.forget(&f.args[i])
	}
	for at := range f.block.program.ops {
		for i := range f.cache[at] {
			r.drop(&f.cache[at][i])
		}
	}
	f.cache = nil
}
