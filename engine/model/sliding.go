package model

// sliding is attention to the last LocalWindow tokens: in every layer, or in the first ones of each
// period that LocalRatio names ("5:1": five of six).
func sliding(b *builder, x Ref) Ref {
	b.Window = b.m.LocalWindow
	return attention(b, x)
}

// WindowShare returns the part of the counted scores (see Layer.Forward) that a kernel with the
// window of the layer computes: 1 without a window. A causal token attends to at most Window tokens,
// itself among them.
func (l *Layer) WindowShare(seq int, causal bool) float64 {
	if l.Window <= 0 || l.Window >= seq || seq <= 0 {
		return 1
	}
	s, w := float64(seq), float64(l.Window)
	if causal {
		// The first w tokens see half a window on average; the rest a whole
		// one. Counted against s/2 per token.
		return (2*s - w) * w / (s * s)
	}
	return w / s
}
