package cli

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"github.com/charmbracelet/x/term"
)

// watched is standard output of cobra's own commands, which ignore errors of writing: it
// keeps the first one.
type watched struct {
	io.Writer
	err  error
	trim bool // drop the blanks that the help adds at the ends of lines

	heads map[string]string // of the flags that are the first of a group of the help
	flags bool              // the list of flags has begun
}

// Write writes through.
func (w *watched) Write(p []byte) (int, error) {
	text := p
	if len(w.heads) > 0 {
		shown, below := headed(string(p), w.heads, w.flags)
		text, w.flags = []byte(shown), below
	}
	if w.trim {
		text = trimBlanks(text)
	}
	if _, err := w.Writer.Write(text); err != nil {
		if w.err == nil {
			w.err = err
		}
		return 0, err
	}
	return len(p), nil
}

// watchedFile is watched for a file, so that it can still be asked whether it is a
// terminal.
type watchedFile struct {
	*watched
	file *os.File
}

func (w watchedFile) Read(p []byte) (int, error) { return w.file.Read(p) }
func (w watchedFile) Close() error               { return nil }
func (w watchedFile) Fd() uintptr                { return w.file.Fd() }

// trimBlanks drops the blanks before every newline.
func trimBlanks(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	for i := range lines[:len(lines)-1] {
		lines[i] = bytes.TrimRight(lines[i], " ")
	}
	return bytes.Join(lines, []byte("\n"))
}

// watch wraps a stream; people tells that people read it.
func watch(to io.Writer, people bool) (io.Writer, *watched) {
	w := &watched{Writer: to, trim: people}
	if file, ok := to.(*os.File); ok {
		w.trim = people && !term.IsTerminal(file.Fd())
		return watchedFile{w, file}, w
	}
	return w, w
}

// terminalOf returns the file of a stream if it is a terminal, else nil.
func terminalOf(stream any) *os.File {
	if file, ok := stream.(*os.File); ok && term.IsTerminal(file.Fd()) {
		return file
	}
	return nil
}

// Widths of text for people.
const (
	unknownWidth = 80 // of a terminal that does not report its size
	minWidth     = 40
	maxWidth     = 1000
)

// width returns the width of text on standard output: COLUMNS, else that of the terminal,
// else the given one for a pipe or a file.
func (a *app) width(pipe int) int { return widthOf(a.screen, pipe) }

// widthOf returns the width of text on a terminal; nil: the given one for a pipe or a file.
func widthOf(screen *os.File, pipe int) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(max(n, minWidth), maxWidth)
	}
	if screen == nil {
		return pipe
	}
	n, _, err := term.GetSize(screen.Fd())
	if err != nil || n <= 0 {
		return unknownWidth
	}
	return min(max(n, minWidth), maxWidth)
}
