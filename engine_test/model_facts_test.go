package engine_test

import (
	"strconv"
	"testing"

	"meshscope/engine/model"
	"meshscope/engine_test/shared"
)

// modelRow is one line of the fact sheet of models, by column name.
type modelRow map[string]string

// modelRows reads the fact sheet of models.
func modelRows(t testing.TB) []modelRow {
	t.Helper()
	var rows []modelRow
	for _, row := range shared.CSV(t, "facts", "models.csv") {
		rows = append(rows, modelRow(row))
	}
	return rows
}

func (r modelRow) count(t testing.TB, column string) int64 {
	t.Helper()
	if r[column] == "" {
		return 0
	}
	n, err := strconv.ParseInt(r[column], 10, 64)
	if err != nil {
		t.Fatalf("%s: column %s: %v", r["id"], column, err)
	}
	return n
}

// model builds the engine's value from the row.
func (r modelRow) model(t testing.TB) model.Model {
	t.Helper()
	num := func(column string) int { return int(r.count(t, column)) }
	m := model.Model{
		ID: r["id"], Name: r["name"], Family: r["family"],
		Layers: num("layers"), Hidden: num("hidden"), Heads: num("heads"), KVHeads: num("kv_heads"),
		HeadDim: num("head_dim"), FFN: num("ffn_hidden"), Vocab: num("vocab"), MaxSeq: num("max_seq"),
		Tied: r["tied_embeddings"] == "1", Activation: r["activation"], Gated: r["gated_ffn"] == "1",
		Norm: r["norm"], NormsPer: num("norms_per_layer"), Position: r["pos_embedding"],
		AttnBias: r["attn_bias"], MLPBias: r["mlp_bias"] == "1", QKNorm: r["qk_norm"],
		ParallelBlock: r["parallel_block"] == "1", Attention: r["attention"],
		LocalWindow: num("local_window"), LocalRatio: r["local_to_global_ratio"],
		QLoraRank: num("q_lora_rank"), KVLoraRank: num("kv_lora_rank"), QKNopeDim: num("qk_nope_head_dim"),
		QKRopeDim: num("qk_rope_head_dim"), VHeadDim: num("v_head_dim"),
		Experts: num("n_experts"), SharedExperts: num("n_shared_experts"),
		SharedFFN: num("shared_ffn_hidden_total"),
		TopK:      num("top_k"), ExpertFFN: num("moe_ffn_hidden"), FirstDense: num("first_k_dense_layers"),
		MoEFreq: num("moe_layer_freq"), RouterBias: r["router_bias"] == "1", MTPLayers: num("mtp_layers"),
		ExtraParams: r.count(t, "params_extra"), ExtraParamsWhat: r["params_extra_what"],
	}
	if m.LocalRatio == "7:1 (linear:softmax)" { // which the sheet counts as parameters that fit no other part
		m.LocalRatio, m.ExtraParams, m.Pattern, m.LinearChunk = "", 0, "LLLLLLL*", 256
		m.LinearKeyHeads, m.LinearKeyDim, m.LinearValueHeads, m.LinearValueDim = m.Heads, m.HeadDim, m.Heads,
			m.HeadDim
	}
	return m
}

// modelByID finds one model of the fact sheet.
func modelByID(t testing.TB, id string) model.Model {
	t.Helper()
	for _, row := range modelRows(t) {
		if row["id"] == id {
			return row.model(t)
		}
	}
	t.Fatalf("no model %q in the fact sheet", id)
	return model.Model{}
}
