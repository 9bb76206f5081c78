package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
)

// MaxCuts is the most cuts of the GPUs that a search lists.
const MaxCuts = 1 << 20

// Begun is a setup of words, and the search that gives its layout where they do not.
type Begun struct {
	Setup engine.Setup // with the defaults of what is not given
	Query *Query       // nil: a degree is given, or nothing can be searched
	// Err is why the words make no setup, or cannot be searched; of a query it counts where that finds
	// nothing.
	Err   error
	Fixed knob.Set // what was given, knob by knob; nothing of a setup that was given as a whole
}

// Choose returns the best layout of a search on a number of cores, or the one that needs least memory
// where none fits; without a search, or where no layout is legal, the setup and the error.
func (b *Begun) Choose(ctx context.Context, workers int) (engine.Setup, *Chosen, error) {
	if b.Query == nil {
		return b.Setup, nil, b.Err
	}
	best, chosen := b.Query.Choose(ctx, workers)
	if best == (engine.Setup{}) {
		return b.Setup, &chosen, b.Err
	}
	return best, &chosen, nil
}

// NamesDegree reports whether a degree is given, of what tells whether a knob is.
func NamesDegree(given func(knob.ID) bool) bool { return slices.ContainsFunc(Degrees(), given) }

// Words are a setup as somebody gives it, from which DeriveSetup makes the setup of a query.
type Words interface {
	Set(id knob.ID, text string) error
	Setup() (engine.Setup, error)
}

// draftWords are the words of a draft.
type draftWords struct{ draft knob.Draft }

func (w *draftWords) Set(id knob.ID, text string) error { return w.draft.Set(id, text) }
func (w *draftWords) Setup() (engine.Setup, error)      { return w.draft.Resolve() }

// Begin returns the search for every knob that a draft does not give. limit leaves out what a
// launcher refuses. An error is that of a value, or of a space with too many layouts to list.
func Begin(d knob.Draft, limit func(*Query)) (*Query, error) {
	q := NewQuery()
	for _, id := range knob.Searched() {
		if text, given := d.Take(id); given {
			if err := q.Set(id, text); err != nil {
				return nil, err
			}
		}
	}
	if err := q.DeriveSetup(&draftWords{d}); err != nil {
		return nil, err
	}
	q.follows = map[knob.ID]bool{
		knob.Precision: !d.Has(knob.Precision), knob.Dispatcher: !d.Has(knob.Dispatcher),
	}
	limit(q)
	p, err := q.Problem()
	if err == nil && p.Cuts(MaxCuts) > MaxCuts {
		err = fmt.Errorf("too many layouts to search, of at most %d cuts of the GPUs: give a degree, such "+
			"as tp 8", MaxCuts)
	}
	return q, err
}

// DeriveSetup makes the setup that the search starts from. It checks values that can only
// contradict each other against the identities, as eval does; the search finds the rest.
func (q *Query) DeriveSetup(w Words) (err error) {
	said := func(ids ...knob.ID) bool {
		return !slices.ContainsFunc(ids, func(id knob.ID) bool {
			_, one := q.Single(id)
			return !one
		})
	}
	set := func(ids ...knob.ID) {
		for _, id := range ids {
			if text, one := q.Single(id); one && err == nil {
				err = w.Set(id, text)
			}
		}
	}
	set(knob.GPUs, knob.Nodes, knob.Seq)
	if q.Cut = said(knob.TP, knob.PP, knob.CP) &&
		(said(knob.DP) || said(knob.GPUs) || said(knob.Nodes)); q.Cut {
		set(knob.DP, knob.TP, knob.PP, knob.CP)
		switch q.Counted = said(knob.MBS, knob.MicroBatches); {
		case q.Counted:
			set(knob.MBS, knob.MicroBatches, knob.GBS)
		case !q.Given(knob.GBS) && !q.Several(knob.MBS) && !q.Several(knob.MicroBatches):
			q.AsEval = true
			set(knob.MBS, knob.MicroBatches)
		}
	}
	if err != nil {
		return err
	}
	q.Setup, err = w.Setup()
	if wrong := (*knob.ValueError)(nil); errors.As(err, &wrong) && !q.Cut {
		// So many GPUs may need the one degree that was given, though others are free.
		err = nil
		set(knob.TP, knob.PP, knob.CP)
		if err == nil {
			q.Setup, err = w.Setup()
		}
		if errors.As(err, &wrong) {
			if able, ok := q.cutFiner(w); ok {
				q.Setup, err = able, nil
			}
		}
	}
	return err
}

// cutFiner makes the setup of more GPUs than there can be replicas, with a larger value of
// a free degree, whether it divides them or not. False if no degree is free or something
// else is wrong too.
func (q *Query) cutFiner(w Words) (engine.Setup, bool) {
	for _, id := range []knob.ID{knob.TP, knob.PP, knob.CP} {
		if _, one := q.Single(id); one {
			continue
		}
		for n := 2; n <= layout.MaxGPUs/layout.MaxDegree; n *= 2 {
			if w.Set(id, strconv.Itoa(n)) != nil {
				break
			}
			if s, err := w.Setup(); err == nil {
				return s, true
			}
		}
	}
	return engine.Setup{}, false
}
