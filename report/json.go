package report

import (
	"encoding/json"
	"fmt"
	"io"
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

// listed returns a list that JSON writes as [] if it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
