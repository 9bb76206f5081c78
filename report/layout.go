package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
)

// Layout is the layout of a setup, in JSON an object with the keys of a setup document.
type Layout engine.Setup

// MarshalJSON writes the knobs that tell layouts apart, in the order of search.Layout.
func (l Layout) MarshalJSON() ([]byte, error) {
	s := engine.Setup(l)
	var out bytes.Buffer
	for i, id := range search.Layout() {
		k, _ := knob.Find(id)
		value, err := json.Marshal(k.Value(&s))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", id, err)
		}
		sign := ","
		if i == 0 {
			sign = "{"
		}
		fmt.Fprintf(&out, "%s%q:%s", sign, id, value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
