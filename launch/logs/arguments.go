package logs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Megatron-LM prints every argument, also those that nobody gave, by the name of its field
// (megatron/training/arguments.py, _print_args). Three tables bring them back to flags.

// renamed returns the flags whose field has another name.
func renamed() map[string]string {
	return map[string]string{
		"fp8": "fp8-format", "fp8_param": "fp8-param-gather", "fp4": "fp4-format",
		"fp4_param":                          "fp4-param-gather",
		"microbatch_group_size_per_vp_stage": "microbatch-group-size-per-virtual-pipeline-stage",
	}
}

// inverted returns the flags that set a field to False.
func inverted() map[string]string {
	return map[string]string{
		"add_bias_linear":                "disable-bias-linear",
		"add_position_embedding":         "no-position-embedding",
		"check_for_nan_in_loss_and_grad": "no-check-for-nan-in-loss-and-grad",
		"overlap_p2p_comm":               "no-overlap-p2p-communication",
	}
}

// option is what counts only under a switch.
type option struct {
	under string   // field that switches it on
	is    string   // its value then; empty: any but None, False, 0 and none
	names []string // fields; one that ends in _ stands for all that begin with it
}

// options returns what counts only under a switch: without it the default is printed, and means
// nothing.
func options() []option {
	return []option{
		{under: "fp8", names: []string{"fp8_"}},
		{under: "fp4", names: []string{"fp4_"}},
		{under: "cross_entropy_loss_fusion", names: []string{"cross_entropy_fusion_impl"}},
		{under: "group_query_attention", names: []string{"num_query_groups"}},
		{under: "multi_latent_attention", names: []string{
			"q_lora_rank", "kv_lora_rank", "qk_head_dim",
			"qk_pos_emb_head_dim", "v_head_dim",
		}},
		{under: "num_experts", names: []string{
			"moe_", "expert_tensor_parallel_size",
			"overlap_moe_expert_parallel_comm",
		}},
		{
			under: "moe_token_dispatcher_type", is: "flex",
			names: []string{"moe_flex_dispatcher_backend", "moe_enable_deepep"},
		},
		{under: "moe_router_num_groups", names: []string{"moe_router_group_topk"}},
		{
			under: "optimizer_cpu_offload",
			names: []string{"optimizer_offload_fraction", "use_precision_aware_optimizer"},
		},
		{under: "use_megatron_fsdp", names: []string{
			"data_parallel_sharding_strategy",
			"outer_dp_sharding_strategy",
		}},
		{under: "cuda_graph_impl", names: []string{"cuda_graph_scope"}},
		{under: "recompute_granularity", names: []string{"recompute_method", "recompute_num_layers"}},
		{under: "recompute_granularity", is: "selective", names: []string{"recompute_modules"}},
		{under: "window_size", names: []string{"window_attn_skip_freq"}},
		{under: "quick_geglu", names: []string{"glu_linear_offset", "activation_func_clamp_value"}},
		{under: "mtp_num_layers", names: []string{"mtp_"}},
	}
}

// counts reports whether an argument means something beside the others.
func counts(name string, arguments map[string]string) bool {
	for _, o := range options() {
		value, printed := arguments[o.under]
		if on := printed && !slices.Contains([]string{"None", "False", "0", "none", ""}, value); on &&
			(o.is == "" || value == o.is) {
			continue
		}
		if slices.ContainsFunc(o.names, func(of string) bool {
			return name != o.under &&
				(name == of || strings.HasSuffix(of, "_") && strings.HasPrefix(name, of))
		}) {
			return false
		}
	}
	return true
}

// CommandLine returns arguments that Megatron-LM printed as a command line that gives them: without
// those that are off, and without defaults of what is off.
func CommandLine(arguments map[string]string) []byte {
	var b strings.Builder
	b.WriteString("torchrun")
	if n, err := strconv.Atoi(arguments["world_size"]); err == nil && n > 0 {
		fmt.Fprintf(&b, " --nnodes 1 --nproc_per_node %d", n)
	}
	b.WriteString(" pretrain_gpt.py")
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		value, off := arguments[name], inverted()[name]
		if off != "" {
			value = map[string]string{"False": "True"}[value]
		}
		if value == "None" || value == "False" || value == "" || !fieldName(name) ||
			!counts(name, arguments) {
			continue
		}
		flag := strings.ReplaceAll(name, "_", "-")
		for _, other := range []string{renamed()[name], off} {
			if other != "" {
				flag = other
			}
		}
		b.WriteString(" \\\n  --" + flag)
		if value == "True" {
			continue
		}
		words := []string{word(value)}
		if strings.HasPrefix(value, "['") { // of words; of numbers it is one value
			words = strings.FieldsFunc(words[0], func(r rune) bool { return strings.ContainsRune("[], ", r) })
		}
		for _, w := range words {
			b.WriteString(" '" + strings.ReplaceAll(w, "'", "") + "'")
		}
	}
	return []byte(b.String() + "\n")
}

// fieldName reports whether a printed name is one of a field.
func fieldName(name string) bool {
	return strings.IndexFunc(name,
		func(r rune) bool { return r != '_' && (r > 'z' || !letter(byte(r))) && (r < '0' || r > '9') }) < 0
}

// word returns a printed value as the flag takes it: of an enumeration the name of the member, of a
// list that holds the graph of an iteration that one.
func word(value string) string {
	switch {
	case strings.Contains(value, "full_iteration"):
		return "full_iteration"
	case strings.HasPrefix(value, "AttnBackend."):
		return strings.TrimPrefix(value, "AttnBackend.")
	}
	return value
}
