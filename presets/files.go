package presets

import (
	"cmp"
	"embed"
	"errors"
	"hash/maphash"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"meshscope/presets/hfconfig"
	"meshscope/presets/input"
)

// ReadingModels returns a library that also finds models by file name: a config.json
// of Hugging Face, a folder that has one, or a preset file. The read function gets the name of
// a file and returns fs.ErrNotExist where there is no such file.
func (l *Library) ReadingModels(read func(name string) ([]byte, error)) *Library {
	with := newLibrary(embed.FS{}, l)
	with.tables = l.tables // a setup is equal in both
	parse := once(func(name string, text []byte) (ModelPreset, error) { return modelOf(l, name, text) })
	with.folder = func(id string) (p ModelPreset, is bool, err error) {
		folder, as := hfconfig.As(id)
		file := strings.TrimRight(folder, `/\`) + "/" + configFile
		text, err := read(file)
		if err != nil {
			return p, false, nil
		}
		p, err = parse(hfconfig.Named(file, as), text)
		p.ID = id
		return p, true, err
	}
	with.outside = func(name string) (ModelPreset, error) {
		if p, is, err := with.folder(name); is {
			return p, err
		}
		file, _ := hfconfig.As(name)
		text, err := read(file)
		if errors.Is(err, fs.ErrNotExist) {
			none := unknown("model", name, nil)
			none.NoFile = true
			return ModelPreset{}, none
		}
		if err != nil {
			return ModelPreset{}, &input.Error{File: name, Err: err}
		}
		return parse(name, text)
	}
	return with
}

// once returns what parses a file while its text stays as it was the last time that it is asked for: one
// question resolves its setup dozens of times, and a file may have megabytes.
func once(parse func(string, []byte) (ModelPreset, error)) func(string, []byte) (ModelPreset, error) {
	type file struct {
		name string
		sum  uint64
		size int
	}
	type answer struct {
		preset ModelPreset
		err    error
	}
	const most = 64 // files that are remembered
	var lock sync.Mutex
	known, seed := map[file]answer{}, maphash.MakeSeed()
	return func(name string, text []byte) (ModelPreset, error) {
		f := file{name, maphash.Bytes(seed, text), len(text)}
		lock.Lock()
		defer lock.Unlock()
		a, ok := known[f]
		if !ok {
			if len(known) == most {
				clear(known)
			}
			a.preset, a.err = parse(name, text)
			known[f] = a
		}
		return a.preset, a.err
	}
}

// ReadsModels reports whether a model may be named by its file.
func (l *Library) ReadsModels() bool { return l.outside != nil }

// configFile is the file of a model in the folder of a checkpoint.
const configFile = "config.json"

// namesFile reports whether an id is the name of a file.
func namesFile(id string) bool {
	id, _ = hfconfig.As(id)
	return strings.ContainsAny(id, `/\`) ||
		slices.Contains([]string{".json", extension}, strings.ToLower(path.Ext(id)))
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
	file, as := hfconfig.As(name)
	read := hfconfig.ReadAs(text, as)
	if err := cmp.Or(read.Err(), read.Lacking()); err != nil {
		return ModelPreset{}, input.InFile(file, err)
	}
	m := read.Model
	m.ID, name = name, file
	if m.Name == m.Family { // the file has no name: use that of its folder
		if folder := strings.TrimRight(strings.TrimSuffix(name, lastPart(name)), `/\`); strings.Trim(folder,
			`./\`) != "" {
			m.Name = lastPart(folder)
		}
	}
	if errs := m.Check(); errs.Err() != nil {
		return ModelPreset{}, &input.Error{File: name, Err: errs}
	}
	note := read.Assumed()
	if as != "" {
		note = strings.TrimSuffix("read as "+as+"; "+note, "; ")
	}
	return ModelPreset{Model: m, Source: name, Note: note}, nil
}

// lastPart returns a file name without its folders, with either separator.
func lastPart(name string) string {
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// sound reports whether the library itself, not one below it, has a file of a preset that is not refused.
func (l *Library) sound(kind, id string) bool {
	var err error
	switch kind {
	case modelDir:
		_, err = l.models.get(l, id)
	case gpuDir:
		_, err = l.gpus.get(l, id)
	case clusterDir:
		_, err = l.clusters.get(l, id)
	}
	return err == nil
}

// Text returns the file of a preset of one kind (models, gpus or clusters), byte for byte: saved
// under its own name it loads back, and it shows the keys that another preset needs.
func (l *Library) Text(kind, id string) ([]byte, error) {
	var err error
	switch kind {
	case modelDir:
		_, err = l.ModelPreset(id)
	case gpuDir:
		_, err = l.GPUPreset(id)
	case clusterDir:
		_, err = l.ClusterPreset(id)
	}
	if err != nil {
		return nil, err
	}
	for at := l; at != nil; at = at.base {
		if at.sound(kind, id) {
			return readFile(at.fsys, path.Join(kind, strings.ToLower(id)+extension))
		}
	}
	return nil, input.Errorf(id, "is no preset file")
}
