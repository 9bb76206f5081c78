// Package model describes what is trained: the architecture of a transformer,
// its parameters part by part, and the floating-point operations of a token.
package model

// Model is an architecture. It is a plain comparable value; the JSON keys are
// the field names of the preset files and of --set model.KEY=VALUE.
// Widths are in elements, Vocab and MaxSeq in tokens.
type Model struct {
	ID     string `json:"id" toml:"id"`
	Name   string `json:"name" toml:"name"`
	Family string `json:"family" toml:"family"`

	Layers  int `json:"layers" toml:"layers"`
	Hidden  int `json:"hidden" toml:"hidden"`
	Heads   int `json:"heads" toml:"heads"`
	KVHeads int `json:"kv_heads" toml:"kv_heads"`
	HeadDim int `json:"head_dim" toml:"head_dim"`
	FFN     int `json:"ffn_hidden" toml:"ffn_hidden"` // width of a dense MLP, of one matrix
	Vocab   int `json:"vocab" toml:"vocab"`
	MaxSeq  int `json:"max_seq" toml:"max_seq"`

	Tied          bool   `json:"tied_embeddings" toml:"tied_embeddings"` // head shares the embedding matrix
	Activation    string `json:"activation" toml:"activation"`           // gelu, swiglu, ...: a label
	Gated         bool   `json:"gated_ffn" toml:"gated_ffn"`             // three MLP matrices instead of two
	Norm          string `json:"norm" toml:"norm"`                       // rmsnorm, layernorm, layernorm (no bias), ...
	NormsPer      int    `json:"norms_per_layer" toml:"norms_per_layer"`
	Position      string `json:"pos_embedding" toml:"pos_embedding"`     // learned adds a table of MaxSeq rows
	RopeTheta     int    `json:"rope_theta,omitempty" toml:"rope_theta"` // base of rotary positions, which changes no size; 0: not known
	AttnBias      string `json:"attn_bias" toml:"attn_bias"`             // none, qkv, all
	MLPBias       bool   `json:"mlp_bias" toml:"mlp_bias"`
	QKNorm        string `json:"qk_norm" toml:"qk_norm"` // none, per-head, full-width, latent, l2 (no params)
	ParallelBlock bool   `json:"parallel_block" toml:"parallel_block"`

	Attention   string `json:"attention" toml:"attention"` // mha, gqa, mqa, mla, with remarks
	LocalWindow int    `json:"local_window" toml:"local_window"`
	LocalRatio  string `json:"local_to_global_ratio" toml:"local_to_global_ratio"` // local:global layers, "5:1"
	QLoraRank   int    `json:"q_lora_rank" toml:"q_lora_rank"`                     // MLA; 0: queries are projected directly
	KVLoraRank  int    `json:"kv_lora_rank" toml:"kv_lora_rank"`                   // MLA; > 0 makes the attention MLA
	QKNopeDim   int    `json:"qk_nope_head_dim" toml:"qk_nope_head_dim"`
	QKRopeDim   int    `json:"qk_rope_head_dim" toml:"qk_rope_head_dim"`
	VHeadDim    int    `json:"v_head_dim" toml:"v_head_dim"`
	AttnGate    string `json:"attn_gate,omitempty" toml:"attn_gate"` // of attention's output: none, channel, head

	// Pattern has a letter for each layer, from the first again where it is shorter: see Letters.
	Pattern string `json:"layer_pattern,omitempty" toml:"layer_pattern"`
	// Of layers that carry a state from token to token: heads of queries and keys, and of values, and their widths.
	LinearKeyHeads   int `json:"linear_key_heads,omitempty" toml:"linear_key_heads"`
	LinearKeyDim     int `json:"linear_key_head_dim,omitempty" toml:"linear_key_head_dim"`
	LinearValueHeads int `json:"linear_value_heads,omitempty" toml:"linear_value_heads"`
	LinearValueDim   int `json:"linear_value_head_dim,omitempty" toml:"linear_value_head_dim"`
	ConvWidth        int `json:"conv_width,omitempty" toml:"conv_width"`     // tokens that a convolution sees
	LinearChunk      int `json:"linear_chunk,omitempty" toml:"linear_chunk"` // tokens of a chunk of state-space layers

	Experts       int `json:"n_experts" toml:"n_experts"` // routed experts per MoE layer; 0: dense model
	SharedExperts int `json:"n_shared_experts" toml:"n_shared_experts"`
	SharedFFN     int `json:"shared_ffn_hidden_total" toml:"shared_ffn_hidden_total"`
	// SharedGate scales the shared experts' output by a sigmoid of a product with one column.
	SharedGate bool `json:"shared_expert_gate,omitempty" toml:"shared_expert_gate"`
	TopK       int  `json:"top_k" toml:"top_k"`
	// A token goes to experts of at most RoutedGroups of the ExpertGroups into which the
	// experts are cut (node-limited routing); 0: to any.
	ExpertGroups int  `json:"expert_groups,omitempty" toml:"expert_groups"`
	RoutedGroups int  `json:"routed_groups,omitempty" toml:"routed_groups"`
	ExpertFFN    int  `json:"moe_ffn_hidden" toml:"moe_ffn_hidden"`
	FirstDense   int  `json:"first_k_dense_layers" toml:"first_k_dense_layers"`
	MoEFreq      int  `json:"moe_layer_freq" toml:"moe_layer_freq"` // every n-th layer after the first dense ones is MoE
	RouterBias   bool `json:"router_bias" toml:"router_bias"`
	MTPLayers    int  `json:"mtp_layers" toml:"mtp_layers"` // multi-token prediction modules

	ExtraParams     int64  `json:"params_extra" toml:"params_extra"` // parameters that fit no other part
	ExtraParamsWhat string `json:"params_extra_what" toml:"params_extra_what"`
}

// IsMoE reports whether any layer has routed experts.
func (m *Model) IsMoE() bool { return m.Experts > 0 }

// IsMLA reports whether attention is multi-head latent attention.
func (m *Model) IsMLA() bool { return m.KVLoraRank > 0 }

// MoELayer reports whether layer i (0-based) has routed experts.
func (m *Model) MoELayer(i int) bool {
	switch {
	case !m.IsMoE() || i < m.FirstDense:
		return false
	case m.Flat():
		return m.Letter(i) == LetterExperts
	}
	freq := max(m.MoEFreq, 1)
	return (i-m.FirstDense+1)%freq == 0
}
