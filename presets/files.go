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

// ReadingModels is the library that also takes the name of a file for a model: a
// config.json of Hugging Face, or a preset of one's own. The reader gets the name
// as it was given; what it cannot find is fs.ErrNotExist.
func (l *Library) ReadingModels(read func(name string) ([]byte, error)) *Library {
	with := newLibrary(embed.FS{}, l)
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

// namesFile tells the name of a file from an id.
func namesFile(id string) bool {
	return strings.ContainsAny(id, `/\`) || slices.Contains([]string{".json", extension}, strings.ToLower(path.Ext(id)))
}

// modelOf reads the text of a model's file. Its id is the file's name, by which it
// is found again.
func modelOf(l *Library, name string, text []byte) (ModelPreset, error) {
	if strings.EqualFold(path.Ext(name), extension) {
		base := strings.TrimSuffix(lastPart(name), path.Ext(name))
		p, err := parseModel(l, &document{name: name, id: base, text: text})
		p.ID = name
		return p, err
	}
	m, err := hfconfig.Model(text)
	if err != nil {
		return ModelPreset{}, input.Errorf(name, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	m.ID = name
	if m.Name == m.Family { // the file says no name: that of its folder does
		if folder := strings.TrimRight(strings.TrimSuffix(name, lastPart(name)), `/\`); strings.Trim(folder, `./\`) != "" {
			m.Name = lastPart(folder)
		}
	}
	if errs := m.Check(); errs.Err() != nil {
		return ModelPreset{}, &input.Error{File: name, Err: errs}
	}
	return ModelPreset{Model: m, Source: name}, nil
}

// lastPart is a file's name without its folders, of any system.
func lastPart(name string) string {
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// ModelText, GPUText and ClusterText are the file of a preset, word by word: saved
// under its own name it loads back, and it shows what another one has to say.
func (l *Library) ModelText(id string) ([]byte, error) {
	if _, err := l.ModelPreset(id); err != nil {
		return nil, err
	}
	return l.text("models", id)
}

// GPUText is ModelText of a GPU.
func (l *Library) GPUText(id string) ([]byte, error) {
	if _, err := l.GPUPreset(id); err != nil {
		return nil, err
	}
	return l.text("gpus", id)
}

// ClusterText is ModelText of a cluster.
func (l *Library) ClusterText(id string) ([]byte, error) {
	if _, err := l.ClusterPreset(id); err != nil {
		return nil, err
	}
	return l.text("clusters", id)
}

// text is the file of an id that is known to be sound.
func (l *Library) text(dir, id string) ([]byte, error) {
	for at := l; at != nil; at = at.base {
		text, err := readFile(at.fsys, path.Join(dir, strings.ToLower(id)+extension))
		if !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	return nil, input.Errorf(id, "is no preset file")
}
