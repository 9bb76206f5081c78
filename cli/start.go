package cli

import (
	"context"
	"errors"
	"runtime"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/report/figure"
)

// start returns the setup of the flags. Where they name no degree, every knob that they do
// not give is that of the best layout of a search; the chosen value then tells so. Where no
// layout fits the knobs have their defaults.
func (f *setupFlags) start(ctx context.Context, a *app) (engine.Setup, *search.Chosen, error) {
	s, q, err := f.begin(a)
	if q == nil {
		return s, nil, err
	}
	best, chosen := q.Choose(ctx, runtime.GOMAXPROCS(0))
	if !chosen.Found {
		return s, &chosen, err
	}
	return best, &chosen, nil
}

// begin returns the setup of the flags with the defaults of every knob, and the search that
// gives the layout instead; nil where a degree is named, or nothing can be searched. An error
// counts where there is no search, or it finds nothing.
func (f *setupFlags) begin(a *app) (engine.Setup, *search.Query, error) {
	doc, err := f.document(a)
	if err != nil {
		return engine.Setup{}, nil, err
	}
	s, err := f.over(doc, a.lib)
	f.ownBatch = !doc.SaysBatch()
	for _, id := range search.Degrees() {
		if doc.Gives(id) {
			return s, nil, err
		}
	}
	if wrong := (*knob.ValueError)(nil); err != nil && !errors.As(err, &wrong) {
		return s, nil, err
	}
	q, failed := f.query(a, nil)
	if failed != nil {
		return s, nil, err
	}
	(&launcherFlag{id: autoLauncher}).limit(q)
	if p, wrong := q.Problem(); wrong != nil || tooLarge(&p) != nil {
		return s, nil, err
	}
	return s, q, err
}

// sayChosen tells on standard error that the layout was chosen by a search.
func (a *app) sayChosen(c *search.Chosen) {
	if c != nil {
		a.sayf("meshscope: %s\n", c.Words(figure.Comma))
	}
}
