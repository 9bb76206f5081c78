package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/model"
)

// architecture returns the row of a whole number of the model.
func architecture(key, figure string, of func(*model.Model) int, where func(*model.Model) bool) field {
	return numberField(key, modelPrefix+figure, func(s *engine.Setup) int { return of(&s.Model) },
		func(s *engine.Setup) bool { return where == nil || where(&s.Model) })
}

// grouped reports whether a model has fewer heads of keys and values than of queries.
func grouped(m *model.Model) bool { return !m.IsMLA() && m.KVHeads != m.Heads }

func experts(s *engine.Setup) bool { return s.Model.IsMoE() }
func rope(m *model.Model) bool     { return strings.HasPrefix(m.Position, "rope") }

// megatronShape returns the flags of a model's widths.
func megatronShape() []field {
	return []field{
		architecture("num-layers", "layers", func(m *model.Model) int { return m.Layers }, nil),
		architecture("hidden-size", "hidden", func(m *model.Model) int { return m.Hidden }, nil),
		architecture("ffn-hidden-size", "ffn_hidden", func(m *model.Model) int { return m.FFN },
			func(m *model.Model) bool { return m.FFN > 0 }),
		architecture("num-attention-heads", "heads", func(m *model.Model) int { return m.Heads }, nil),
		mark("group-query-attention", modelPrefix+"attention", "gqa",
			func(s *engine.Setup) bool { return grouped(&s.Model) }),
		architecture("num-query-groups", "kv_heads", func(m *model.Model) int { return m.KVHeads },
			grouped).under("group-query-attention"),
		{
			key: "kv-channels", from: []string{modelPrefix + "head_dim"},
			write: func(s *engine.Setup) (any, bool) {
				if s.Model.IsMLA() {
					return s.Model.QKNopeDim, true
				}
				return s.Model.HeadDim, true
			},
			read: func(v any, r *reader) error {
				n, err := wholeArgument(v, 0)
				if err == nil && !r.has("multi-latent-attention") { // which has widths of its own
					r.Setup[modelPrefix+"head_dim"] = n
				}
				return err
			},
		},
		mark("multi-latent-attention", modelPrefix+"attention", "mla",
			func(s *engine.Setup) bool { return s.Model.IsMLA() }),
		architecture("q-lora-rank", "q_lora_rank", func(m *model.Model) int { return m.QLoraRank },
			func(m *model.Model) bool { return m.QLoraRank > 0 }).under("multi-latent-attention"),
		architecture("kv-lora-rank", "kv_lora_rank", func(m *model.Model) int { return m.KVLoraRank },
			(*model.Model).IsMLA).under("multi-latent-attention"),
		architecture("qk-head-dim", "qk_nope_head_dim", func(m *model.Model) int { return m.QKNopeDim },
			(*model.Model).IsMLA).under("multi-latent-attention"),
		architecture("qk-pos-emb-head-dim", "qk_rope_head_dim",
			func(m *model.Model) int { return m.QKRopeDim },
			(*model.Model).IsMLA).under("multi-latent-attention"),
		architecture("v-head-dim", "v_head_dim", func(m *model.Model) int { return m.VHeadDim },
			(*model.Model).IsMLA).under("multi-latent-attention"),
		{
			key: "qk-layernorm", from: []string{modelPrefix + "qk_norm"},
			write: func(s *engine.Setup) (any, bool) {
				return nil, s.Model.QKNorm == model.QKNormPerHead || s.Model.QKNorm == model.QKNormLatent
			},
			read: func(_ any, r *reader) error {
				r.Setup[modelPrefix+"qk_norm"] = model.QKNormPerHead
				if r.has("multi-latent-attention") {
					r.Setup[modelPrefix+"qk_norm"] = model.QKNormLatent
				}
				return nil
			},
		},
		mark("qk-l2-norm", modelPrefix+"qk_norm", model.QKNormL2,
			func(s *engine.Setup) bool { return s.Model.QKNorm == model.QKNormL2 }),
	}
}

// megatronWindows returns the flags of attention that sees a window.
func megatronWindows() []field {
	return []field{
		{
			key: "window-size", from: []string{modelPrefix + "local_window"},
			write: func(s *engine.Setup) (any, bool) {
				return fmt.Sprintf("%d,0", s.Model.LocalWindow), s.Model.LocalWindow > 0 && !s.Model.IsMLA()
			},
			read: func(v any, r *reader) error {
				left, _, _ := strings.Cut(strings.Trim(fmt.Sprint(v), "()"), ",")
				n, err := wholeArgument(left, 0)
				if err == nil {
					r.Setup[modelPrefix+"local_window"] = n
				}
				return err
			},
		},
		{
			key: "window-attn-skip-freq", from: []string{modelPrefix + "local_to_global_ratio"},
			why: "one layer of so many attends to everything",
			write: func(s *engine.Setup) (any, bool) {
				local, _ := localLayers(&s.Model)
				return local + 1, local > 0
			},
			read: func(v any, r *reader) error {
				n, err := wholeArgument(v, 0)
				if err == nil && n < 2 {
					err = errors.New("a layer of all layers is no window")
				}
				if err == nil {
					r.Setup[modelPrefix+"local_to_global_ratio"] = fmt.Sprintf("%d:1", n-1)
				}
				return err
			},
		},
	}
}

// localLayers returns how many layers with a window stand before one without; false where the
// ratio is not of that form, or is of other layers than windows.
func localLayers(m *model.Model) (local int, ok bool) {
	if m.LocalRatio == "" {
		return 0, true
	}
	word, rest, _ := strings.Cut(m.LocalRatio, ":")
	n, err := strconv.Atoi(word)
	return n, err == nil && rest == "1" && n > 0 && m.LocalWindow > 0
}

// megatronWords returns the flags of how a model's layers are made.
func megatronWords() []field {
	gated := func(word string) func(*engine.Setup) bool {
		return func(s *engine.Setup) bool { return s.Model.Activation == word }
	}
	clamped := gated("clamped swiglu")
	return []field{
		{
			key: "position-embedding-type", from: []string{modelPrefix + "pos_embedding"},
			write: func(s *engine.Setup) (any, bool) {
				switch {
				case rope(&s.Model):
					return "rope", true
				case s.Model.Position == model.PositionLearned:
					return "learned_absolute", true
				}
				return s.Model.Position, true // relative and none
			},
			read: func(v any, r *reader) error {
				of := map[string]string{
					"rope": "rope", "learned_absolute": model.PositionLearned,
					"relative": "relative", "none": "none", "rotary": "rope", "alibi": "alibi",
					"absolute": model.PositionLearned,
				}[fmt.Sprint(v)]
				if of == "" {
					return foreignf("%v is not modelled", v)
				}
				r.Setup[modelPrefix+"pos_embedding"] = of
				return nil
			},
		},
		// A: the older name of the type rope
		mark("use-rotary-position-embeddings", modelPrefix+"pos_embedding", "rope", never),
		{
			key: "no-rope-freq", from: []string{modelPrefix + "pos_embedding"},
			write: func(s *engine.Setup) (any, bool) {
				return 4, s.Model.Position == "rope, NoPE every 4th layer"
			},
			read: func(v any, r *reader) error {
				if fmt.Sprint(v) != "4" {
					return foreignf("%v is not modelled; every 4th layer is", v)
				}
				r.Setup[modelPrefix+"pos_embedding"] = "rope, NoPE every 4th layer"
				return nil
			},
		},
		mark("swiglu", modelPrefix+"activation", "swiglu", gated("swiglu")),
		mark("squared-relu", modelPrefix+"activation", "squared-relu", gated("squared-relu")),
		mark("quick-geglu", modelPrefix+"activation", "clamped swiglu", clamped),
		fixed("glu-linear-offset", "1.0", "of a clamped SwiGLU", clamped),
		fixed("activation-func-clamp-value", "7.0", "of a clamped SwiGLU", clamped),
		word("normalization", modelPrefix+"norm", func(s *engine.Setup) string { return s.Model.Norm },
			[2]string{model.NormRMS, "RMSNorm"}, [2]string{model.NormLayer, "LayerNorm"},
			[2]string{"layernorm (1p)", "LayerNorm"}),
		mark("apply-layernorm-1p", modelPrefix+"norm", "layernorm (1p)",
			func(s *engine.Setup) bool { return s.Model.Norm == "layernorm (1p)" }),
		{
			key: "disable-bias-linear", from: []string{modelPrefix + "mlp_bias", modelPrefix + "attn_bias"},
			write: func(s *engine.Setup) (any, bool) { return nil, !s.Model.MLPBias },
			read: func(_ any, r *reader) error {
				r.Setup[modelPrefix+"mlp_bias"], r.Setup[modelPrefix+"attn_bias"] = false, model.BiasNone
				return nil
			},
		},
		mark("add-qkv-bias", modelPrefix+"attn_bias", model.BiasQKV,
			func(s *engine.Setup) bool { return s.Model.AttnBias == model.BiasQKV }),
		mark("untie-embeddings-and-output-weights", modelPrefix+"tied_embeddings", false,
			func(s *engine.Setup) bool { return !s.Model.Tied }),
		{
			key: "vocab-size", from: []string{modelPrefix + "vocab"}, reason: nullToken,
			write: func(s *engine.Setup) (any, bool) { return nullVocab(s), true },
			read:  readVocab,
		},
	}
}

// megatronExperts returns the flags of routed experts and of multi-token prediction.
func megatronExperts() []field {
	moe := (*model.Model).IsMoE
	biased := func(s *engine.Setup) bool { return s.Model.RouterBias && s.Model.IsMoE() }
	return []field{
		architecture("num-experts", "n_experts", func(m *model.Model) int { return m.Experts }, moe),
		{
			key: "moe-layer-freq", from: []string{
				modelPrefix + "first_k_dense_layers",
				modelPrefix + "moe_layer_freq",
			},
			write: func(s *engine.Setup) (any, bool) { return expertLayers(&s.Model), s.Model.IsMoE() },
			read:  readExpertLayers,
		},
		architecture("moe-ffn-hidden-size", "moe_ffn_hidden", func(m *model.Model) int { return m.ExpertFFN },
			moe).under("num-experts"),
		architecture("moe-shared-expert-intermediate-size", "shared_ffn_hidden_total",
			func(m *model.Model) int { return m.SharedFFN },
			func(m *model.Model) bool { return moe(m) && m.SharedFFN > 0 }).under("num-experts"),
		architecture("moe-latent-size", "moe_latent_hidden",
			func(m *model.Model) int { return m.ExpertLatent },
			func(m *model.Model) bool { return m.ExpertLatent > 0 }).under("num-experts"),
		architecture("moe-router-topk", "top_k", func(m *model.Model) int { return m.TopK },
			moe).under("num-experts"),
		architecture("moe-router-num-groups", "expert_groups",
			func(m *model.Model) int { return m.ExpertGroups },
			func(m *model.Model) bool { return m.ExpertGroups > 0 }).under("num-experts"),
		architecture("moe-router-group-topk", "routed_groups",
			func(m *model.Model) int { return m.RoutedGroups },
			func(m *model.Model) bool { return m.RoutedGroups > 0 }).under("num-experts"),
		fixed("moe-router-score-function", "sigmoid", "the bias of experts needs it", biased),
		mark("moe-router-enable-expert-bias", modelPrefix+"router_bias", true, biased).under("num-experts"),
		{
			key: "mtp-num-layers", from: []string{"mtp", modelPrefix + "mtp_layers"},
			write: func(s *engine.Setup) (any, bool) {
				return s.Model.MTPRuns(), s.TrainMTP && s.Model.MTPLayers > 0
			},
			read: func(v any, r *reader) error {
				n, err := wholeArgument(v, 0)
				if err == nil && n > 0 {
					r.predicts(n)
				}
				return err
			},
		},
		{
			key: "mtp-use-repeated-layer", from: []string{modelPrefix + "mtp_passes"}, alone: true,
			write: func(s *engine.Setup) (any, bool) { return nil, s.TrainMTP && s.Model.MTPPasses > 1 },
			read: func(v any, _ *reader) error { // predicts asks for it
				_, err := isOn(v)
				return err
			},
		},
	}
}

// predicts reads so many runs of prediction modules: of one module, where it is told that all are.
func (r *reader) predicts(runs int) {
	const again = "mtp-use-repeated-layer"
	modules, passes := runs, 0
	if on, err := isOn(r.values[again].Value); runs > 1 && r.has(again) && err == nil && on {
		modules, passes = 1, runs
	}
	r.Setup["mtp"] = true
	r.Setup[modelPrefix+"mtp_layers"], r.Setup[modelPrefix+"mtp_passes"] = modules, passes
}

// expertLayers returns which layers have experts as Megatron-LM's list, or the frequency.
func expertLayers(m *model.Model) string {
	freq := max(m.MoEFreq, 1)
	switch rest := m.Layers - m.FirstDense; {
	case m.MoEPattern != "":
		list := make([]string, m.Layers)
		for i := range list {
			list[i] = map[bool]string{true: "1", false: "0"}[m.MoELayer(i)]
		}
		return "[" + strings.Join(list, ",") + "]"
	case freq == 1 && m.FirstDense == 0:
		return "1"
	case freq == 1:
		return fmt.Sprintf("[0]*%d+[1]*%d", m.FirstDense, rest)
	default:
		list := fmt.Sprintf("([0]*%d+[1]*1)*%d+[0]*%d", freq-1, rest/freq, rest%freq)
		if m.FirstDense > 0 {
			list = fmt.Sprintf("[0]*%d+", m.FirstDense) + list
		}
		return list
	}
}

// readExpertLayers reads which layers have experts: dense ones first, then every n-th. A bare
// frequency of n is the first of n layers there (moe_layer_freq of Megatron-Core).
func readExpertLayers(v any, r *reader) error {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ""), "'\"\\")
	if n, err := strconv.Atoi(text); err == nil {
		if n != 1 {
			return foreignf("%d puts experts first of %d layers, which is not modelled: the list "+
				"[0]*%d+[1]*1 and so on is", n, n, n-1)
		}
		r.Setup[modelPrefix+"first_k_dense_layers"], r.Setup[modelPrefix+"moe_layer_freq"] = 0, 1
		return nil
	}
	list, err := pythonList(text)
	if err != nil {
		return err
	}
	var at []int // layers with experts
	for i, has := range list {
		if has != 0 {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return errors.New("no layer has experts")
	}
	m := model.Model{Experts: 1, FirstDense: at[0], MoEFreq: 1}
	if len(at) > 1 {
		m.MoEFreq = at[1] - at[0]
		m.FirstDense = at[0] + 1 - m.MoEFreq
	}
	var each strings.Builder
	regular := m.FirstDense >= 0
	for i, has := range list {
		regular = regular && m.MoELayer(i) == (has != 0)
		each.WriteByte("-E"[min(has, 1)])
	}
	if !regular {
		m.FirstDense, m.MoEFreq, r.Setup[modelPrefix+"moe_pattern"] = 0, 1, each.String()
	}
	r.Setup[modelPrefix+"first_k_dense_layers"], r.Setup[modelPrefix+"moe_layer_freq"] = m.FirstDense,
		m.MoEFreq
	return nil
}

// maxList bounds a list that a file writes with products.
const maxList = 4096

// pythonList reads a list of digits with sums and products, such as [0]*3+([1]+[0])*2.
func pythonList(text string) ([]int, error) {
	p := listParser{text: text}
	list, err := p.sum(0)
	if err == nil && p.at < len(text) {
		err = fmt.Errorf("%q is not understood", text[p.at:min(len(text), p.at+20)])
	}
	return list, err
}

type listParser struct {
	text string
	at   int
}

func (p *listParser) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *listParser) number() (int, bool) {
	from := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	return n, err == nil
}

func (p *listParser) sum(depth int) (out []int, err error) {
	if depth > 16 {
		return nil, errors.New("nested too deeply")
	}
	for {
		item, err := p.product(depth)
		if err != nil {
			return nil, err
		}
		if out = append(out, item...); len(out) > maxList {
			return nil, fmt.Errorf("longer than %d layers", maxList)
		}
		if !p.take('+') {
			return out, nil
		}
	}
}

func (p *listParser) product(depth int) (out []int, err error) {
	switch {
	case p.take('('):
		if out, err = p.sum(depth + 1); err == nil && !p.take(')') {
			err = errors.New("a bracket is not closed")
		}
	case p.take('['):
		for !p.take(']') {
			n, ok := p.number()
			if !ok || len(out) > maxList {
				return nil, errors.New("not a list of whole numbers")
			}
			out = append(out, n)
			p.take(',')
		}
	default:
		err = errors.New("not a list such as [0]*3+[1]*58")
	}
	for err == nil && p.take('*') {
		n, ok := p.number()
		if !ok || n > maxList || n*len(out) > maxList {
			return nil, fmt.Errorf("a list is repeated more than %d times, or not a whole number of them",
				maxList)
		}
		one := out
		for out = nil; n > 0; n-- {
			out = append(out, one...)
		}
	}
	return out, err
}
