package input

import (
	"io"
	"time"
)

// OpenWithin opens a file as Open does; a pipe may keep it waiting for as long as is given.
var OpenWithin = open

// Patient returns a file of which no read waits longer than wait.
func Patient(file io.ReadCloser, wait time.Duration) io.Reader {
	return &patient{file: file, wait: wait}
}
