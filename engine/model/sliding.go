package model

// sliding is attention to the last LocalWindow tokens: in every layer, or in the first ones of each
// period that LocalRatio names ("5:1": five of six).
func sliding(b *builder, x Ref) Ref {
	b.Window = b.m.LocalWindow
	return attention(b, x)
}
