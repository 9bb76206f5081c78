package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// WriteJSON writes a document as JSON. Keys have the order of the struct.
func WriteJSON(to io.Writer, document any) error {
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Noticed is a document with what was left out before it was made: presets of the user that
// were refused, so that the built-in ones answer. In JSON it is the document's first key, notices.
type Noticed struct {
	Document any
	Notices  []string
}

// MarshalJSON writes the document with its notices.
func (n Noticed) MarshalJSON() ([]byte, error) {
	notices, err := json.Marshal(map[string][]string{"notices": n.Notices})
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	document, err := json.Marshal(n.Document)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return slices.Concat(notices[:len(notices)-1], []byte(","), document[1:]), nil
}

// listed returns a list that JSON writes as [] if it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
