package search

import (
	"context"
	"fmt"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Degrees lists the knobs of which one that is named makes a layout the user's own; where
// none is, the layout is rank 1 of a search.
func Degrees() []knob.ID { return []knob.ID{knob.DP, knob.TP, knob.PP, knob.CP, knob.EP, knob.ZeRO} }

// Chosen says that a layout was not given and how it was chosen instead.
type Chosen struct {
	Layouts int    `json:"layouts"` // legal ones that were searched
	Found   bool   `json:"found"`   // false: none fits, and the defaults of every knob are taken
	Partial bool   `json:"partial,omitempty"`
	Batch   string `json:"-"` // what the batch is, where none was given and none is published
	Space   Space  `json:"-"` // that was searched
	TP      int    `json:"-"` // of the layout that was found
}

// Words tell in one line where the layout comes from; number writes a count.
func (c *Chosen) Words(number func(int) string) string {
	first := ""
	if c.Partial {
		first = "the first "
	}
	switch {
	case c.Found:
		return fmt.Sprintf("layout not given: best of %s%s; --tp %d to set one yourself", first, number(c.Layouts), c.TP)
	case c.Partial:
		return "layout not given, and the search for one was stopped before it found any: every degree is 1"
	case c.Layouts == 0:
		return "layout not given, and no legal one found: every degree is 1"
	}
	return fmt.Sprintf("layout not given, and none of %s legal ones fits: every degree is 1", number(c.Layouts))
}

// Choose searches for the best layout of a query on a number of cores. The second value is
// false where none fits, or the context ended before one was found.
func (q *Query) Choose(ctx context.Context, workers int) (engine.Setup, Chosen) {
	p, err := q.Problem()
	if err != nil {
		return engine.Setup{}, Chosen{}
	}
	p.Top, p.Workers = 1, workers
	r := Run(ctx, p, nil)
	if len(r.Best) == 0 && p.Space.Accepts != nil {
		p.Space.Accepts, p.Space.Refused = nil, true // better one that its launcher refuses than none
		r = Run(ctx, p, nil)
	}
	out := Chosen{Layouts: r.Legal, Found: len(r.Best) > 0, Partial: r.Partial, Space: p.Space}
	if !out.Found {
		return engine.Setup{}, out
	}
	out.TP = r.Best[0].Setup.TP
	best := r.Best[0].Setup
	if tokens, _ := best.PublishedTokens(best.GPUs); q.UnsetBatch && tokens == 0 {
		out.Batch = UsualBatch()
	}
	return best, out
}
