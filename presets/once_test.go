package presets

import (
	"errors"
	"testing"
)

// TestFileIsParsedOnce: a file of the same name and text is parsed once, sound or not, and again when its
// text changes.
func TestFileIsParsedOnce(t *testing.T) {
	parsed, bad := 0, errors.New("bad")
	parse := once(func(name string, text []byte) (p ModelPreset, err error) {
		parsed++
		if p.ID, p.Layers = name, len(text); len(text) == 0 {
			err = bad
		}
		return p, err
	})
	for i, c := range []struct {
		name, text string
		parsed     int
	}{
		{"a", "12", 1},
		{"a", "12", 1},
		{"a", "123", 2},
		{"b", "123", 3},
		{"a", "12", 3},
		{"a", "", 4},
		{"a", "", 4},
	} {
		p, err := parse(c.name, []byte(c.text))
		if parsed != c.parsed || p.ID != c.name || p.Layers != len(c.text) || (err == nil) != (c.text != "") {
			t.Errorf("call %d: %d parsed, want %d; %s with %d layers, %v", i+1, parsed, c.parsed, p.ID,
				p.Layers, err)
		}
	}
}
