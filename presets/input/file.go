package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// ErrKind says that something else is where a file should be: a folder, a device.
var ErrKind = errors.New("not a regular file") //nolint:gochecknoglobals // a sentinel

// ErrWait says that a pipe did not answer within PipeWait.
var ErrWait = fmt.Errorf("nothing came through the pipe for %v; standard input (-) may take longer", PipeWait) //nolint:gochecknoglobals // a sentinel

// Open opens a regular file or a named pipe. Whatever could keep a reader for ever is
// ErrKind or, later, ErrWait: a device, a folder, a pipe that nobody writes to.
func Open(name string) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if name == os.DevNull || info.Mode().IsRegular() {
		return os.Open(name)
	}
	if info.Mode().Type() != fs.ModeNamedPipe {
		return nil, fmt.Errorf("%s, %w or pipe", kindOf(info), ErrKind)
	}
	return openPipe(name)
}

// kindOf is what stands where a file should be.
func kindOf(info fs.FileInfo) string {
	switch info.Mode().Type() {
	case fs.ModeDir:
		return "a folder"
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// openPipe waits for somebody who writes.
func openPipe(name string) (io.ReadCloser, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() { // which stays where nobody ever writes: there is no way to stop it
		file, err := os.Open(name)
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		return pipe{o.file}, nil
	case <-time.After(PipeWait):
		return nil, ErrWait
	}
}

// pipe is a named pipe of which no read waits longer than PipeWait.
type pipe struct{ *os.File }

// Read reads what is there.
func (p pipe) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(PipeWait)); err != nil {
		return 0, err
	}
	n, err := p.File.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrWait
	}
	return n, err
}

// ReadFile reads a regular file or a named pipe of at most so many bytes. What is
// longer is an *Error, what cannot be read an error of the file system.
func ReadFile(name string, most int) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return Read(file, name, most)
}

// ReadRegular is ReadFile for files that are read without being asked for: a pipe is
// ErrKind too.
func ReadRegular(name string, most int) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s, %w", kindOf(info), ErrKind)
	}
	return ReadFile(name, most)
}

// ReadFS is ReadRegular of a file system.
func ReadFS(fsys fs.FS, name string, most int) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s, %w", kindOf(info), ErrKind)
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return Read(file, name, most)
}

// Read reads a stream of at most so many bytes to its end; name is for the error.
func Read(from io.Reader, name string, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	if err == nil && len(data) > most {
		err = &Error{File: name, Err: tooLong(most)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Names lists the files of a folder by name, without the folders in it: MaxFiles of
// them at most, none where it cannot be read.
func Names(fsys fs.FS, folder string) []string {
	file, err := fsys.Open(folder)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	dir, ok := file.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	entries, _ := dir.ReadDir(MaxFiles) // what was read before an error counts
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// Reason is an error without the name of the file, for a message that names it already.
func Reason(err error) error {
	if at, ok := errors.AsType[*Error](err); ok {
		bare := *at
		bare.File = ""
		return &bare
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
