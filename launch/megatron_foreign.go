package launch

import (
	"fmt"
	"strconv"
	"strings"
)

// megatronForeign returns the flags that change what runs in a way that is not predicted, so that
// no default is taken in their place. They are read, never written.
func megatronForeign() []field {
	shards := func(key, degree string) field {
		return field{key: key, read: func(v any, r *reader) error {
			if n, err := wholeArgument(v, 0); err != nil || n != r.number(degree, 1) {
				return foreignf("weights in %s shards: only as many as %s, %d, are modelled", shown(v),
					degree, r.number(degree, 1))
			}
			return skip("as many as " + degree)
		}}
	}
	// of which no default is known then
	instead := func(key string, f field) field { f.from = []string{key}; return f }
	return []field{
		instead("zero", unmodelled("use-torch-fsdp2", "FSDP2 of PyTorch")),
		instead("zero", shards("tensor-parallel-num-weight-shards", "tp")),
		instead("zero", shards("expert-tensor-parallel-num-weight-shards", "etp")),
		{key: "rampup-batch-size", read: func(_ any, r *reader) error {
			if r.argument("global-batch-size") == 0 {
				return foreign("the batch that it grows to is not in the file")
			}
			return skip("predicted are the steps after it, with --global-batch-size")
		}},
		{key: "step-batch-size-schedule", from: []string{"gbs"}, read: func(v any, r *reader) error {
			text := strings.Trim(fmt.Sprint(v), `[]"'`)
			_, last, ok := strings.Cut(text[strings.LastIndexByte(text, ' ')+1:], ":")
			if n := r.argument("global-batch-size"); !ok || n == 0 || last != strconv.Itoa(n) {
				return foreign("a batch that changes is not modelled")
			}
			return skip("predicted are the steps of its last batch, which is that of --global-batch-size")
		}},
		instead("model", unmodelled("is-hybrid-model", "a model of other layers than attention")),
		instead("model", unmodelled("heterogeneous-layers-config-path", "a model whose layers differ")),
		instead("optimizer", unmodelled("main-params-dtype", "a master copy not of fp32", "fp32",
			"torch.float32")),
		instead("optimizer", unmodelled("main-grads-dtype", "gradients of the optimizer not of fp32", "fp32",
			"torch.float32")),
		instead("optimizer", unmodelled("exp-avg-dtype", "a moment of Adam not of fp32", "fp32",
			"torch.float32")),
		instead("optimizer", unmodelled("exp-avg-sq-dtype", "a moment of Adam not of fp32", "fp32",
			"torch.float32")),
	}
}
