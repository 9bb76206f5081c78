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

// ErrKind reports a folder or a device in place of a file.
var ErrKind = errors.New("not a regular file")

// ErrWait reports a pipe, or a file of the kernel, without data for PipeWait.
var ErrWait = fmt.Errorf("no data from it for %v; standard input (-) has no time limit", PipeWait)

// Open opens a regular file or a named pipe. A device or a folder gives ErrKind; a pipe
// without a writer, here or while reading, gives ErrWait.
func Open(name string) (io.ReadCloser, error) { return open(name, PipeWait) }

// open opens a file as Open does; a pipe may keep it waiting for wait.
func open(name string, wait time.Duration) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if name == os.DevNull || info.Mode().IsRegular() {
		file, err := os.Open(name)
		if err != nil || info.Size() > 0 {
			return file, err
		}
		return &patient{file: file, wait: wait}, nil // what the kernel makes up has no size, and may wait
	}
	if info.Mode().Type() != fs.ModeNamedPipe {
		return nil, fmt.Errorf("%s, %w or pipe", kindOf(info), ErrKind)
	}
	return openPipe(name, wait)
}

// kindOf names the kind of a file that is not regular.
func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// openPipe waits for a writer, no longer than wait.
func openPipe(name string, wait time.Duration) (io.ReadCloser, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() { // leaks where no writer comes: a blocked open cannot be cancelled
		file, err := os.Open(name)
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		return pipe{o.file, wait}, nil
	case <-time.After(wait):
		return nil, ErrWait
	}
}

// pipe is a named pipe of which no read waits longer than wait.
type pipe struct {
	*os.File
	wait time.Duration
}

// Read waits for data, no longer than p.wait.
func (p pipe) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(p.wait)); err != nil {
		return 0, err
	}
	n, err := p.File.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrWait
	}
	return n, err
}

// patient is a file without deadlines of which no read waits longer than wait. A blocked read cannot be
// cancelled: the next one waits for the same.
type patient struct {
	file    io.ReadCloser
	wait    time.Duration
	reading chan part // nil: nothing is read just now
	rest    part      // what was read and not returned yet
}

// part is what a read gave.
type part struct {
	text []byte
	err  error
}

// Read waits for data, no longer than p.wait.
func (p *patient) Read(b []byte) (int, error) {
	if len(p.rest.text) == 0 && p.rest.err == nil {
		if p.reading == nil {
			reading, text := make(chan part, 1), make([]byte, len(b))
			p.reading = reading
			go func() {
				n, err := p.file.Read(text)
				reading <- part{text[:n], err}
			}()
		}
		select {
		case p.rest = <-p.reading:
			p.reading = nil
		case <-time.After(p.wait):
			return 0, ErrWait
		}
	}
	n := copy(b, p.rest.text)
	if p.rest.text = p.rest.text[n:]; len(p.rest.text) > 0 {
		return n, nil
	}
	err := p.rest.err
	p.rest.err = nil
	return n, err
}

// Close closes the file.
func (p *patient) Close() error { return p.file.Close() }

// ReadFile reads a regular file or a named pipe of at most the given number of bytes. A
// longer one gives an *Error, an unreadable one an error of the file system.
func ReadFile(name string, most int) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return Read(file, name, most)
}

// ReadRegular reads a regular file only: a pipe gives ErrKind. It is for files that the
// user did not name, and for those that are read more than once.
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

// ReadFS reads a regular file of a file system.
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

// Read reads a stream of at most the given number of bytes to its end; the error has the
// name.
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

// Names lists the files of a folder, sorted and without its subfolders: at most MaxFiles,
// none where the folder cannot be read.
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
	entries, _ := dir.ReadDir(MaxFiles) // entries read before an error count
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// Reason returns an error without the name of the file, for a message that already has it.
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
