package cli

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// endings returns the signals that end the explorer, with their exit codes: 128 plus the
// number of the signal, as in shells. SIGINT ends it like the key ctrl+c.
func endings() map[os.Signal]int {
	return map[os.Signal]int{
		syscall.SIGHUP: 129, syscall.SIGQUIT: 131, syscall.SIGTERM: 143, syscall.SIGINT: exitFine,
	}
}

// patience is how long a signal waits for the explorer to end in order, before it gives up a terminal that
// takes no bytes.
const patience = time.Second

// onSignal returns a context that ends with a signal, and the exit code of that signal. It calls giveUp at
// a second signal, or, with a limit, when the first has not ended the command for so long.
func onSignal(ctx context.Context, limit time.Duration, giveUp func(code int)) (ended context.Context,
	code *atomic.Int32, stop func(),
) {
	ended, cancel := context.WithCancel(ctx)
	code = new(atomic.Int32)
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	for s := range endings() {
		signal.Notify(signals, s)
	}
	go func() {
		select {
		case s := <-signals:
			code.Store(int32(endings()[s]))
			cancel()
		case <-done:
			return
		}
		var late <-chan time.Time
		if limit > 0 {
			late = time.After(limit)
		}
		select {
		case <-signals:
		case <-late:
		case <-done:
			return
		}
		giveUp(int(code.Load()))
	}()
	return ended, code, func() {
		signal.Stop(signals)
		cancel()
		close(done)
	}
}

// onSignalOnce is onSignal of a command that a second signal ends without its answer.
func onSignalOnce(ctx context.Context) (ended context.Context, code *atomic.Int32, stop func()) {
	return onSignal(ctx, 0, func(code int) { abort(cmp.Or(code, exitInterrupt)) })
}
