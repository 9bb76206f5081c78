package setupdoc

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/presets/input"
)

// maxNumber bounds what is read as a figure at all; the checks of the model and
// the machine know what each may be.
const maxNumber = 1e300

// assign writes a document's value into a field of a struct, found by its JSON
// name; path is its full name for messages.
func assign(into reflect.Value, path string, n *node) error {
	switch into.Kind() {
	case reflect.Struct:
		if n.kind != object {
			return wrongValue(path, n, "a table of "+strings.Join(keysOf(into.Type()), ", "))
		}
		for i := range n.members {
			if err := assignMember(into, path, &n.members[i]); err != nil {
				return err
			}
		}
		return nil
	case reflect.String:
		if n.kind != text {
			return wrongValue(path, n, "text")
		}
		if len(n.text) > maxLabel || !escape.Printable(n.text) {
			return wrongValue(path, n, fmt.Sprintf("at most %d bytes of printable text", maxLabel))
		}
		into.SetString(n.text)
		return nil
	case reflect.Bool:
		on, ok := knob.Switched(n.text)
		if !ok {
			return wrongValue(path, n, "on or off")
		}
		into.SetBool(on)
		return nil
	case reflect.Float64:
		return assignFloat(into, path, n)
	default:
		return assignInt(into, path, n)
	}
}

func assignMember(into reflect.Value, path string, m *member) error {
	field, ok := fieldByKey(into, m.key)
	if !ok {
		return place(m.at, unknownKey(path+"."+m.key, prefixed(path, keysOf(into.Type()))))
	}
	return assign(field, path+"."+m.key, m.value)
}

func assignInt(into reflect.Value, path string, n *node) error {
	const allowed = "a whole number, 0 or more"
	if n.kind != number && n.kind != text {
		return wrongValue(path, n, allowed)
	}
	v, ok := whole(n.text)
	if n.typed() {
		var err error
		if v, ok, err = knob.ReadWhole(path, n.text); err != nil {
			return place(n.at, err)
		}
	}
	if !ok || v < 0 || v > math.MaxInt64/2 {
		return wrongValue(path, n, allowed)
	}
	into.SetInt(v)
	return nil
}

func assignFloat(into reflect.Value, path string, n *node) error {
	allowed := "a number, 0 or more"
	if strings.HasSuffix(path, "bandwidth") {
		allowed = "a number of bytes per second, 0 or more, such as 10e9 for 10 GB/s"
	}
	if n.kind != number && n.kind != text {
		return wrongValue(path, n, allowed)
	}
	v, err := strconv.ParseFloat(n.text, 64)
	ok := err == nil && decimal(n.text)
	if n.typed() {
		if v, ok, err = knob.ReadDecimal(path, n.text); err != nil {
			return place(n.at, err)
		}
	}
	if !ok || math.IsNaN(v) || v < 0 || v > maxNumber {
		return wrongValue(path, n, allowed)
	}
	into.SetFloat(v)
	return nil
}

// typed reports whether a value is written as people write it: on a command line, or in quotes.
func (n *node) typed() bool { return n.at.line == 0 || n.kind == text }

// wrongValue returns a *knob.ValueError at the place of the value.
func wrongValue(path string, n *node, allowed string) error {
	return place(n.at, &knob.ValueError{Field: path, Given: n.shown(), Allowed: allowed})
}

// place adds the position of an error, unless it has one or there is none. An error of
// another file, which the document names, gets the position of its name.
func place(at position, err error) error {
	placed, ok := errors.AsType[*input.Error](err)
	if at.line == 0 || ok && placed.File == "" {
		return err
	}
	return &input.Error{Line: at.line, Column: at.column, Err: err}
}

// fieldByKey finds the field of a struct by its JSON name.
func fieldByKey(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if name := jsonName(v.Type().Field(i)); name == key && name != "-" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func keysOf(t reflect.Type) []string {
	keys := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func prefixed(path string, keys []string) []string {
	full := make([]string, len(keys))
	for i, k := range keys {
		full[i] = path + "." + k
	}
	return full
}

// fields are the plain fields of a struct with their values, both as --set takes
// them, in the order of the struct.
type fields [][2]string

// fieldsOf lists the fields of a struct and of the structs in it; prefix is its
// own name.
func fieldsOf(prefix string, of any) fields { return listFields(nil, prefix, reflect.ValueOf(of)) }

func listFields(out fields, path string, v reflect.Value) fields {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := jsonName(v.Type().Field(i)); name != "-" {
				out = listFields(out, path+"."+name, v.Field(i))
			}
		}
		return out
	case reflect.String:
		return append(out, [2]string{path, v.String()})
	case reflect.Bool:
		return append(out, [2]string{path, strconv.FormatBool(v.Bool())})
	case reflect.Float64:
		return append(out, [2]string{path, strconv.FormatFloat(v.Float(), 'g', -1, 64)})
	default:
		return append(out, [2]string{path, strconv.FormatInt(v.Int(), 10)})
	}
}
