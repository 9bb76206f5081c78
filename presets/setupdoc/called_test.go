package setupdoc

import (
	"strings"
	"testing"
)

// TestCalled: a value is refused under the name that its knob was called by.
func TestCalled(t *testing.T) {
	var d Document
	_, parsed := Parse("a.toml", []byte("stack = \"transf\"\n"))
	_, listed := ReadChanges("tp=2,stack=transf")
	for name, err := range map[string]error{
		"a flag": d.Set("stack", "transf"), "a file": parsed, "a list": listed,
	} {
		if err == nil || !strings.Contains(err.Error(), `stack: given "transf"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Set("calibration", "transf"); err == nil || !strings.Contains(err.Error(), "calibration: ") {
		t.Errorf("by its own name: %v", err)
	}
}
