package setupdoc

import (
	"fmt"
	"reflect"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/presets/input"
)

// Setup resolves the document: names are looked up, fields assigned, what is
// left out derived. A document that says everything is taken as it stands, so
// that an illegal setup that was printed reads back as itself.
func (d *Document) Setup(lib Library) (engine.Setup, error) {
	s, err := d.resolve(lib)
	if err != nil {
		return engine.Setup{}, input.InFile(d.file, d.blame(err))
	}
	return s, nil
}

func (d *Document) resolve(lib Library) (engine.Setup, error) {
	draft, err := d.Draft(lib)
	if err != nil {
		return engine.Setup{}, err
	}
	if complete, ok := draft.Complete(); ok && !d.overridden {
		return complete, nil
	}
	return draft.Resolve()
}

// Draft returns what the document says, with its model and its machine.
func (d *Document) Draft(lib Library) (knob.Draft, error) {
	m, err := d.resolveModel(lib)
	if err != nil {
		return knob.Draft{}, err
	}
	c, err := d.resolveCluster(lib)
	if err != nil {
		return knob.Draft{}, err
	}
	named := c.ID
	was := c
	for i := range d.sets {
		if err := d.sets[i].apply(&m, &c); err != nil {
			return knob.Draft{}, err
		}
	}
	d.ownMachine(&c, &was)
	if _, err := lib.Cluster(c.ID); err == nil && c.ID != named {
		// A machine of one's own needs an id; that of another one would bring its calibration.
		return knob.Draft{}, place(d.placeOf("cluster.id"), &KeyError{Key: "cluster.id", Names: "cluster"})
	}
	if err := d.checkModel(&m, lib); err != nil {
		return knob.Draft{}, err
	}
	if err := d.checkCluster(&c); err != nil {
		return knob.Draft{}, err
	}
	if l, ok := lib.(calibrator); ok {
		c = l.Calibrate(c) // by the ids that the machine has in the end
	}
	draft := d.draft
	draft.SetModel(m)
	draft.SetCluster(c)
	if !d.asStated {
		draft.FollowPublished()
	}
	return draft, nil
}

// calibrator is a library that knows how fast machines are.
type calibrator interface {
	Calibrate(c hardware.Cluster) hardware.Cluster
}

func (d *Document) resolveModel(lib Library) (model.Model, error) {
	if d.model == nil {
		return lib.Model(DefaultModel)
	}
	if d.model.kind == text {
		m, err := lib.Model(d.model.text)
		return m, placeIn(d.model, err)
	}
	// A table may give only what differs from the model it names.
	m, err := base(d.model, DefaultModel, lib.Model)
	if err != nil {
		return m, err
	}
	return m, assign(reflect.ValueOf(&m).Elem(), "model", d.model)
}

func (d *Document) resolveCluster(lib Library) (hardware.Cluster, error) {
	if d.cluster == nil {
		return d.clusterOfGPU(lib)
	}
	if err := d.onlyForNodes(d.gpu); err != nil {
		return hardware.Cluster{}, err
	}
	if d.cluster.kind == text {
		c, err := lib.Cluster(d.cluster.text)
		if err != nil {
			return c, placeIn(d.cluster, err)
		}
		return c, d.gpuInto(&c, lib)
	}
	c, err := base(d.cluster, DefaultCluster, lib.Cluster)
	if err != nil {
		return c, err
	}
	if err := assign(reflect.ValueOf(&c).Elem(), "cluster", d.cluster); err != nil {
		return c, err
	}
	return c, d.gpuInto(&c, lib)
}

// base returns what a table starts from: the preset it names, nothing when the name
// is a new one, the default when it has none.
func base[T any](table *node, otherwise string, find func(string) (T, error)) (T, error) {
	id := table.find("id")
	if id == nil || id.kind != text {
		return find(otherwise)
	}
	known, err := find(id.text)
	if err != nil {
		var empty T
		return empty, nil // its own fields must say everything
	}
	return known, nil
}

// clusterOfGPU returns the typical node of the GPU that was named, or the default.
func (d *Document) clusterOfGPU(lib Library) (hardware.Cluster, error) {
	switch {
	case d.gpu == nil:
		if err := d.onlyForNodes(nil); err != nil {
			return hardware.Cluster{}, err
		}
		return lib.Cluster(DefaultCluster)
	case d.gpu.kind == text:
		g, err := lib.GPU(d.gpu.text)
		if err != nil {
			return hardware.Cluster{}, placeIn(d.gpu, err)
		}
		return d.nodeOf(g, lib)
	case d.gpu.find("id") == nil:
		if err := d.onlyForNodes(d.gpu); err != nil {
			return hardware.Cluster{}, err
		}
		c, err := lib.Cluster(DefaultCluster)
		if err == nil {
			err = assign(reflect.ValueOf(&c.GPU).Elem(), "gpu", d.gpu)
		}
		return c, err
	}
	g, err := base(d.gpu, "", lib.GPU)
	if err == nil {
		err = assign(reflect.ValueOf(&g).Elem(), "gpu", d.gpu)
	}
	if err != nil {
		return hardware.Cluster{}, err
	}
	return d.nodeOf(g, lib)
}

// gpuInto resolves a GPU that is said next to a cluster: a table changes the
// cluster's GPU, a name must be that GPU's own.
func (d *Document) gpuInto(c *hardware.Cluster, lib Library) error {
	switch {
	case d.gpu == nil:
		return nil
	case d.gpu.kind == object:
		if id := d.gpu.find("id"); id != nil && id.kind == text && id.text != c.GPU.ID {
			return otherGPU(c, id)
		}
		return assign(reflect.ValueOf(&c.GPU).Elem(), "gpu", d.gpu)
	case d.gpu.text == c.GPU.ID:
		return nil
	}
	if _, err := lib.GPU(d.gpu.text); err != nil {
		return placeIn(d.gpu, err)
	}
	return otherGPU(c, d.gpu)
}

// otherGPU returns the error of a GPU whose id is not that of the cluster's.
func otherGPU(c *hardware.Cluster, id *node) error {
	return place(id.at, &knob.ConflictError{
		Fields: [2]string{"gpu", "cluster"},
		Why:    fmt.Sprintf("%s is made of %s, not of %s", c.ID, c.GPU.ID, escape.Line(id.text)),
	})
}

// apply writes one assignment of "set".
func (a *assignment) apply(m *model.Model, c *hardware.Cluster) error {
	var target reflect.Value
	switch a.part {
	case "model":
		target = reflect.ValueOf(m).Elem()
	case "cluster":
		target = reflect.ValueOf(c).Elem()
	default:
		target = reflect.ValueOf(&c.GPU).Elem()
	}
	for i, key := range a.keys {
		if target.Kind() != reflect.Struct {
			return place(a.at, &KeyError{Key: a.path})
		}
		field, ok := fieldByKey(target, key)
		if !ok {
			prefix := strings.Join(append([]string{a.part}, a.keys[:i]...), ".")
			return place(a.at, unknownKey(a.path, prefixed(prefix, keysOf(target.Type()))))
		}
		target = field
	}
	value := *a.value
	if target.Kind() == reflect.String && a.at.line == 0 {
		value.kind = text // on a command line 5:1 and 7b are text as well
	}
	return assign(target, a.path, &value)
}

// placeIn says where the value stands that an error is about.
func placeIn(n *node, err error) error {
	if err == nil {
		return nil
	}
	return place(n.at, err)
}
