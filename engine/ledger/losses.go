package ledger

import "meshscope/engine/recipe"

// headInLoss reports whether head and loss are one piece of code, over a part of the tokens at a time.
func (w *Way) headInLoss() bool { return w.Loss.InParts() && !w.Slice }

// ligerTokens returns how many tokens Liger's kernel takes at a time, so that their logits are about as large
// as the hidden state (src/liger_kernel/ops/fused_linear_cross_entropy.py at ead96b61).
func ligerTokens(tokens, vocab, hidden int64) int64 {
	parts := (vocab + hidden - 1) / hidden
	least, chunk := (tokens+parts-1)/parts, int64(1)
	for chunk < least {
		chunk *= 2
	}
	return chunk
}

// ligerLoss is Liger's fused linear cross entropy: the gradients of the hidden state and of the head are made
// in the forward, and the logits of a chunk become their gradient in place. The head's gradient of a chunk is
// made in 16 bits and again in fp32 before it is added; with fp32 weights a product adds to it (PyTorch 2.8),
// and autocast makes a copy of the transposed weight for each chunk next to the one in its cache.
func (b *builder) ligerLoss(x, w reg, vocab int64) reg {
	xs, ws := b.regs[x], b.regs[w]
	hidden := ws.n / vocab
	tokens := xs.n / hidden
	chunk := min(ligerTokens(tokens, vocab, hidden), tokens)
	parts := float64((tokens + chunk - 1) / chunk)
	trains := !b.way.Frozen()
	outs, works := []size{{1, 4}, xs}, []size{{tokens, 4}, {chunk * vocab, 2}}
	passes, products := 6*chunk*vocab+2*chunk*hidden*(2+xs.e), 1.
	switch {
	case !trains:
		works = append(works, size{chunk * hidden, 2})
	case ws.e == 4:
		outs, works = append(outs, ws), append(works, size{ws.n, 2}, size{ws.n, 2})
		passes, products = passes+14*ws.n, 2 // a cast, and fp32 sums
	default:
		outs, works = append(outs, ws), append(works, size{ws.n, 2}, size{ws.n, 4})
		passes, products = passes+14*ws.n, 2 // to fp32, and a sum
	}
	seconds := b.rates.product(chunk, vocab, hidden, 2, false) +
		products*b.rates.product(chunk, vocab, hidden, 2, true) + b.rates.pass(passes, b.rates.Stream)
	o := op{
		name: "Liger's loss", in: []reg{x, w}, keeps: []int{1}, works: works,
		grads: []grad{{kind: made}, {kind: never}},
	}
	scaled := 2 * xs.bytes() // by the gradient of the loss
	if trains {
		o.keeps, o.grads[1], scaled = append(o.keeps, 2), grad{kind: made}, scaled+2*ws.bytes()
	}
	const kernels = 8 // of a chunk
	o.cost = [2]cost{
		{parts * seconds, kernels * int(parts)}, {b.rates.pass(scaled, b.rates.Stream), int(products)},
	}
	return b.emit(o, outs...)
}

// chunkedLoss is torchtune's: the head makes the 16-bit logits of all parts, then the loss of each is
// computed in fp32 (CEWithChunkedOutputLoss), compiled with the blocks.
func (b *builder) chunkedLoss(x, w reg, vocab int64) reg {
	hidden := b.n(w) / vocab
	tokens := b.n(x) / hidden
	parts := make([]int64, min(recipe.LossChunks, tokens))
	for i := range parts {
		n := tokens / int64(len(parts))
		if int64(i) < tokens%int64(len(parts)) {
			n++
		}
		parts[i] = n * hidden
	}
	var logits []reg
	for _, part := range b.split(x, parts...) {
		logits = append(logits, b.linear(part, w, vocab, none))
	}
	total := none
	for _, l := range logits {
		var loss reg
		if b.way.Compile {
			loss = b.compiledLoss(l)
		} else {
			wide := b.cast(l, 4)
			loss = b.crossEntropy(wide, none)
			b.alive(wide)
		}
		if total != none {
			loss = b.add(total, loss)
		}
		total = loss
	}
	b.alive(logits...)
	return total
}
