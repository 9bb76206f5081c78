package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes a document for programs; keys keep the order of the struct.
func WriteJSON(to io.Writer, document any) error {
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// listed is a list that is written as [] when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
