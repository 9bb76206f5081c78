package ledger

// size is elements and bytes of one.
type size struct{ n, e int64 }

func (s size) bytes() int64 { return s.n * s.e }

// storage is bytes on the GPU. It lives until the last tensor that views it is dropped.
type storage struct {
	bytes  int64
	name   string
	refs   int32
	stream stream
	kind   Kind
	block  *block // nil: not on the GPU
}

// Kind is what a tensor is counted as.
type Kind uint8

// Kinds of tensors.
const (
	Weights Kind = iota
	Gradients
	States // of the optimizer
	Activations
	Logits
	Temporaries // gathered weights, gradients of activations, workspaces
	Kinds       = iota
)

// Alive is bytes by kind.
type Alive [Kinds]int64

// Sum returns all of them.
func (a *Alive) Sum() (n int64) {
	for _, bytes := range a {
		n += bytes
	}
	return n
}

// tensor is a view of a storage, and where its gradient goes. Who holds one has counted it in the storage.
type tensor struct {
	size
	st    *storage
	node  *node // that made it
	out   int   // which of its outputs
	leaf  *param
	wants bool // a gradient
}

// param is a tensor that the optimizer updates, or a frozen weight.
type param struct {
	name   string
	t      tensor
	grad   tensor // st nil: none
	buffer tensor // gradients of this backward, until all have come
	edges  int    // gradients that are still to come
	second tensor // the rank's shard of the second copy; st nil: none
	frozen bool
}

// slab hands out values of one type from pieces, which cost one allocation for many.
type slab[T any] struct{ rest []T }

const slabPiece = 512 // values

func (s *slab[T]) take(n int) []T {
	if n > len(s.rest) {
		s.rest = make([]T, max(n, slabPiece))
	}
	out := s.rest[:n:n]
	s.rest = s.rest[n:]
	return out
}

func (s *slab[T]) one() *T { return &s.take(1)[0] }

// alloc makes a tensor that its caller holds.
func (r *run) alloc(s size, name string, on stream) tensor {
	st := r.storages.one()
	*st = storage{bytes: s.bytes(), name: name, stream: on, refs: 1, kind: r.kind}
	r.put(st)
	return tensor{size: s, st: st}
}

// put brings a storage onto the GPU; away takes it off, whoever holds it.
func (r *run) put(st *storage) {
	if st.bytes == 0 || st.block != nil {
		return
	}
	rose := false
	st.block, rose = r.pool.take(st.bytes, st.stream)
	r.alive[st.kind] += st.block.size
	if rose {
		r.roseAt, r.roseAlive = r.at, r.alive
		r.roseAt.Doing = st.name
	}
	r.changed()
}

// count counts a storage as another kind from now on.
func (r *run) count(st *storage, k Kind) {
	if st.block != nil {
		r.alive[st.kind] -= st.block.size
		r.alive[k] += st.block.size
	}
	st.kind = k
}

func (r *run) away(st *storage) {
	if st.block != nil {
		r.alive[st.kind] -= st.block.size
		r.pool.give(st.block)
		st.block = nil
		r.changed()
	}
}

// hold returns a view that is counted.
func (t tensor) hold() tensor {
	t.st.refs++
	return t
}

// drop gives a view up.
func (r *run) drop(t *tensor) {
	st := t.st
	if st == nil {
		return
	}
	t.st = nil
	if st.refs--; st.refs == 0 {
		r.away(st)
	}
}
