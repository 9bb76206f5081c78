package model

// sliding is attention to the last LocalWindow tokens: in every layer, or in the first ones of each
// period that LocalRatio names ("5:1": five of six).
func sliding(b *builder, x Ref) Ref {
	b.Window = b.m.LocalWindow
	b.size.a, b.size.kv, b.size.d, b.size.v = b.size.local[0], b.size.local[1], b.size.local[2],
		b.size.local[3]
	return attention(b, x)
}
