package cli

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// query returns the flags of a search, applied to a document. Knobs of the list free stay
// free although the document gives them.
func (f *setupFlags) query(doc *setupdoc.Document, lib setupdoc.Library, free []knob.ID) (*search.Query,
	error,
) {
	var err error
	q := search.NewQuery()
	q.Collect = runtime.GC
	for _, id := range knob.Searched() {
		text, said := doc.Take(id)
		if id == knob.Split && said && (slices.Contains(free, knob.PP) || slices.Contains(free, knob.VPP)) {
			if text != "balanced" && !slices.Contains(free, id) && !f.gives(string(id)) {
				f.freedSplit = text // it fits its own stages alone
			}
			continue
		}
		if said && !slices.Contains(free, id) {
			if err := q.Set(id, text); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range f.said {
		key, value := s.key, s.value
		if s.assignment {
			if key, value, _ = strings.Cut(s.value, "="); strings.Contains(key, ".") ||
				!strings.Contains(s.value, "=") {
				if err := doc.Assign(s.value); err != nil {
					return nil, err
				}
				continue
			}
		}
		id := knob.ID(strings.ReplaceAll(strings.TrimSpace(key), "_", "-"))
		switch {
		// of all it is only what the file says
		case slices.Contains(free, id) && len(free) < len(search.Free()):
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
	for _, id := range search.Named() {
		if slices.Contains(free, id) {
			if err := q.Set(id, "all"); err != nil {
				return nil, err
			}
		}
	}
	return q, q.DeriveSetup(docWords{doc, lib})
}

// docWords are the words of a document, whose errors name its lines.
type docWords struct {
	doc *setupdoc.Document
	lib setupdoc.Library
}

func (w docWords) Set(id knob.ID, text string) error { return w.doc.Set(string(id), text) }
func (w docWords) Setup() (engine.Setup, error)      { return w.doc.Setup(w.lib) }
