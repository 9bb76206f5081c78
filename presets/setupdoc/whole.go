package setupdoc

import "meshscope/engine/knob"

// Fixed returns the knobs that the document gives. Of a whole setup, such as a share string or the document
// of eval, it is what was given over its text: the rest was recorded, not asked for.
func (d *Document) Fixed() knob.Set {
	if d.draft.Whole() {
		return d.over
	}
	return d.draft.Said()
}

// Release takes back knobs of a whole setup whose model or machine another one takes the place of, but for
// those that were given over its text: they were chosen for the old one.
func (d *Document) Release(ids []knob.ID) {
	if !d.moved || !d.draft.Whole() {
		return
	}
	d.asStated = false
	for _, id := range ids {
		if !d.over.Has(id) {
			d.Take(id)
		}
	}
}

// NamesModel reports whether the document gives the model: lines without one, such as tp = 4, are no setup.
func (d *Document) NamesModel() bool { return d.model != nil }
