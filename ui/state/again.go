package state

import (
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/ui/knobs"
)

// Again returns what an action that gives another model, machine or stack leaves of a setup, and
// words that say what it is: the number of GPUs, what the reader has fixed, and what does not go with a
// model and differs from its default. The layout and the rest are chosen anew.
func Again(s *State, a Action) (knob.Draft, string) {
	m, c, note := s.Setup.Model, s.Setup.Cluster, ""
	if a.Model != nil {
		m, note = *a.Model, "model "+a.Model.Name
	}
	if a.Cluster != nil {
		c, note = *a.Cluster, "cluster "+a.Cluster.Name
	}
	if p, ok := knob.Find(a.ID); ok {
		note = p.Label + " " + knobs.Show(&p, a.Text)
	} else if a.Text != "" {
		note = a.Text
	}
	out := knob.DraftOf(m, c, nil)
	out.FollowPublished()
	before := defaults(&s.Setup)
	for _, k := range knob.All() {
		text, plain := k.Text(s.Setup), k.Text(before)
		switch {
		case k.ID == knob.Nodes, k.ID == knob.GBS && s.ownBatch(with(s.Setup, a)):
			continue
		case a.ID != "" && k.ID == a.ID:
			text = a.Text
		case a.ID != "" && (k.ID == knob.Seq || k.ID == knob.GBS &&
			(outgrows(a.ID) || s.Setup.GBS%s.Setup.GPUs == 0)):
			// another stack or layout trains on as many tokens
		case s.Fixed.Has(k.ID):
		case k.ID == knob.GPUs:
			if most := c.MaxGPUs; most > 0 && s.Setup.GPUs > most && !s.Fixed.Has(knob.Nodes) {
				out.With(knob.Given{knob.GPUs: most})
				continue
			}
		case text == plain || slices.Contains(search.ForModel(), k.ID):
			continue
		}
		out.With(knob.Given{k.ID: text})
	}
	return out, note
}

// defaults returns a setup with the defaults of everything that does not go with its model and machine.
func defaults(s *engine.Setup) engine.Setup {
	d := knob.DraftOf(s.Model, s.Cluster, nil)
	for _, id := range append(search.ForModel(), knob.GPUs) {
		if k, ok := knob.Find(id); ok && id != knob.DP && id != knob.MicroBatches && k.Text(*s) != "" {
			d.With(knob.Given{id: k.Text(*s)})
		}
	}
	out, err := d.Resolve()
	if err != nil {
		return *s
	}
	return out
}

// FixedWords lists what the reader has fixed of a setup: TP 8, sequence 32k.
func FixedWords(fixed knob.Set, s *engine.Setup) string {
	var out []string
	for _, k := range knob.Shown() {
		if fixed.Has(k.ID) {
			out = append(out, k.Label+" "+knobs.Show(&k, k.Text(*s)))
		}
	}
	return strings.Join(out, ", ")
}

// with returns a setup with the value of an action alone, as it is where there is none.
func with(s engine.Setup, a Action) engine.Setup {
	if k, ok := knob.Find(a.ID); ok {
		if to, err := k.Set(s, a.Text); err == nil {
			return to
		}
	}
	return s
}

// ownBatch reports whether a setup has a default batch of another kind, of adapters or of all weights, and
// the reader has not fixed one.
func (s *State) ownBatch(to engine.Setup) bool {
	return to.Frozen() != s.Setup.Frozen() && !s.Fixed.Has(knob.GBS)
}

// batched returns a setup with that default, as a search has it; as it is where it has none that is legal.
func (s *State) batched(to engine.Setup) engine.Setup {
	if !s.ownBatch(to) {
		return to
	}
	gbs := strconv.Itoa(search.UnsetGBS(&to, []int{to.GPUs}, to.Seq))
	for _, mbs := range []int{to.MBS, 1} {
		own := to
		own.MBS = mbs
		own, err := knob.Turn(own, knob.GBS, gbs, s.Locks)
		if err == nil && (engine.Legal(own) || !engine.Legal(to)) {
			return own
		}
		if s.Fixed.Has(knob.MBS) {
			break
		}
	}
	return to
}

// stillFixed returns the knobs of a set that have the same value in two setups.
func stillFixed(fixed knob.Set, was, is *engine.Setup) knob.Set {
	for _, k := range knob.Shown() {
		if fixed.Has(k.ID) && k.Text(*was) != k.Text(*is) {
			fixed = fixed.Without(k.ID)
		}
	}
	return fixed
}

// restacks reports whether a value is one of another stack, adapters or a stack itself, which has not
// the degrees of this layout. Where the reader has fixed one of those the value is turned, and illegal.
func (s *State) restacks(a *Action) bool {
	if a.ID != knob.LoRA && a.ID != knob.Calibration || s.Setup.Stack.Traits().DataParallelOnly {
		return false
	}
	to, err := knob.Turn(s.Setup, a.ID, a.Text, s.Locks)
	if err != nil || engine.Legal(to) || !to.Frozen() && !to.Stack.Traits().DataParallelOnly {
		return false
	}
	return !slices.ContainsFunc([]knob.ID{knob.TP, knob.PP, knob.CP, knob.EP, knob.DP}, s.Fixed.Has)
}
