// Package hfconfig reads a model from the config.json of a Hugging Face checkpoint: the file that
// comes with the weights. A family of architectures is a function that reads its keys; what its
// class of the transformers library takes for granted, and the file therefore leaves out, is in
// classes.toml. Every key of the file is accounted for: understood, ignored for a reason, or a
// problem with its place. Nothing is guessed.
package hfconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
	"meshscope/presets/input"
)

// Result is what a config.json says. What was understood stays where something else is a problem.
type Result struct {
	Model      model.Model // without an id; its name is that of the file, if it gives one
	Understood []Key
	Ignored    []Ignored
	Problems   []*input.Error
}

// Key is a key of the file that became part of the model.
type Key struct {
	Name    string
	Value   any
	Fields  []string // keys of the model that it gives
	Line    int      // 0: not in the file
	Assumed string   // where the value comes from when the file does not give it
}

// Ignored is a key of the file that says nothing about the model, or nothing that is known.
type Ignored struct {
	Name, Why string
	Line      int
}

// UnknownError reports an architecture that is not supported.
type UnknownError struct{ Type string }

func (e *UnknownError) Error() string {
	if e.Type == "" {
		return "no model_type, so this is no config.json of Hugging Face"
	}
	near := "none of the known types is like it"
	if kin := kindred(e.Type); len(kin) > 0 {
		near = "nearest known: " + strings.Join(kin, ", ")
	}
	return fmt.Sprintf("model_type %s is not known, of the %d that are; %s; write a preset instead",
		escape.Quote(e.Type), len(families()), near)
}

// kindred returns the known types with which a type has the longest beginning in common, at least three letters.
func kindred(kind string) (kin []string) {
	longest := 3
	for _, known := range slices.Sorted(maps.Keys(families())) {
		n := 0
		for n < min(len(known), len(kind)) && known[n] == kind[n] {
			n++
		}
		if n > longest {
			longest, kin = n, nil
		}
		if n == longest {
			kin = append(kin, known)
		}
	}
	return kin
}

// Err returns the problems as one error, at the place of the first; nil where there is none.
func (r *Result) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	one := *r.Problems[0]
	for _, p := range r.Problems[1:] {
		one.Err = fmt.Errorf("%w; %s", one.Err, p.Error())
	}
	return &one
}

// Assumed tells in a sentence what the file does not give; empty where it gives all.
func (r *Result) Assumed() string {
	var parts []string
	why := ""
	for _, k := range r.Understood {
		if strings.HasPrefix(k.Assumed, "not in the file") {
			why = k.Assumed
			parts = append(parts, fmt.Sprintf("%s %v", k.Name, k.Value))
		}
	}
	if why == "" {
		return ""
	}
	return why + ": " + strings.Join(parts, ", ")
}

// Looks reports whether a text is like a config.json: an object with a model_type or
// with architectures.
func Looks(data []byte) bool {
	var top struct {
		Type          json.RawMessage `json:"model_type"`
		Architectures json.RawMessage `json:"architectures"`
	}
	text, err := input.Text(data)
	return err == nil && json.Unmarshal(finite(text), &top) == nil && (top.Type != nil || top.Architectures != nil)
}

// Read reads a config.json.
func Read(data []byte) Result {
	r := reader{text: data, keys: map[string]value{}, used: map[string]bool{}, given: map[string]string{}}
	if err := r.open(); err != nil {
		r.Problems = append(r.Problems, inWords(err))
		return r.Result
	}
	kind := r.kind()
	f, ok := families()[kind]
	if !ok {
		unknown := r.at("model_type", &UnknownError{kind})
		unknown.Key = "" // the sentence has it
		r.Problems = append(r.Problems, unknown)
		return r.Result // what its keys mean is not known
	}
	r.class = classOf(r.kindOfClass(kind))
	r.plain = f.plain
	r.rename()
	r.word("model_type", "family")
	r.architectures(kind)
	r.Model.Name, r.Model.Family = r.name(kind), kind
	f.read(&r)
	r.ropeTheta()
	r.foreign()
	if len(r.Problems) == 0 {
		r.check()
	}
	r.leftOver()
	return r.Result
}

// kindOfClass returns the type whose defaults count: the second version of Ling's mixture goes by the first's type.
func (r *reader) kindOfClass(kind string) string {
	if kind == "bailing_moe" && bytes.Contains(r.keys["architectures"].raw, []byte("BailingMoeV2")) {
		return "bailing_moe_v2"
	}
	return kind
}

// check adds what the model says of its own figures, at the keys that gave them.
func (r *reader) check() {
	for _, e := range r.Model.Check() {
		key, ok := r.given[e.Field]
		if !ok {
			key = e.Field
		}
		r.Problems = append(r.Problems, r.at(key, errors.New(r.inKeys(e.Given+"; allowed: "+e.Allowed))))
	}
}

// inKeys replaces the names of the model's fields in a sentence by the keys of the file that gave them.
func (r *reader) inKeys(sentence string) string {
	return regexp.MustCompile(`[a-z]+(_[a-z]+)+|heads =|layers =|hidden =`).ReplaceAllStringFunc(sentence, func(field string) string {
		name, rest, _ := strings.Cut(field, " ")
		key, ok := r.given[name]
		if !ok {
			return field
		}
		if v, ok := r.keys[key]; ok {
			key = v.path
		} else {
			key = r.called(key)
		}
		return strings.TrimSpace(key + " " + rest)
	})
}

// leftOver tells of every key that nothing has read why it does not count.
func (r *reader) leftOver() {
	reasons := reasons()
	for _, key := range slices.SortedFunc(maps.Keys(r.keys), func(a, b string) int { return r.keys[a].at - r.keys[b].at }) {
		if r.used[key] {
			continue
		}
		v := r.keys[key]
		why, known := reasons[key]
		if !known {
			why = "no key that is known here"
		}
		if v.outer && !known {
			why = "stands outside the language model, which alone is counted"
		}
		r.Ignored = append(r.Ignored, Ignored{Name: v.path, Why: why, Line: r.line(v.at - len(v.raw))})
	}
}

// inWords names the key at fault, or the document as a whole.
func inWords(err error) *input.Error {
	at, ok := errors.AsType[*input.Error](err)
	switch {
	case !ok:
		return &input.Error{Err: fmt.Errorf("not a JSON document of a model: %w", err)}
	case at.Key == "":
		at.Err = fmt.Errorf("not a JSON document of a model: %w", at.Err)
	}
	return at
}
