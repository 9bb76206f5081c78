package hfconfig

import (
	"encoding/json"
	"strings"

	"meshscope/engine/model"
)

// Besides is a part of a checkpoint that the language model's parameters leave out.
type Besides struct {
	Name       string `json:"name"`
	Parameters int64  `json:"parameters"` // 0: not known
}

// besides counts the encoder of a vision-language model and the modules for multi-token prediction.
func (r *reader) besides() {
	if n := r.Model.MTP(); n > 0 {
		r.Besides = append(r.Besides, Besides{"multi-token prediction", n})
	}
	v, ok := r.keys["vision_config"]
	if !ok || len(v.raw) == 0 || v.raw[0] != '{' {
		return
	}
	var e encoder
	n := int64(0)
	if json.Unmarshal(v.raw, &e) == nil {
		n = max(e.parameters(r.Model.Family, int64(r.Model.Hidden)), 0)
	}
	r.Besides = append(r.Besides, Besides{"encoder (" + v.path + ")", n})
}

// module adds so many modules for multi-token prediction of a layer that the model has not as its last one:
// with a projection of two hidden states to one, so many norms and what else each has.
func (r *reader) module(modules, norms int, besides int64, layer func(m *model.Model)) {
	m := r.Model
	if modules < 1 || modules > model.MaxMTPLayers || len(r.Problems) > 0 || len(m.Check()) > 0 {
		return
	}
	h, norm := int64(m.Hidden), m.FinalNorm()
	layer(&m)
	m.Layers, m.MTPLayers = max(len(m.Pattern), 1), 0
	each := 2*h*h + int64(norms)*norm + besides
	for i := range m.Layers {
		each += m.Layer(i).Total()
	}
	r.Besides = append(r.Besides, Besides{"multi-token prediction", int64(modules) * each})
}

// withoutExperts makes all layers of a model dense, as those of some modules are.
func withoutExperts(m *model.Model) {
	m.Experts, m.TopK, m.ExpertFFN, m.SharedExperts, m.SharedFFN, m.FirstDense, m.MoEFreq, m.MoEPattern = 0,
		0, 0, 0, 0, 0, 0, ""
	m.RouterBias, m.ExpertGroups, m.RoutedGroups = false, 0, 0
}

// encoder is a vision_config, of which each class has some keys.
type encoder struct {
	Depth     int64   `json:"depth"`
	Layers    int64   `json:"num_hidden_layers"`
	Hidden    int64   `json:"hidden_size"`
	FFN       int64   `json:"intermediate_size"`
	Patch     int64   `json:"patch_size"`
	Frames    int64   `json:"temporal_patch_size"`
	Merge     int64   `json:"spatial_merge_size"`
	Out       int64   `json:"out_hidden_size"`
	Positions int64   `json:"num_position_embeddings"`
	Deep      []int64 `json:"deepstack_visual_indexes"`
	Image     int64   `json:"image_size"`
	HeadDim   int64   `json:"head_dim"`
	Table     int64   `json:"position_embedding_size"`
	Standard  bool    `json:"standardize"`
	VTLayers  int64   `json:"vt_num_hidden_layers"`
	VTHidden  int64   `json:"vt_hidden_size"`
	VTFFN     int64   `json:"vt_intermediate_size"`
	PosHeight int64   `json:"init_pos_emb_height"`
	PosWidth  int64   `json:"init_pos_emb_width"`
}

// parameters counts an encoder and what joins it to a stream of so many elements; 0: of a class that is not
// known, or without a key that it needs. Sums over the tensors of transformers' modeling files, exact for
// published checkpoints.
func (e *encoder) parameters(family string, out int64) int64 {
	h, f, layers := e.Hidden, e.FFN, max(e.Depth, e.Layers)
	for _, n := range []int64{
		h, f, layers, e.VTHidden, e.VTFFN, e.VTLayers, e.Patch, e.Frames, e.Merge,
		e.Out, e.Positions, e.Table, e.Image, e.HeadDim, e.PosHeight, e.PosWidth,
	} {
		if n < 0 || n > model.MaxWidth {
			return 0
		}
	}
	biased := func(h, f int64) int64 { return 4*h*h + 4*h + 2*h*f + f + h + 4*h }
	patch := 3*e.Patch*e.Patch*h + h
	merger := func(b, out, norm int64) int64 { return b*b + b + b*out + out + norm }
	has := func(keys ...int64) bool {
		for _, n := range keys {
			if n == 0 {
				return false
			}
		}
		return true
	}
	is := func(names ...string) bool {
		for _, name := range names {
			if strings.HasPrefix(family, name) {
				return true
			}
		}
		return false
	}
	switch {
	case is("qwen3_vl", "qwen3_5") && has(h, f, layers, e.Patch, e.Frames, e.Merge, e.Out, e.Positions):
		b := e.Merge * e.Merge * h
		return e.Frames*3*e.Patch*e.Patch*h + h + e.Positions*h + layers*biased(h, f) + merger(b, e.Out,
			2*h) + int64(len(e.Deep))*merger(b, e.Out, 2*b)
	case is("gemma4") && has(h, f, layers, e.Patch, e.Table, e.HeadDim):
		n := 3*e.Patch*e.Patch*h + 2*e.Table*h + layers*(4*h*h+3*h*f+4*h+2*e.HeadDim) + h*out
		if e.Standard {
			n += 2 * h
		}
		return n
	case is("gemma3") && has(h, f, layers, e.Patch, e.Image):
		grid := e.Image / e.Patch
		return patch + grid*grid*h + layers*biased(h, f) + 2*h + h*out + h
	case is("mistral", "ministral") && has(h, f, layers, e.Patch):
		return 3*e.Patch*e.Patch*h + h + layers*(4*h*h+3*h*f+2*h) + h + 4*h*h + h*out + out*out
	case is("kimi", "deepseek") && has(e.VTHidden, e.VTFFN, e.VTLayers, e.Patch, e.PosHeight, e.PosWidth):
		h, f = e.VTHidden, e.VTFFN
		return 3*e.Patch*e.Patch*h + h + e.PosHeight*e.PosWidth*h + e.VTLayers*biased(h,
			f) + 2*h + merger(4*h, out, 2*h)
	}
	return 0
}
