package launch

import "bytes"

// notRead are files of programs that are known, and not read: a word that only they have.
func notRead(data []byte) string {
	for _, of := range [][2]string{
		{"actor_rollout_ref", "verl"},
		{"openrlhf.cli", "OpenRLHF"},
		{"actor_train:", "ROLL"},
		{"pipe_parallel_size", "gpt-neox"},
		{"pipe-parallel-size", "gpt-neox"},
		{"device_train_microbatch_size", "llm-foundry"},
		{"_component_: torchtune", "torchtune"},
		{"olmo_core", "OLMo-core"},
		{"ici_fsdp_parallelism", "MaxText"},
		{"tensor_model_parallel_size:", "NeMo"},
		{"nemo.collections", "NeMo"},
		{"megatron.bridge", "Megatron-Bridge's Python"},
		{"\"tp_size\"", "picotron"},
		{"flagscale", "FlagScale"},
	} {
		if bytes.Contains(data, []byte(of[0])) {
			return of[1]
		}
	}
	return ""
}
