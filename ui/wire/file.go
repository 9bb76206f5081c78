package wire

import (
	"os"

	"github.com/charmbracelet/x/term"
)

// File is a Writer to a terminal that is still known as one: the program asks it
// for its size and its modes.
type File struct {
	*Writer
	file *os.File
}

// NewFile shortens what goes to a terminal.
func NewFile(f *os.File) *File {
	return &File{file: f, Writer: New(f, func() (columns, rows int) {
		columns, rows, err := term.GetSize(f.Fd())
		if err != nil {
			return 0, 0
		}
		return columns, rows
	})}
}

// Read reads from the terminal.
func (f *File) Read(p []byte) (int, error) { return f.file.Read(p) }

// Close closes the terminal.
func (f *File) Close() error { return f.file.Close() }

// Fd is the terminal's file descriptor.
func (f *File) Fd() uintptr { return f.file.Fd() }

var _ term.File = (*File)(nil)
