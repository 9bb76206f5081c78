package model

// Words with a meaning for the counts. Other fields of type string (family,
// activation, attention, position) are labels.
const (
	PositionLearned = "learned" // a table of MaxSeq rows

	NormRMS         = "rmsnorm"
	NormLayer       = "layernorm" // prefix of every LayerNorm variant
	NormLayerNoBias = "layernorm (no bias)"

	BiasNone = "none"
	BiasQKV  = "qkv"
	BiasAll  = "all"

	QKNormNone      = "none"
	QKNormPerHead   = "per-head"
	QKNormFullWidth = "full-width"
	QKNormLatent    = "latent"         // MLA: its norms are counted with the latent projections
	QKNormL2        = "l2 (no params)" // normalised without a learned scale
)

// Norms lists the norms that the counts know.
func Norms() []string {
	return []string{NormRMS, NormLayer, NormLayerNoBias, "layernorm (1p)", "layernorm (post, DeepNorm)"}
}

// AttentionBiases lists where attention can have biases.
func AttentionBiases() []string { return []string{BiasNone, BiasQKV, BiasAll} }

// QKNorms lists the norms of queries and keys.
func QKNorms() []string {
	return []string{QKNormNone, QKNormPerHead, QKNormFullWidth, QKNormLatent, QKNormL2}
}
