package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"meshscope/engine/escape"
)

// events logs what clients do. How much they can cause is bounded: what is left out is counted.
type events struct {
	log    *slog.Logger
	mu     sync.Mutex
	rate   *bucket // of clients without a login
	visits *bucket // of guests
	silent int     // left out since the last line
}

const (
	// quietLines is how many lines a second clients without a login can cause, after a burst of ten times as
	// many.
	quietLines = 5
	// visitLines is the same for guests, who log in and out again: the burst is two full lecture halls that
	// do.
	visitLines = 2
	visitBurst = 1000
)

func newEvents(log *slog.Logger) *events {
	return &events{
		log: log, rate: newBucket(quietLines, 10*quietLines),
		visits: newBucket(visitLines, visitBurst),
	}
}

// quietly logs what a client without a login caused.
func (e *events) quietly(what string, args ...any) { e.bounded(e.rate, slog.LevelInfo, what, args) }

// visited logs what a guest caused.
func (e *events) visited(what string, args ...any) { e.bounded(e.visits, slog.LevelInfo, what, args) }

// crashed logs that the explorer of a guest ended by itself.
func (e *events) crashed(args ...any) { e.bounded(e.visits, slog.LevelError, "crash", args) }

func (e *events) bounded(rate *bucket, level slog.Level, what string, args []any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !rate.allow() {
		e.silent++
		return
	}
	e.count()
	e.log.Log(context.Background(), level, what, args...)
}

// flush logs what was left out.
func (e *events) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count()
}

func (e *events) count() {
	if e.silent > 0 {
		e.log.Info("lines left out", "count", e.silent, "until", time.Now().UTC().Format(time.RFC3339))
		e.silent = 0
	}
}

// mostOfName is how much of a text from a client is logged, in characters.
const mostOfName = 64

// name returns a text from a client for the log.
func name(text string) string {
	runes := []rune(escape.Line(text))
	return string(runes[:min(len(runes), mostOfName)])
}
