package hfconfig

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"meshscope/engine/model"
)

// OtherPart is a part of a checkpoint that the language model's parameters leave out.
type OtherPart struct {
	Name       string `json:"name"`
	Parameters int64  `json:"parameters"` // 0: not known
}

// countOthers counts the encoder of a vision-language model and the modules for multi-token prediction.
func (r *reader) countOthers() {
	if n := r.Model.MTP(); n > 0 {
		r.other("multi-token prediction", float64(n))
	}
	if m := &r.Model; m.HashLayers > 0 {
		r.other("tables that send tokens to experts", float64(m.HashLayers)*float64(m.Vocab)*float64(m.TopK))
	}
	v, ok := r.keys["vision_config"]
	if !ok || len(v.raw) == 0 || v.raw[0] != '{' {
		return
	}
	var e encoder
	n := 0.0
	if json.Unmarshal(v.raw, &e) == nil {
		n = e.parameters(r.Model.Family, float64(r.Model.Hidden))
	}
	r.other("encoder ("+v.path+")", n)
}

// module adds so many modules for multi-token prediction of a layer that the model has not as its last one:
// with a projection of two hidden states to one, so many norms and what else each has.
func (r *reader) module(modules, norms int, more int64, layer func(m *model.Model)) {
	m := r.Model
	if modules < 1 || modules > model.MaxMTPLayers || len(r.Problems) > 0 || len(m.Check()) > 0 {
		return
	}
	h, norm := float64(m.Hidden), m.FinalNorm()
	layer(&m)
	m.Layers, m.MTPLayers = max(len(m.Pattern), 1), 0
	each := 2*h*h + float64(norms)*float64(norm) + float64(more)
	for i := range m.Layers {
		each += float64(m.Layer(i).Total())
	}
	r.other("multi-token prediction", float64(modules)*each)
}

// other adds a part of so many parameters, which are not known beyond what a model may have.
func (r *reader) other(name string, parameters float64) {
	if parameters > model.MaxParameters {
		parameters = 0
	}
	r.OtherParts = append(r.OtherParts, OtherPart{name, int64(parameters)})
}

// withoutExperts makes all layers of a model dense, as those of some modules are.
func withoutExperts(m *model.Model) {
	m.Experts, m.TopK, m.ExpertFFN, m.SharedExperts, m.SharedFFN, m.FirstDense, m.MoEFreq, m.MoEPattern = 0,
		0, 0, 0, 0, 0, 0, ""
	m.RouterBias, m.ExpertGroups, m.RoutedGroups = false, 0, 0
}

// windowedModule is the same with a window.
func windowedModule(m *model.Model) {
	withoutExperts(m)
	m.Pattern = string(model.LetterWindow)
}

// encoder is a vision_config, of which each class has some keys.
type encoder struct {
	Depth     float64   `json:"depth"`
	Layers    float64   `json:"num_hidden_layers"`
	Hidden    float64   `json:"hidden_size"`
	FFN       float64   `json:"intermediate_size"`
	Patch     float64   `json:"patch_size"`
	Frames    float64   `json:"temporal_patch_size"`
	Merge     float64   `json:"spatial_merge_size"`
	Out       float64   `json:"out_hidden_size"`
	Positions float64   `json:"num_position_embeddings"`
	Deep      []float64 `json:"deepstack_visual_indexes"`
	Image     float64   `json:"image_size"`
	HeadDim   float64   `json:"head_dim"`
	Table     float64   `json:"position_embedding_size"`
	Standard  bool      `json:"standardize"`
	VTLayers  float64   `json:"vt_num_hidden_layers"`
	VTWidth   float64   `json:"qkv_hidden_size"` // of Kimi K3's, which is not known
	VTHidden  float64   `json:"vt_hidden_size"`
	VTFFN     float64   `json:"vt_intermediate_size"`
	PosHeight float64   `json:"init_pos_emb_height"`
	PosWidth  float64   `json:"init_pos_emb_width"`
}

// parameters counts an encoder and what joins it to a stream of so many elements; 0: of a class that is not
// known, without a key that it needs, or beyond what a model may have. Sums over the tensors of transformers'
// modeling files, exact for published checkpoints.
func (e *encoder) parameters(family string, out float64) float64 {
	h, f, layers := e.Hidden, e.FFN, max(e.Depth, e.Layers)
	for _, n := range []float64{
		h, f, layers, e.VTHidden, e.VTFFN, e.VTLayers, e.Patch, e.Frames, e.Merge,
		e.Out, e.Positions, e.Table, e.Image, e.HeadDim, e.PosHeight, e.PosWidth,
	} {
		if n < 0 || n > model.MaxWidth || n != math.Trunc(n) {
			return 0
		}
	}
	biased := func(h, f float64) float64 { return 4*h*h + 4*h + 2*h*f + f + h + 4*h }
	patch := 3*e.Patch*e.Patch*h + h
	merger := func(b, out, norm float64) float64 { return b*b + b + b*out + out + norm }
	has := func(keys ...float64) bool { return !slices.Contains(keys, 0) }
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(family, name) })
	}
	switch {
	case is("qwen3_vl", "qwen3_5") && has(h, f, layers, e.Patch, e.Frames, e.Merge, e.Out, e.Positions):
		b := e.Merge * e.Merge * h
		return e.Frames*3*e.Patch*e.Patch*h + h + e.Positions*h + layers*biased(h, f) + merger(b, e.Out,
			2*h) + float64(len(e.Deep))*merger(b, e.Out, 2*b)
	case is("gemma4") && has(h, f, layers, e.Patch, e.Table, e.HeadDim):
		n := 3*e.Patch*e.Patch*h + 2*e.Table*h + layers*(4*h*h+3*h*f+4*h+2*e.HeadDim) + h*out
		if e.Standard {
			n += 2 * h
		}
		return n
	case is("gemma3") && has(h, f, layers, e.Patch, e.Image):
		grid := math.Floor(e.Image / e.Patch)
		return patch + grid*grid*h + layers*biased(h, f) + 2*h + h*out + h
	case is("mistral", "ministral") && has(h, f, layers, e.Patch):
		return 3*e.Patch*e.Patch*h + h + layers*(4*h*h+3*h*f+2*h) + h + 4*h*h + h*out + out*out
	case is("kimi", "deepseek") && e.VTWidth == 0 && has(e.VTHidden, e.VTFFN, e.VTLayers, e.Patch,
		e.PosHeight, e.PosWidth):
		h, f = e.VTHidden, e.VTFFN
		return 3*e.Patch*e.Patch*h + h + e.PosHeight*e.PosWidth*h + e.VTLayers*biased(h,
			f) + 2*h + merger(4*h, out, 2*h)
	}
	return 0
}
