// Package input is how files, lines and documents come into the program: within a
// size, a depth and a number of keys, from regular files and from pipes that answer
// in time. What is refused is an *Error with its place.
package input

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"meshscope/engine/escape"
)

// Limits of what is read. They are far above what anyone writes by hand and keep a
// hostile file from costing time, memory or stack.
const (
	// MaxDocument is how many bytes a document may have: a setup, a model, a session,
	// a line of a batch.
	MaxDocument = 1 << 20
	// MaxPreset is how many bytes a preset or a file of keys may have.
	MaxPreset = 64 << 10
	// MaxKeys is how many keys a TOML document may have. A setup has fewer than 150, the
	// built-in table of error bands a thousand.
	MaxKeys = 4000
	// MaxJSONKeys is that of JSON: a report that is fed back has about 25 for each
	// pipeline rank.
	MaxJSONKeys = 50_000
	// MaxDepth is how many tables and lists may stand inside each other.
	MaxDepth = 16
	// MaxFiles is how many files of a folder are read.
	MaxFiles = 10_000
	// MaxErrors is how many unknown keys of one document are named.
	MaxErrors = 20
	// PipeWait is how long a named pipe may keep its reader waiting.
	PipeWait = 5 * time.Second
	// maxLine is how long a line may be that is skipped because it is longer than a
	// document: what has no line breaks at all has no lines.
	maxLine = 64 << 20
)

// Error says what is wrong with a document, and where. Line and Column count from 1
// and are 0 where the document as a whole is meant.
type Error struct {
	File         string // empty: not from a file
	Line, Column int
	Key          string // empty: no key is at fault, or Err names it
	Err          error
}

// Error gives file, place, key and what is wrong.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", escape.Name(e.File), e.Line, e.Column)
	case e.File != "":
		b.WriteString(escape.Name(e.File) + ": ")
	case e.Line > 0:
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	if e.Key != "" {
		b.WriteString(escape.Line(e.Key) + ": ")
	}
	return b.String() + escape.Text(e.Err.Error())
}

// Unwrap gives what is wrong without the place.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of a file as a whole.
func Errorf(file, format string, args ...any) *Error {
	return &Error{File: file, Err: fmt.Errorf(format, args...)}
}

// InFile gives an error of a document the name of its file, where it has none yet.
func InFile(file string, err error) error {
	if at, ok := errors.AsType[*Error](err); ok && at.File == "" {
		at.File = file
		return at
	}
	return err
}

// tooLong is the error of a document with more bytes than it may have.
func tooLong(most int) error { return fmt.Errorf("longer than %d bytes", most) }
