package ledger

import "strconv"

// Moment is when the memory of a step is largest.
type Moment struct {
	Step  int // from 0
	Phase Phase
	Part  string // of the model
	Doing string // what is allocated
}

// Phase is a part of a step.
type Phase uint8

// Phases.
const (
	Forward Phase = iota
	Backward
	Update
)

// Words says when it is: "backward of the last layer, step 2".
func (m Moment) Words() string {
	step := ", step " + strconv.Itoa(min(m.Step, 1)+1)
	switch m.Phase {
	case Forward:
		return "forward of " + m.Part + step
	case Backward:
		return "backward of " + m.Part + step
	default:
		return "optimizer" + step
	}
}

// run is a simulation: tensors are counted, not computed.
type run struct {
	pool  pool
	clock clock
	rates *Rates
	way   *Way

	graph   []*node // of the forward so far
	again   []*node // of a recomputation
	packers []*frame
	casts   []weightCast

	reached func(p *param, g *group) // where the gradient of one of them is there; nil: none

	onHost, mostOnHost int64 // bytes that were saved in host memory: now, and at most

	zero     *reducer
	staged   tensor // input of the last reduce-scatter
	gathered tensor // output of the last all-gather of a forward

	recomputing, stopped bool
	recomputed           float64 // seconds
	copiedAgain          Copies  // contained in recomputed

	storages slab[storage]
	nodes    slab[node]
	tensors  slab[tensor]
	sizes    slab[size]
	flags    slab[bool]
	edges    slab[edge]
	saves    slab[saved]
	temps    []tensor // of the node whose backward runs

	kind             Kind // of what is allocated now
	alive, roseAlive Alive
	at, roseAt       Moment
	follow           bool // every change of what is alive
	spans            []Span
}

// module runs a block as its caller does: with checkpointing, if there is some.
func (r *run) module(b *binding, x tensor, layer int) tensor {
	if r.way.Checkpoint == Keep || r.way.Compile || r.way.Layers > 0 && int64(layer) >= r.way.Layers {
		return r.call(b, x, nil)
	}
	return r.checkpoint(b, x, r.way.Checkpoint == Selective)
}

// call runs a module with its hooks: FSDP's outside, then a full backward hook, which holds the incoming
// gradient until the backward of the module ends. The caller holds the result.
func (r *run) call(b *binding, x tensor, f *frame) tensor {
	in := tensor{}
	if x.st != nil {
		in = x.hold()
	}
	r.at.Part = b.name
	replace := func(next tensor) {
		r.drop(&in)
		in = next
	}
	if b.group != nil {
		replace(r.preForward(b.group, in))
	}
	held := new(tensor)
	hooked := b.hooked && in.wants
	if hooked {
		replace(r.identity(in))
		in.node.post = append(in.node.post, func() { r.drop(held) })
	}
	y := r.execute(b, in, f)
	r.drop(&in)
	if r.stopped {
		return y
	}
	if b.group != nil {
		r.postForward(b.group, y)
	}
	if hooked {
		o := r.identity(y)
		o.node.pre = append(o.node.pre, func(grads []tensor) { *held = grads[0].hold() })
		r.drop(&y)
		y = o
	}
	if y.node != nil && !r.recomputing {
		y.node.pre = append(y.node.pre, func([]tensor) { r.at.Part = b.name })
	}
	return y
}
