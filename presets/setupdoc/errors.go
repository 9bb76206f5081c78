package setupdoc

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
	"meshscope/presets/near"
)

// KeyError is a key that does not exist, comes twice or is out of place.
type KeyError struct {
	Key     string
	Twice   bool
	First   string   // the other name that it came by before; empty: the same
	Beside  string   // the key that it must not stand next to
	Instead string   // the key that has the effect which this one would not have
	Names   string   // the key that chooses the preset whose id this one would change
	Nearest []string // known keys that are spelled alike
}

func (e *KeyError) Error() string {
	switch {
	case e.First != "":
		return fmt.Sprintf("%s and %s contradict each other: both give the rate between nodes",
			escape.Line(e.First), escape.Line(e.Key))
	case e.Twice:
		return fmt.Sprintf("key %s comes twice", escape.Quote(e.Key))
	case e.Beside != "":
		return fmt.Sprintf("key %s next to %q: a report used as input has its keys inside %q",
			escape.Quote(e.Key), e.Beside, e.Beside)
	case e.Instead != "":
		return fmt.Sprintf("%s has no effect with a cluster, which has its own links and nodes; use %s",
			escape.Line(e.Key), e.Instead)
	case e.Names != "":
		return fmt.Sprintf("%s cannot be set: it identifies a preset; use %s to choose another",
			escape.Line(e.Key), e.Names)
	case len(e.Nearest) > 0:
		return fmt.Sprintf("unknown key %s: did you mean %s?", escape.Quote(e.Key),
			strings.Join(e.Nearest, ", "))
	}
	return fmt.Sprintf("unknown key %s", escape.Quote(e.Key))
}

// unknownKey finds the field of a model that a key means, else the known keys that are spelled most alike.
func unknownKey(key string, known []string) *KeyError {
	path, bare, nested := strings.Cut(strings.ReplaceAll(strings.ToLower(key), "-", "_"), ".")
	if !nested {
		bare = path
	}
	fields := keysOf(reflect.TypeFor[model.Model]())
	for _, name := range []string{bare, near.Key(bare)} {
		if (!nested || path == "model") && slices.Contains(fields, name) {
			return &KeyError{Key: key, Nearest: []string{"model." + name}}
		}
	}
	return &KeyError{Key: key, Nearest: near.Words(key, known, 3)}
}
