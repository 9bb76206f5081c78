package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Share puts a text that was copied into the file "copied" next to a session's, for
// terminals that do not pass the clipboard on, and gives the file's name.
func Share(path, text string) (string, error) {
	if path == "" {
		return "", nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("copy: %w", err)
	}
	file := filepath.Join(dir, "copied")
	if err := replace(dir, file, []byte(text+"\n")); err != nil {
		return "", fmt.Errorf("copy: %w", err)
	}
	return file, nil
}

// replace writes a file so that a reader, and a crash in between, see the old one or
// the new one and never a part: into a file next to it, which then takes its name.
func replace(dir, path string, text []byte) (err error) {
	file, err := os.CreateTemp(dir, ".session-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// writable makes a folder for a session and tries a file in it as large as most sessions are.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".session-*")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, 8<<10))
	if closing := file.Close(); err == nil {
		err = closing
	}
	if gone := os.Remove(file.Name()); err == nil {
		err = gone
	}
	return err
}

// Unwritable reports whether an error of Save is of the kind that a machine has
// for good: a home that is read-only, missing, full or no folder. The session is then not
// kept, and nothing more is said than by Open.
func Unwritable(err error) bool {
	for _, known := range []error{
		fs.ErrPermission, fs.ErrNotExist, fs.ErrExist, syscall.EROFS,
		syscall.ENOTDIR, syscall.ENOSPC, syscall.EDQUOT,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
