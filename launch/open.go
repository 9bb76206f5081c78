package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// MaxFile is how many bytes a file may have that is imported.
const MaxFile = 10 << 20

// itself is the id of what this program writes itself: share strings and setup files.
const itself = "meshscope"

// Open returns what a text says of a setup, whatever it is: a share string, a config.json, a file
// of a launcher or a setup document.
func Open(name string, data []byte, lib *presets.Library) Reading {
	return OpenGiven(name, data, lib, Given{})
}

// OpenGiven is Open with what stands around a script.
func OpenGiven(name string, data []byte, lib *presets.Library, given Given) Reading {
	text, err := input.Text(data)
	if len(data) > MaxFile {
		err = fmt.Errorf("longer than %d bytes (10 MiB)", MaxFile)
	}
	if err != nil {
		return failed("", err)
	}
	if setupdoc.IsShare(string(text)) {
		keys, err := setupdoc.SharedKeys(string(text))
		if err == nil {
			_, err = setupdoc.Shared(string(text))
		}
		return asIs(keys, err)
	}
	doc, err := setupdoc.Parse(name, text)
	if r, ok := read(name, text, given); ok && (err != nil || doc.Empty()) {
		if r.Launcher != huggingFace {
			r.stamped(text, lib)
			r.remarks(text)
		}
		return r // a document with keys of its own is one whatever words are in it
	}
	if err == nil && doc.Empty() {
		err = errors.New("says nothing of a setup; expected are its keys, such as model, gpus and tp, " +
			"those of a config.json, such as num_hidden_layers, or those of a launcher's file")
		return failed("", err)
	}
	if err == nil {
		r := Reading{Launcher: itself, Setup: map[string]any{}, document: doc}
		if s, err := doc.Setup(lib); err == nil {
			if line, ok := setupdoc.Share(s, presets.Default(), lib); ok {
				keys, err := setupdoc.SharedKeys(line)
				r.Setup = asIs(keys, err).Setup
				r.only(doc)
			}
		}
		return r
	}
	if r, ok := readNamed(name, text); ok {
		return r
	}
	if of := notRead(name, text); of != "" {
		return failed("", fmt.Errorf("is of %s, which is known and not read: give its figures as flags, "+
			"such as --model, --gpus, --tp and --gbs, to any other command", of))
	}
	if r, ok := readTorchrun(name, text, given); ok {
		return r
	}
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".json" && ext != ".toml" &&
		!strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		var known []string
		for _, l := range Launchers() {
			known = append(known, l.Name)
		}
		for _, f := range programs() {
			known = append(known, f.name)
		}
		slices.Sort(known)
		known = slices.Compact(known)
		err = fmt.Errorf("is no share string, config.json, setup document or file of a launcher that is "+
			"known; known are %s", strings.Join(known, ", "))
	}
	return failed("", err)
}

// only leaves in the keys of a setup document without a degree what it gives: the rest is for a search.
func (r *Reading) only(doc *setupdoc.Document) {
	given := doc.Fixed()
	if search.NamesDegree(doc.Gives) {
		return
	}
	for key := range r.Setup {
		id := knob.ID(strings.ReplaceAll(key, "_", "-"))
		if _, known := knob.Find(id); known && !given.Has(id) && (id != knob.GPUs || !given.Has(knob.Nodes)) {
			delete(r.Setup, key)
		}
	}
}

// readNamed reads a file that nothing in it tells as a launcher's, such as the begin of one, by a
// name that does: that of the launcher in it, or the one its file usually has. Of a name with two
// launchers the first counts.
func readNamed(name string, data []byte) (Reading, bool) {
	base := strings.ToLower(filepath.Base(name))
	stem, ext := strings.TrimSuffix(base, filepath.Ext(base)),
		strings.Replace(filepath.Ext(base), ".yml", ".yaml", 1)
	for _, f := range []form{titanTOML(), nanotronFile(), deepSpeedFile(), accelerateFile(false)} {
		if usual, ok := strings.CutSuffix(f.file, ext); ok && ext != "" &&
			(stem == usual || strings.Contains(base, strings.TrimSuffix(f.id, "-toml"))) {
			if r := f.reading(data); len(r.Understood)+len(r.Problems) > 0 {
				return r, true
			}
		}
	}
	return Reading{}, false
}

// failed returns a reading that says nothing but what is wrong.
func failed(launcher string, err error) Reading {
	p := Problem{Message: err.Error()}
	if at, ok := errors.AsType[*input.Error](err); ok {
		p = Problem{Line: at.Line, Column: at.Column, Key: at.Key, Message: at.Err.Error()}
	}
	return Reading{Launcher: launcher, Setup: map[string]any{}, Problems: []Problem{p}}
}

// asIs returns the keys of a setup document that this program wrote.
func asIs(keys map[string]json.RawMessage, err error) Reading {
	if err != nil {
		return failed(itself, err)
	}
	r := Reading{Launcher: itself, Setup: map[string]any{}}
	for key, raw := range keys {
		var value any
		_ = json.Unmarshal(raw, &value)
		r.Setup[key] = value
	}
	return r
}

// OnlyModel reports whether a reading says nothing of a layout or a machine.
func (r *Reading) OnlyModel() bool {
	for key := range r.Setup {
		if key != "model" && !strings.HasPrefix(key, modelPrefix) {
			return false
		}
	}
	return len(r.Setup) > 0 && r.document == nil
}

// Err returns what is wrong with the file of a name, at the place of the first problem; nil where
// nothing is.
func (r *Reading) Err(name string) error {
	if len(r.Problems) == 0 {
		return nil
	}
	p := r.Problems[0]
	more := ""
	if n := len(r.Problems) - 1; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return &input.Error{
		File: name, Line: p.Line, Column: p.Column, Key: p.Key,
		Err: errors.New(p.Message + more),
	}
}

// Assumed lists what the file does not give, each with where its value comes from.
func (r *Reading) Assumed() []Understood {
	return slices.DeleteFunc(slices.Clone(r.Understood), func(u Understood) bool { return u.Assumed == "" })
}
