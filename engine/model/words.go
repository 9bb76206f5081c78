package model

import "fmt"

// Words with a meaning for the counts. Activation and position are words too, so
// that a slip is noticed; family and attention are labels.
const (
	PositionLearned = "learned" // a table of MaxSeq rows

	NormRMS         = "rmsnorm"
	NormLayer       = "layernorm" // prefix of every LayerNorm variant
	NormLayerNoBias = "layernorm (no bias)"

	BiasNone = "none"
	BiasQKV  = "qkv"
	BiasAll  = "all"

	GateChannel = "channel" // of attention's output, one value for each of its elements
	GateHead    = "head"    // one value for each head

	QKNormNone      = "none"
	QKNormPerHead   = "per-head"
	QKNormOwn       = "own" // of each head, with a scale of its own
	QKNormFullWidth = "full-width"
	QKNormLatent    = "latent"         // MLA: its norms are counted with the latent projections
	QKNormL2        = "l2 (no params)" // normalised without a learned scale
)

// Positions of a model in words, with what stretches rotary ones.
func (m *Model) Positions() string {
	switch {
	case m.RopeScaling == "":
		return m.Position
	case m.RopeFactor == 0:
		return fmt.Sprintf("%s, scaled (%s)", m.Position, m.RopeScaling)
	}
	return fmt.Sprintf("%s, scaled by %g (%s)", m.Position, m.RopeFactor, m.RopeScaling)
}

// Norms lists the norms that the counts know.
func Norms() []string {
	return []string{NormRMS, NormLayer, NormLayerNoBias, "layernorm (1p)", "layernorm (post, DeepNorm)"}
}

// AttentionBiases lists where attention can have biases.
func AttentionBiases() []string { return []string{BiasNone, BiasQKV, BiasAll} }

// QKNorms lists the norms of queries and keys.
func QKNorms() []string {
	return []string{QKNormNone, QKNormPerHead, QKNormOwn, QKNormFullWidth, QKNormLatent, QKNormL2}
}

// Activations lists the functions between the matrices of an MLP.
func Activations() []string {
	return []string{"swiglu", "clamped swiglu", "situ", "geglu", "gelu", "relu", "squared-relu", "silu"}
}

// GatedActivation reports whether a function is that of an MLP of three matrices; known
// is false where the word leaves it open.
func GatedActivation(word string) (gated, known bool) {
	switch word {
	case "swiglu", "clamped swiglu", "situ", "geglu":
		return true, true
	case "gelu", "relu", "squared-relu":
		return false, true
	}
	return false, false
}

// Attentions lists the kinds of attention, which remarks may follow.
func Attentions() []string { return []string{"mha", "gqa", "mqa", "mla", "hybrid"} }

// Positions lists how a model knows the order of its tokens.
func Positions() []string {
	return []string{
		PositionLearned, "rope", "rope (assumed)", "rope, NoPE every 4th layer", "alibi",
		"relative", "sinusoidal", "none",
	}
}
