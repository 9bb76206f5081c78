package presets

import (
	"strings"

	"meshscope/engine/model"
)

// modelFile is models/ID.toml: the fields of model.Model and what was
// published about it.
type modelFile struct {
	model.Model

	Published       *int64 `toml:"params_total_published"`
	PublishedActive *int64 `toml:"params_active_published"`
	Note            string `toml:"note"`
	Source          string `toml:"source"`
}

func parseModel(_ *Library, d *document) (ModelPreset, error) {
	var f modelFile
	if err := d.decode(&f); err != nil {
		return ModelPreset{}, err
	}
	d.identity(f.ID, f.Name, f.Source)
	// 0 and false mean something here, so a forgotten line would be another model.
	d.demand("tied_embeddings", "true or false: whether the head is the embedding's matrix")
	d.demand("gated_ffn", "true (three MLP matrices, as with swiglu) or false (two)")
	d.demand("activation", strings.Join(model.Activations(), ", "))
	d.demand("norms_per_layer", "a whole number, mostly 2")
	d.demand("pos_embedding", strings.Join(model.Positions(), ", "))
	for _, e := range f.Check() {
		d.refuse(e.Field, e.Given, e.Allowed)
	}
	p := ModelPreset{
		Model:               f.Model,
		PublishedParameters: d.parameters("params_total_published", f.Published),
		PublishedActive:     d.parameters("params_active_published", f.PublishedActive),
		Note:                d.line("note", f.Note),
		Source:              f.Source,
	}
	return p, d.err()
}

func (d *document) parameters(key string, value *int64) int64 {
	if value == nil {
		return 0
	}
	if *value < 1 || *value > model.MaxParameters {
		d.refuse(key, "out of range", "a whole number from 1 to 10^15")
		return 0
	}
	return *value
}
