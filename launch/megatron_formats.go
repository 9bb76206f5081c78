package launch

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// megatronFormats returns the flags of number formats, attention and loss.
func megatronFormats() []field {
	precision := []string{"precision"}
	is := func(p ...recipe.Precision) func(*engine.Setup) bool {
		return func(s *engine.Setup) bool {
			for _, one := range p {
				if s.Precision.On(s.Stack) == one {
					return true
				}
			}
			return false
		}
	}
	eight, four := is(recipe.FP8Megatron, recipe.FP8Tensor), is(recipe.NVFP4)
	return []field{
		mark("bf16", "precision", string(recipe.BF16), is(recipe.BF16, recipe.FP8Megatron, recipe.FP8Tensor,
			recipe.NVFP4)),
		mark("fp16", "precision", string(recipe.FP16), is(recipe.FP16)),
		{key: "fp8-format", from: precision, write: func(s *engine.Setup) (any, bool) {
			return "hybrid", eight(s)
		}, read: readFP8},
		{key: "fp8-recipe", from: precision, read: part, write: func(s *engine.Setup) (any, bool) {
			switch {
			case is(recipe.FP8Tensor)(s):
				return "tensorwise", true
			case blackwell(s):
				return "mxfp8", eight(s)
			}
			return "blockwise", eight(s)
		}},
		{key: "fp8-param-gather", from: precision, write: func(s *engine.Setup) (any, bool) {
			return nil, eight(s)
		}, read: part},
		{key: "fp4-format", from: precision, write: func(s *engine.Setup) (any, bool) {
			return "e2m1", four(s)
		}, read: func(_ any, r *reader) error {
			r.Setup["precision"] = string(recipe.NVFP4)
			return nil
		}},
		word("fp4-recipe", "precision", func(s *engine.Setup) string { return string(s.Precision) },
			[2]string{string(recipe.NVFP4), "nvfp4"}).under("fp4-format"),
		mark("fp8-dot-product-attention", "attention_precision", string(recipe.Attention8),
			func(s *engine.Setup) bool {
				return s.Precision.Narrow() && runs(s).Attending == recipe.Attention8
			}),
		mark("grad-reduce-in-bf16", "grad_dtype", string(recipe.GradBF16), func(s *engine.Setup) bool {
			return s.GradDtype == recipe.GradBF16 && s.Precision != recipe.FP32 && s.Precision != recipe.FP16
		}),
		mark("accumulate-allreduce-grads-in-fp32", "grad_dtype", string(recipe.GradFP32),
			func(s *engine.Setup) bool {
				return s.GradDtype == recipe.GradFP32 && s.Precision == recipe.FP16
			}),
		word("attention-backend", "attention", func(s *engine.Setup) string { return string(s.Attention) },
			[2]string{string(recipe.Standard), "unfused"}, [2]string{string(recipe.Flash), ""},
			[2]string{string(recipe.Flash), "flash"},
			[2]string{string(recipe.Flash), "fused"}, [2]string{string(recipe.Flash), "auto"},
			[2]string{string(recipe.Standard), "local"}),
		mark("cross-entropy-loss-fusion", "loss", string(recipe.NativeLoss),
			func(s *engine.Setup) bool { return s.LossKernel() != recipe.UnfusedLoss }),
		word("cross-entropy-fusion-impl", "loss",
			func(s *engine.Setup) string { return string(s.LossKernel()) },
			[2]string{string(recipe.FusedLoss), "te"},
			[2]string{string(recipe.NativeLoss), "native"}).under("cross-entropy-loss-fusion"),
	}
}

// readFP8 reads the fp8 recipe: blocks of a scale keep two copies of a weight, one scale of a tensor
// one on Blackwell.
func readFP8(_ any, r *reader) error {
	switch name := r.text("fp8-recipe"); name {
	case "mxfp8", "blockwise":
		r.Setup["precision"] = string(recipe.FP8Megatron)
	case "", "delayed", "tensorwise":
		r.Setup["precision"] = string(recipe.FP8Tensor)
	default:
		return foreignf("fp8-recipe %s is not modelled", shown(name))
	}
	if !r.has("fp8-param-gather") {
		r.Ignored = append(r.Ignored, Ignored{
			Key: "fp8-format", Line: r.values["fp8-format"].Line,
			Why: "without --fp8-param-gather weights keep 16 bits next to their copies of 8: counted as 8 " +
				"here",
		})
	}
	return nil
}

// megatronSoftware returns the flags of kernels and overlap.
func megatronSoftware() []field {
	dispatches := func(word recipe.Dispatcher) func(*engine.Setup) bool {
		return func(s *engine.Setup) bool { return s.Model.IsMoE() && dispatcher(s) == word }
	}
	gemm := func(s *engine.Setup) bool {
		return s.Model.IsMoE() && s.Precision != recipe.FP16 && s.Precision != recipe.FP32
	}
	from := []string{"dispatcher"}
	backend := word("moe-flex-dispatcher-backend", "dispatcher", func(s *engine.Setup) string {
		if !s.Model.IsMoE() {
			return ""
		}
		return string(dispatcher(s))
	}, [2]string{string(recipe.DeepEP), "deepep"}, [2]string{string(recipe.HybridEP), "hybridep"})
	named := backend.read
	backend.read = func(v any, r *reader) error {
		if of := r.text("moe-token-dispatcher-type"); of != "flex" && (of != "" || r.Launcher == "megatron") {
			return skip("without moe-token-dispatcher-type flex it has no effect")
		}
		return named(v, r)
	}
	return []field{
		{key: "moe-token-dispatcher-type", from: from, write: func(s *engine.Setup) (any, bool) {
			if dispatches(recipe.AllToAll)(s) {
				return "alltoall", true
			}
			return "flex", s.Model.IsMoE()
		}, read: func(v any, r *reader) error {
			switch fmt.Sprint(v) {
			case "alltoall":
				r.Setup["dispatcher"] = string(recipe.AllToAll)
			case "flex":
				r.Setup["dispatcher"] = string(recipe.DeepEP)
			default:
				return foreignf("%s is not modelled", shown(v))
			}
			return nil
		}},
		backend,
		fixed("moe-grouped-gemm", nil, "one kernel for the experts of a rank", gemm),
		fixed("moe-permute-fusion", nil, "one kernel to sort tokens by expert", experts),
		mark("overlap-moe-expert-parallel-comm", "ep_overlap", "on",
			func(s *engine.Setup) bool { return s.Model.IsMoE() && runs(s).EPOverlap == recipe.On }),
		mark("tp-comm-overlap", "tp_overlap", string(recipe.UserBuffers),
			func(s *engine.Setup) bool { return s.TP > 1 && s.TPOverlap == recipe.UserBuffers }),
		word("cuda-graph-impl", "cuda_graph",
			func(s *engine.Setup) string { return string(runs(s).CUDAGraphs) },
			[2]string{string(recipe.GraphsLayer), "transformer_engine"},
			[2]string{string(recipe.GraphsIteration), "full_iteration"},
			[2]string{string(recipe.GraphsLayer), "local"}, [2]string{string(recipe.GraphsNone), ""},
			[2]string{string(recipe.GraphsNone), "none"}),
		{key: "cuda-graph-scope", from: []string{"cuda_graph"}, read: func(v any, r *reader) error {
			if fmt.Sprint(v) == "full_iteration" {
				r.Setup["cuda_graph"] = string(recipe.GraphsIteration)
			}
			return nil
		}},
		fixed("no-check-for-nan-in-loss-and-grad", nil, "a graph of the iteration needs it",
			func(s *engine.Setup) bool { return runs(s).CUDAGraphs == recipe.GraphsIteration }),
	}
}

// dispatcher returns what sends tokens to their experts; all to all where nothing says otherwise.
func dispatcher(s *engine.Setup) recipe.Dispatcher {
	if d := runs(s).Dispatcher; d == recipe.DeepEP || d == recipe.HybridEP {
		return d
	}
	return recipe.AllToAll
}

// megatronFamily returns flags that a preset has no figure for: they change no shape. They are
// those of the published configurations.
func megatronFamily() []field {
	llama := func(s *engine.Setup) bool { return s.Model.Family == "Llama-3" }
	deepseek := func(s *engine.Setup) bool { return s.Model.ID == "deepseek-v3" }
	own := func(s *engine.Setup) bool { return s.Model.RopeScaling != "" && rope(&s.Model) }
	scaled := func(s *engine.Setup) bool {
		kind, _ := familyScaling(&s.Model)
		return kind == "llama3" && !own(s)
	}
	of := func(kind string, mla bool) func(*engine.Setup) bool {
		return func(s *engine.Setup) bool {
			return own(s) && s.Model.RopeScaling == kind && s.Model.IsMLA() == mla
		}
	}
	factor := func(key string, written func(*engine.Setup) bool) field {
		return field{
			key: key, from: []string{modelPrefix + "rope_factor"},
			write: func(s *engine.Setup) (any, bool) {
				return s.Model.RopeFactor, written(s) && s.Model.RopeFactor > 0
			},
			read: func(v any, r *reader) error { return r.ropeNumber("rope_factor", v) },
		}
	}
	const v3 = "of DeepSeek-V3"
	rows := []field{
		{
			key: "make-vocab-size-divisible-by", reason: padded,
			unread: "the vocabulary is counted as padded to a multiple of 128 x tp",
			write:  func(s *engine.Setup) (any, bool) { return vocabUnit(s), true },
		},
		{
			key: "rotary-base", from: []string{modelPrefix + "rope_theta"},
			write: func(s *engine.Setup) (any, bool) { return s.Model.RopeTheta, knowsRoPE(s) },
			read:  func(v any, r *reader) error { return r.ropeNumber("rope_theta", v) },
		},
		fixed("rotary-base", llama3Theta, "of Llama 3",
			func(s *engine.Setup) bool { return llama(s) && !knowsRoPE(s) }),
		{
			key: "norm-epsilon", from: []string{modelPrefix + "norm_eps"},
			write: func(s *engine.Setup) (any, bool) {
				text := strconv.FormatFloat(s.Model.NormEps, 'e', -1, 64)
				return strings.Replace(text, "e-0", "e-", 1), s.Model.NormEps > 0
			},
			read: func(v any, r *reader) error {
				n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
				if err != nil || !(n > 0 && n < 1) || n == llama3Eps {
					return skip("no number of a model's own, and it changes no shape")
				}
				r.Setup[modelPrefix+"norm_eps"] = n
				return nil
			},
		},
		fixed("norm-epsilon", "1e-5", "of Llama 3",
			func(s *engine.Setup) bool { return llama(s) && s.Model.NormEps == 0 }),
		{
			key: "use-rope-scaling", from: []string{modelPrefix + "rope_scaling"}, alone: true,
			write: func(s *engine.Setup) (any, bool) { return nil, of("llama3", false)(s) },
			read: func(v any, r *reader) error {
				if on, err := isOn(v); err != nil || !on {
					return skip("changes no shape")
				}
				r.Setup[modelPrefix+"rope_scaling"] = "llama3"
				return nil
			},
		},
		factor("rope-scaling-factor", of("llama3", false)),
		factor("rotary-scaling-factor", of("yarn", true)),
		fixed("use-rope-scaling", nil, "of Llama 3.1 (docs/llama_mistral.md of Megatron-LM)", scaled),
		fixed("rope-scaling-factor", "32.0",
			"of Llama 3.2's config.json; Megatron-LM's default is Llama 3.1's 8", func(s *engine.Setup) bool {
				_, factor := familyScaling(&s.Model)
				return scaled(s) && factor == llama32Scaling
			}),
		fixed("rotary-base", deepSeekTheta, v3,
			func(s *engine.Setup) bool { return deepseek(s) && !knowsRoPE(s) }),
		fixed("rotary-scaling-factor", deepSeekScaling, v3,
			func(s *engine.Setup) bool { return deepseek(s) && !own(s) }),
		fixed("mscale", "1.0", v3, deepseek),
		fixed("mscale-all-dim", "1.0", v3, deepseek),
		fixed("norm-epsilon", "1e-6", v3,
			func(s *engine.Setup) bool { return deepseek(s) && s.Model.NormEps == 0 }),
		fixed("moe-router-topk-scaling-factor", 2.5, v3, deepseek),
		fixed("moe-router-bias-update-rate", "1e-3", v3, deepseek),
		fixed("moe-router-load-balancing-type", "seq_aux_loss", v3, deepseek),
		fixed("moe-aux-loss-coeff", "1e-4", v3, deepseek),
		fixed("moe-router-dtype", "fp32", v3, deepseek),
		fixed("moe-router-pre-softmax", nil, v3, deepseek),
		fixed("mtp-loss-scaling-factor", 0.1, v3,
			func(s *engine.Setup) bool { return deepseek(s) && s.TrainMTP }),
	}
	// Of other models nothing here knows them: Megatron-LM's own defaults would train another model in
	// silence.
	for _, f := range []field{
		fixed("rotary-base", 10000, "rope_theta of the model's config.json", unknownRoPE),
		fixed("norm-epsilon", "1e-5", "epsilon of the norms in the model's config.json", unknownNorm),
	} {
		f.site = true
		rows = append(rows, f)
	}
	for i := range rows {
		rows[i].unread = cmp.Or(rows[i].unread, "changes no shape")
	}
	return rows
}

// unknownFamily reports whether nothing here knows the RoPE and norms of a model.
func unknownFamily(s *engine.Setup) bool {
	return s.Model.Family != "Llama-3" && s.Model.ID != "deepseek-v3"
}

// The bases of RoPE of the families that are known here.
const llama3Theta, deepSeekTheta = 500000, 10000

// familyTheta returns the base of the RoPE of a model of a known family; 0 of any other.
func familyTheta(m *model.Model) int {
	switch {
	case m.Family == "Llama-3":
		return llama3Theta
	case m.ID == "deepseek-v3":
		return deepSeekTheta
	}
	return 0
}

// Factors that stretch the RoPE of these families, and the sequence of Llama 3, whose RoPE is not stretched.
const deepSeekScaling, llama32Scaling, shortContext = 40, 32, 8192

// familyScaling returns how the RoPE of a model of a known family is stretched.
func familyScaling(m *model.Model) (kind string, factor float64) {
	switch {
	case m.ID == "deepseek-v3":
		return "yarn", deepSeekScaling
	case m.Family != "Llama-3" || m.MaxSeq <= shortContext:
		return "", 0
	case strings.HasPrefix(m.ID, "llama3.2-"):
		return "llama3", llama32Scaling
	}
	return "llama3", 8
}

// The epsilons of the norms of these families.
const llama3Eps, deepSeekEps = 1e-5, 1e-6

// familyEps returns the epsilon of the norms of a model of a known family; 0 of any other.
func familyEps(m *model.Model) float64 {
	switch {
	case m.Family == "Llama-3":
		return llama3Eps
	case m.ID == "deepseek-v3":
		return deepSeekEps
	}
	return 0
}

// unknownNorm reports whether nothing here knows the epsilon of a model's norms.
func unknownNorm(s *engine.Setup) bool { return unknownFamily(s) && s.Model.NormEps == 0 }

// knowsRoPE reports whether a model has a RoPE whose base it says itself, as a config.json does.
func knowsRoPE(s *engine.Setup) bool { return s.Model.RopeTheta > 0 && rope(&s.Model) }

// unknownRoPE reports whether a model has a RoPE of which nothing here knows the base.
func unknownRoPE(s *engine.Setup) bool { return unknownFamily(s) && rope(&s.Model) && !knowsRoPE(s) }

// vocabUnit returns --make-vocab-size-divisible-by, which Megatron-LM multiplies by tp: that of
// DeepSeek-V3's published configuration where it pads nothing, else Megatron-LM's default.
func vocabUnit(s *engine.Setup) int {
	const v3 = 3232
	if s.Model.ID == "deepseek-v3" && s.Model.Vocab%(v3*s.TP) == 0 {
		return v3
	}
	return megatronVocabUnit
}

// megatronVocabUnit is Megatron-LM's default of --make-vocab-size-divisible-by.
const megatronVocabUnit = 128

// nullTokenizer makes up tokens. In Megatron-LM it adds one to --vocab-size for the end of a document, and
// the sum is padded (_NullTokenizer of megatron/training/tokenizer/tokenizer.py), until versions with
// --null-tokenizer-eod-id, where that is the last of them
// (megatron/core/tokenizers/text/libraries/null_tokenizer.py).
const nullTokenizer = "NullTokenizer"

// nullVocab returns --vocab-size, with which both kinds of nullTokenizer make the vocabulary of a setup,
// padded: without one token where there is no padding that it could be of.
func nullVocab(s *engine.Setup) int {
	if v := s.Model.Vocab; v > 1 && v%(vocabUnit(s)*s.TP) == 0 {
		return v - 1
	}
	return s.Model.Vocab
}

// nullToken tells why nullVocab is less than the vocabulary of a setup.
func nullToken(s *engine.Setup) string {
	if nullVocab(s) == s.Model.Vocab {
		return ""
	}
	return fmt.Sprintf("%d less the token that NullTokenizer may add for the end of a document",
		s.Model.Vocab)
}

// readVocab reads a vocabulary, with the token that nullTokenizer may add where it would be padded by that
// one alone.
func readVocab(v any, r *reader) error {
	n, err := wholeArgument(v, 0)
	if err != nil {
		return err
	}
	unit := r.argument("make-vocab-size-divisible-by")
	if unit <= 0 {
		unit = megatronVocabUnit
	}
	if r.text("tokenizer-type") == nullTokenizer &&
		(n+1)%(min(unit, model.MaxVocab)*max(1, min(r.number("tp", 1), model.MaxVocab))) == 0 {
		n++
	}
	r.Setup[modelPrefix+"vocab"] = n
	return nil
}

// padded tells what Megatron-LM makes of the vocabulary of a setup.
func padded(s *engine.Setup) string {
	unit := vocabUnit(s)
	rows := (s.Model.Vocab + unit*s.TP - 1) / (unit * s.TP)
	to := rows * unit * s.TP
	product := fmt.Sprintf("%d = %d x %d x tp %d", to, rows, unit, s.TP)
	if to == s.Model.Vocab {
		return "no padding: " + product
	}
	return fmt.Sprintf("%d is padded to %s", s.Model.Vocab, product)
}

// megatronTraining returns flags that say nothing of a layout: what a run needs in addition, to be replaced.
func megatronTraining() []field {
	return append([]field{
		fixed("attention-dropout", "0.0", "no dropout is modelled", nil),
		fixed("hidden-dropout", "0.0", "no dropout is modelled", nil),
		{
			key: "train-iters", from: []string{"tokens"}, site: true,
			write: func(s *engine.Setup) (any, bool) {
				if s.Budget > 0 {
					return int(max(s.Budget/s.Tokens(), 1)), true
				}
				return 100, true
			},
		},
	}, own(
		fixed("tokenizer-type", nullTokenizer, "", nil),
		field{
			key: "mock-data", why: "or --data-path", unread: "where the data comes from",
			write: func(*engine.Setup) (any, bool) { return nil, true },
		},
		fixed("lr", "1.5e-4", "", nil),
		fixed("min-lr", "1.5e-5", "", nil),
		fixed("lr-decay-style", "cosine", "", nil),
		fixed("lr-warmup-iters", 10, "", nil),
		fixed("weight-decay", 0.1, "", nil),
		fixed("adam-beta1", 0.9, "", nil),
		fixed("adam-beta2", 0.95, "", nil),
		fixed("clip-grad", "1.0", "", nil),
		fixed("log-interval", 1, "", nil),
		fixed("log-throughput", nil, "", nil),
		fixed("eval-iters", 0, "", nil),
	)...)
}
