package cli

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// query returns the flags of a search, applied to a document. Knobs of the list free stay
// free although the document gives them.
func (f *setupFlags) query(doc *setupdoc.Document, lib setupdoc.Library, free []knob.ID) (*search.Query, error) {
	var err error
	q := search.NewQuery()
	q.Collect = runtime.GC
	for _, id := range knob.Searched() {
		if text, said := doc.Take(id); said && !slices.Contains(free, id) {
			if err := q.Set(id, text); err != nil {
				return nil, err
			}
		}
	}
	once := map[knob.ID]string{}
	for _, s := range f.said {
		key, value := s.key, s.value
		if s.assignment {
			if key, value, _ = strings.Cut(s.value, "="); strings.Contains(key, ".") || !strings.Contains(s.value, "=") {
				if err := doc.Assign(s.value); err != nil {
					return nil, err
				}
				continue
			}
		}
		id := knob.ID(strings.ReplaceAll(strings.TrimSpace(key), "_", "-"))
		// A list is one flag with commas: of two flags neither would be meant alone.
		if before, twice := once[id]; twice {
			message := fmt.Sprintf("--%s comes twice, as %s and %s", id, escape.Line(before), escape.Line(value))
			if slices.Contains(knob.Searched(), id) && before != value {
				message += fmt.Sprintf("; give a list as one flag: --%s %s,%s", id, escape.Line(before), escape.Line(value))
			}
			return nil, &usageError{message}
		}
		once[id] = value
		switch {
		case slices.Contains(free, id) && len(free) < len(knob.Searched()): // of all it is only what the file says
			return nil, &usageError{fmt.Sprintf("--free %s and --%s contradict each other", id, id)}
		case slices.Contains(knob.Searched(), id):
			err = q.Set(id, value)
		default:
			err = doc.Set(strings.TrimSpace(key), strings.TrimSpace(value))
		}
		if err != nil {
			return nil, err
		}
	}
	return q, settle(q, lib, doc)
}

// settle makes the setup that the search starts from. It checks values that can only
// contradict each other against the identities, as eval does; the search finds the rest.
func settle(q *search.Query, lib setupdoc.Library, doc *setupdoc.Document) (err error) {
	said := func(ids ...knob.ID) bool {
		return !slices.ContainsFunc(ids, func(id knob.ID) bool {
			_, one := q.Single(id)
			return !one
		})
	}
	set := func(ids ...knob.ID) {
		for _, id := range ids {
			if text, one := q.Single(id); one && err == nil {
				err = doc.Set(string(id), text)
			}
		}
	}
	set(knob.GPUs, knob.Nodes, knob.Seq)
	if q.Cut = said(knob.TP, knob.PP, knob.CP) && (said(knob.DP) || said(knob.GPUs) || said(knob.Nodes)); q.Cut {
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
	q.Setup, err = doc.Setup(lib)
	if wrong := (*knob.ValueError)(nil); errors.As(err, &wrong) && !q.Cut {
		// So many GPUs may need the one degree that was given, though others are free.
		err = nil
		set(knob.TP, knob.PP, knob.CP)
		if err == nil {
			q.Setup, err = doc.Setup(lib)
		}
		if errors.As(err, &wrong) {
			if able, ok := cutFiner(q, lib, doc); ok {
				q.Setup, err = able, nil
			}
		}
	}
	return err
}

// cutFiner makes the setup of more GPUs than there can be replicas, with a larger value of
// a free degree, whether it divides them or not. False if no degree is free or something
// else is wrong too.
func cutFiner(q *search.Query, lib setupdoc.Library, doc *setupdoc.Document) (engine.Setup, bool) {
	for _, id := range []knob.ID{knob.TP, knob.PP, knob.CP} {
		if _, one := q.Single(id); one {
			continue
		}
		for n := 2; n <= layout.MaxGPUs/layout.MaxDegree; n *= 2 {
			if doc.Set(string(id), strconv.Itoa(n)) != nil {
				break
			}
			if s, err := doc.Setup(lib); err == nil {
				return s, true
			}
		}
	}
	return engine.Setup{}, false
}
