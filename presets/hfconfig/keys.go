package hfconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"meshscope/engine/escape"
)

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
