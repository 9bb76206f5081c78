package ledger

// reg names a tensor of a program.
type reg int32

// none is no tensor.
const none reg = -1

// gradient is how the backward of an operation makes the gradient of one input.
type gradient uint8

const (
	fresh   gradient = iota // a new tensor
	through                 // the incoming gradient itself
	part                    // a view of the incoming gradient as large as the input
	made                    // by the forward: the next of what is saved
	never
)

// save is an input that the backward reads, if the gradient of another is wanted (-1: always).
type save struct{ in, when int }

// grad is the gradient of an input before it is summed over broadcast dimensions and cast to the input's
// type.
type grad struct {
	kind gradient
	size size
}

// op is one operation: what it allocates, what it keeps for its backward and what that allocates.
type op struct {
	name  string
	in    []reg
	out   []reg
	saves []save
	keeps []int  // outputs that the backward reads
	grads []grad // of the inputs
	temps []size // of the backward, while its results exist
	works []size // of the forward, while its outputs exist

	tempsFirst bool
	each       bool      // the backward costs so much for each gradient of the first two inputs
	view       bool      // the outputs are views of the first input
	cached     bool      // autocast makes it once in a forward
	kept       bool      // under selective checkpointing
	fused      *compiled // one node of many operations, whose backward is a program of its own

	of    int     // operation of the layer that it is part of
	cost  [2]cost // forward; backward
	drops []reg   // whose last reader it is

	gradient, backward string // what is allocated in the backward
}

// cost is seconds on the GPU and how many kernels the host launches.
type cost struct {
	seconds float64
	kernels int
}

// compiled is what Inductor makes of a block: operations that run without autograd, some of whose tensors are
// kept, and a backward over these.
type compiled struct {
	forward  *program
	kept     []reg // of forward
	backward *program
	seconds  [3]float64 // forward, what runs again, backward
}

// program is straight-line code over tensors, as a module's forward is.
type program struct {
	regs []size
	// tensors that the caller holds: its input first, then parameters and what layers share
	external []external
	bound    []reg // registers of external
	ops      []op
	results  []reg
}

// external is a tensor that a program is given.
type external struct {
	name   string
	param  bool
	frozen bool
	owned  bool // the program drops it after its last reader

	elements int64 // of a quantised weight, whose size is its bytes
	shape    shape // of a weight that is one matrix or several
}

// shape is so many matrices of one size; the zero value is a vector.
type shape struct{ count, rows, columns int64 }

func (s shape) elements() int64 { return s.count * s.rows * s.columns }

// builder writes a program down. A tensor dies with its last reader; alive extends that to what was written
// last, as a variable of a function does.
type builder struct {
	*program
	last    []int // operation that reads a register last
	way     *Way
	rates   *Rates
	product int // products so far: selective checkpointing keeps every second one
	of      int // operation of the layer that is being written
}

func newBuilder(w *Way, rates *Rates) *builder {
	return &builder{program: &program{}, way: w, rates: rates}
}

func (b *builder) reg(s size) reg {
	b.regs, b.last = append(b.regs, s), append(b.last, -1)
	return reg(len(b.regs) - 1)
}

// given declares an external tensor.
func (b *builder) given(s size, x external) reg {
	r := b.reg(s)
	b.external, b.bound = append(b.external, x), append(b.bound, r)
	return r
}

func (b *builder) param(n int64, name string) reg {
	return b.given(size{n, b.way.weight()}, external{name: name, param: true, frozen: b.way.Frozen()})
}

// matrix declares a weight of rows and columns.
func (b *builder) matrix(rows, columns int64, name string) reg {
	return b.matrices(1, rows, columns, name)
}

// matrices declares a weight of several of one size, as experts have.
func (b *builder) matrices(count, rows, columns int64, name string) reg {
	r := b.param(count*rows*columns, name)
	b.external[len(b.external)-1].shape = shape{count, rows, columns}
	return r
}

// emit appends an operation with outputs of some sizes.
func (b *builder) emit(o op, outs ...size) reg {
	for _, s := range outs {
		o.out = append(o.out, b.reg(s))
	}
	for _, r := range o.in {
		b.last[r] = len(b.ops)
	}
	for _, r := range o.out {
		b.last[r] = len(b.ops)
	}
	o.of = b.of
	b.ops = append(b.ops, o)
	if len(o.out) == 0 {
		return none
	}
	return o.out[0]
}

// alive keeps tensors until what was written last has run.
func (b *builder) alive(list ...reg) {
	for _, r := range list {
		b.last[r] = max(b.last[r], len(b.ops)-1)
	}
}

// end closes the program: who reads a tensor last drops it.
func (b *builder) end(results ...reg) *program {
	b.results = results
	outside := make([]bool, len(b.regs))
	for i, r := range b.bound {
		outside[r] = !b.external[i].owned
	}
	for _, r := range results {
		outside[r] = true
	}
	for r, at := range b.last {
		if !outside[r] && at >= 0 {
			b.ops[at].drops = append(b.ops[at].drops, reg(r))
		}
	}
	for i := range b.ops {
		o := &b.ops[i]
		o.gradient, o.backward = "gradient of "+o.name, "backward of "+o.name
	}
	return b.program
}

// result returns the size of a program's first result.
func (p *program) result() size { return p.regs[p.results[0]] }

func (b *builder) n(r reg) int64 { return b.regs[r].n }
func (b *builder) e(r reg) int64 { return b.regs[r].e }
