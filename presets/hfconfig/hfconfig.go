// Package hfconfig reads a model from the config.json of a Hugging Face checkpoint: the file that
// comes with the weights. A family of architectures is a row of classes.toml: what its class of the
// transformers library takes for granted, and the file therefore leaves out, and what reads its keys.
// Every key of the file is accounted for: understood, ignored for a reason, or a problem with its
// place. Nothing is guessed.
package hfconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	OtherParts []OtherPart // parts of a checkpoint that the model's parameters leave out
	Problems   []*input.Error
}

// Key is a key of the file that became part of the model.
type Key struct {
	Name    string
	Value   any
	Fields  []string // keys of the model that it gives
	Line    int      // 0: not in the file
	Assumed string   // where the value comes from when the file does not give it
	Lacking bool     // a size that the file should have: the value is a guess
}

// Ignored is a key of the file that says nothing about the model, or nothing that is known.
type Ignored struct {
	Name, Why string
	Line      int
}

// UnknownError reports an architecture that is not read.
type UnknownError struct {
	Type, Nearest string
	file          bool // has keys of a model
}

func (e *UnknownError) Error() string {
	what := "model_type " + escape.Quote(e.Type)
	switch {
	case e.Type == "" && !e.file:
		return "no model_type, so this is no config.json of Hugging Face"
	case e.Type == "":
		what = "no model_type"
	case slices.Contains(notWorkedOut(), e.Type):
		what += " is known by name, but its layers are not worked out"
	default:
		what += fmt.Sprintf(" is not known, of the %d that are", len(types()))
	}
	return fmt.Sprintf("%s; nearest known: %s; --as %s reads it as that, or write a preset", what, e.Nearest,
		e.Nearest)
}

// notWorkedOut are types that were seen, and whose layers no source here describes.
func notWorkedOut() []string {
	return []string{
		"hy_v3", "laguna", "inkling", "sarvam_moe", "sarvam_mla", "mistral4", "solar_open", "apertus",
		"bailing_hybrid", "falcon_mamba", "minicpm3", "qwen3_8",
	}
}

// nearest returns the known type whose class has most of a file's keys, for its own, among those with the
// longest beginning of the name in common, at least three letters, or whose name it ends with; llama of those
// that have as many.
func (r *reader) nearest(kind string) string {
	longest, best, most := 2, "llama", max(3, r.likeness("llama")) // fewer keys tell nothing
	for _, known := range types() {
		if strings.HasSuffix(known, "_text") || strings.Contains(known, "_vl") { // the same as another
			continue
		}
		n := 0
		for n < min(len(known), len(kind)) && known[n] == kind[n] {
			n++
		}
		if strings.HasSuffix(kind, known) && len(known) > 3 {
			n = len(known)
		}
		score := r.likeness(known)
		if n = max(n, 2); n > longest || n == longest && score > most {
			longest, best, most = n, known, score
		}
	}
	return best
}

// likeness counts the keys of a file that the class of a type has, more where a word is its own, less for
// each size that the file lacks.
func (r *reader) likeness(known string) (score float64) {
	for key, of := range classOf(known).Defaults {
		switch n, size := of.(int64); {
		case r.has(key):
			if score++; !size && string(r.keys[key].raw) == written(of) {
				score += 0.5
			}
		case size && n > 1:
			score -= 0.5
		}
	}
	return score
}

// written returns a default as a file has it.
func written(of any) string {
	text, _ := json.Marshal(of) //nolint:errchkjson // of a table of plain values
	return string(text)
}

// As takes the type apart that a file is to be read as: "config.json as qwen3_moe".
func As(name string) (file, as string) {
	if i := strings.LastIndex(name, asWord); i > 0 {
		return name[:i], strings.TrimSpace(name[i+len(asWord):])
	}
	return name, ""
}

const asWord = " as "

// Named is the reverse of As.
func Named(file, as string) string {
	if as == "" {
		return file
	}
	return file + asWord + as
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

// Lacking returns an error that names the sizes that the file should have; nil where it has all.
func (r *Result) Lacking() error {
	var keys []string
	for _, k := range r.Understood {
		if k.Lacking {
			keys = append(keys, k.Name)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return &input.Error{Err: fmt.Errorf("%s: not in the file, which says no size of a model without; "+
		"'meshscope import' asks for them", strings.Join(keys, ", "))}
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
	return err == nil && json.Unmarshal(finite(text), &top) == nil &&
		(top.Type != nil || top.Architectures != nil)
}

// Read reads a config.json.
func Read(data []byte) Result { return ReadAs(data, "") }

// ReadAs reads it as one of a known type, whatever its own is; empty: as its own.
func ReadAs(data []byte, as string) Result {
	r := reader{text: data, keys: map[string]value{}, used: map[string]bool{}, given: map[string]string{}}
	if err := r.open(); err != nil {
		r.Problems = append(r.Problems, inWords(err))
		return r.Result
	}
	kind, ok := r.kind()
	if !ok && as == "" {
		r.refusef("model_type", `a text such as "llama", not %s`,
			escape.Clip(r.literal(r.keys["model_type"])))
		return r.Result
	}
	if r.as = as; as != "" && as != kind {
		if classOf(as) == nil {
			r.Problems = append(r.Problems,
				&input.Error{Err: fmt.Errorf("--as %s: no type that is known, of the %d that are; nearest "+
					"known: %s", escape.Quote(as), len(types()), r.nearest(as))})
			return r.Result
		}
		r.used["model_type"], r.Model.ReadAs = true, as
		r.derive("model_type", as,
			fmt.Sprintf("--as; the file has %s, and what else its layers have is not counted",
				escape.Quote(kind)), "family", "read_as")
		kind = as
	}
	if r.class = classOf(r.kindOfClass(kind)); r.class == nil {
		_, sizes := r.keys["hidden_size"]
		unknown := r.at("model_type", &UnknownError{Type: kind, Nearest: r.nearest(kind), file: sizes})
		unknown.Key = "" // the sentence has it
		r.Problems = append(r.Problems, unknown)
		return r.Result // what its keys mean is not known
	}
	r.rename()
	if r.Model.ReadAs == "" {
		if r.word("model_type", "family"); !r.has("model_type") {
			r.derive("model_type", kind, "none given: that of architectures", "family")
		}
		r.architectures(kind)
	}
	r.Model.Name, r.Model.Family = r.name(kind), kind
	r.read()
	r.layerTypes()
	r.ropeTheta()
	r.ropeScaling()
	r.normEps()
	if r.Model.ReadAs == "" {
		r.foreign()
	}
	r.lacking()
	if len(r.Problems) == 0 {
		r.check()
	}
	if len(r.Problems) == 0 {
		r.countOthers()
	}
	r.leftOver()
	return r.Result
}

// kindOfClass returns the type whose defaults count: the second version of Ling's mixture goes by the first's
// type.
func (r *reader) kindOfClass(kind string) string {
	if kind == "bailing_moe" && bytes.Contains(r.keys["architectures"].raw, []byte("BailingMoeV2")) {
		return "bailing_moe_v2"
	}
	return kind
}

// lacking tells which sizes the file does not give: without them the class is no model. Those of another
// class are all asked for; an object in another one may leave out what equals its class, but not both of
// these.
func (r *reader) lacking() {
	keys := []string{"hidden_size", "num_hidden_layers"}
	_, hidden := r.keys[keys[0]]
	_, layers := r.keys[keys[1]]
	if r.inner && (hidden || layers) {
		return
	}
	if r.Model.ReadAs != "" || !hidden || !layers && !r.used[keys[1]] {
		keys = append(keys, "num_attention_heads", "vocab_size", "intermediate_size", "moe_intermediate_size",
			"num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok")
	}
	for _, key := range keys {
		if _, has := r.keys[key]; has || r.used[key] {
			continue
		}
		for i, k := range r.Understood {
			if k.Name == r.called(key) && strings.HasPrefix(k.Assumed, "not in the file") &&
				len(k.Fields) > 0 {
				r.Understood[i].Lacking = true
			}
		}
	}
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
	return regexp.MustCompile(`[a-z]+(_[a-z]+)+|heads =|layers =|hidden =`).ReplaceAllStringFunc(sentence,
		func(field string) string {
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

// NoKey is why a key is ignored that no class here has.
const NoKey = "no key that is known here"

// leftOver tells of every key that nothing has read why it does not count.
func (r *reader) leftOver() {
	reasons := reasons()
	for _, key := range inOrder(r.keys) {
		if r.used[key] {
			continue
		}
		v := r.keys[key]
		why, known := reasons[key]
		if !known {
			why = NoKey
		}
		if v.outer && !known {
			why = "stands outside the language model, which alone is counted"
		}
		r.ignore(v, why)
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
