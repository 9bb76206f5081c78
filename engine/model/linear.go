package model

// linearAttention has no scores (MiniMax). Its projections are those of softmax attention; what else
// it has is in ExtraParams.
func linearAttention(b *builder, x Ref) Ref {
	b.linear = true
	return attention(b, x)
}
