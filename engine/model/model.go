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

	// the family that the file of an unknown one was read as
	ReadAs string `json:"read_as,omitempty" toml:"read_as"`

	Layers  int `json:"layers" toml:"layers"`
	Hidden  int `json:"hidden" toml:"hidden"`
	Heads   int `json:"heads" toml:"heads"`
	KVHeads int `json:"kv_heads" toml:"kv_heads"`
	HeadDim int `json:"head_dim" toml:"head_dim"`
	FFN     int `json:"ffn_hidden" toml:"ffn_hidden"` // width of a dense MLP, of one matrix
	// widths of the dense MLPs in the order of their layers, with commas, from the first again where there
	// are fewer; empty: all have ffn_hidden
	FFNWidths string `json:"ffn_widths,omitempty" toml:"ffn_widths"`

	Vocab  int `json:"vocab" toml:"vocab"`
	MaxSeq int `json:"max_seq" toml:"max_seq"`

	Tied       bool   `json:"tied_embeddings" toml:"tied_embeddings"` // head shares the embedding matrix
	Activation string `json:"activation" toml:"activation"`           // gelu, swiglu, ...: a label
	Gated      bool   `json:"gated_ffn" toml:"gated_ffn"`             // three MLP matrices instead of two
	// rmsnorm, layernorm, layernorm (no bias), ...
	Norm     string `json:"norm" toml:"norm"`
	NormsPer int    `json:"norms_per_layer" toml:"norms_per_layer"`
	// learned adds a table of MaxSeq rows
	Position string `json:"pos_embedding" toml:"pos_embedding"`
	// base of rotary positions, which changes no size; 0: not known
	RopeTheta int `json:"rope_theta,omitempty" toml:"rope_theta"`
	// how they are stretched (llama3, yarn, linear, ...) and by what factor; a label that changes no size
	RopeScaling string  `json:"rope_scaling,omitempty" toml:"rope_scaling"`
	RopeFactor  float64 `json:"rope_factor,omitempty" toml:"rope_factor"`
	// epsilon of the norms, which changes no size; 0: not known
	NormEps float64 `json:"norm_eps,omitempty" toml:"norm_eps"`
	// of a learned table where they are not MaxSeq
	PositionRows int `json:"position_rows,omitempty" toml:"position_rows"`
	// of what the embedding gives
	EmbeddingNorm bool   `json:"embedding_norm,omitempty" toml:"embedding_norm"`
	HeadBias      bool   `json:"head_bias,omitempty" toml:"head_bias"` // of the output head
	AttnBias      string `json:"attn_bias" toml:"attn_bias"`           // none, qkv, all
	MLPBias       bool   `json:"mlp_bias" toml:"mlp_bias"`
	// none, per-head, own (for each head), full-width, latent, l2 (no params)
	QKNorm        string `json:"qk_norm" toml:"qk_norm"`
	ParallelBlock bool   `json:"parallel_block" toml:"parallel_block"`

	Attention   string `json:"attention" toml:"attention"` // mha, gqa, mqa, mla, with remarks
	LocalWindow int    `json:"local_window" toml:"local_window"`
	// local:global layers, "5:1"
	LocalRatio string `json:"local_to_global_ratio" toml:"local_to_global_ratio"`
	// MLA; 0: queries are projected directly
	QLoraRank int `json:"q_lora_rank" toml:"q_lora_rank"`
	// MLA; > 0 makes the attention MLA
	KVLoraRank int `json:"kv_lora_rank" toml:"kv_lora_rank"`
	// Sparse attention: heads of the indexer, the width of one, and tokens that it chooses.
	IndexHeads int `json:"index_heads,omitempty" toml:"index_heads"`
	IndexDim   int `json:"index_head_dim,omitempty" toml:"index_head_dim"`
	IndexTopK  int `json:"index_top_k,omitempty" toml:"index_top_k"`
	// a learned number for each head in the softmax
	AttnSinks bool `json:"attn_sinks,omitempty" toml:"attn_sinks"`
	QKNopeDim int  `json:"qk_nope_head_dim" toml:"qk_nope_head_dim"`
	QKRopeDim int  `json:"qk_rope_head_dim" toml:"qk_rope_head_dim"`
	VHeadDim  int  `json:"v_head_dim" toml:"v_head_dim"`
	// Of layers with a window, where they differ from the others; 0: as those. Values have the width of keys
	// where v_head_dim is 0.
	LocalHeads    int `json:"local_heads,omitempty" toml:"local_heads"`
	LocalKVHeads  int `json:"local_kv_heads,omitempty" toml:"local_kv_heads"`
	LocalHeadDim  int `json:"local_head_dim,omitempty" toml:"local_head_dim"`
	LocalVHeadDim int `json:"local_v_head_dim,omitempty" toml:"local_v_head_dim"`
	// a learned number for each head in the softmax of these alone
	LocalSinks bool `json:"local_sinks,omitempty" toml:"local_sinks"`
	// ValuesAreKeys has no projection of values in layers without a window: the keys are taken.
	ValuesAreKeys bool `json:"values_are_keys,omitempty" toml:"values_are_keys"`
	// ValueNorm is a norm of the values of each head, without a weight (Gemma 3n and 4).
	ValueNorm bool `json:"value_norm,omitempty" toml:"value_norm"`
	// of attention's output: none, channel, head
	AttnGate string `json:"attn_gate,omitempty" toml:"attn_gate"`

	// Pattern has a letter for each layer, from the first again where it is shorter: see Letters.
	Pattern string `json:"layer_pattern,omitempty" toml:"layer_pattern"`
	// Of layers that carry a state from token to token: heads of queries and keys, and of values, and their
	// widths.
	LinearKeyHeads   int `json:"linear_key_heads,omitempty" toml:"linear_key_heads"`
	LinearKeyDim     int `json:"linear_key_head_dim,omitempty" toml:"linear_key_head_dim"`
	LinearValueHeads int `json:"linear_value_heads,omitempty" toml:"linear_value_heads"`
	LinearValueDim   int `json:"linear_value_head_dim,omitempty" toml:"linear_value_head_dim"`
	ConvWidth        int `json:"conv_width,omitempty" toml:"conv_width"` // tokens that a convolution sees
	// tokens of a chunk of state-space layers
	LinearChunk int `json:"linear_chunk,omitempty" toml:"linear_chunk"`
	LinearRank  int `json:"linear_rank,omitempty" toml:"linear_rank"` // of the step of Mamba-1
	// LinearBare has no norm of a state-space layer's output.
	LinearBare bool `json:"linear_bare,omitempty" toml:"linear_bare"`
	// LinearFullGate has one matrix for the gate of Kimi Delta Attention's output, not two around the width
	// of a head.
	LinearFullGate bool `json:"linear_full_gate,omitempty" toml:"linear_full_gate"`
	// Of layers of the letter Z: blocks that they share in turn, rank of their adapters, which attention may
	// have too.
	SharedBlocks int  `json:"shared_blocks,omitempty" toml:"shared_blocks"`
	AdapterRank  int  `json:"adapter_rank,omitempty" toml:"adapter_rank"`
	AttnAdapter  bool `json:"attn_adapter,omitempty" toml:"attn_adapter"`

	// ResidualBlock is how many layers make a snapshot of the stream, all of which each sub-layer reads
	// (attention residuals, Kimi K3); 0: none.
	ResidualBlock int `json:"residual_block,omitempty" toml:"residual_block"`

	// DeepSeek-V4: copies of the stream that hyper-connections mix; groups and rank of attention's output,
	// whose key is one for all heads; tokens of a compressed key in layers Q, and in layers X; how many of
	// the first mixtures send tokens by a table.
	HyperStreams  int `json:"hyper_streams,omitempty" toml:"hyper_streams"`
	OutputGroups  int `json:"output_groups,omitempty" toml:"output_groups"`
	OutputRank    int `json:"o_lora_rank,omitempty" toml:"o_lora_rank"`
	CompressRatio int `json:"compress_ratio,omitempty" toml:"compress_ratio"`
	CompressHeavy int `json:"compress_ratio_heavy,omitempty" toml:"compress_ratio_heavy"`
	HashLayers    int `json:"hash_layers,omitempty" toml:"hash_layers"`

	// Gemma 3n and 4: copies of the stream, width of a path beside attention, width of an input of each layer
	// and rows of its table, and how many of the last layers take keys and values of an earlier one.
	AltUpStreams int `json:"altup_streams,omitempty" toml:"altup_streams"`
	LaurelRank   int `json:"laurel_rank,omitempty" toml:"laurel_rank"`
	LayerInput   int `json:"layer_input,omitempty" toml:"layer_input"`
	LayerVocab   int `json:"layer_vocab,omitempty" toml:"layer_vocab"`
	ReusedKV     int `json:"reused_kv_layers,omitempty" toml:"reused_kv_layers"`

	Experts       int `json:"n_experts" toml:"n_experts"` // routed experts per MoE layer; 0: dense model
	SharedExperts int `json:"n_shared_experts" toml:"n_shared_experts"`
	SharedFFN     int `json:"shared_ffn_hidden_total" toml:"shared_ffn_hidden_total"`
	// SharedGate scales the shared experts' output by a sigmoid of a product with one column.
	SharedGate bool `json:"shared_expert_gate,omitempty" toml:"shared_expert_gate"`
	TopK       int  `json:"top_k" toml:"top_k"`
	// A token goes to experts of at most RoutedGroups of the ExpertGroups into which the
	// experts are cut (node-limited routing); 0: to any.
	ExpertGroups int `json:"expert_groups,omitempty" toml:"expert_groups"`
	RoutedGroups int `json:"routed_groups,omitempty" toml:"routed_groups"`
	ExpertFFN    int `json:"moe_ffn_hidden" toml:"moe_ffn_hidden"`
	FirstDense   int `json:"first_k_dense_layers" toml:"first_k_dense_layers"`
	// every n-th layer after the first dense ones is MoE
	MoEFreq int `json:"moe_layer_freq" toml:"moe_layer_freq"`
	// MoEPattern has a letter for each layer, - dense or E with experts, where the two numbers above do not
	// say it.
	MoEPattern string `json:"moe_pattern,omitempty" toml:"moe_pattern"`
	RouterBias bool   `json:"router_bias" toml:"router_bias"`
	// RouterScale multiplies what the router reads by a scale of its own; LayerScalar a layer's output by a
	// number.
	RouterScale bool `json:"router_scale,omitempty" toml:"router_scale"`
	LayerScalar bool `json:"layer_scalar,omitempty" toml:"layer_scalar"`
	// ExpertLatent is the width of a latent space that routed experts work in; 0: the stream's.
	ExpertLatent int `json:"moe_latent_hidden,omitempty" toml:"moe_latent_hidden"`
	// LatentNorm norms what they read there.
	LatentNorm bool `json:"moe_latent_norm,omitempty" toml:"moe_latent_norm"`
	// ZeroExperts are routed to beside the others and do nothing.
	ZeroExperts int `json:"zero_experts,omitempty" toml:"zero_experts"`
	MTPLayers   int `json:"mtp_layers" toml:"mtp_layers"` // multi-token prediction modules
	// MTPPasses is how often each of them runs, with the same weights; 0: once.
	MTPPasses int `json:"mtp_passes,omitempty" toml:"mtp_passes"`

	ExtraParams     int64  `json:"params_extra" toml:"params_extra"` // parameters that fit no other part
	ExtraParamsWhat string `json:"params_extra_what" toml:"params_extra_what"`
}

// IsMoE reports whether any layer has routed experts.
func (m *Model) IsMoE() bool { return m.Experts > 0 }

// IsMLA reports whether attention is multi-head latent attention.
func (m *Model) IsMLA() bool { return m.KVLoraRank > 0 }

// Copies returns to how many experts that compute a token goes.
func (m *Model) Copies() float64 {
	return float64(m.TopK) * float64(m.Experts) / float64(max(m.Experts+m.ZeroExperts, 1))
}

// MoELayer reports whether layer i (0-based) has routed experts.
func (m *Model) MoELayer(i int) bool {
	switch {
	case !m.IsMoE() || i < m.FirstDense:
		return false
	case m.MoEPattern != "":
		return m.MoEPattern[i%len(m.MoEPattern)] == LetterExperts
	case m.Flat():
		return m.Letter(i) == LetterExperts
	}
	freq := max(m.MoEFreq, 1)
	return (i-m.FirstDense+1)%freq == 0
}
