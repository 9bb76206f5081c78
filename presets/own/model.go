package own

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"meshscope/presets/input"
)

// ReadModel reads the file that a model is named by: a config.json of Hugging Face
// or a preset, or the folder of a checkpoint, which has the former. A file that is
// not there is fs.ErrNotExist. A pipe is refused: a setup finds its model again by the
// same name.
func ReadModel(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "config.json")
	}
	// a config.json can list every tensor that is quantised
	text, err := input.ReadRegular(name, input.MaxLog)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, input.Reason(err) // whoever asked names the file
	}
	return text, nil
}
