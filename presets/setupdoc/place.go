package setupdoc

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/model"
)

// lines knows where the lines of a text end, so that every position costs a
// search and not a walk from the start.
type lines []int

func newLines(data []byte) lines {
	var ends lines
	for i, b := range data {
		if b == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

// at is the position of an offset.
func (l lines) at(offset int) position {
	line, _ := slices.BinarySearch(l, offset)
	start := 0
	if line > 0 {
		start = l[line-1] + 1
	}
	return position{line + 1, offset - start + 1}
}

// origin is where something was said, and how it was spelled there.
type origin struct {
	at   position // of the value; zero for the command line
	path string
}

// note keeps where a value was said. In a document nothing may be said twice,
// by whatever name; the command line may say anything again.
func (d *Document) note(path string, m *member) error {
	name := canonical(path)
	_, before := d.origins[name]
	if before && m.at.line > 0 {
		return place(m.at, &KeyError{Key: path, Twice: true})
	}
	if d.origins == nil {
		d.origins = map[string]origin{}
	}
	d.origins[name] = origin{m.value.at, path}
	return nil
}

// noteAll notes every field of a table.
func (d *Document) noteAll(path string, n *node) error {
	for i := range n.members {
		m := &n.members[i]
		full := path + "." + m.key
		if m.value.kind == object {
			if err := d.noteAll(full, m.value); err != nil {
				return err
			}
			continue
		}
		if err := d.note(full, m); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what was noted about a part that is replaced by another.
func (d *Document) forget(part string) {
	prefix := canonical(part)
	for name := range d.origins {
		if name == prefix || strings.HasPrefix(name, prefix+".") {
			delete(d.origins, name)
		}
	}
}

// canonical is the one name of a key: gpu.id and cluster.gpu.id are the same,
// and so are grad-dtype and grad_dtype.
func canonical(path string) string {
	if path == "gpu" || strings.HasPrefix(path, "gpu.") {
		return "cluster." + path
	}
	if strings.Contains(path, ".") {
		return path
	}
	return strings.ReplaceAll(path, "-", "_")
}

// blame gives an error about a field the place where the field was said, or,
// for a field that was left out, the table that should have it.
func (d *Document) blame(err error) error {
	var value *engine.ValueError
	var conflict *engine.ConflictError
	var placed *Error
	switch {
	case err == nil, errors.As(err, &placed):
		return err
	case errors.As(err, &conflict):
		// The later of the two, when it is in the document.
		var last position
		for _, field := range conflict.Fields {
			if at := d.origins[canonical(field)].at; at.line > last.line || at.line == last.line && at.column > last.column {
				last = at
			}
		}
		return place(last, err)
	case errors.As(err, &value):
		return place(d.placeOf(canonical(value.Field)), err)
	}
	return err
}

func (d *Document) placeOf(name string) position {
	if from, ok := d.origins[name]; ok {
		return from.at
	}
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return position{}
		}
		name = name[:dot]
		if slices.ContainsFunc(d.sets, func(a assignment) bool {
			return a.at.line == 0 && strings.HasPrefix(canonical(a.path), name+".")
		}) {
			return position{} // the command line may be to blame
		}
		if from, ok := d.origins[name]; ok {
			return from.at
		}
	}
}

// spelled is the name of a field as it was written, or the short one.
func (d *Document) spelled(name string) string {
	if from, ok := d.origins[name]; ok {
		return from.path
	}
	if short, ok := strings.CutPrefix(name, "cluster.gpu."); ok {
		return "gpu." + short
	}
	return name
}

// checkModel turns what the model says about its own fields into a value error.
func (d *Document) checkModel(m *model.Model) error {
	err := m.Check().Err()
	var wrong model.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	return d.refuse("model."+wrong[0].Field, wrong[0].Given, wrong[0].Allowed)
}

// checkCluster does the same for the machine.
func (d *Document) checkCluster(c *hardware.Cluster) error {
	err := c.Check()
	var wrong hardware.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	return d.refuse(wrong[0].Field, wrong[0].Given, wrong[0].Allowed)
}

func (d *Document) refuse(field, given, allowed string) error {
	return place(d.placeOf(field), &engine.ValueError{
		Field: d.spelled(field), Given: strings.Trim(given, `"`), Allowed: allowed,
	})
}

// instead are the fields of a GPU that describe its typical node, and the
// fields of a cluster that have the same meaning. Where there is a cluster only
// the latter count.
func instead(key string) (string, bool) {
	name, ok := map[string]string{
		"intra_node_bandwidth":  "cluster.intra.bandwidth",
		"intra_node_link":       "cluster.intra.name",
		"typical_gpus_per_node": "cluster.gpus_per_node",
		"max_scale_up_domain":   "cluster.scale_up_domain_gpus",
	}[key]
	return name, ok
}

// nodeField tells whether an assignment is about a GPU's typical node, and
// which field it is.
func (a *assignment) nodeField() (key string, ok bool) {
	switch {
	case a.part == "gpu" && len(a.keys) == 1:
		key = a.keys[0]
	case a.part == "cluster" && len(a.keys) == 2 && a.keys[0] == "gpu":
		key = a.keys[1]
	}
	_, ok = instead(key)
	return key, ok
}

// onlyForNodes refuses fields of the GPU's typical node beside a cluster, where
// they would change nothing.
func (d *Document) onlyForNodes(gpu *node) error {
	if gpu != nil {
		for i := range gpu.members {
			if better, ok := instead(gpu.members[i].key); ok {
				return place(gpu.members[i].at, &KeyError{Key: "gpu." + gpu.members[i].key, Instead: better})
			}
		}
	}
	for i := range d.sets {
		if key, ok := d.sets[i].nodeField(); ok {
			better, _ := instead(key)
			return place(d.sets[i].at, &KeyError{Key: d.sets[i].path, Instead: better})
		}
	}
	return nil
}

// nodeOf is the typical node of a GPU after what was said about that node.
func (d *Document) nodeOf(g hardware.GPU, lib Library) (hardware.Cluster, error) {
	c := hardware.Cluster{GPU: g}
	for i := range d.sets {
		if _, ok := d.sets[i].nodeField(); ok {
			if err := d.sets[i].apply(nil, &c); err != nil {
				return c, err
			}
		}
	}
	return lib.NodeOf(c.GPU), nil
}

// reportKeys are the keys of what eval --json prints.
func reportKeys() []string {
	keys := []string{"schema_version", "version", "setup"}
	for _, key := range keysOf(reflect.TypeFor[engine.Report]()) {
		if key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// setupOf finds the setup of a document: itself, or the one inside a report of
// eval that is fed back.
func setupOf(root *node) (*node, error) {
	inner := root.find("setup")
	if inner == nil {
		return root, nil
	}
	known := reportKeys()
	for i := range root.members {
		m := &root.members[i]
		switch {
		case m.key == "setup" && m.value.kind != object:
			return nil, wrongValue("setup", m.value, "a table of keys such as model, gpus, tp")
		case m.key == "schema_version" && (m.value.kind != number || m.value.text != "1"):
			return nil, wrongValue("schema_version", m.value, "1")
		case slices.Contains(known, m.key) && (m.key != "model" || m.value.kind == object):
		case isFlat(m.key):
			return nil, place(m.at, &KeyError{Key: m.key, Beside: "setup"})
		default:
			return nil, place(m.at, unknownKey(m.key, known))
		}
	}
	return inner, nil
}

func isFlat(key string) bool {
	return slices.Contains(flatKeys(), strings.ReplaceAll(key, "-", "_")) || key == "offload" || key == "set"
}
