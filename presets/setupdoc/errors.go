package setupdoc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Error says where in a document something is wrong. What is wrong is Err: a
// *KeyError, an *engine.ValueError, or what the text is not.
type Error struct {
	File         string // empty: not from a file
	Line, Column int    // from 1; 0: not from a text
	Err          error
}

func (e *Error) Error() string {
	switch {
	case e.Line > 0 && e.File != "":
		return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
	case e.Line > 0:
		return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
	case e.File != "":
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return e.Err.Error()
}

// Unwrap gives what is wrong without the place.
func (e *Error) Unwrap() error { return e.Err }

// KeyError is a key that does not exist or comes twice.
type KeyError struct {
	Key     string
	Twice   bool
	Nearest []string // known keys that are spelled alike
}

func (e *KeyError) Error() string {
	switch {
	case e.Twice:
		return fmt.Sprintf("key %q comes twice", clip(e.Key))
	case len(e.Nearest) > 0:
		return fmt.Sprintf("unknown key %q; closest: %s", clip(e.Key), strings.Join(e.Nearest, ", "))
	}
	return fmt.Sprintf("unknown key %q", clip(e.Key))
}

// unknownKey finds the known keys that are spelled most alike.
func unknownKey(key string, known []string) *KeyError {
	const keep, longest = 3, 64
	if len(key) > longest {
		return &KeyError{Key: key}
	}
	lower := strings.ToLower(key)
	distance := func(k string) int { return levenshtein.Distance(lower, k, nil) }
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		return distance(k) > 1+len(k)/3
	})
	slices.SortStableFunc(near, func(a, b string) int { return distance(a) - distance(b) })
	return &KeyError{Key: key, Nearest: near[:min(keep, len(near))]}
}
