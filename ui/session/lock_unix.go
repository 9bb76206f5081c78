//go:build unix

package session

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lock keeps other programs out of a folder between reading and writing, as far as
// its file system can: where it cannot, or somebody holds it for longer than
// anything here takes, the work goes on without. Files are replaced whole in either
// case.
func lock(dir string) (unlock func()) {
	const tries, pause = 50, 10 * time.Millisecond
	folder, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for range tries {
		if err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err,
			syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(pause)
	}
	return func() { _ = folder.Close() } // which gives it back
}
