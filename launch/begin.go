package launch

import (
	"cmp"
	"errors"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// Begin goes from words to a setup: every command, every line of a batch, every file and everything
// that is pasted does it here. limit leaves out of a search for the layout what a launcher refuses.
func Begin(d *setupdoc.Document, lib setupdoc.Library, limit func(*search.Query)) search.Begun {
	d.Release(search.ForModel())
	b := search.Begun{Fixed: d.Fixed()}
	b.Setup, b.Err = d.Setup(lib)
	if search.NamesDegree(d.Gives) {
		return b
	}
	if wrong := (*knob.ValueError)(nil); b.Err != nil && !errors.As(b.Err, &wrong) {
		return b
	}
	draft, err := d.Draft(lib)
	if err != nil {
		b.Err = cmp.Or(b.Err, err)
		return b
	}
	q, err := search.Begin(draft, limit)
	if err != nil {
		b.Err = cmp.Or(b.Err, err)
		return b
	}
	b.Query = q
	return b
}
