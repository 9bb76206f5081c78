package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// compared is one side of a comparison.
type compared struct {
	flags   setupFlags
	changes setupdoc.Changes // of the setup of the flags
	held    []said           // as the other side has it

	setup  engine.Setup
	chosen *search.Chosen
}

// sideName is the letter of a side.
func sideName(i int) string { return string(rune('A' + i)) }

// choose makes the setup, with some knobs as the other side has them.
func (c *compared) choose(ctx context.Context, a *app, held []said) error {
	flags := c.flags
	flags.said = slices.Concat(flags.said, held)
	s, chosen, err := flags.start(ctx, a)
	c.flags.text, c.flags.unasked = flags.text, flags.unasked // standard input is read once
	c.flags.noGPUs = flags.noGPUs
	for key := range c.changes.Knobs() {
		c.flags.noGPUs = c.flags.noGPUs && !slices.Contains(gpuKnobs(), knob.ID(key))
	}
	if err == nil {
		s, err = c.changes.Turn(s, knob.Locks{GPUs: true, Batch: true})
	}
	if err == nil {
		c.setup, c.chosen, c.held = s, chosen, held
	}
	return err
}

// unasked reports whether neither the flags nor the list of a side give a knob.
func (c *compared) unasked(id knob.ID) bool {
	for key := range c.changes.Knobs() {
		if key == string(id) || id == knob.GBS && key == string(knob.MicroBatches) {
			return false
		}
	}
	return c.flags.unasked.Has(id)
}

// holdAlike gives both sides one value of what neither gives of the work: that of A where B can run it,
// else that of B where A can, else each its own.
func holdAlike(ctx context.Context, a *app, sides *[2]compared) {
	both := func(id knob.ID) bool { return sides[0].unasked(id) && sides[1].unasked(id) }
	ids := slices.DeleteFunc(compare.Work(), func(id knob.ID) bool { return !both(id) })
	if sides[1].take(ctx, a, &sides[0], ids...) {
		return
	}
	for _, id := range ids {
		if both(id) && !sides[1].take(ctx, a, &sides[0], id) {
			sides[0].take(ctx, a, &sides[1], id)
		}
	}
}

// take gives a side the values of the other for some knobs, and reports whether it can run them: it is
// left as it was where its layout would become illegal or stop fitting.
func (c *compared) take(ctx context.Context, a *app, other *compared, ids ...knob.ID) bool {
	next := *c
	held := slices.Clone(c.held)
	for _, id := range ids {
		k, _ := knob.Find(id)
		value := k.Text(other.setup)
		if id == knob.GBS && other.setup.Seq != c.setup.Seq && !slices.Contains(ids, knob.Seq) {
			return false // another batch in tokens
		}
		if value != k.Text(c.setup) {
			held = append(held, said{key: string(id), value: value})
		}
	}
	if len(held) == len(c.held) {
		return true
	}
	if next.choose(ctx, a, held) != nil {
		return false
	}
	e := engine.Evaluator{SkipTimeline: true}
	was, is := e.Evaluate(c.setup), e.Evaluate(next.setup)
	if !is.Legal && was.Legal || was.Legal && was.Memory.Fits && !is.Memory.Fits {
		return false
	}
	*c = next
	return true
}

// heldWords tells which values a side has from the other; empty: none.
func (c *compared) heldWords(i int) string {
	words := make([]string, len(c.held))
	for j, s := range c.held {
		words[j] = s.key + " " + s.value
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s as %s has it, for neither gives it", sideName(i), strings.Join(words, ", "),
		sideName(1-i))
}
