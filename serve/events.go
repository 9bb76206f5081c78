package serve

import (
	"log/slog"
	"sync"
	"time"

	"meshscope/engine/escape"
)

// events logs what clients do. What anybody can cause without a login is bounded: what is left
// out is counted.
type events struct {
	log    *slog.Logger
	mu     sync.Mutex
	rate   *bucket
	silent int // left out since the last line
}

// quietLines is how many lines a second clients without a login can cause, after a burst of ten times as many.
const quietLines = 5

func newEvents(log *slog.Logger) *events {
	return &events{log: log, rate: newBucket(quietLines, 10*quietLines)}
}

// quietly logs what a client without a login caused.
func (e *events) quietly(what string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.rate.allow() {
		e.silent++
		return
	}
	e.count()
	e.log.Info(what, args...)
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
