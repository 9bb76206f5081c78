package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/presets"
	"meshscope/presets/own"
)

// TestGuestHasNoFiles: nothing in a guest's options writes a file, and a name of one is an unknown model.
func TestGuestHasNoFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(`{"model_type":"secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	lib := presets.Default()
	a := &app{lib: lib.ReadingModels(own.ReadModel), closed: lib}
	o := a.guest(presets.StartSetup(), nil, nil)
	if o.Save != nil || o.Export != nil || o.Share != nil || o.Keep != nil || o.Timeline != nil ||
		o.CrashDir != "" || o.Open != nil {
		t.Error("something of a guest is written or read")
	}
	for _, name := range []string{file, filepath.Dir(file), "../../config.json", "~/config.json"} {
		if _, err := o.Library.Model(name); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
