package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// endings are the signals that end the explorer in order, and its exit codes
// then: 128 and the number of the signal, as shells say it. SIGINT is the key
// ctrl+c from elsewhere and ends it like the key.
func endings() map[os.Signal]int {
	return map[os.Signal]int{
		syscall.SIGHUP: 129, syscall.SIGQUIT: 131, syscall.SIGTERM: 143, syscall.SIGINT: exitFine,
	}
}

// onSignal gives a context that ends with a signal, and the exit code that goes
// with that signal.
func onSignal(ctx context.Context) (ended context.Context, code *atomic.Int32, stop func()) {
	ended, cancel := context.WithCancel(ctx)
	code = new(atomic.Int32)
	signals := make(chan os.Signal, 1)
	for s := range endings() {
		signal.Notify(signals, s)
	}
	go func() {
		select {
		case s := <-signals:
			code.Store(int32(endings()[s]))
			cancel()
		case <-ended.Done():
		}
	}()
	return ended, code, func() { signal.Stop(signals); cancel() }
}
