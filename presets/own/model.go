package own

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxModelBytes bounds the file of a model; a config.json has some kilobytes.
const maxModelBytes = 1 << 20

// ReadModel reads the file that a model is named by: a config.json of Hugging Face
// or a preset, or the folder of a checkpoint, which has the former. A file that is
// not there is fs.ErrNotExist.
func ReadModel(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		name = filepath.Join(name, "config.json")
		info, err = os.Stat(name)
	}
	if err != nil {
		return nil, plainly(err)
	}
	if !info.Mode().IsRegular() { // a pipe would keep its reader waiting for ever
		return nil, errors.New("not a regular file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, plainly(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxModelBytes+1))
	if err == nil && len(text) > maxModelBytes {
		err = fmt.Errorf("longer than %d bytes", maxModelBytes)
	}
	return text, err
}

// plainly is an error of the file system without the name, which is said already.
func plainly(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
