package launch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"meshscope/engine/model"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// Prefixes of flat keys that are fields of the model, and of those that are fields at all.
const (
	setPrefix   = "set."
	modelPrefix = setPrefix + "model."
)

// imported is the id of a model whose file gives it no name.
const imported = "imported"

// Flat returns the keys of a setup document for what was read. A model that is given figure by
// figure is the preset that has all of them, else a table of its own; other fields are below "set".
func (r *Reading) Flat(lib *presets.Library) map[string]any {
	flat, figures, set := map[string]any{}, map[string]any{}, map[string]any{}
	_, named := r.Setup["model"]
	for key, value := range r.Setup {
		figure, ok := strings.CutPrefix(key, modelPrefix)
		switch field, other := strings.CutPrefix(key, setPrefix); {
		case ok && !named:
			figures[figure] = value
		case other:
			set[field] = value
		default:
			flat[key] = value
		}
	}
	if len(set) > 0 {
		flat["set"] = set
	}
	sure := true
	for _, u := range r.Unknown {
		figure, ok := strings.CutPrefix(u.Key, modelPrefix)
		if ok && !named && u.Guess != nil && len(figures) > 0 {
			figures[figure], sure = u.Guess, false
		}
	}
	if len(figures) == 0 {
		return flat
	}
	if figures["name"] == nil && r.called != "" {
		figures["name"] = r.called
	}
	if id := presetOf(figures, lib); id != "" && sure {
		flat["model"] = id
		m, err := lib.Model(id)
		if err != nil {
			return flat
		}
		if r.called != "" && r.called != m.Name { // a model of one's own with the same figures
			set["model.name"], flat["set"] = r.called, set
		}
		// no preset has these
		if of := figures["rope_theta"]; of != nil && of != float64(familyTheta(&m)) {
			set["model.rope_theta"], flat["set"] = of, set
		}
		if of := figures["norm_eps"]; of != nil && of != familyEps(&m) {
			set["model.norm_eps"], flat["set"] = of, set
		}
		kind, factor := familyScaling(&m)
		if of := figures["rope_scaling"]; of != nil && (of != kind || figures["rope_factor"] != factor) {
			set["model.rope_scaling"], flat["set"] = of, set
			if figures["rope_factor"] != nil {
				set["model.rope_factor"] = figures["rope_factor"]
			}
		}
		return flat
	}
	for figure, otherwise := range map[string]any{
		"max_seq": r.Setup["seq"], "kv_heads": figures["heads"],
		"head_dim": figures["qk_nope_head_dim"],
	} {
		// rotary positions have no table, MLA has widths of its own
		if _, given := figures[figure]; !given && otherwise != nil {
			figures[figure] = otherwise
		}
	}
	if figures["max_seq"] == nil {
		figures["max_seq"] = guessedSeq
	}
	figures["id"] = imported
	if name, _ := figures["name"].(string); name != "" {
		figures["id"] = slug(name)
		if _, err := lib.Model(slug(name)); err == nil { // which is another model
			figures["id"] = imported + "-" + slug(name)
		}
	} else if layers, hidden := figures["layers"], figures["hidden"]; layers != nil && hidden != nil {
		figures["name"] = fmt.Sprintf("%s, %v layers of %v", imported, layers, hidden)
	}
	flat["model"] = figures
	return flat
}

// Document returns what was read as a setup document.
func (r *Reading) Document(lib *presets.Library) (*setupdoc.Document, error) {
	if r.document != nil {
		return r.document, r.over(r.document)
	}
	text, err := json.Marshal(r.Flat(lib))
	if err != nil {
		return nil, fmt.Errorf("setup of a %s file: %w", r.Launcher, err)
	}
	doc, err := setupdoc.Parse("", text)
	if err != nil {
		return nil, err
	}
	return doc.AsStated(), r.over(doc)
}

// slug returns a name as an id: its signs that a command line takes as they are, 60 at most.
func slug(name string) string {
	const most = 60
	id := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, lastPart(name)), "-.")
	if id = id[:min(len(id), most)]; id == "" {
		return imported
	}
	return id
}

// lastPart returns a path without its folders.
func lastPart(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// folder returns the name of the folder that a file is in; empty where its path does not say.
func folder(path string) string {
	at := strings.LastIndexAny(path, `/\`)
	if at < 0 || strings.Trim(path[:at], `./\`) == "" {
		return ""
	}
	return lastPart(path[:at])
}

// guessedSeq stands in for a sequence that nothing gives.
const guessedSeq = 4096

// presetOf returns the id of the model that has all of some figures; labels and the base of RoPE do not
// count, but the one of that name or whose RoPE is stretched like that comes first. It is empty where
// several models have them that differ in others.
func presetOf(figures map[string]any, lib *presets.Library) string {
	text, err := json.Marshal(figures)
	if err != nil {
		return ""
	}
	var given map[string]any
	if err := json.Unmarshal(text, &given); err != nil {
		return ""
	}
	for _, label := range []string{
		"id", "name", "family", "attention", "params_extra_what", "rope_theta",
		"rope_scaling", "rope_factor", "norm_eps",
	} {
		delete(given, label)
	}
	found, first, alike := "", model.Model{}, false
	for _, p := range lib.Models() {
		if given["layer_pattern"] == nil && p.Pattern != "" { // whose layers would be said
			continue
		}
		// few have as many layers
		if n, ok := given["layers"]; ok && n != float64(p.Layers) || !has(&p.Model, given) {
			continue
		}
		m := p.Model
		m.ID, m.Name, m.Family, m.Attention, m.MaxSeq = "", "", "", "", 0
		switch {
		case found == "":
			found, first, alike = p.ID, m, stretched(&p.Model, figures)
		case m != first:
			return ""
		case !alike && stretched(&p.Model, figures), p.Name == figures["name"]:
			found, alike = p.ID, alike || stretched(&p.Model, figures)
		}
	}
	return found
}

// stretched reports whether the RoPE of a preset is stretched as some figures say.
func stretched(m *model.Model, figures map[string]any) bool {
	kind, factor := familyScaling(m)
	given, _ := figures["rope_scaling"].(string)
	return given == kind && (kind == "" || figures["rope_factor"] == factor)
}

// has reports whether a model has all of some figures, given as JSON has them.
func has(m *model.Model, given map[string]any) bool {
	fields, found := reflect.ValueOf(m).Elem(), 0
	for i := range fields.NumField() {
		key, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		want, ok := given[key]
		if !ok {
			continue
		}
		found++
		var of any
		switch f := fields.Field(i); f.Kind() {
		case reflect.Int, reflect.Int64:
			of = float64(f.Int())
		default:
			of = f.Interface()
		}
		if of != want {
			return false
		}
	}
	return found == len(given)
}
