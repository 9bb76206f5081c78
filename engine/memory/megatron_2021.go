package memory

// megatron2021 is the Megatron-LM of Narayanan et al. (SC21, arXiv 2104.04473):
// as that of 2022, before sequence parallelism: 16-bit weights, fp32 main
// gradients and optimizer state on every data-parallel rank, attention scores
// and dropout masks kept, a loss over fp32 logits. Asked for with SP it is
// evaluated as the one of 2022.
type megatron2021 struct{ megatron2022 }
