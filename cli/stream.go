package cli

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"github.com/charmbracelet/x/term"
)

// watched is standard output for help, completion and the like, whose writers
// do not look at errors: the first one is kept.
type watched struct {
	io.Writer
	err  error
	trim bool // drop blanks at the ends of lines, with which the help fills them
}

// Write writes through.
func (w *watched) Write(p []byte) (int, error) {
	text := p
	if w.trim {
		text = trimBlanks(p)
	}
	if _, err := w.Writer.Write(text); err != nil {
		if w.err == nil {
			w.err = err
		}
		return 0, err
	}
	return len(p), nil
}

// watchedFile is watched for a file, so that what asks whether it is a terminal
// still gets an answer.
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

// watch wraps a stream that people read, or not.
func watch(to io.Writer, people bool) (io.Writer, *watched) {
	w := &watched{Writer: to, trim: people}
	if file, ok := to.(*os.File); ok {
		w.trim = people && !term.IsTerminal(file.Fd())
		return watchedFile{w, file}, w
	}
	return w, w
}

// terminalOf gives the file that a stream is, where that is a terminal.
func terminalOf(stream any) *os.File {
	if file, ok := stream.(*os.File); ok && term.IsTerminal(file.Fd()) {
		return file
	}
	return nil
}

// Widths of text for people.
const (
	unknownWidth = 80 // of a terminal that does not say
	minWidth     = 40
	maxWidth     = 1000
)

// width is how wide the text on standard output may be: what COLUMNS says, else
// the terminal, else what is given for a pipe or a file.
func (a *app) width(pipe int) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(max(n, minWidth), maxWidth)
	}
	if a.screen == nil {
		return pipe
	}
	n, _, err := term.GetSize(a.screen.Fd())
	if err != nil || n <= 0 {
		return unknownWidth
	}
	return min(max(n, minWidth), maxWidth)
}
