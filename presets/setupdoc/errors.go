package setupdoc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"meshscope/engine/escape"
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

// unknownKey finds the known keys that are spelled most alike.
func unknownKey(key string, known []string) *KeyError {
	const keep, longest = 3, 64
	if len(key) > longest {
		return &KeyError{Key: key}
	}
	lower := strings.ToLower(key)
	distance := func(k string) int { return levenshtein.Distance(lower, k, nil) }
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		name := k[strings.LastIndexByte(k, '.')+1:] // what stands before it is alike in all of a table
		return distance(k) > 1+len(name)/3 && (lower == "" || !strings.HasPrefix(k, lower+"_"))
	})
	slices.SortStableFunc(near, func(a, b string) int { return distance(a) - distance(b) })
	return &KeyError{Key: key, Nearest: near[:min(keep, len(near))]}
}
