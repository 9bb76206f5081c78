package ledger

import "meshscope/engine/recipe"

// factors returns what Adafactor keeps of a tensor: sums over the rows and over the columns of each matrix,
// the second moment of a vector whole. That of transformers has fp32 ones, and a norm (optimization.py); that
// of torch.optim has the gradient's format, and counts on the host (torch/optim/_adafactor.py). DeepSpeed's
// flat parameters are vectors.
func (t *training) factors(p *trainable) []size {
	list, e := []size{{1, 4}}, int64(4)
	if !t.way.Code.Transformers {
		list, e = nil, p.e
	}
	if s := p.shape; s.count > 0 {
		return append(list, size{s.count * s.rows, e}, size{s.count * s.columns, e})
	}
	return append(list, size{p.n, e})
}

// adafactor makes the temporaries of its update, one tensor after the other: an update lives until the next
// one is there.
func (t *training) adafactor() {
	if t.way.Optimizer != recipe.Adafactor {
		return
	}
	var update, gradient, weight tensor
	for _, p := range t.trained {
		n, e := p.n, p.e
		if z := t.zero; z != nil && z.Stage == 3 {
			n = min(n, z.SubGroup)
		}
		temporary := func(name string) tensor { return t.alloc(size{n, e}, name, computing) }
		if t.way.Code.Transformers {
			if e == 2 {
				e = 4
				t.replace(&gradient, func() tensor { return temporary("fp32 gradient") })
				t.replace(&weight, func() tensor { return temporary("fp32 weight") })
			}
			square := temporary("square of a gradient")
			shifted := temporary("square of a gradient and epsilon")
			t.drop(&square)
			t.drop(&update)
			update = temporary("update of a tensor")
			t.drop(&shifted)
			negative := temporary("update with another sign")
			t.drop(&negative)
			continue
		}
		next := temporary("update of a tensor")
		t.drop(&update)
		update = next
	}
	t.drop(&update)
	t.drop(&gradient)
	t.drop(&weight)
}

// replace drops what a variable held, then sets it.
func (t *training) replace(at *tensor, by func() tensor) {
	t.drop(at)
	*at = by()
}

// adafactorTime returns the seconds of its update, one pass over memory after the other, and what the host
// launches. That of torch.optim reads two norms of each tensor on the host, so that launches of one and
// kernels of another do not overlap.
func (t *training) adafactorTime() (seconds float64, launches int) {
	for _, p := range t.trained {
		// square 8, add 8, two means 8, outer product 4, times gradient 12, norm 4, clip 8, scale 8, sign 8,
		// subtract 12, norm of the weight 4
		bytes, kernels := 84*p.n, 20
		switch {
		case !t.way.Code.Transformers:
			// three norms and that of the update 4 elements, outer product 1, divide 2, clamp 2, root 2,
			// times gradient 3, add 3
			bytes, kernels = 17*p.n*p.e, 16
			pass := float64(bytes)/t.rates.Stream + float64(kernels)*t.rates.Launch
			seconds += max(pass, float64(kernels)*t.rates.HostForward)
			continue
		case p.e == 2: // fp32 copies of gradient and weight, and back
			bytes, kernels = bytes+18*p.n, kernels+3
		}
		seconds += float64(bytes)/t.rates.Stream + float64(kernels)*t.rates.Launch
		launches += kernels
	}
	return seconds, launches
}
