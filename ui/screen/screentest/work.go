package screentest

import (
	"context"
	"testing"

	"meshscope/ui/screen"
)

// Program does with a screen's work what the program does: one piece at a time
// counts, the one before it is stopped, and after every report the screen is asked
// again. Work reports in the order in which it was asked for.
type Program struct {
	// Refresh is called after every report.
	Refresh func() screen.Request
	// Jobs counts the pieces of work.
	Jobs int

	stop  context.CancelFunc
	queue []func() func()
}

// Ask takes the request of the screen.
func (p *Program) Ask() {
	do := p.Refresh()
	if do.Work == nil {
		return
	}
	p.Stop()
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.queue = append(p.queue, func() func() { return do.Work(ctx) })
	p.Jobs++
}

// Stop ends the work that counts, as leaving the screen does.
func (p *Program) Stop() {
	if p.stop != nil {
		p.stop()
	}
}

// Finish works off everything and fails where more than most pieces are begun.
func (p *Program) Finish(t testing.TB, most int) {
	t.Helper()
	for len(p.queue) > 0 {
		work := p.queue[0]
		p.queue = p.queue[1:]
		work()()
		p.Ask()
		if p.Jobs > most {
			t.Fatalf("%d pieces of work and no end", p.Jobs)
		}
	}
	p.Stop()
}
