package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"meshscope/engine/search"
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

// Preface is what was decided before a document was made: presets of the user that were refused,
// so that the built-in ones answer, and the layout where none was given.
type Preface struct {
	Notices []string       `json:"notices,omitempty"`
	Chosen  *search.Chosen `json:"layout_chosen,omitempty"`
}

// Keys returns the preface as the first keys of a JSON object, each with a comma behind it.
func (p Preface) Keys() ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	if text = text[1 : len(text)-1]; len(text) > 0 {
		text = append(text, ',')
	}
	return text, nil
}

// Before returns a document whose JSON begins with the keys of the preface; the document itself
// where there are none.
func (p Preface) Before(document any) any {
	if len(p.Notices) == 0 && p.Chosen == nil {
		return document
	}
	return prefaced{p, document}
}

type prefaced struct {
	preface  Preface
	document any
}

func (p prefaced) MarshalJSON() ([]byte, error) {
	keys, err := p.preface.Keys()
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(p.document)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return slices.Concat([]byte("{"), keys, document[1:]), nil
}

// Listed returns a list that JSON writes as [] if it is empty.
func Listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
