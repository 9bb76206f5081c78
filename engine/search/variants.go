package search

import (
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Other lists values of a knob that no loop of the search is for, as the command line
// writes them. Every combination of such values is a variant of the problem, which the
// search goes through as it does through cuts of the GPUs.
type Other struct {
	ID     knob.ID
	Values []string
}

// variant is a problem with one combination of the values of Space.Others.
type variant struct {
	problem *Problem
	choices choices
}

// variants returns all combinations; the problem itself where no values are listed.
func (p *Problem) variants() []variant {
	problems := []*Problem{p}
	for _, other := range p.Space.Others {
		k, _ := knob.Find(other.ID)
		var next []*Problem
		for _, one := range problems {
			for _, value := range unique(other.Values) {
				if s, err := k.Set(one.Setup, value); err == nil {
					with := *one
					with.Setup = s
					next = append(next, &with)
				}
			}
		}
		problems = next
	}
	out := make([]variant, len(problems))
	for i, one := range problems {
		out[i] = variant{one, one.choices()}
	}
	return out
}

// Combinations returns how many variants there are.
func (sp *Space) Combinations() int {
	n := 1
	for _, other := range sp.Others {
		n *= len(other.Values)
	}
	return n
}

// Layout lists the knobs that tell layouts apart: those that the search has a loop for,
// then the others that it varies. The number of nodes follows from that of GPUs.
func Layout() []knob.ID { return append(looped(), without(looped())...) }

// Free lists the knobs that a search varies by itself, where nothing gives them. Others, such as the
// loss, it varies over the values that it is given.
func Free() []knob.ID { return append(looped(), knob.Nodes) }

// Named lists the knobs that a search varies only over the values that it is given.
func Named() []knob.ID { return without(looped()) }

// Untried lists the knobs of Named that nobody gave, with the values that all of them means beyond the one
// taken; of splits, which the stages say, without them.
func (p *Problem) Untried() (out []Other) {
	for _, id := range without(append(looped(), p.given...)) {
		k, _ := knob.Find(id)
		words := possible(&p.Setup, &k, k.Choices, p.refuses)
		if i := slices.Index(words, k.Text(p.Setup)); i >= 0 {
			words = slices.Delete(words, i, i+1)
		}
		if len(words) > 0 || id == knob.Split && p.pipelines() {
			out = append(out, Other{id, words})
		}
	}
	return out
}

// pipelines reports whether layouts may have several stages.
func (p *Problem) pipelines() bool {
	return !p.Setup.Stack.Traits().DataParallelOnly && slices.Max(or(p.Space.GPUs, p.Setup.GPUs)) > 1 &&
		(len(p.Space.PP) == 0 || slices.Max(p.Space.PP) > 1)
}

// possible returns those values of a knob that the stack of a setup has and its launcher does not refuse,
// whatever the layout is.
func possible(s *engine.Setup, k *knob.Knob, words []string, refuses func(knob.ID, *engine.Setup) bool,
) []string {
	traits := s.Stack.Traits()
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		of, err := k.Set(*s, word)
		switch {
		case err != nil, refuses != nil && refuses(k.ID, &of):
			return true
		case k.ID == knob.Offload: // what else it needs is the layout's
			return word != "none" && !slices.Contains(traits.Offloads(), of.Offload)
		}
		return len(knob.CheckGiven(of)) > 0
	})
}

// looped lists the knobs that the search has a loop for.
func looped() []knob.ID {
	return []knob.ID{
		knob.GPUs, knob.DP, knob.TP, knob.PP, knob.VPP, knob.CP, knob.EP, knob.ETP, knob.SP, knob.ZeRO,
		knob.MBS, knob.MicroBatches, knob.GBS, knob.Seq, knob.Schedule, knob.Recompute,
	}
}

// without lists the knobs that a search varies next to others.
func without(others []knob.ID) []knob.ID {
	return slices.DeleteFunc(knob.Searched(),
		func(id knob.ID) bool { return id == knob.Nodes || slices.Contains(others, id) })
}

// others takes the values of the knobs that no loop is for: one value goes into the
// setup, several make variants.
func (q *Query) others(sp *Space) error {
	for _, id := range without(looped()) {
		v, given := q.Values[id]
		if !given {
			continue
		}
		if id == knob.Split && v.All() { // which there are, the stages say
			sp.Splits, q.Setup.Split = true, ""
			continue
		}
		k, _ := knob.Find(id)
		list := k.List(&v, &q.Setup)
		of := possible(&q.Setup, &k, list, q.Refuses)
		if v.All() && len(of) > 0 {
			list = of
		}
		if len(list) == 1 {
			var err error
			if q.Setup, err = k.Set(q.Setup, list[0]); err != nil {
				return err
			}
			q.Texts[id] = list[0] // not all
			continue
		}
		for _, word := range list {
			s, _ := k.Set(q.Setup, word)
			for _, p := range knob.CheckGiven(s) {
				if p.Field == string(id) && !slices.Contains(of, word) {
					return &knob.ValueError{
						Field: p.Field, Given: q.Texts[id], Allowed: "what the stack has (" + p.Message + ")",
						Nearest: strings.Join(of, ","),
					}
				}
			}
		}
		sp.Others = append(sp.Others, Other{id, list})
		if sp.Combinations() > maxChoices {
			return q.tooMany(id, maxChoices)
		}
	}
	return nil
}
