package hfconfig

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
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

// has reports whether the file has a key, with a value other than null.
func (r *reader) has(key string) bool {
	v, ok := r.keys[key]
	return ok && string(v.raw) != "null"
}

// find reads a key into a value: from the file, else from the class. It is false for null, and
// where neither has it. A wrong kind of value is a problem.
func (r *reader) find(key string, into any, kind string, fields []string) bool {
	if field, ok := classes().Fields[key]; ok && len(fields) == 0 {
		fields = []string{field}
	}
	for _, f := range fields {
		r.given[f] = key
	}
	v, ok := r.keys[key]
	if !ok {
		return r.assume(key, into, fields)
	}
	r.used[key] = true
	if string(v.raw) == "null" {
		r.understand(v, nil, fields...)
		return false
	}
	literal := r.literal(v)
	if i := absent(v.raw); i > 0 { // which would be read as 0, or as no word
		r.refusef(key, "item %d is null; allowed: %s", i, kind)
		return false
	}
	if err := json.Unmarshal(v.raw, into); err != nil || v.raw[0] != '[' && literal != string(v.raw) {
		r.refusef(key, "%s, not %s", kind, escape.Quote(literal))
		return false
	}
	var shown any
	_ = json.Unmarshal(v.raw, &shown)
	r.understand(v, shown, fields...)
	return true
}

// understand tells of a key what it gives, ignore why it does not count.
func (r *reader) understand(v value, shown any, fields ...string) {
	r.Understood = append(r.Understood,
		Key{Name: v.path, Value: shown, Fields: fields, Line: r.line(v.from())})
}

func (r *reader) ignore(v value, why string) {
	r.Ignored = append(r.Ignored, Ignored{Name: v.path, Why: why, Line: r.line(v.from())})
}

// absent returns which item of a list is null, from 1; 0 where none is, or it is no list.
func absent(raw []byte) int {
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return 0
	}
	return 1 + slices.IndexFunc(list, func(item json.RawMessage) bool { return string(item) == "null" })
}

// assume reads a key from the defaults of the class.
func (r *reader) assume(key string, into any, fields []string) bool {
	of, ok := r.class.Defaults[key]
	if !ok || of == none {
		return false
	}
	k := Key{
		Name: r.called(key), Value: of, Fields: fields,
		Assumed: "not in the file; default of " + r.class.Name + ", " + r.class.Source,
	}
	if r.has("auto_map") {
		k.Assumed += " (auto_map names code of its own, which is not read)"
	}
	r.Understood = append(r.Understood, k)
	text, err := json.Marshal(of)
	return err == nil && json.Unmarshal(text, into) == nil
}

// derive tells where a value comes from that neither the file nor its class gives.
func (r *reader) derive(key string, value any, why string, fields ...string) {
	r.Understood = append(r.Understood, Key{Name: key, Value: value, Fields: fields, Assumed: why})
}

// number reads a whole number; 0 and false for null, or where there is none.
func (r *reader) number(key string, fields ...string) (int, bool) {
	var n json.Number
	if !r.find(key, &n, "a whole number", fields) {
		return 0, false
	}
	f, err := n.Float64()
	if i, whole := strconv.Atoi(n.String()); whole == nil {
		return i, true
	}
	if err != nil || f != float64(int(f)) || f > 1e15 || f < -1e15 {
		r.refusef(key, "a whole number, not %s", escape.Quote(n.String()))
		return 0, false
	}
	return int(f), true
}

// must reads a number that the model cannot do without.
func (r *reader) must(key string, fields ...string) int {
	before := len(r.Problems)
	n, ok := r.number(key, fields...)
	if !ok && len(r.Problems) == before {
		r.refusef(key, "is missing; %s has no default for it", r.class.Name)
	}
	return n
}

// sizes reads numbers that the model cannot do without into their fields, counts others, flags true or false.
func (r *reader) sizes(keys ...string) {
	for _, key := range keys {
		r.put(key, r.must(key))
	}
}

func (r *reader) counts(keys ...string) {
	for _, key := range keys {
		n, _ := r.number(key)
		r.put(key, n)
	}
}

func (r *reader) flags(keys ...string) {
	for _, key := range keys {
		r.put(key, r.flag(key))
	}
}

// put gives the field of a key a value, give fields theirs.
func (r *reader) put(key string, to any) { r.give(map[string]any{classes().Fields[key]: to}) }

func (r *reader) give(fields map[string]any) {
	text, err := json.Marshal(fields)
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		err = dec.Decode(&r.Model)
	}
	if err != nil {
		panic(fmt.Sprintf("hfconfig: classes.toml: %v: %v", fields, err))
	}
}

// on reads a switch that is off where the file has none, usual one that is on.
func (r *reader) on(key string, fields ...string) bool { return r.has(key) && r.flag(key, fields...) }

func (r *reader) usual(key string, fields ...string) bool {
	return !r.has(key) || r.flag(key, fields...)
}

// unmodelled refuses switches of the file that stand one way.
func (r *reader) unmodelled(way bool, field, why string, keys ...string) {
	for _, key := range keys {
		if r.has(key) && r.flag(key, field) == way {
			r.refusef(key, "%t: %s", way, why)
		}
	}
}

// flag reads true or false.
func (r *reader) flag(key string, fields ...string) bool {
	var on bool
	return r.find(key, &on, "true or false", fields) && on
}

// word reads a text; empty where there is none.
func (r *reader) word(key string, fields ...string) string {
	var word string
	r.find(key, &word, "a text", fields)
	return word
}

// numbers reads a list of whole numbers; nil where there is none.
func (r *reader) numbers(key string, fields ...string) []int {
	var list []int
	r.find(key, &list, "a list of whole numbers", fields)
	return list
}

// bits reads a list of zeros and ones: which layers are of one of two kinds.
func (r *reader) bits(key string, fields ...string) []int {
	list := r.numbers(key, fields...)
	if i := slices.IndexFunc(list, func(n int) bool { return n != 0 && n != 1 }); i >= 0 {
		r.refusef(key, "layer %d has %d; allowed: 0 and 1", i+1, list[i])
	}
	return list
}

// first returns the first of several names of a key that the file has, else the first.
func (r *reader) first(keys ...string) string {
	for _, key := range keys {
		if r.has(key) {
			return key
		}
	}
	return keys[0]
}

// skip tells why keys do not count in this family.
func (r *reader) skip(why string, keys ...string) {
	for _, key := range keys {
		if v, ok := r.keys[key]; ok && !r.used[key] {
			r.used[key] = true
			r.ignore(v, why)
		}
	}
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

// ropeTheta reads the base of rotary positions, a key of its own or (version 5 of the library) of
// rope_parameters. Any but a whole number is left out: it changes no size.
func (r *reader) ropeTheta() {
	theta := func(raw json.RawMessage) (n int, ok bool) {
		var base float64
		err := json.Unmarshal(raw, &base)
		return int(base), err == nil && base >= 1 && base <= model.MaxRopeTheta && base == math.Trunc(base)
	}
	if !strings.HasPrefix(r.Model.Position, "rope") {
		return
	}
	key, raw := "rope_theta", r.keys["rope_theta"].raw
	if !r.has(key) {
		key = "rope_parameters"
		var of struct {
			Theta json.RawMessage `json:"rope_theta"`
		}
		if json.Unmarshal(r.keys[key].raw, &of) != nil {
			return
		}
		raw = of.Theta
	}
	n, ok := theta(raw)
	if v := r.keys[key]; ok && !v.outer && !r.used[key] {
		r.Model.RopeTheta, r.used[key], r.given["rope_theta"] = n, true, key
		r.understand(v, n, "rope_theta")
	}
}

// normEps reads the epsilon of the norms, which changes no size: one that is no number between 0 and 1 is
// left out.
func (r *reader) normEps() {
	for _, key := range []string{
		"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon",
	} {
		v, eps := r.keys[key], 0.0
		if !r.has(key) || v.outer || r.used[key] || json.Unmarshal(v.raw, &eps) != nil || eps <= 0 ||
			eps >= 1 {
			continue
		}
		r.Model.NormEps, r.used[key], r.given["norm_eps"] = eps, true, key
		r.Understood = append(r.Understood, Key{
			Name: v.path, Value: eps, Fields: []string{"norm_eps"}, Line: r.line(v.at - len(v.raw)),
		})
		return
	}
}

// ropeScaling reads how rotary positions are stretched: it changes no size. Version 5 of the library writes
// rope_parameters, of each kind of layers where they differ: the full ones count.
func (r *reader) ropeScaling() {
	for _, key := range []string{"rope_scaling", "rope_parameters"} {
		v := r.keys[key]
		read := func(raw json.RawMessage) (word string, factor float64, full json.RawMessage) {
			var of struct {
				Type   any             `json:"rope_type"`
				Old    any             `json:"type"`
				Factor any             `json:"factor"`
				Full   json.RawMessage `json:"full_attention"`
				Far    json.RawMessage `json:"compress"` // of DeepSeek-V4
			}
			_ = json.Unmarshal(raw, &of)
			if word, _ = of.Type.(string); word == "" {
				word, _ = of.Old.(string)
			}
			factor, _ = of.Factor.(float64)
			if of.Full == nil {
				of.Full = of.Far
			}
			return word, factor, of.Full
		}
		word, factor, full := read(v.raw)
		if word == "" {
			word, factor, _ = read(full)
		}
		if word == "" || word == "default" || word == "mrope" || v.outer || len(word) > 20 ||
			strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" ||
			!strings.HasPrefix(r.Model.Position, "rope") {
			continue
		}
		r.Model.RopeScaling, r.given["rope_scaling"] = word, key
		if factor > 0 && factor <= model.MaxSequence {
			r.Model.RopeFactor = factor
		}
		if !r.used[key] { // the base may be of the same key
			r.used[key] = true
			r.understand(v, fmt.Sprintf("%s, factor %g", word, factor), "rope_scaling", "rope_factor")
		}
		return
	}
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
