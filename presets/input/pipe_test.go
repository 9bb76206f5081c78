//go:build unix

package input_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"meshscope/presets/input"
)

// How long a pipe may keep its reader waiting here, in place of input.PipeWait, which
// TestNothingHangs of the command line waits for: where nobody writes, and where somebody
// does, however busy the machine is.
const (
	pipeWait         = 50 * time.Millisecond
	enoughForAWriter = 3 * time.Second
)

// fifo makes a named pipe.
func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPipes: what comes through a pipe is read; nobody waits for long for what never
// comes.
func TestPipes(t *testing.T) {
	t.Parallel()
	t.Run("a writer", func(t *testing.T) {
		t.Parallel()
		name := fifo(t)
		go func() { _ = os.WriteFile(name, []byte("text"), 0o600) }()
		if text, err := input.ReadFile(name, 10); string(text) != "text" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
	t.Run("nobody writes", func(t *testing.T) {
		t.Parallel()
		if _, err := input.OpenWithin(fifo(t), pipeWait); !errors.Is(err, input.ErrWait) {
			t.Error(err)
		}
	})
	t.Run("a writer who stops", func(t *testing.T) {
		t.Parallel()
		name := fifo(t)
		read := make(chan struct{})
		go func() {
			if file, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
				_, _ = file.WriteString("te")
				<-read
				_ = file.Close()
			}
		}()
		defer close(read)
		file, err := input.OpenWithin(name, enoughForAWriter)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if text, err := input.Read(file, name, 10); !errors.Is(err, input.ErrWait) {
			t.Errorf("%q, %v", text, err)
		}
	})
	t.Run("without an end", func(t *testing.T) {
		t.Parallel()
		name := fifo(t)
		go func() {
			if file, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
				for {
					if _, err := file.WriteString("x"); err != nil {
						return
					}
				}
			}
		}()
		if _, err := input.ReadFile(name, 10); err == nil ||
			!strings.Contains(err.Error(), "longer than 10 bytes") {
			t.Error(err)
		}
	})
	t.Run("other kinds", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"/dev/zero", "/dev/tty", "/"} {
			if _, err := os.Stat(name); err != nil {
				continue
			}
			if _, err := input.ReadFile(name, 10); !errors.Is(err, input.ErrKind) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := input.ReadRegular(fifo(t), 10); !errors.Is(err, input.ErrKind) {
			t.Error(err)
		}
		if text, err := input.ReadFile(os.DevNull, 10); len(text) > 0 || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// TestPatience: a regular file that the kernel makes up, as /proc/kmsg is, has the time limit of a pipe; what
// comes in time is read.
func TestPatience(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Close() }()
	go func() { _, _ = write.WriteString("text") }()
	b := make([]byte, 10)
	if n, err := input.Patient(read, time.Minute).Read(b); string(b[:n]) != "text" || err != nil {
		t.Errorf("%q, %v", b[:n], err)
	}
	waiting := input.Patient(read, pipeWait)
	if _, err := waiting.Read(b); !errors.Is(err, input.ErrWait) {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for range 10 { // the read that waits is one
		if _, err := waiting.Read(b[:2]); !errors.Is(err, input.ErrWait) {
			t.Error(err)
		}
	}
	if now := runtime.NumGoroutine(); now > before+5 { // other tests run beside it
		t.Errorf("%d goroutines, %d after the first read", now, before)
	}
	_, _ = write.WriteString("text")
	_ = write.Close()
	var late []byte
	for {
		n, err := waiting.Read(b[:2])
		if late = append(late, b[:n]...); err != nil && !errors.Is(err, input.ErrWait) {
			break
		}
	}
	if string(late) != "text" {
		t.Errorf("%q comes late", late)
	}
}
