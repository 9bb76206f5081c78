package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/model"
)

// megatronHybrid returns the flags of layers of linear attention and of gates. Most are fields of
// TransformerConfig, which have flags of their names.
func megatronHybrid() []field {
	delta := func(m *model.Model) bool { return m.Has(model.LetterDelta) }
	width := func(key, figure string, of func(*model.Model) int) field {
		return architecture(key, figure, of, delta).under("experimental-attention-variant")
	}
	chooses := func(m *model.Model) bool { _, _, ok := m.ChoiceShared(); return ok }
	indexer := func(key, figure string, of func(*model.Model) int) field {
		return architecture(key, figure, of, chooses).under("experimental-attention-variant")
	}
	shared := func(key string, least int, of func(freq, offset int) int) field {
		return field{
			key: key, from: []string{modelPrefix + "layer_pattern"}, why: "layers share what one chose",
			write: func(s *engine.Setup) (any, bool) {
				freq, offset, ok := s.Model.ChoiceShared()
				return of(freq, offset), ok && freq > 1
			},
			read: func(v any, r *reader) error {
				_, err := wholeArgument(v, least)
				return cmp.Or(err, readVariant(r.text("experimental-attention-variant"), r))
			},
		}.under("experimental-attention-variant")
	}
	letters := func(key string, write func(s *engine.Setup) (any, bool)) field {
		return field{
			key: key, from: []string{modelPrefix + "layer_pattern"}, write: write,
			read: func(v any, r *reader) error { return readPattern(key, v, r) },
		}
	}
	scan := func(key, figure string, of func(*model.Model) int) field {
		return architecture(key, figure, of, func(m *model.Model) bool { return m.Has(model.LetterMamba) })
	}
	return []field{
		letters("hybrid-layer-pattern", func(s *engine.Setup) (any, bool) {
			return hybridPattern(s), s.Model.Flat()
		}),
		letters("hybrid-override-pattern", func(*engine.Setup) (any, bool) { return nil, false }),
		scan("mamba-num-groups", "linear_key_heads", func(m *model.Model) int { return m.LinearKeyHeads }),
		scan("mamba-state-dim", "linear_key_head_dim", func(m *model.Model) int { return m.LinearKeyDim }),
		scan("mamba-num-heads", "linear_value_heads", func(m *model.Model) int { return m.LinearValueHeads }),
		scan("mamba-head-dim", "linear_value_head_dim", func(m *model.Model) int { return m.LinearValueDim }),
		{
			key: "experimental-attention-variant", from: []string{"model", modelPrefix + "layer_pattern"},
			write: func(s *engine.Setup) (any, bool) {
				if chooses(&s.Model) {
					return sparseVariant, true
				}
				return "gdn", delta(&s.Model)
			},
			read: readVariant,
		},
		indexer("dsa-indexer-n-heads", "index_heads", func(m *model.Model) int { return m.IndexHeads }),
		indexer("dsa-indexer-head-dim", "index_head_dim", func(m *model.Model) int { return m.IndexDim }),
		indexer("dsa-indexer-topk", "index_top_k", func(m *model.Model) int { return m.IndexTopK }),
		shared("dsa-indexer-topk-freq", 1, func(freq, _ int) int { return freq }),
		shared("dsa-indexer-skip-topk-offset", 0, func(_, offset int) int { return offset }),
		fixed("dsa-indexer-loss-coeff", "0.01", "its indexer is counted as trained",
			func(s *engine.Setup) bool { return chooses(&s.Model) }),
		fixed("dsa-indexer-use-sparse-loss", nil, "by the scores of the chosen tokens",
			func(s *engine.Setup) bool { return chooses(&s.Model) }),
		field{
			key: "linear-attention-freq", from: []string{modelPrefix + "layer_pattern"},
			why:   "every n-th layer has softmax attention",
			write: func(s *engine.Setup) (any, bool) { return linearLayers(&s.Model), delta(&s.Model) },
			read:  readLinearLayers,
		}.under("experimental-attention-variant"),
		width("linear-num-key-heads", "linear_key_heads",
			func(m *model.Model) int { return m.LinearKeyHeads }),
		width("linear-key-head-dim", "linear_key_head_dim",
			func(m *model.Model) int { return m.LinearKeyDim }),
		width("linear-num-value-heads", "linear_value_heads",
			func(m *model.Model) int { return m.LinearValueHeads }),
		width("linear-value-head-dim", "linear_value_head_dim",
			func(m *model.Model) int { return m.LinearValueDim }),
		width("linear-conv-kernel-dim", "conv_width", func(m *model.Model) int { return m.ConvWidth }),
		mark("attention-output-gate", modelPrefix+"attn_gate", model.GateChannel,
			func(s *engine.Setup) bool { return s.Model.AttnGate == model.GateChannel }),
		mark("moe-shared-expert-gate", modelPrefix+"shared_expert_gate", true,
			func(s *engine.Setup) bool { return s.Model.SharedGate }),
	}
}

// sparseVariant is Megatron-LM's name of DeepSeek sparse attention.
const sparseVariant = "dsa"

// readVariant reads which attention other than softmax layers have; of DeepSeek's all have it, and some
// attend to what an earlier one chose.
func readVariant(v any, r *reader) error {
	if fmt.Sprint(v) != sparseVariant {
		return unmodelled("", "attention of another kind", "gdn", "gated_delta_net").read(v, r)
	}
	freq, offset := max(r.argument("dsa-indexer-topk-freq"), 1), r.argument("dsa-indexer-skip-topk-offset")
	r.Setup[modelPrefix+"layer_pattern"] = model.Period(model.SharedChoice(
		max(r.argument("num-layers"), 1), freq, offset))
	return nil
}

// hybridPattern returns the letters of all sub-layers, with a line between the stages of a pipeline.
func hybridPattern(s *engine.Setup) string {
	stages, err := s.StagesOfStack(nil, nil)
	if err != nil {
		return ""
	}
	var b strings.Builder
	layer := 0
	for i := range stages {
		if i > 0 {
			b.WriteByte('|')
		}
		for range stages[i].Layers() {
			b.WriteByte(s.Model.Letter(layer))
			layer++
		}
	}
	if s.TrainMTP {
		b.WriteString(strings.Repeat("/"+predictionLetters(s.Model.IsMoE()), s.Model.MTPRuns()))
	}
	return b.String()
}

// predictionLetters returns the sub-layers of a prediction module.
func predictionLetters(experts bool) string {
	if experts {
		return string(model.LetterAttention) + string(model.LetterExperts)
	}
	return string(model.LetterAttention) + string(model.LetterMLP)
}

// readPattern reads what hybridPattern writes.
func readPattern(key string, v any, r *reader) error {
	text := strings.Trim(fmt.Sprint(v), "'\"")
	main, modules, mtp := strings.Cut(text, "/")
	letters := strings.ReplaceAll(main, "|", "")
	module := predictionLetters(strings.ContainsRune(letters, model.LetterExperts))
	runs := strings.Split(modules, "/")
	switch {
	case letters == "":
		return fmt.Errorf("%s has no letter of a layer: allowed are *GM-E, before a slash", shown(text))
	case strings.Trim(letters, "*GM-E") != "":
		return foreignf("%s: before a slash only the letters *GM-E are modelled", text)
	case len(letters) > model.MaxPattern:
		return fmt.Errorf("more than %d letters", model.MaxPattern)
	}
	switch n := r.argument("mtp-num-layers"); {
	case mtp && slices.ContainsFunc(runs, func(m string) bool { return m != module }):
		r.lost["mtp"] = true
		r.unknown("mtp", fmt.Sprintf("%s: %s: of prediction modules only %s is modelled", key, text, module),
			r.values[key].Line)
		delete(r.Setup, modelPrefix+"mtp_layers")
		delete(r.Setup, modelPrefix+"mtp_passes")
	case mtp && n > 0 && n != len(runs):
		return fmt.Errorf("it has %d multi-token-prediction modules, --mtp-num-layers %d", len(runs), n)
	case mtp:
		r.predicts(len(runs))
	}
	if r.Launcher != "bridge" { // whose recipe has the model
		r.Setup[modelPrefix+"layer_pattern"], r.Setup[modelPrefix+"layers"], r.Setup[modelPrefix+
			"norms_per_layer"] = model.Period(letters), len(letters), 1
	}
	if pp := r.number("pp", 1); strings.Contains(main, "|") {
		var layers []int
		for segment := range strings.SplitSeq(main, "|") {
			layers = append(layers, len(segment))
		}
		if pp < 1 || len(layers)%pp != 0 {
			return fmt.Errorf("its %d stages are no multiple of the pipeline's %d ranks", len(layers), pp)
		}
		r.Setup["vpp"] = len(layers) / pp
		r.setSplit(layers)
	}
	for key, n := range map[string]int{
		"linear_key_heads": 8, "linear_key_head_dim": 128,
		"linear_value_head_dim": 64, "conv_width": 4, "linear_chunk": 128,
	} {
		if flag := map[string]string{
			"linear_key_heads":      "mamba-num-groups",
			"linear_key_head_dim":   "mamba-state-dim",
			"linear_value_head_dim": "mamba-head-dim",
		}[key]; strings.ContainsRune(letters,
			model.LetterMamba) && !r.has(flag) && r.Launcher != "bridge" {
			r.assume(modelPrefix+key, n, "the default of Megatron-Core")
		}
	}
	return nil
}

// linearLayers returns a number, every so-manieth layer having softmax attention, or else a list of ones for
// the others.
func linearLayers(m *model.Model) string {
	n := len(m.Pattern)
	if strings.IndexByte(m.Pattern, model.LetterAttention) == n-1 {
		return strconv.Itoa(n)
	}
	list := make([]string, m.Layers)
	for i := range list {
		list[i] = "1"
		if m.Letter(i) == model.LetterAttention {
			list[i] = "0"
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

// readLinearLayers reads what linearLayers writes.
func readLinearLayers(v any, r *reader) error {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ""), "'\"\\")
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > maxList {
			return fmt.Errorf("a whole number from 1 to %d, or a list", maxList)
		}
		r.Setup[modelPrefix+"layer_pattern"] = strings.Repeat(string(model.LetterDelta),
			n-1) + string(model.LetterAttention)
		return nil
	}
	list, err := pythonList(text)
	if err != nil {
		return err
	}
	letters := make([]byte, len(list))
	for i, linear := range list {
		if letters[i] = model.LetterAttention; linear != 0 {
			letters[i] = model.LetterDelta
		}
	}
	r.Setup[modelPrefix+"layer_pattern"] = model.Period(string(letters))
	return nil
}
