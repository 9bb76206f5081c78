package presets

import (
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
