package launch

import "strings"

// recipeOf is a recipe of the library: the model's preset, and what is known of the rest, as flags
// of Megatron-LM.
type recipeOf struct {
	name, model string
	sets        []Entry
	overlaps    bool // its configuration has the part comm_overlap
}

// bridgeRecipes lists the recipes that are known by name.
func bridgeRecipes() []recipeOf {
	out := recipesOf(bridgeTable)
	for i := range out {
		out[i].name += "_config"
	}
	return out
}

// recipesOf returns the recipes of a table: a line for each, with its name, its model and what it sets; a
// line that begins with blanks goes on with the one before.
func recipesOf(table string) []recipeOf {
	const why = "the recipe"
	keys := map[string]string{
		"tp": "tensor-model-parallel-size", "pp": "pipeline-model-parallel-size",
		"cp": "context-parallel-size", "vpp": "num-virtual-stages-per-pipeline-rank",
		"ep": "expert-model-parallel-size", "etp": "expert-tensor-parallel-size", "seq": "seq-length",
		"gbs": "global-batch-size", "mbs": "micro-batch-size",
		"sp": "sequence-parallel", "mtp": "mtp-num-layers", "recompute": "recompute-granularity",
		"layout":    "pipeline-model-parallel-layout",
		"embedding": "account-for-embedding-in-pipeline-split", "loss": "account-for-loss-in-pipeline-split",
	}
	var out []recipeOf
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimSpace(table), "\n  ", " ")) {
		words := strings.Fields(line)
		r := recipeOf{
			name: words[0], model: words[1],
			sets: []Entry{{Key: "use-distributed-optimizer", Value: true, Why: why}},
		}
		for _, word := range words[2:] {
			key, value, ok := strings.Cut(word, "=")
			if r.overlaps = r.overlaps || !ok; ok && keys[key] != "" {
				r.sets = append(r.sets, Entry{Key: keys[key], Value: value, Why: why})
			} else if ok {
				r.sets = append(r.sets, Entry{Key: key, Value: numberOf(value), Why: why})
			}
		}
		out = append(out, r)
	}
	return out
}

// recipeNamed returns a recipe by its name, by that without the GPUs that it was made for, or of a model's
// stem; nil: it is not known.
func recipeNamed(name string) *recipeOf {
	all := bridgeRecipes()
	for i := range all {
		stem, rest, _ := strings.Cut(all[i].name, "_pretrain_")
		_, variant, _ := strings.Cut(rest, "_h100_bf16")
		if name == all[i].name || name == stem || strings.HasPrefix(variant, "_") &&
			name == stem+"_pretrain"+variant {
			return &all[i]
		}
	}
	return nil
}

// bridgeTable has the recipes of its library for H100 (src/megatron/bridge/recipes/*/h100 of v0.6.0): of
// those with one name but for the GPUs the one first that goes by the short name.
const bridgeTable = `
deepseek_v2_lite_pretrain_8gpu_h100_bf16 deepseek-v2-lite tp=1 pp=1 cp=1 ep=8 seq=4096 gbs=512 mbs=1
  recompute=full overlap
deepseek_v2_pretrain_128gpu_h100_bf16 deepseek-v2 tp=1 pp=4 cp=1 ep=32 seq=4096 gbs=512 mbs=1 recompute=full
  overlap
deepseek_v3_pretrain_1024gpu_h100_bf16 deepseek-v3 tp=2 pp=16 cp=1 ep=64 etp=1 seq=4096 gbs=4096 mbs=1
  sp=true mtp=1 overlap layout=Et*3|(tt|)*29,m|L
gemma2_27b_pretrain_16gpu_h100_bf16 gemma2-27b tp=8 pp=2 cp=1 seq=4096 gbs=32 mbs=2
gemma2_2b_pretrain_2gpu_h100_bf16 gemma2-2b tp=2 pp=1 cp=1 seq=4096 gbs=32 mbs=2
gemma2_9b_pretrain_8gpu_h100_bf16 gemma2-9b tp=8 pp=1 cp=1 seq=4096 gbs=32 mbs=2
gemma3_1b_pretrain_1gpu_h100_bf16 gemma3-1b tp=1 pp=1 cp=1 gbs=512 mbs=1
glm45_355b_pretrain_128gpu_h100_bf16 glm-4.5 tp=2 pp=8 cp=1 ep=16 etp=1 seq=4096 gbs=2048 mbs=1 sp=true mtp=1
  recompute=selective
glm45_air_106b_pretrain_32gpu_h100_bf16 glm-4.5-air tp=1 pp=4 cp=1 ep=8 etp=1 seq=4096 gbs=2048 mbs=1 sp=true
  mtp=1 recompute=selective
gpt_oss_120b_pretrain_64gpu_h100_bf16 gpt-oss-120b tp=2 pp=4 cp=1 ep=16 etp=1 seq=4096 gbs=512 mbs=1 sp=true
gpt_oss_20b_pretrain_16gpu_h100_bf16 gpt-oss-20b tp=2 pp=4 cp=1 ep=4 etp=1 seq=4096 gbs=512 mbs=1 sp=true
kimi_k2_pretrain_512gpu_h100_bf16 kimi-k2 tp=2 pp=16 cp=1 ep=32 etp=1 seq=4096 gbs=4096 mbs=1 sp=true
  recompute=selective overlap
llama2_7b_pretrain_2gpu_h100_bf16 llama2-7b tp=2 pp=1 cp=1 seq=4096 gbs=512 mbs=1 overlap
llama31_405b_pretrain_256gpu_h100_bf16 llama3.1-405b tp=8 pp=8 cp=4 vpp=2 gbs=512 mbs=1 sp=true overlap
llama31_70b_pretrain_32gpu_h100_bf16 llama3.1-70b tp=4 pp=4 cp=2 vpp=5 gbs=512 mbs=1 sp=true overlap
llama31_8b_pretrain_2gpu_h100_bf16 llama3.1-8b tp=1 pp=1 cp=2 seq=8192 gbs=512 mbs=1
llama32_1b_pretrain_1gpu_h100_bf16 llama3.2-1b tp=1 pp=1 cp=1 seq=8192 gbs=512 mbs=1
llama32_3b_pretrain_1gpu_h100_bf16 llama3.2-3b tp=1 pp=1 cp=1 seq=8192 gbs=512 mbs=1
llama3_70b_pretrain_32gpu_h100_bf16 llama3-70b tp=4 pp=4 cp=2 vpp=5 seq=8192 gbs=512 mbs=1 sp=true overlap
llama3_8b_pretrain_2gpu_h100_bf16 llama3-8b tp=1 pp=1 cp=2 seq=8192 gbs=512 mbs=1
moonlight_16b_pretrain_8gpu_h100_bf16 moonlight-16b-a3b tp=2 pp=1 cp=1 ep=8 etp=1 seq=4096 gbs=2048 mbs=1
  sp=true recompute=selective overlap
nemotron_3_nano_pretrain_8gpu_h100_bf16 nemotron3-nano-30b-a3b tp=1 pp=1 cp=1 ep=8 etp=1 seq=8192
  gbs=1024 mbs=1 recompute=selective recompute-modules=moe,layernorm overlap
qwen25_32b_pretrain_16gpu_h100_bf16 qwen2.5-32b tp=8 pp=2 cp=1 seq=4096 gbs=32 mbs=2
qwen25_72b_pretrain_32gpu_h100_bf16 qwen2.5-72b tp=8 pp=4 cp=1 seq=4096 gbs=32 mbs=2
qwen25_7b_pretrain_2gpu_h100_bf16 qwen2.5-7b tp=2 pp=1 cp=1 seq=4096 gbs=32 mbs=2
qwen3_14b_pretrain_8gpu_h100_bf16 qwen3-14b tp=8 pp=1 cp=1 seq=4096 gbs=32 mbs=2
qwen3_235b_a22b_pretrain_256gpu_h100_bf16 qwen3-235b-a22b tp=4 pp=16 cp=2 ep=8 etp=1 seq=4096 gbs=32 mbs=1
  sp=true
qwen3_30b_a3b_pretrain_8gpu_h100_bf16 qwen3-30b-a3b tp=4 pp=2 cp=1 ep=4 etp=1 seq=4096 gbs=32 mbs=2 sp=true
  recompute=full
qwen3_32b_pretrain_16gpu_h100_bf16 qwen3-32b tp=8 pp=2 cp=1 seq=4096 gbs=32 mbs=2 recompute=full
qwen3_8b_pretrain_4gpu_h100_bf16 qwen3-8b tp=4 pp=1 cp=1 seq=4096 gbs=32 mbs=2
moonlight_16b_pretrain_16gpu_h100_bf16 moonlight-16b-a3b tp=1 pp=1 cp=1 ep=8 etp=1 seq=4096 gbs=1024 mbs=2
  overlap
qwen3_30b_a3b_pretrain_16gpu_h100_bf16 qwen3-30b-a3b tp=1 pp=1 cp=1 ep=16 etp=1 seq=4096 gbs=1024 mbs=1
  overlap
qwen3_8b_pretrain_16gpu_h100_bf16 qwen3-8b tp=1 pp=1 cp=1 seq=4096 gbs=1024 mbs=1
deepseek_v3_pretrain_256gpu_h100_bf16_32nodes deepseek-v3 tp=2 pp=8 cp=1 ep=32 etp=1 seq=4096 gbs=4096 mbs=1
  sp=true mtp=1 recompute=full overlap
gpt_oss_20b_pretrain_16gpu_h100_fp8cs gpt-oss-20b tp=2 pp=4 cp=1 ep=4 etp=1 seq=4096 gbs=512 mbs=1 sp=true
gpt_oss_20b_pretrain_16gpu_h100_fp8mx gpt-oss-20b tp=2 pp=4 cp=1 ep=4 etp=1 seq=4096 gbs=512 mbs=1 sp=true
llama31_405b_pretrain_256gpu_h100_bf16_deterministic llama3.1-405b tp=8 pp=8 cp=4 vpp=2 gbs=512 mbs=1 sp=true
  overlap
llama3_70b_pretrain_256gpu_h100_bf16_64k llama3-70b tp=8 pp=4 cp=8 gbs=512 mbs=1 sp=true overlap
llama3_70b_pretrain_32gpu_h100_bf16_16k llama3-70b tp=8 pp=2 cp=2 gbs=512 mbs=1 sp=true overlap
llama3_70b_pretrain_32gpu_h100_bf16_deterministic llama3-70b tp=4 pp=4 cp=2 vpp=5 seq=8192 gbs=512 mbs=1
  sp=true overlap
llama3_8b_pretrain_16gpu_h100_bf16_16k llama3-8b tp=4 pp=2 cp=2 gbs=512 mbs=1 sp=true
llama3_8b_pretrain_2gpu_h100_fp8cs llama3-8b tp=1 pp=1 cp=2 seq=8192 gbs=768 mbs=1
llama3_8b_pretrain_2gpu_h100_fp8mx llama3-8b tp=1 pp=1 cp=2 seq=8192 gbs=768 mbs=1
llama3_8b_pretrain_2gpu_h100_nvfp4 llama3-8b tp=1 pp=1 cp=2 seq=8192 gbs=768 mbs=1
llama3_8b_pretrain_32gpu_h100_bf16_64k llama3-8b tp=4 pp=2 cp=4 gbs=512 mbs=1 sp=true
llama3_8b_pretrain_64gpu_h100_bf16_128k llama3-8b tp=4 pp=2 cp=8 gbs=512 mbs=1 sp=true
`
