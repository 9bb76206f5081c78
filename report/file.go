package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Name is what a file of a document is called, without its end: the model, the
// number of GPUs, the degrees above one and the ZeRO stage, in letters that every
// file system has.
func Name(d *Evaluation) string {
	const longest = 40
	id := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, d.Setup.Model.ID), ".-")
	if len(id) > longest {
		id = id[:longest]
	}
	if id == "" {
		id = "model"
	}
	name := "meshscope-" + id + "-" + strconv.Itoa(d.Setup.GPUs) + "gpus"
	s := &d.Setup
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

// FileError says why no file was written, and in which folder.
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

// Elsewhere says whether another folder would do: this one cannot be written to.
func (e *FileError) Elsewhere() bool {
	return errors.Is(e.Err, fs.ErrPermission) || errors.Is(e.Err, syscall.EROFS) || errors.Is(e.Err, fs.ErrNotExist)
}

// Unwrap is the error of the file system.
func (e *FileError) Unwrap() error { return e.Err }

// maxSame is how many files of one name a folder may have.
const maxSame = 1000

// File writes a document into a folder under its name, or the next free one:
// what is there is never written over. It gives the file's path.
func File(folder string, f Format, d *Evaluation) (string, error) {
	var text strings.Builder
	if err := Write(&text, f, d.Answer()); err != nil {
		return "", err
	}
	for n := 1; n <= maxSame; n++ {
		name := Name(d)
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		path := filepath.Join(folder, name+f.Extension())
		err := create(path, text.String())
		switch {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrExist):
			return "", &FileError{Folder: folder, Err: err}
		}
	}
	return "", &FileError{Folder: folder, Err: fmt.Errorf("%d files of this name are there already; move or remove some", maxSame)}
}

// create writes a new file; one that cannot be written whole is taken away
// again.
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
