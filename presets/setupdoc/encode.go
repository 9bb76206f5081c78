package setupdoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine"
)

// JSON writes the complete form of a setup.
func JSON(s engine.Setup) ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write setup: %w", err)
	}
	return append(data, '\n'), nil
}

// TOML writes the complete form of a setup, tables after plain keys.
func TOML(s engine.Setup) ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write setup: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // whole numbers stay whole
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("write setup: %w", err)
	}
	out, err := toml.Marshal(numbers(tree))
	if err != nil {
		return nil, fmt.Errorf("write setup: %w", err)
	}
	return out, nil
}

// numbers turns JSON's number literals into Go numbers that TOML can write.
func numbers(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k := range t {
			t[k] = numbers(t[k])
		}
	case json.Number:
		if !strings.ContainsAny(t.String(), ".eE") {
			if n, err := t.Int64(); err == nil {
				return n
			}
		}
		if f, err := t.Float64(); err == nil {
			return f
		}
	}
	return v
}
