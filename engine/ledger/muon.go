package ledger

import "meshscope/engine/recipe"

// newtonSchulz is how many iterations make an update orthogonal (kellerjordan.github.io/posts/muon;
// torch/optim/_muon.py: DEFAULT_NS_STEPS).
const newtonSchulz = 5

// orthogonal reports whether Muon updates a tensor: a matrix of a layer. Embedding, head and vectors are
// AdamW's.
func (t *training) orthogonal(p *trainable) bool {
	end := p.name == "embedding" || p.name == "positions" || p.name == "head"
	return t.way.Optimizer == recipe.Muon && p.shape.count > 0 && !end
}

// muon makes the temporaries of its update, one matrix after the other: the momentum's look ahead in the
// gradient's format, then in 16 bits X, its Gram matrix, a polynomial of that and the next X. Under FSDP2
// each rank gathers X and makes the whole update, as Moonlight's does (arXiv 2502.16982, section 2.3).
func (t *training) muon() {
	var update tensor // of the matrix before
	for _, p := range t.trained {
		if !t.orthogonal(p) {
			continue
		}
		n, small := p.shape.elements(), min(p.shape.rows, p.shape.columns)
		ahead := t.alloc(size{p.n, p.e}, "momentum with a look ahead", computing)
		t.drop(&update)
		x := ahead.hold()
		if p.e != 2 {
			t.drop(&x)
			x = t.alloc(size{p.n, 2}, "update in 16 bits", computing)
		}
		if t.way.ranks() > 1 && t.way.FSDP {
			shard := x
			x = t.alloc(size{n, 2}, "gathered update", computing)
			t.drop(&shard)
			t.drop(&ahead)
			ahead = x.hold() // the caller has it
		}
		var gram, polynomial tensor
		square := size{small * small, 2}
		for range newtonSchulz {
			for _, at := range []*tensor{&gram, &polynomial} {
				next := t.alloc(square, "Gram matrix of an update", computing)
				t.drop(at)
				*at = next
			}
			next := t.alloc(size{n, 2}, "orthogonal update", computing)
			t.drop(&x)
			x = next
		}
		t.drop(&gram)
		t.drop(&polynomial)
		t.drop(&ahead)
		update = x
	}
	t.drop(&update)
}

// gathers returns how many matrices Muon gathers in an update, and their bytes.
func (t *training) gathers() (matrices int, bytes int64) {
	if t.way.ranks() < 2 || !t.way.FSDP {
		return 0, 0
	}
	for _, p := range t.trained {
		if t.orthogonal(p) {
			matrices, bytes = matrices+1, bytes+2*p.shape.elements()
		}
	}
	return matrices, bytes
}

// muonTime returns the seconds of its update and what the host launches: passes over memory, and three
// products an iteration: X times its transpose, that squared, the polynomial times X. What AdamW updates is
// one fused kernel.
func (t *training) muonTime() (seconds float64, launches int) {
	var rest int64 // bytes
	for _, p := range t.trained {
		if !t.orthogonal(p) {
			rest += 7 * p.n * p.e
			continue
		}
		small, large := min(p.shape.rows, p.shape.columns), max(p.shape.rows, p.shape.columns)
		// momentum 3 elements, look ahead 3, decay 2, update 2, cast 1; in 16 bits cast and update; of the
		// whole matrix norm and division
		bytes := 11*p.n*p.e + (2+2)*p.n + (2+4)*p.shape.elements()
		const passes = 8
		products := t.rates.product(small, small, large, 2, false) +
			t.rates.product(small, small, small, 2, false) + t.rates.product(small, large, small, 2, false)
		seconds += float64(bytes)/t.rates.Stream + passes*t.rates.Launch + newtonSchulz*products
		launches += passes + 3*newtonSchulz
	}
	return seconds + float64(rest)/t.rates.Adam[t.trained[0].e/4], launches
}
