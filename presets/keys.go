package presets

import (
	"reflect"
	"slices"
	"strings"

	"meshscope/presets/near"
)

// keysOf returns the TOML keys of a struct, those of embedded structs included.
func keysOf(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if f.Anonymous && key == "" {
			keys = append(keys, keysOf(f.Type)...)
		} else if key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// closestKey returns a question that proposes the key of the same meaning, else the nearest; empty where
// there is none.
func closestKey(given string, known []string) string {
	if meant := near.Key(strings.ToLower(given)); slices.Contains(known, meant) {
		return ": did you mean " + meant + "?"
	}
	return near.Question(given, known)
}
