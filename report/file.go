package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"meshscope/engine"
)

// Name returns the name of a document's file without its extension: the model, the number
// of GPUs, the degrees above one and the ZeRO stage, in characters that every file system
// allows.
func Name(d *Evaluation) string { return "meshscope-" + SetupName(&d.Setup) }

// SetupName returns a setup in the characters of a file's name.
func SetupName(s *engine.Setup) string {
	const longest = 40
	id := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s.Model.ID), ".-")
	if len(id) > longest {
		id = id[:longest]
	}
	if id == "" {
		id = "model"
	}
	name := id + "-" + strconv.Itoa(s.GPUs) + "gpus"
	for _, degree := range []struct {
		name string
		n    int
	}{{"tp", s.TP}, {"pp", s.PP}, {"cp", s.CP}, {"ep", s.EP}} {
		if degree.n > 1 {
			name += "-" + degree.name + strconv.Itoa(degree.n)
		}
	}
	return name + "-zero" + strconv.Itoa(s.ZeRO)
}

// FileError tells why no file was written, and in which folder.
type FileError struct {
	Folder string
	Err    error
}

func (e *FileError) Error() string {
	why := e.Err.Error()
	if at, ok := errors.AsType[*fs.PathError](e.Err); ok {
		why = at.Err.Error()
	}
	where := e.Folder
	if where == "." {
		where = "the current folder"
	}
	return fmt.Sprintf("nothing written: %s: %s", where, why)
}

// Elsewhere reports whether another folder may work: this one is not writable.
func (e *FileError) Elsewhere() bool {
	return errors.Is(e.Err, fs.ErrPermission) || errors.Is(e.Err, syscall.EROFS) ||
		errors.Is(e.Err, fs.ErrNotExist)
}

// Unwrap returns the error of the file system.
func (e *FileError) Unwrap() error { return e.Err }

// maxSame is the most files of one name in a folder.
const maxSame = 1000

// File writes a document into a folder under its name, or the next free one, and returns
// the path. It never overwrites a file.
func File(folder string, f Format, d *Evaluation) (string, error) {
	return Save(folder, Name(d), f.Extension(), func(to io.Writer) error { return Write(to, f, d.Answer()) })
}

// Save writes a new file into a folder under a name, or the next free one, and returns the path.
func Save(folder, name, extension string, write func(io.Writer) error) (string, error) {
	var text strings.Builder
	if err := write(&text); err != nil {
		return "", err
	}
	for n, first := 1, name; n <= maxSame; n++ {
		if n > 1 {
			name = first + "-" + strconv.Itoa(n)
		}
		path := filepath.Join(folder, name+extension)
		err := create(path, text.String())
		switch {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrExist):
			return "", &FileError{Folder: folder, Err: err}
		}
	}
	return "",
		&FileError{
			Folder: folder,
			Err:    fmt.Errorf("it has %d files of this name already; move or remove some", maxSame),
		}
}

// create writes a new file, and removes one that it cannot write completely.
func create(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
