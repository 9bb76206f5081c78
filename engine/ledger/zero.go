package ledger

// ZeRO is how DeepSpeed trains 16-bit weights: fp32 copies of them and moments in shards, gradients reduced
// through a bucket as they come (deepspeed/runtime/zero/stage_1_and_2.py and stage3.py, at edaa722). Figures
// are elements.
type ZeRO struct {
	Stage  int   // 1, 2, 3
	Bucket int64 // reduce_bucket_size
	Host   bool  // offload_optimizer: fp32 copies, moments and reduced gradients are in host memory
	// Weights is offload_param, with the optimizer: shards of the 16-bit weights are in host memory too.
	Weights bool
	// NVMe has what is off the GPU on drives, of which a rank reads so many byte/s; host memory has buffers.
	NVMe  bool
	Drive float64
	// Second is zero_hpz_partition_size of stage 3: a second copy of the weights in shards of so many ranks.
	Second int64
	Int8   bool // zero_quantized_weights: gathers are in int8
	Int4   bool // zero_quantized_gradients, over nodes: gradients are reduced in int4

	// of stage 3: stage3_prefetch_bucket_size, stage3_max_reuse_distance, stage3_param_persistence_threshold,
	// sub_group_size
	Prefetch, Reuse, Persist, SubGroup int64
}

// NewZeRO returns a stage with the defaults of deepspeed/runtime/zero/config.py.
func NewZeRO(stage int) *ZeRO {
	return &ZeRO{Stage: stage, Bucket: 5e8, Prefetch: 5e7, Reuse: 1e9, Persist: 1e5, SubGroup: 1e9}
}

// reducer is the state of a rank: of those that share the update the one with the last layers, whose
// gradients come first.
type reducer struct {
	*ZeRO
	ranks    int64
	elements int64   // that are trained
	largest  int64   // of a parameter
	last     bool    // micro-batch of the step
	swapped  float64 // of what a rank gathers the share that is on a drive

	bucket  tensor
	filled  int64
	large   []tensor // gradients that no bucket holds
	waiting []*param // of stage 1: reduced behind the backward
	reduced tensor   // the rank's gradients of this micro-batch
	sum     tensor   // of those before
}

// share returns the elements of a rank's part.
func (z *reducer) share() int64 { return (z.elements + z.ranks - 1) / z.ranks }

// install allocates what is there before the first step. Optimizer states appear in the first one.
func (t *training) install() {
	z := &reducer{ZeRO: t.way.ZeRO, ranks: t.way.ranks(), elements: t.elements}
	t.zero = z
	for _, p := range t.trained {
		z.largest = max(z.largest, p.n)
		if p.shape.elements() == p.n && p.n%(2*z.ranks) == 0 {
			t.divided += p.n
		}
	}
	hold := func(s size, name string, kind Kind) {
		t.fixed = append(t.fixed, t.alloc(s, name, computing))
		t.count(t.fixed[len(t.fixed)-1].st, kind)
	}
	weights := z.elements
	if z.Stage == 3 {
		weights = z.share()
		hold(size{z.Bucket, 2}, "bucket", Temporaries)
		if !z.Host {
			hold(size{weights, 2}, "gradient shards", Gradients)
		}
	}
	if !z.Weights {
		hold(size{weights, 2}, "flat weights", Weights)
	}
	if z.Host {
		if z.Stage < 3 {
			hold(size{z.largest, 2}, "buffer of a gradient", Temporaries)
		}
	} else {
		hold(size{z.share(), 4}, "fp32 weights", States)
	}
	if z.NVMe && z.Weights {
		z.swapped = 1
		if StaysInHost(z.share()) {
			z.swapped = max(0, 1-float64(2*z.share()*z.ranks)/float64(t.bytes))
		}
	}
	for _, g := range t.groups { // as the first partition makes them
		for _, p := range g.params {
			t.keepSecond(p)
		}
	}
	t.trained = []*trainable{{n: z.share(), e: 4}}
}

// keepSecond copies a gathered weight's part to the rank's shard of the second copy, before the weight is
// freed, unless it has one: that of trained weights lasts until the end of the step
// (deepspeed/runtime/zero/partition_parameters.py, _partition_param_sec).
func (r *run) keepSecond(p *param) {
	z := r.way.ZeRO
	if z == nil || z.Second < 2 || p.second.st != nil {
		return
	}
	ranks := min(z.Second, r.way.ranks())
	p.second = r.alloc(size{(p.t.bytes() + ranks - 1) / ranks, 1}, "shard of a second copy", computing)
	r.count(p.second.st, Weights)
	r.clock.kernel(r.rates.pass(3*p.second.bytes(), r.rates.Stream), 2) // set to zero, copied
}

// dropSeconds frees the second copies of what the update has changed.
func (t *training) dropSeconds() {
	for _, g := range t.groups {
		for _, p := range g.params {
			if !p.frozen {
				t.drop(&p.second)
			}
		}
	}
}

// Of offload_optimizer and offload_param on NVMe, as deepspeed/runtime/zero/offload_config.py has them:
// buffer_count of both, elements of buffer_size, and of max_in_cpu, 16-bit weights that stay in host memory.
const (
	stateBuffers, weightBuffers = 4, 5
	weightBuffer, maxInHost     = 1e8, 1e9
)

// StaysInHost reports whether 16-bit weights on drives are in host memory after all: max_in_cpu is one
// sub-group's size, a larger share has several, the first as large or larger, and only whole ones stay.
func StaysInHost(share int64) bool { return share <= maxInHost }

// swapBytes returns what is in host memory of a rank whose states are on drives: gradients in 16 bits and
// buffers for a sub-group's states; of weights there those that stay, or their buffer, buffers for one of
// them each, and one for what is written of a sub-group. A buffer that is too small stops DeepSpeed: it is
// as large here as the largest weight needs, trained or not.
func (z *reducer) swapBytes(largest int64) int64 {
	group := min(z.share(), z.SubGroup)
	sum := 2*z.share() + stateBuffers*4*group
	if z.Weights {
		shard := (largest + z.ranks - 1) / z.ranks
		sum += 2*min(z.share(), maxInHost) + weightBuffers*2*max(weightBuffer, shard)
		if !StaysInHost(z.share()) {
			sum += 2 * group
		}
	}
	return sum
}

// ready takes a gradient that the backward has made.
func (z *reducer) ready(r *run, p *param) {
	if z.Stage < 3 && z.bucket.st == nil {
		kind := r.kind
		r.kind = Temporaries
		z.bucket = r.alloc(size{z.Bucket, 2}, "bucket", computing)
		r.kind = kind
	}
	switch {
	case z.Stage > 1:
		z.fill(r, p)
	case z.last:
		z.waiting = append(z.waiting, p)
	}
}

// fill copies a gradient to the bucket, which is reduced first where it has no room.
func (z *reducer) fill(r *run, p *param) {
	n := p.grad.n
	if z.filled > 0 && z.filled+n > z.Bucket {
		z.flush(r)
	}
	if n > z.Bucket {
		z.large = append(z.large, p.grad)
		p.grad = tensor{}
	} else {
		r.clock.kernel(r.rates.pass(4*n, r.rates.Stream), 1)
		r.drop(&p.grad)
	}
	z.filled += n
}

// flush reduces what the bucket holds: stages 1 and 2 copy the rank's part to a buffer of its own, stage 3
// adds it to its shards.
func (z *reducer) flush(r *run) {
	if z.filled == 0 {
		return
	}
	switch {
	case z.Stage == 3:
		if z.Int4 { // one after the other; quantised, summed, made 16 bits again
			sent := r.alloc(size{z.largest, 1}, "gradient in int4, twice", reducing)
			r.drop(&sent)
			r.clock.kernel(r.rates.pass(4*z.filled, r.rates.Stream), 4)
		} else {
			joined := r.alloc(size{z.filled, 2}, "joined bucket", reducing)
			r.drop(&joined)
		}
		if z.Weights {
			r.fromHost(r.way.shard(2 * z.filled))
		}
	case !z.Host && z.reduced.st == nil:
		z.reduced = r.alloc(size{z.share(), 2}, "gradients of the rank", computing)
		r.count(z.reduced.st, Gradients)
	}
	for i := range z.large {
		r.drop(&z.large[i])
	}
	z.large, z.filled = z.large[:0], 0
}

// finish ends a backward.
func (z *reducer) finish(r *run) {
	for _, p := range z.waiting {
		z.fill(r, p)
	}
	z.waiting = z.waiting[:0]
	z.flush(r)
	r.drop(&z.bucket)
	if z.reduced.st == nil {
		return
	}
	if z.sum.st == nil {
		z.sum = z.reduced
	} else {
		r.drop(&z.reduced)
	}
	z.reduced = tensor{}
}

// update runs the optimizer on fp32 copies of the rank's gradients: in stage 3 a sub-group at a time.
func (z *reducer) update(t *training) {
	if z.Host {
		return
	}
	kind := t.kind
	t.kind = Temporaries
	norm := t.alloc(size{min(z.largest, z.share()), 8}, "fp64 gradient of a norm", computing)
	t.drop(&norm)
	group := z.share()
	if z.Stage == 3 {
		group = min(group, z.SubGroup)
	}
	flat := t.alloc(size{group, 2}, "flat gradients", computing)
	wide := t.alloc(size{group, 4}, "fp32 gradients", computing)
	t.drop(&flat)
	t.drop(&z.sum)
	t.kind = kind
	t.createStates()
	t.foreach()
	t.adafactor()
	t.drop(&wide)
}

// gatherModule brings a module's parameters in stage 3: the flat output of an all-gather is as large as what
// is asked for at once, its largest matrix and what is prefetched.
func (r *run) gatherModule(g *group) {
	var bytes, largest int64
	for _, p := range g.params {
		if p.t.st.block == nil {
			bytes, largest = bytes+p.t.bytes(), max(largest, p.t.bytes())
		}
	}
	kind := r.kind
	r.kind = Temporaries
	mine, all := r.way.shard(bytes), bytes
	bytes = min(bytes, largest+2*r.way.ZeRO.Prefetch)
	var narrow tensor
	if r.way.ZeRO.Int8 {
		narrow = r.alloc(size{bytes / 2, 1}, "int8 output of all-gather", gathering)
	}
	flat := r.alloc(size{bytes, 1}, "output of all-gather", gathering)
	if r.way.ZeRO.Weights {
		shard := r.alloc(size{r.way.shard(bytes), 1}, "shard from the host", gathering)
		r.fromHost(mine) // by turns
		if z := r.zero; z.NVMe {
			read := float64(mine) * z.swapped
			r.clock.copies.Drives.add(read, read/z.Drive)
			r.clock.device(read / z.Drive)
		}
		r.drop(&shard)
	}
	for _, p := range g.params {
		r.put(p.t.st)
	}
	r.drop(&flat)
	if r.way.ZeRO.Int8 { // read, written in fp16, and cast to bf16
		r.clock.kernel(r.rates.pass(7*all/2, r.rates.Stream), 1+len(g.params))
		r.drop(&narrow)
	}
	r.kind = kind
}

// reuse marks modules whose weights stay from forward to backward: less than so many elements lie between.
func (t *training) reuse() {
	times := int64(2)
	if t.way.Checkpoint != Keep {
		times = 3
	}
	var between int64
	for i := len(t.groups) - 1; i >= 0; i-- {
		g := t.groups[i]
		g.kept = times*between < t.way.ZeRO.Reuse
		for _, p := range g.params {
			between += p.t.n
		}
	}
}
