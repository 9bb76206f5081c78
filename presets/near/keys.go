package near

// otherNames maps keys of other formats to those of preset files: Hugging Face's config.json,
// and the flags of this program.
func otherNames() map[string]string {
	return map[string]string{
		"hidden_size": "hidden", "n_embd": "hidden", "num_hidden_layers": "layers", "n_layer": "layers",
		"num_layers":          "layers",
		"num_attention_heads": "heads", "n_head": "heads", "num_key_value_heads": "kv_heads",
		"num_query_groups":  "kv_heads",
		"intermediate_size": "ffn_hidden", "ffn_hidden_size": "ffn_hidden", "vocab_size": "vocab",
		"max_position_embeddings": "max_seq", "seq_length": "max_seq",
		"tie_word_embeddings": "tied_embeddings",
		"hidden_act":          "activation", "attention_bias": "attn_bias",
		"num_experts": "n_experts", "num_local_experts": "n_experts", "n_routed_experts": "n_experts",
		"num_experts_per_tok": "top_k", "moe_intermediate_size": "moe_ffn_hidden",
		"first_k_dense_replace": "first_k_dense_layers", "num_nextn_predict_layers": "mtp_layers",
		"gpu": "gpu_id", "memory_bandwidth": "hbm_bandwidth_TBps", "bandwidth": "hbm_bandwidth_TBps",
		"intra_node_bandwidth": "intra_node_GBps_per_dir_per_gpu",
		"inter_node_bandwidth": "inter_node_GBps_per_dir_per_gpu",
	}
}

// Key returns the key of preset files that a key of another format, in small letters, means; empty where
// there is none.
func Key(name string) string { return otherNames()[name] }
