package presets

import (
	"embed"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"meshscope/presets/hfconfig"
	"meshscope/presets/input"
)

// ReadingModels returns a library that also finds models by file name: a config.json
// of Hugging Face, or a preset file. The read function gets the name as it was given
// and returns fs.ErrNotExist where there is no such file.
func (l *Library) ReadingModels(read func(name string) ([]byte, error)) *Library {
	with := newLibrary(embed.FS{}, l)
	with.tables = l.tables // a setup is equal in both
	with.outside = func(name string) (ModelPreset, error) {
		text, err := read(name)
		if errors.Is(err, fs.ErrNotExist) {
			none := unknown("model", name, nil)
			none.NoFile = true
			return ModelPreset{}, none
		}
		if err != nil {
			return ModelPreset{}, &input.Error{File: name, Err: err}
		}
		return modelOf(l, name, text)
	}
	return with
}

// namesFile reports whether an id is the name of a file.
func namesFile(id string) bool {
	return strings.ContainsAny(id, `/\`) || slices.Contains([]string{".json", extension}, strings.ToLower(path.Ext(id)))
}

// modelOf parses the text of a model's file. The model's id is the file name, by which
// it is found again.
func modelOf(l *Library, name string, text []byte) (ModelPreset, error) {
	if strings.EqualFold(path.Ext(name), extension) {
		base := strings.TrimSuffix(lastPart(name), path.Ext(name))
		p, err := parseModel(l, &document{name: name, id: base, text: text})
		p.ID = name
		return p, err
	}
	read := hfconfig.Read(text)
	if err := read.Err(); err != nil {
		return ModelPreset{}, input.InFile(name, err)
	}
	m := read.Model
	m.ID = name
	if m.Name == m.Family { // the file has no name: use that of its folder
		if folder := strings.TrimRight(strings.TrimSuffix(name, lastPart(name)), `/\`); strings.Trim(folder, `./\`) != "" {
			m.Name = lastPart(folder)
		}
	}
	if errs := m.Check(); errs.Err() != nil {
		return ModelPreset{}, &input.Error{File: name, Err: errs}
	}
	return ModelPreset{Model: m, Source: name, Note: read.Assumed()}, nil
}

// lastPart returns a file name without its folders, with either separator.
func lastPart(name string) string {
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// ModelText returns the file of a model preset, byte for byte: saved under its own name
// it loads back, and it shows the keys that another preset needs.
func (l *Library) ModelText(id string) ([]byte, error) {
	if _, err := l.ModelPreset(id); err != nil {
		return nil, err
	}
	return l.text("models", id)
}

// GPUText returns the file of a GPU preset.
func (l *Library) GPUText(id string) ([]byte, error) {
	if _, err := l.GPUPreset(id); err != nil {
		return nil, err
	}
	return l.text("gpus", id)
}

// ClusterText returns the file of a cluster preset.
func (l *Library) ClusterText(id string) ([]byte, error) {
	if _, err := l.ClusterPreset(id); err != nil {
		return nil, err
	}
	return l.text("clusters", id)
}

// text returns the file of an id whose preset is known to be valid.
func (l *Library) text(dir, id string) ([]byte, error) {
	for at := l; at != nil; at = at.base {
		text, err := readFile(at.fsys, path.Join(dir, strings.ToLower(id)+extension))
		if !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	return nil, input.Errorf(id, "is no preset file")
}
