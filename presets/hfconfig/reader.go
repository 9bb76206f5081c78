package hfconfig

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine/escape"
	"meshscope/engine/model"
	"meshscope/presets/input"
)

// MaxBytes is how many bytes a config.json may have: one that names every quantised tensor has a few million.
const MaxBytes = 8 << 20

//go:embed classes.toml
var classFile []byte

// class is a configuration class of the transformers library.
type class struct {
	Types    []string       `toml:"types"` // values of model_type
	Name     string         `toml:"name"`
	Source   string         `toml:"source"`
	Defaults map[string]any `toml:"defaults"`
	// Names are the class's own names of keys that others call otherwise; Inside the objects whose keys
	// count, as object.key.
	Names  map[string]string `toml:"names"`
	Inside []string          `toml:"inside"`
	Times  int               `toml:"times"` // hidden_size in the width of an MLP that no key gives
	// what the head of classes.toml says
	Reads     []string       `toml:"reads"`
	Fixed     map[string]any `toml:"fixed"`
	Plain     bool           `toml:"plain"`
	Whole     bool           `toml:"whole"`
	Bias      string         `toml:"bias"`
	Experts   []string       `toml:"experts"`
	Shared    string         `toml:"shared"`
	FullEvery int            `toml:"full_every"`
	EveryKey  string         `toml:"every_key"`
	KeyNorms  string         `toml:"key_norms"`
	Mamba     [6]string      `toml:"mamba"`
}

// classTable is the content of classes.toml, which a test reads whole.
type classTable struct {
	Fields  map[string]string `toml:"fields"`
	Class   []class           `toml:"class"`
	Ignored []struct {
		Why  string   `toml:"why"`
		Keys []string `toml:"keys"`
	} `toml:"ignored"`
}

// classes returns it, read once: an unknown type is compared with all of them.
var classes = sync.OnceValue(func() (t classTable) { //nolint:gochecknoglobals // never changes
	if err := toml.Unmarshal(classFile, &t); err != nil {
		panic("hfconfig: classes.toml: " + err.Error())
	}
	return t
})

// classOf returns the class of a model_type; nil where it is not known.
func classOf(kind string) *class {
	for _, c := range classes().Class {
		if slices.Contains(c.Types, kind) {
			return &c
		}
	}
	return nil
}

// types returns the values of model_type that are known, in the order of the alphabet.
func types() (all []string) {
	for _, c := range classes().Class {
		all = append(all, c.Types...)
	}
	slices.Sort(all)
	return all
}

// reasons returns the keys that do not count, and why.
func reasons() map[string]string {
	out := map[string]string{}
	for _, group := range classes().Ignored {
		for _, key := range group.Keys {
			out[key] = group.Why
		}
	}
	return out
}

// none is the default of a key that is None in Python.
const none = "none"

// value is a key of the file.
type value struct {
	raw   json.RawMessage
	at    int    // offset of its end in the file
	path  string // with the object that it is in
	outer bool   // next to the configuration of the language model
}

// from is the offset of its beginning.
func (v value) from() int { return v.at - len(v.raw) }

// inOrder returns the names of keys in the order of the file.
func inOrder(keys map[string]value) []string {
	return slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		return cmp.Or(keys[a].at-keys[b].at, strings.Compare(a, b))
	})
}

// reader fills a Result from the keys of a file.
type reader struct {
	Result
	text  []byte
	ends  input.Breaks // once they were looked for
	asIs  []byte       // text before finite
	keys  map[string]value
	used  map[string]bool
	given map[string]string // fields of the model, and the keys that gave them
	class *class
	as    string // the type that it is read as
	inner bool   // the language model is an object in another one
}

// open reads the keys of the file, those of the language model inside a vision-language model
// before those around it.
func (r *reader) open() error {
	if len(r.text) > MaxBytes {
		return fmt.Errorf("longer than %d bytes, the limit of a config.json", MaxBytes)
	}
	text, err := input.Text(r.text)
	if err == nil {
		r.asIs, text = text, finite(text)
		err = input.CheckJSON(text)
	}
	if err != nil {
		return err
	}
	r.text = text
	top, err := r.object("", text, 0)
	if err != nil {
		return err
	}
	return r.inside(top)
}

// inside reads the keys of an object, those of one in it that is the language model, or has it, before the
// others.
func (r *reader) inside(top map[string]value) (err error) {
	for _, inner := range []string{"text_config", "llm_config", "thinker_config", "language_config"} {
		v, ok := top[inner]
		if !ok || string(v.raw) == "null" {
			continue
		}
		keys, err := r.object(v.path+".", v.raw, v.from())
		if err != nil {
			return err
		}
		if err = r.inside(keys); err != nil {
			return err
		}
		r.inner = true
		delete(top, inner)
		var outer string
		_ = json.Unmarshal(top["model_type"].raw, &outer)
		for _, key := range inOrder(top) {
			v := top[key]
			if key == "tie_word_embeddings" && strings.HasPrefix(outer, "qwen3_vl") { // which reads it there
				r.keys[key] = v
				continue
			}
			if _, own := r.keys[key]; own {
				r.ignore(v, inner+" has its own")
				continue
			}
			v.outer = true
			r.keys[key] = v
		}
		return nil
	}
	r.keys = top
	return nil
}

// object returns the keys of a JSON object that begins at an offset of the file.
func (r *reader) object(path string, raw []byte, from int) (map[string]value, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		line, column := input.Place(r.text, from)
		return nil, &input.Error{
			Line: line, Column: column, Key: strings.TrimSuffix(path, "."),
			Err: errors.New("allowed: an object of keys such as hidden_size"),
		}
	}
	keys := map[string]value{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		v := value{path: path + name}
		if err := dec.Decode(&v.raw); err != nil {
			return nil, err
		}
		v.at = from + int(dec.InputOffset())
		if _, twice := keys[name]; twice {
			return nil, r.placed(v, fmt.Errorf("comes twice"))
		}
		keys[name] = v
	}
	return keys, nil
}

// finite writes numbers that Python writes and JSON has not, of the same length: Infinity and NaN.
func finite(text []byte) []byte {
	in := bytes.Clone(text)
	quoted := false
	for i := 0; i < len(in); i++ {
		switch c := in[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c == 'I' && bytes.HasPrefix(in[i:], []byte("Infinity")):
			copy(in[i:], "1.0e+308")
		case !quoted && c == 'N' && bytes.HasPrefix(in[i:], []byte("NaN")):
			copy(in[i:], "0.0")
		}
	}
	return in
}

// literal returns a value as the file has it.
func (r *reader) literal(v value) string {
	if from := v.from(); from >= 0 && v.at <= len(r.asIs) && v.at > 0 {
		return string(r.asIs[from:v.at])
	}
	return string(v.raw)
}

// rename gives the keys of the class their usual names; messages have the file's.
func (r *reader) rename() {
	for _, outer := range r.class.Inside {
		if v, ok := r.keys[outer]; ok && string(v.raw) != "null" {
			r.used[outer] = true
			inner, err := r.object(v.path+".", v.raw, v.from())
			if err != nil {
				r.refusef(outer, "an object of keys, not %s", escape.Clip(r.literal(v)))
				continue
			}
			for key, v := range inner {
				r.keys[outer+"."+key] = v
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.class.Names)) {
		usual := r.class.Names[name]
		v, ok := r.keys[name]
		if _, both := r.keys[usual]; ok && both {
			r.skip("another name of "+usual, name)
		} else if ok {
			r.keys[usual] = v
			delete(r.keys, name)
		}
	}
}

// called returns the class's name of a key that the file lacks.
func (r *reader) called(key string) string {
	for _, name := range slices.Sorted(maps.Keys(r.class.Names)) {
		if r.class.Names[name] == key {
			return name
		}
	}
	return key
}

// line returns the line of an offset, from 1.
func (r *reader) line(at int) int {
	if r.ends == nil { // found once: a file may have many keys
		r.ends = input.NewBreaks(r.text)
	}
	line, _ := r.ends.Line(at)
	return line
}

// placed returns an error at a key of the file.
func (r *reader) placed(v value, err error) *input.Error {
	line, column := input.Place(r.text, max(v.from(), 0))
	return &input.Error{Line: line, Column: column, Key: v.path, Err: err}
}

// at returns an error at a key, or without a place where the file does not have it.
func (r *reader) at(key string, err error) *input.Error {
	if v, ok := r.keys[key]; ok {
		return r.placed(v, err)
	}
	if r.class != nil {
		key = r.called(key)
	}
	return &input.Error{Key: key, Err: err}
}

// refusef adds a problem at a key.
func (r *reader) refusef(key, format string, args ...any) {
	r.Problems = append(r.Problems, r.at(key, fmt.Errorf(format, args...)))
}

// kind returns the architecture, that of the language model where it has its own; that of a class where the
// file has no model_type; false where it is no text.
func (r *reader) kind() (kind string, ok bool) {
	if r.has("model_type") {
		return kind, json.Unmarshal(r.keys["model_type"].raw, &kind) == nil
	}
	var names []string
	_ = json.Unmarshal(r.keys["architectures"].raw, &names)
	for _, name := range names {
		for _, known := range types() {
			if plainName(known) == familyOf(name) && (kind == "" || len(known) < len(kind)) {
				kind = known
			}
		}
	}
	return kind, true
}

// plainName is a type without what its class is not called; familyOf that of a class.
func plainName(kind string) string {
	return strings.TrimSuffix(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(kind)), "text")
}

func familyOf(class string) string {
	return plainName(regexp.MustCompile(`(For[A-Z]|LMHead|Model$).*`).ReplaceAllString(class, ""))
}

// architectures refuses a class of another family than model_type: one of the two is wrong, and
// the layers of each differ. What stands around a language model says nothing of it.
func (r *reader) architectures(kind string) {
	var names []string
	v := r.keys["architectures"]
	if v.outer || json.Unmarshal(v.raw, &names) != nil {
		return
	}
	for _, name := range names {
		of := familyOf(name)
		if of == plainName(kind) {
			continue
		}
		for _, other := range types() {
			// of one class, the layers are the same
			if plainName(other) == of && !slices.Contains(r.class.Types, other) {
				r.used["architectures"] = true
				r.refusef("architectures", "%s is a class of %s, but model_type is %s", escape.Quote(name),
					other, kind)
				return
			}
		}
	}
	r.skip("names the class that model_type gives", "architectures")
}

// name returns the name of the checkpoint where it is printable ASCII, else that of the family.
func (r *reader) name(kind string) string {
	var name string
	_ = json.Unmarshal(r.keys["_name_or_path"].raw, &name)
	if name == "" || len(name) > model.MaxLabel ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return kind
	}
	return name
}

// layerTypes refuses a list of the layers' kinds that has not one for each, where the family reads none.
func (r *reader) layerTypes() {
	const key = "layer_types"
	var list []json.RawMessage
	layers := r.Model.Layers
	if r.used[key] || !r.has(key) || json.Unmarshal(r.keys[key].raw, &list) != nil ||
		json.Unmarshal(r.keys["num_hidden_layers"].raw, &layers) == nil && layers == len(list) {
		return
	}
	r.long(key, len(list))
}

// foreign refuses keys that shape the layers of other families: this one would be counted wrongly.
func (r *reader) foreign() {
	if r.Model.QKNorm != model.QKNormNone {
		r.skip("as in every model of this class", "use_qk_norm")
	}
	r.skip("modules for multi-token prediction of this class are not counted", "num_nextn_predict_layers",
		"num_mtp_layers", "num_mtp_modules")
	for _, key := range []string{
		"num_local_experts", "num_experts", "n_routed_experts", "moe_intermediate_size", "moe_layers",
		"mlp_only_layers", "n_shared_experts", "num_experts_per_tok",
		"kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "sliding_window",
		"attention_chunk_size", "attention_bias", "mlp_bias", "use_qk_norm",
		"state_size", "add_cross_attention", "alibi", "parallel_attn", "multi_query",
	} {
		v, ok := r.keys[key]
		if !ok || r.used[key] || v.outer {
			continue
		}
		if slices.Contains([]string{"null", "false", "0", "[]"}, string(v.raw)) {
			r.skip(string(v.raw)+", as if it were not there", key)
			continue
		}
		r.used[key] = true
		r.refusef(key, "%s, but %s has no such key: what it means for a layer is not known",
			escape.Clip(r.literal(v)), r.class.Name)
	}
}
