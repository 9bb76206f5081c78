package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// given is a key of the setup with a value that comes from elsewhere, such as a flag.
type given struct{ key, text string }

// Give takes a key of the setup from elsewhere, such as the flag --gpus, or an assignment of --set as
// the key "set": for what a file lacks, and over what it says.
func (r *Reading) Give(key, text string) {
	r.given = append(r.given, given{key, text})
	name := strings.ReplaceAll(key, "-", "_")
	if of, value, ok := strings.Cut(text, "="); ok && name == "set" {
		name = setPrefix + strings.TrimSpace(of)
		if strings.HasPrefix(name, modelPrefix) && r.document == nil {
			r.Setup[name] = numberOf(strings.TrimSpace(value))
		}
	}
	r.Unknown = slices.DeleteFunc(r.Unknown, func(u Unknown) bool {
		return u.Key == name || u.Key == "gpus" && (name == "nodes" || name == "dp") ||
			name == "model" && strings.HasPrefix(u.Key, modelPrefix)
	})
	// of which one follows
	if other := map[string]string{"gbs": "microbatches", "microbatches": "gbs"}[name]; other != "" {
		r.Unknown = slices.DeleteFunc(r.Unknown, func(u Unknown) bool { return u.Key == other })
		r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool {
			if u.Assumed != "" && slices.Equal(u.Setup, []string{other}) {
				delete(r.Setup, other)
				return true
			}
			return false
		})
	}
	if name == "gpu" || name == "cluster" { // over that of a comment
		delete(r.Setup, "gpu")
		delete(r.Setup, "cluster")
		r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool {
			return slices.Equal(u.Setup, []string{"gpu"}) || slices.Equal(u.Setup, []string{"cluster"})
		})
	}
	if name == "model" {
		for key := range r.Setup {
			if strings.HasPrefix(key, modelPrefix) {
				delete(r.Setup, key)
			}
		}
	}
	r.Understood = append(r.Understood, Understood{Key: "--" + key, Value: text, Setup: []string{name}})
}

// over puts what was given over a document.
func (r *Reading) over(doc *setupdoc.Document) error {
	for _, g := range r.given {
		err := error(nil)
		if g.key == "set" {
			err = doc.Assign(g.text)
		} else {
			err = doc.Set(g.key, g.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Resolve returns the setup of a reading, or adds why there is none to its problems, at the place of
// the key that it is about. What was given becomes part of the keys of the setup.
func (r *Reading) Resolve(lib *presets.Library) engine.Setup {
	r.complete()
	r.nodes(lib)
	s, err := r.resolve(lib)
	if err != nil {
		r.Problems = append(r.Problems, r.placed(err))
		return s
	}
	s = r.onStack(s, func() (engine.Setup, error) { return r.resolve(lib) })
	if rank := times(s.TP, s.PP, s.CP); r.Launcher != itself && s.GPUs != times(s.DP, rank) {
		err = &knob.ValueError{
			Field: string(knob.GPUs), Given: fmt.Sprint(s.GPUs),
			Allowed: fmt.Sprintf("a multiple of tp %d x pp %d x cp %d = %d", s.TP, s.PP, s.CP, rank),
		}
		r.Problems = append(r.Problems, r.placed(err))
		return s
	}
	if r.document != nil && len(r.given) > 0 {
		if line, ok := setupdoc.Share(s, presets.Default(), lib); ok {
			keys, err := setupdoc.SharedKeys(line)
			r.Setup = asIs(keys, err).Setup
		}
		return s
	}
	r.onMachine(&s)
	for i := range r.Unknown { // what stands in for it
		u := &r.Unknown[i]
		if k, ok := knob.Find(knob.ID(strings.ReplaceAll(u.Key, "_", "-"))); ok {
			u.Guess = flatValue(k.ID, k.Text(s))
		} else if u.Key == "model" {
			u.Guess = s.Model.ID
		}
		r.Understood = append(r.Understood, Understood{
			Key: u.Name(), Value: u.Guess, Setup: []string{u.Key},
			Assumed: Guessed + u.Why,
		})
	}
	for _, g := range r.given {
		id, _, _ := knob.Named(knob.ID(strings.ReplaceAll(g.key, "_", "-")), g.text)
		field, value, _ := strings.Cut(g.text, "=")
		if k, ok := knob.Find(id); ok {
			r.Setup[flat(id)] = flatValue(id, k.Text(s))
		} else if g.key == "set" {
			r.Setup[setPrefix+strings.TrimSpace(field)] = numberOf(strings.TrimSpace(value))
		} else {
			r.Setup[g.key] = g.text
		}
	}
	return s
}

// placed returns an error of the setup as a problem of the file: at the line of the key that gives
// what it is about, for the document that it has its own place in is nobody's.
func (r *Reading) placed(err error) Problem {
	p := Problem{Message: input.Reason(err).Error()}
	if r.document != nil {
		return p
	}
	var fields []string
	if at, ok := errors.AsType[*input.Error](err); ok {
		p.Message, fields = at.Err.Error(), []string{at.Key}
	}
	if of, ok := errors.AsType[*knob.ValueError](err); ok {
		fields = append(fields, of.Field)
	}
	if of, ok := errors.AsType[*knob.ConflictError](err); ok {
		fields = append(fields, of.Fields[:]...)
	}
	for _, field := range fields {
		key := strings.ReplaceAll(field, "-", "_")
		for _, u := range r.Understood {
			if u.Line > 0 && (slices.Contains(u.Setup, key) || slices.Contains(u.Setup, setPrefix+key)) {
				p.Line, p.Key = u.Line, u.Key
				return p
			}
		}
	}
	return p
}
