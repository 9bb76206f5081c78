// Package hfconfig reads a model from the config.json of a Hugging Face
// checkpoint: the file that comes with the weights. It knows the families of
// architectures whose parameters it can count and refuses all others by name; what
// a class of the transformers library takes for granted (a bias, tied embeddings)
// and the file therefore leaves out is in the family's entry. Field names and
// defaults are those of huggingface/transformers, configuration_*.py.
package hfconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
	"meshscope/presets/input"
)

// config holds the keys that are read. A pointer distinguishes a missing key from 0,
// false or empty; null counts as missing.
type config struct {
	Type     string          `json:"model_type"`
	Name     string          `json:"_name_or_path"`
	Text     json.RawMessage `json:"text_config"` // the language model of a vision-language model
	Hidden   *int            `json:"hidden_size"`
	Layers   *int            `json:"num_hidden_layers"`
	Heads    *int            `json:"num_attention_heads"`
	KVHeads  *int            `json:"num_key_value_heads"`
	HeadDim  *int            `json:"head_dim"`
	FFN      *int            `json:"intermediate_size"`
	Vocab    *int            `json:"vocab_size"`
	MaxSeq   *int            `json:"max_position_embeddings"`
	Tied     *bool           `json:"tie_word_embeddings"`
	Act      string          `json:"hidden_act"`
	ActGemma string          `json:"hidden_activation"`
	AttnBias *bool           `json:"attention_bias"`
	MLPBias  *bool           `json:"mlp_bias"`
	QKNorm   *bool           `json:"use_qk_norm"`
	Parallel *bool           `json:"use_parallel_residual"`

	Window     *int     `json:"sliding_window"`
	UseWindow  *bool    `json:"use_sliding_window"`
	Pattern    *int     `json:"sliding_window_pattern"`
	LayerTypes []string `json:"layer_types"`

	LocalExperts  *int  `json:"num_local_experts"`
	Experts       *int  `json:"num_experts"`
	RoutedExperts *int  `json:"n_routed_experts"`
	SharedExperts *int  `json:"n_shared_experts"`
	TopK          *int  `json:"num_experts_per_tok"`
	Groups        *int  `json:"n_group"`
	LimitGroups   *int  `json:"topk_group"`
	ExpertFFN     *int  `json:"moe_intermediate_size"`
	FirstDense    *int  `json:"first_k_dense_replace"`
	SparseStep    *int  `json:"decoder_sparse_step"`
	DenseLayers   []int `json:"mlp_only_layers"`
	MoEFreq       *int  `json:"moe_layer_freq"`
	MTPLayers     *int  `json:"num_nextn_predict_layers"`

	QLoraRank  json.RawMessage `json:"q_lora_rank"`
	KVLoraRank *int            `json:"kv_lora_rank"`
	QKNope     *int            `json:"qk_nope_head_dim"`
	QKRope     *int            `json:"qk_rope_head_dim"`
	VHead      *int            `json:"v_head_dim"`

	Embed     *int   `json:"n_embd"` // GPT-2's names
	Depth     *int   `json:"n_layer"`
	NHead     *int   `json:"n_head"`
	Positions *int   `json:"n_positions"`
	Inner     *int   `json:"n_inner"`
	ActGPT2   string `json:"activation_function"`
}

// reader fills a model from a config and collects the errors.
type reader struct {
	c       *config
	m       model.Model
	missing []string
	errs    []error
}

// Model reads a config.json. The model has the checkpoint's name, if the file gives one,
// and no id.
func Model(data []byte) (model.Model, error) {
	text, err := input.Text(data)
	if err != nil {
		return model.Model{}, inWords(err)
	}
	c, err := parse(text)
	if err != nil {
		return model.Model{}, err
	}
	f, ok := families()[c.Type]
	if !ok {
		return model.Model{}, unknown(c.Type)
	}
	r := reader{c: c}
	r.common(&f)
	if f.more != nil {
		f.more(&r)
	}
	if len(r.missing) > 0 {
		slices.Sort(r.missing)
		r.errs = append(r.errs, fmt.Errorf("missing for model_type %s: %s", escape.Quote(c.Type), strings.Join(slices.Compact(r.missing), ", ")))
	}
	if len(r.errs) > 0 {
		return model.Model{}, errors.Join(r.errs...)
	}
	for _, e := range r.m.Check() {
		r.errs = append(r.errs, e)
	}
	return r.m, errors.Join(r.errs...)
}

// parse reads the file, and the language model inside a vision-language model.
func parse(data []byte) (*config, error) {
	var c config
	if err := input.DecodeJSON(data, &c); err != nil {
		return nil, inWords(err)
	}
	if len(c.Text) > 0 && string(c.Text) != "null" {
		outer := c
		c = config{Type: outer.Type, Name: outer.Name, Tied: outer.Tied, Vocab: outer.Vocab}
		if err := input.DecodeJSON(outer.Text, &c); err != nil {
			return nil, inWords(err)
		}
		c.Name = outer.Name
	}
	return &c, nil
}

// inWords names the key at fault, or the document as a whole.
func inWords(err error) error {
	if at, ok := errors.AsType[*input.Error](err); ok && at.Key != "" {
		return fmt.Errorf("%s: %w", at.Key, at.Err)
	}
	return fmt.Errorf("not a JSON document of a model: %w", err)
}

// UnknownError reports an architecture that is not supported.
type UnknownError struct{ Type string }

func unknown(name string) error { return &UnknownError{name} }

func (e *UnknownError) Error() string {
	known := make([]string, 0, len(families()))
	for name := range families() {
		known = append(known, name)
	}
	slices.Sort(known)
	list := "; known are " + strings.Join(known, ", ") + "; write a preset instead"
	if e.Type == "" {
		return "no model_type, so this is no config.json of Hugging Face" + list
	}
	return fmt.Sprintf("model_type %s is not known%s", escape.Quote(e.Type), list)
}

// number returns a required value; a missing one is recorded.
func (r *reader) number(key string, v *int) int {
	if v == nil {
		r.missing = append(r.missing, key)
		return 0
	}
	return *v
}

func (r *reader) refusef(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// or returns a value, or a default where it is missing.
func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// common reads the keys that nearly all families share.
func (r *reader) common(f *family) {
	c, m := r.c, &r.m
	m.Name, m.Family = name(c), c.Type
	m.Tied, m.Norm, m.NormsPer, m.Position = or(c.Tied, f.tied), model.NormRMS, 2, "rope"
	m.AttnBias, m.QKNorm, m.MLPBias = model.BiasNone, model.QKNormNone, or(c.MLPBias, false)
	m.Gated, m.MoEFreq = true, 0
	if f.gpt2 {
		return // GPT-2 uses other keys for all of it
	}
	m.Hidden, m.Layers = r.number("hidden_size", c.Hidden), r.number("num_hidden_layers", c.Layers)
	m.Heads, m.Vocab = r.number("num_attention_heads", c.Heads), r.number("vocab_size", c.Vocab)
	m.MaxSeq = r.number("max_position_embeddings", c.MaxSeq)
	if !f.experts {
		m.FFN = r.number("intermediate_size", c.FFN)
	}
	m.KVHeads = m.Heads
	if c.KVHeads != nil {
		m.KVHeads = *c.KVHeads
	} else if !f.mha {
		r.missing = append(r.missing, "num_key_value_heads")
	}
	switch {
	case c.HeadDim != nil && !f.latent:
		m.HeadDim = *c.HeadDim
	case f.ownHead:
		r.missing = append(r.missing, "head_dim")
	case m.Heads > 0 && m.Hidden%m.Heads == 0:
		m.HeadDim = m.Hidden / m.Heads
	case m.Heads > 0:
		r.refusef("head_dim is missing, and hidden_size %d does not divide by num_attention_heads %d", m.Hidden, m.Heads)
	}
	if or(c.AttnBias, f.bias) {
		m.AttnBias = f.biasWord()
	}
	r.activation(f)
	m.Attention = "gqa"
	if m.KVHeads == m.Heads {
		m.Attention = "mha"
	}
}

// activation sets whether the MLP has two matrices or three, by the family, and its
// activation function.
func (r *reader) activation(f *family) {
	act := r.c.Act
	if r.c.ActGemma != "" {
		act = r.c.ActGemma
	}
	if act == "" {
		act = f.act
	}
	smooth := strings.HasPrefix(act, "gelu")
	r.m.Gated = !f.plain
	switch {
	case f.plain && smooth:
		r.m.Activation = "gelu"
	case f.plain && act == "relu":
		r.m.Activation = "relu"
	case !f.plain && (act == "silu" || act == "swish"):
		r.m.Activation = "swiglu"
	case !f.plain && smooth:
		r.m.Activation = "geglu"
	case act == "":
		r.missing = append(r.missing, "hidden_act")
	default:
		r.refusef("hidden_act %s is not known for model_type %s", escape.Quote(act), escape.Quote(r.c.Type))
	}
}

// name returns the name of the checkpoint where it is printable ASCII, else that of the
// family.
func name(c *config) string {
	if c.Name == "" || len(c.Name) > model.MaxLabel || strings.ContainsFunc(c.Name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return c.Type
	}
	return c.Name
}
