package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// endings returns the signals that end the explorer, with their exit codes: 128 plus the
// number of the signal, as in shells. SIGINT ends it like the key ctrl+c.
func endings() map[os.Signal]int {
	return map[os.Signal]int{
		syscall.SIGHUP: 129, syscall.SIGQUIT: 131, syscall.SIGTERM: 143, syscall.SIGINT: exitFine,
	}
}

// onSignal returns a context that ends with a signal, and the exit code of that signal.
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
