package setupdoc

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/model"
)

// Setup settles the document: names are looked up, fields assigned, what is
// left out derived. A document that says everything is taken as it stands, so
// that an illegal setup that was printed reads back as itself.
func (d *Document) Setup(lib Library) (engine.Setup, error) {
	s, err := d.settle(lib)
	if err != nil {
		return engine.Setup{}, d.inFile(err)
	}
	return s, nil
}

func (d *Document) settle(lib Library) (engine.Setup, error) {
	m, err := d.settleModel(lib)
	if err != nil {
		return engine.Setup{}, err
	}
	c, err := d.settleCluster(lib)
	if err != nil {
		return engine.Setup{}, err
	}
	for i := range d.sets {
		if err := d.sets[i].apply(&m, &c); err != nil {
			return engine.Setup{}, err
		}
	}
	if err := checkModel(&m); err != nil {
		return engine.Setup{}, err
	}
	if err := checkCluster(&c); err != nil {
		return engine.Setup{}, err
	}
	if l, ok := lib.(calibrator); ok {
		c = l.Calibrate(c) // by the ids that the machine has in the end
	}
	draft := d.draft
	draft.Model, draft.Cluster = &m, &c
	if complete, ok := draft.Complete(); ok && !d.overridden {
		return complete, nil
	}
	return draft.Resolve()
}

// calibrator is a library that knows how fast machines are.
type calibrator interface {
	Calibrate(c hardware.Cluster) hardware.Cluster
}

func (d *Document) settleModel(lib Library) (model.Model, error) {
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

func (d *Document) settleCluster(lib Library) (hardware.Cluster, error) {
	if d.cluster == nil {
		return d.clusterOfGPU(lib)
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

// base is what a table starts from: the preset it names, nothing when the name
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

// clusterOfGPU is the typical node of the GPU that was named, or the default.
func (d *Document) clusterOfGPU(lib Library) (hardware.Cluster, error) {
	switch {
	case d.gpu == nil:
		return lib.Cluster(DefaultCluster)
	case d.gpu.kind == text:
		g, err := lib.GPU(d.gpu.text)
		if err != nil {
			return hardware.Cluster{}, placeIn(d.gpu, err)
		}
		return lib.NodeOf(g), nil
	case d.gpu.find("id") == nil:
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
	return lib.NodeOf(g), nil
}

// gpuInto settles a GPU that is said beside a cluster: a table changes the
// cluster's GPU, a name must be that GPU's own.
func (d *Document) gpuInto(c *hardware.Cluster, lib Library) error {
	switch {
	case d.gpu == nil:
		return nil
	case d.gpu.kind == object:
		return assign(reflect.ValueOf(&c.GPU).Elem(), "gpu", d.gpu)
	case d.gpu.text == c.GPU.ID:
		return nil
	}
	if _, err := lib.GPU(d.gpu.text); err != nil {
		return placeIn(d.gpu, err)
	}
	return place(d.gpu.at, &engine.ConflictError{
		Fields: [2]string{"gpu", "cluster"},
		Why:    fmt.Sprintf("%s is made of %s, not of %s", c.ID, c.GPU.ID, d.gpu.text),
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

// checkModel turns what the model says about its own fields into a value error.
func checkModel(m *model.Model) error {
	err := m.Check().Err()
	var wrong model.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	first := wrong[0]
	return &engine.ValueError{Field: "model." + first.Field, Given: strings.Trim(first.Given, `"`), Allowed: first.Allowed}
}

// Bounds of a machine; the largest built has a few hundred thousand GPUs.
const (
	maxNodeGPUs   = 1 << 16
	maxDomainGPUs = 1 << 20
	maxMachine    = engine.MaxGPUs
)

func checkCluster(c *hardware.Cluster) error {
	counts := []struct {
		field            string
		value, low, high int
	}{
		{"cluster.gpus_per_node", c.NodeGPUs, 1, maxNodeGPUs},
		{"cluster.scale_up_domain_gpus", c.ScaleUpGPUs, 1, maxDomainGPUs},
		{"cluster.max_gpus", c.MaxGPUs, 0, maxMachine},
		{"gpu.typical_gpus_per_node", c.GPU.NodeGPUs, 0, maxNodeGPUs},
		{"gpu.max_scale_up_domain", c.GPU.ScaleUpGPUs, 0, maxDomainGPUs},
	}
	for _, n := range counts {
		if n.value < n.low || n.value > n.high {
			return &engine.ValueError{
				Field: n.field, Given: fmt.Sprint(n.value), Allowed: fmt.Sprintf("a whole number from %d to %d", n.low, n.high),
				Nearest: fmt.Sprint(min(max(n.value, n.low), n.high)),
			}
		}
	}
	rates := []struct {
		field string
		value float64
	}{
		{"gpu.memory_usable_bytes", float64(c.GPU.MemoryUsable)},
		{"gpu.memory_bandwidth", float64(c.GPU.MemoryBandwidth)},
		{"gpu.peak_fp16", max(float64(c.GPU.PeakFP16), float64(c.GPU.PeakBF16), float64(c.GPU.PeakFP32))},
	}
	for _, r := range rates {
		if r.value <= 0 {
			return &engine.ValueError{Field: r.field, Given: fmt.Sprint(r.value), Allowed: "a number above 0"}
		}
	}
	return nil
}

// placeIn says where the value stands that an error is about.
func placeIn(n *node, err error) error {
	if err == nil {
		return nil
	}
	return place(n.at, err)
}
