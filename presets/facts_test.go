package presets_test

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine_test/shared"
	"meshscope/presets"
)

// facts reads a fact sheet of the reference material.
func facts(t *testing.T, sheet string) []shared.Row {
	t.Helper()
	return shared.CSV(t, "facts", sheet)
}

// same compares a figure with a cell; an empty cell is 0.
func same(t *testing.T, row map[string]string, column string, got float64) {
	t.Helper()
	want := 0.0
	if row[column] != "" {
		var err error
		if want, err = strconv.ParseFloat(row[column], 64); err != nil {
			t.Fatalf("%s: %s: %v", row["id"], column, err)
		}
	}
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %s is %g, want %g", row["id"], column, got, want)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestModelsEqualTheFactSheet(t *testing.T) {
	l := presets.Default()
	rows := facts(t, "models.csv")
	known := map[string]bool{}
	for _, row := range rows {
		known[row["id"]] = true
	}
	for _, m := range l.Models() { // those that the sheet does not have: their weights, or a card's 120 B
		p, err := l.ModelPreset(m.ID)
		if of := float64(p.PublishedParameters); err == nil && p.PublishedParameters%1e9 == 0 &&
			math.Abs(float64(p.Total())/of-1) < 0.01 {
			continue
		}
		if err != nil || !known[m.ID] && p.Total() != p.PublishedParameters {
			t.Errorf("%s: %d parameters, published %d, %v", m.ID, p.Total(), p.PublishedParameters, err)
		}
	}
	for _, row := range rows {
		m, err := l.ModelPreset(row["id"])
		if err != nil {
			t.Error(err)
			continue
		}
		extra := float64(m.ExtraParams)
		// of a config.json, where the sheet has the tokens of a card or of pretraining
		switch {
		case strings.HasPrefix(m.ID, "deepseek-v"):
			row["max_seq"] = "163840"
		case strings.HasPrefix(m.ID, "smollm2-"):
			row["max_seq"] = "8192"
		}
		// layers that are counted here
		if row["local_to_global_ratio"] == "7:1 (linear:softmax)" && m.Pattern == "LLLLLLL*" {
			row["params_extra"], row["local_to_global_ratio"] = "0", ""
		}
		if m.AttnSinks { // a figure of their own here
			extra += float64(m.Layers * m.Heads)
		}
		for column, got := range map[string]float64{
			"layers": float64(m.Layers), "hidden": float64(m.Hidden), "heads": float64(m.Heads),
			"kv_heads": float64(m.KVHeads),
			"head_dim": float64(m.HeadDim), "ffn_hidden": float64(m.FFN), "vocab": float64(m.Vocab),
			"max_seq":         float64(m.MaxSeq),
			"tied_embeddings": truth(m.Tied), "gated_ffn": truth(m.Gated),
			"norms_per_layer": float64(m.NormsPer),
			"mlp_bias":        truth(m.MLPBias), "parallel_block": truth(m.ParallelBlock),
			"local_window": float64(m.LocalWindow),
			"q_lora_rank":  float64(m.QLoraRank), "kv_lora_rank": float64(m.KVLoraRank),
			"qk_nope_head_dim": float64(m.QKNopeDim),
			"qk_rope_head_dim": float64(m.QKRopeDim), "v_head_dim": float64(m.VHeadDim),
			"n_experts":        float64(m.Experts),
			"n_shared_experts": float64(m.SharedExperts), "shared_ffn_hidden_total": float64(m.SharedFFN),
			"top_k":          float64(m.TopK),
			"moe_ffn_hidden": float64(m.ExpertFFN), "first_k_dense_layers": float64(m.FirstDense),
			"moe_layer_freq": float64(m.MoEFreq),
			"router_bias":    truth(m.RouterBias), "mtp_layers": float64(m.MTPLayers), "params_extra": extra,
			"params_computed": float64(m.Total()), "params_active_computed": float64(m.Active()),
			"params_mtp_computed":     float64(m.MTP()),
			"params_total_published":  float64(m.PublishedParameters),
			"params_active_published": float64(m.PublishedActive),
		} {
			same(t, row, column, got)
		}
		for column, got := range map[string]string{
			"id": m.ID, "name": m.Name, "family": m.Family, "activation": m.Activation, "norm": m.Norm,
			"pos_embedding": m.Position, "attn_bias": m.AttnBias, "qk_norm": m.QKNorm,
			"attention":             m.Attention,
			"local_to_global_ratio": m.LocalRatio,
		} {
			if got != row[column] {
				t.Errorf("%s: %s is %q, want %q", m.ID, column, got, row[column])
			}
		}
	}
}

// leftOut are rows of the fact sheets that README.md names with the reason.
func leftOut(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGPUsEqualTheFactSheet(t *testing.T) {
	l := presets.Default()
	rows, readme, kept := facts(t, "gpus.csv"), leftOut(t), 0
	for _, row := range rows {
		g, err := l.GPUPreset(row["id"])
		if err != nil {
			if !strings.Contains(readme, "`"+row["id"]+"`") {
				t.Errorf("left out and not in the README: %v", err)
			}
			continue
		}
		kept++
		nominal := g.MemoryNominal.GiB()
		if d := row["memory_usable_derived"]; strings.HasPrefix(d, "decimal") || g.Vendor == "Google" {
			nominal = g.MemoryNominal.GB()
		}
		for column, got := range map[string]float64{
			"memory_nominal_GB": nominal, "memory_usable_GiB": g.MemoryUsable.GiB(),
			"hbm_bandwidth_TBps": float64(g.MemoryBandwidth) / 1e12,
			"bf16_dense_TFLOPS":  float64(g.PeakBF16) / 1e12, "fp16_dense_TFLOPS": float64(g.PeakFP16) / 1e12,
			"fp8_dense_TFLOPS": float64(g.PeakFP8) / 1e12, "fp4_dense_TFLOPS": float64(g.PeakFP4) / 1e12,
			"tf32_dense_TFLOPS": float64(g.PeakTF32) / 1e12, "fp32_TFLOPS": float64(g.PeakFP32) / 1e12,
			"bf16_matmul_measured_TFLOPS": float64(g.MatmulBF16) / 1e12,
			"fp8_matmul_measured_TFLOPS":  float64(g.MatmulFP8) / 1e12,
			"l2_MiB":                      g.L2MiB, "sm_count": float64(g.SMs), "boost_clock_MHz": g.BoostMHz,
			"tdp_W": g.TDPWatt, "price_usd_per_gpu_hour": g.PriceUSD,
			"intra_node_GBps_per_dir_per_gpu": float64(g.LinkBandwidth) / 1e9,
			"intra_node_p2p_GBps_per_dir":     float64(g.PairBandwidth) / 1e9,
			"max_scale_up_domain":             float64(g.ScaleUpGPUs),
			"typical_gpus_per_node":           float64(g.NodeGPUs),
			"pcie_GBps_per_dir":               float64(g.HostBandwidth) / 1e9,
		} {
			same(t, row, column, got)
		}
		if row["name"] != g.Name || row["vendor"] != g.Vendor || row["intra_node_link"] != g.LinkName {
			t.Errorf("%s: %q of %q with %q", g.ID, g.Name, g.Vendor, g.LinkName)
		}
		if strings.Contains(row["memory_only_fields"], "bf16_dense") != slices.Contains(g.Unsourced,
			"bf16_dense_TFLOPS") {
			t.Errorf("%s: unsourced figures are %v", g.ID, g.Unsourced)
		}
	}
	if kept < 38 { // presets beyond the fact sheet name a source of their own
		t.Errorf("%d presets, %d of them in the fact sheet", len(l.GPUs()), kept)
	}
}

func TestClustersEqualTheFactSheet(t *testing.T) {
	l := presets.Default()
	rows, readme, kept := facts(t, "clusters.csv"), leftOut(t), 0
	for _, row := range rows {
		c, err := l.ClusterPreset(row["id"])
		if err != nil {
			if !strings.Contains(readme, "`"+row["id"]+"`") {
				t.Errorf("left out and not in the README: %v", err)
			}
			continue
		}
		kept++
		for column, got := range map[string]float64{
			"gpus_per_node": float64(c.NodeGPUs), "scale_up_domain_gpus": float64(c.ScaleUpGPUs),
			"max_gpus":                         float64(c.MaxGPUs),
			"intra_node_GBps_per_dir_per_gpu":  float64(c.Intra.Bandwidth) / 1e9,
			"inter_node_GBps_per_dir_per_gpu":  float64(c.Inter.Bandwidth) / 1e9,
			"inter_node_GBps_per_dir_per_node": float64(c.NodeBandwidth) / 1e9,
			"nics_per_node":                    float64(c.NICsPerNode),
		} {
			same(t, row, column, got)
		}
		if row["intra_latency_us"] != "" {
			same(t, row, "intra_latency_us", float64(c.Intra.Latency)*1e6)
			same(t, row, "inter_latency_us", float64(c.Inter.Latency)*1e6)
		}
		measured := map[string]float64{}
		for _, b := range c.AllReduce {
			measured["busbw_allreduce_"+strconv.Itoa(b.Nodes)+"node_GBps"] = float64(b.Bandwidth) / 1e9
		}
		for _, nodes := range []string{"1", "2", "4", "8", "16", "32", "64"} {
			column := "busbw_allreduce_" + nodes + "node_GBps"
			same(t, row, column, measured[column])
		}
		if row["name"] != c.Name || row["gpu_id"] != c.GPU.ID || row["intra_node_link"] != c.Intra.Name ||
			row["inter_node_link"] != c.Inter.Name {
			t.Errorf("%s: %q of %s with %q and %q", c.ID, c.Name, c.GPU.ID, c.Intra.Name, c.Inter.Name)
		}
	}
	if kept < 42 { // presets beyond the fact sheet name a source of their own
		t.Errorf("%d presets, %d of them in the fact sheet", len(l.Clusters()), kept)
	}
}
