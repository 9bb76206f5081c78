package setupdoc

import (
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
)

// Changes are what a list such as tp=4,pp=2 changes of a setup.
type Changes struct {
	knobs []said
	// Assignments are the items that are no knob: a model, a machine, or a field of one.
	Assignments []string
}

// ListError is a list of changes that contradicts itself.
type ListError struct{ Why string }

func (e *ListError) Error() string { return e.Why }

// IsChanges reports whether a text looks like a list of changes. The name of a file with = in it,
// such as tp=4.toml, does not: no knob has such a value.
func IsChanges(text string) bool { return change.MatchString(text) && !endsInFile(text) }

// endsInFile reports whether a list ends like the name of a setup's file, for a key that takes none.
func endsInFile(list string) bool {
	items := assignments(strings.TrimSpace(list))
	key, value, _ := strings.Cut(items[len(items)-1], "=")
	return !slices.Contains([]string{"model", "gpu", "cluster", string(knob.Calibration)},
		strings.TrimSpace(key)) &&
		slices.Contains([]string{".toml", ".json", ".yaml", ".yml", ".sh", ".sbatch", ".slurm"},
			strings.ToLower(path.Ext(value)))
}

// change is how a list of changes begins.
var change = regexp.MustCompile(`^\s*[A-Za-z][A-Za-z0-9_.-]*\s*=`)

// ReadChanges reads a list such as tp=4,pp=2.
func ReadChanges(list string) (c Changes, err error) {
	for _, item := range assignments(list) {
		key, value, ok := strings.Cut(item, "=")
		id, value, err := knob.Named(knob.ID(strings.ReplaceAll(strings.TrimSpace(key), "_", "-")),
			strings.TrimSpace(value))
		if err != nil {
			return Changes{}, err
		}
		k, known := knob.Find(id)
		if _, machine := knob.FindMachineWord(string(id)); !ok || !known || machine {
			c.Assignments = append(c.Assignments, item)
			continue
		}
		if _, err := k.Set(engine.Setup{}, value); err != nil {
			return Changes{}, knob.Called(strings.TrimSpace(key), err)
		}
		c.knobs = append(c.knobs, said{string(id), value})
	}
	if c.names("gpu") && c.names("cluster") {
		return Changes{}, &ListError{"gpu and cluster contradict each other: a cluster has its own GPU"}
	}
	return c, nil
}

// Knobs goes through the knobs of the list and their values.
func (c *Changes) Knobs() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for _, k := range c.knobs {
			if !yield(k.key, k.value) {
				return
			}
		}
	}
}

// names reports whether the list assigns a key that is no knob.
func (c *Changes) names(key string) bool {
	return slices.ContainsFunc(c.Assignments, func(item string) bool {
		given, _, _ := strings.Cut(item, "=")
		return strings.TrimSpace(given) == key
	})
}

// Turn returns a setup with the knobs of the list turned one after the other, those of the batch last: it
// follows from the others. A knob that a later one turns back is a *ListError.
func (c *Changes) Turn(s engine.Setup, locks knob.Locks) (engine.Setup, error) {
	var err error
	order, late := slices.Clone(c.knobs), batchKnobs()
	slices.SortStableFunc(order,
		func(a, b said) int { return slices.Index(late, a.key) - slices.Index(late, b.key) })
	for _, k := range order {
		if s, err = knob.Turn(s, knob.ID(k.key), k.value, locks); err != nil {
			return s, err
		}
	}
	return s, c.still(&s)
}

// batchKnobs lists the knobs that are turned after all others.
func batchKnobs() []string {
	return []string{string(knob.MBS), string(knob.MicroBatches), string(knob.GBS)}
}

// still returns an error if a later knob of the list has changed an earlier one again.
func (c *Changes) still(s *engine.Setup) error {
	for i, k := range c.knobs {
		p, _ := knob.Find(knob.ID(k.key))
		same, err := p.Set(*s, k.value)
		if err == nil && p.Text(same) == p.Text(*s) {
			continue
		}
		other := c.knobs[len(c.knobs)-1]
		if i == len(c.knobs)-1 && i > 0 {
			other = c.knobs[0]
		}
		if other.key == k.key {
			return &ListError{fmt.Sprintf("%s comes twice, as %s and %s", k.key, escape.Line(k.value),
				escape.Line(other.value))}
		}
		return &ListError{fmt.Sprintf("%s=%s and %s=%s contradict each other: together they give %s %s",
			k.key, escape.Line(k.value), other.key, escape.Line(other.value), k.key, p.Text(*s))}
	}
	return nil
}

// Displace drops the machine that an item of a list takes the place of: a gpu that of the cluster, and
// the reverse.
func (d *Document) Displace(item string) {
	switch key, _, _ := strings.Cut(item, "="); strings.TrimSpace(key) {
	case "gpu":
		d.cluster = nil
		d.forget("cluster")
	case "cluster":
		d.gpu = nil
		d.forget("gpu")
	}
}

// About returns a setup with the model and the machine of the list.
func (c *Changes) About(s engine.Setup, lib Library) (engine.Setup, error) {
	if len(c.Assignments) == 0 {
		return s, nil
	}
	text, err := JSON(s)
	if err != nil {
		return s, err
	}
	doc, err := Parse("", text)
	if err != nil {
		return s, err
	}
	for _, item := range c.Assignments {
		doc.Displace(item)
		if err := doc.Assign(item); err != nil {
			return s, err
		}
	}
	draft, err := doc.Draft(lib)
	if err != nil {
		return s, doc.blame(err)
	}
	s.Model, s.Cluster = draft.Model(), draft.Cluster()
	return s, nil
}

// assignments splits tp=4,split=40,40,pp=2 into tp=4, split=40,40 and pp=2: a part without
// a key belongs to the value before it.
func assignments(list string) []string {
	var items []string
	for part := range strings.SplitSeq(list, ",") {
		if last := len(items) - 1; last >= 0 && !strings.Contains(part, "=") {
			items[last] += "," + part
			continue
		}
		items = append(items, part)
	}
	return items
}
