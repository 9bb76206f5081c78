package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"meshscope/engine/search"
	"meshscope/report/figure"
)

// Timing of the progress line: a quick answer shows none.
const (
	progressAfter = 300 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress returns a function that shows a line of progress on standard error, if that is
// a terminal, and one that clears it.
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

// progressLine returns the progress of a search in at most 79 columns.
func progressLine(p search.Progress) string {
	if p.Ranked < 1 {
		return fmt.Sprintf("%3.0f %% of the space ranked, %s layouts; ctrl+c stops", 100*p.Ranked,
			figure.Comma(p.Legal))
	}
	return fmt.Sprintf("%s layouts ranked, %s evaluated in full; ctrl+c stops", figure.Comma(p.Legal),
		figure.Comma(p.Evaluated))
}

// askingLine returns the progress of finding out why a search found nothing.
func askingLine(p search.Asking) string {
	return fmt.Sprintf("nothing found; finding out why: step %d, %.0f %% done; ctrl+c stops", p.Questions,
		100*p.Share)
}
