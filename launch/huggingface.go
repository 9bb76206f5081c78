package launch

import (
	"encoding/json"

	"meshscope/presets/hfconfig"
)

// huggingFace is the id of what reads a config.json, which no launcher owns.
const huggingFace = "huggingface"

// readConfig reads a config.json of Hugging Face: a model, and nothing of a layout.
func readConfig(name string, data []byte, as string) Reading {
	of := hfconfig.ReadAs(data, as)
	r := Reading{Launcher: huggingFace, Setup: map[string]any{}, OtherParts: of.OtherParts}
	for _, k := range of.Understood {
		u := Understood{Key: k.Name, Value: k.Value, Line: k.Line, Assumed: k.Assumed}
		for _, field := range k.Fields {
			u.Setup = append(u.Setup, modelPrefix+field)
		}
		if k.Lacking && len(of.Problems) == 0 {
			r.Unknown = append(r.Unknown,
				Unknown{Key: modelPrefix + k.Fields[0], Why: k.Name + " is " + k.Assumed, Guess: k.Value})
			continue
		}
		r.Understood = append(r.Understood, u)
	}
	for _, k := range of.Ignored {
		r.Ignored = append(r.Ignored, Ignored{Key: k.Name, Why: k.Why, Line: k.Line})
	}
	for _, p := range of.Problems {
		r.Problems = append(r.Problems, Problem{
			Line: p.Line, Column: p.Column, Key: p.Key,
			Message: p.Err.Error(),
		})
	}
	if len(r.Problems) > 0 {
		return r
	}
	// the file has no name: use that of its folder
	if m := &of.Model; m.Name == m.Family && folder(name) != "" {
		m.Name = folder(name)
	}
	var fields map[string]any
	text, err := json.Marshal(of.Model)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		r.Problems = append(r.Problems, Problem{Message: err.Error()})
	}
	delete(fields, "id")
	for key, value := range fields {
		r.Setup[modelPrefix+key] = value
	}
	return r
}
