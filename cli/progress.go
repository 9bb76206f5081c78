package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"meshscope/engine/search"
	"meshscope/report/figure"
)

// How often progress is shown, and how soon at first: who gets an answer at once
// needs none.
const (
	progressAfter = 300 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress gives what shows how far a search is on standard error, if that is a
// terminal (otherwise it does nothing), and what takes it away again.
func (a *app) progress() (show func(line func() string), clear func()) {
	if a.prompt == nil || os.Getenv("TERM") == "dumb" {
		return func(func() string) {}, func() {}
	}
	var lock sync.Mutex
	next, shown := time.Now().Add(progressAfter), false
	show = func(line func() string) {
		lock.Lock()
		defer lock.Unlock()
		if now := time.Now(); now.After(next) {
			next, shown = now.Add(progressEvery), true
			_, _ = fmt.Fprintf(a.prompt, "\r%s\x1b[K", line())
		}
	}
	return show, func() {
		if shown {
			_, _ = a.prompt.WriteString("\r\x1b[K")
		}
	}
}

// progressLine is one line of at most 79 columns.
func progressLine(p search.Progress) string {
	if p.Ranked < 1 {
		return fmt.Sprintf("%3.0f %% of the cuts ranked, %s layouts; ctrl+c stops", 100*p.Ranked, figure.Comma(p.Legal))
	}
	return fmt.Sprintf("%s layouts ranked, %s evaluated in full; ctrl+c stops", figure.Comma(p.Legal), figure.Comma(p.Evaluated))
}

// askingLine is that line while the reason is looked for why there is nothing.
func askingLine(p search.Asking) string {
	return fmt.Sprintf("nothing found; why? question %d, %.0f %% of it; ctrl+c stops", p.Questions, 100*p.Share)
}
