package setupdoc

import "meshscope/engine/hardware"

// instead returns the fields of a GPU that describe its typical node, and the
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

// nodeField reports whether an assignment is about a GPU's typical node, and
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

// onlyForNodes refuses fields of the GPU's typical node next to a cluster, where
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

// nodeOf returns the typical node of a GPU after what was said about that node.
func (d *Document) nodeOf(g hardware.GPU, lib Library) (hardware.Cluster, error) {
	c := hardware.Cluster{GPU: g}
	for i := range d.sets {
		if _, ok := d.sets[i].nodeField(); ok {
			if err := d.sets[i].apply(nil, &c); err != nil {
				return c, err
			}
		}
	}
	for _, needed := range []struct {
		field, allowed string
		there          bool
	}{
		{"cluster.gpu.typical_gpus_per_node", "a whole number from 1", c.GPU.NodeGPUs > 0},
		{"cluster.gpu.max_scale_up_domain", "a whole number from 1", c.GPU.ScaleUpGPUs > 0},
		{"cluster.gpu.intra_node_bandwidth", "bytes per second, 1000000 to 1e+16", c.GPU.LinkBandwidth > 0},
	} {
		if !needed.there { // its node cannot be made of nothing
			return c, d.refuse(needed.field, "nothing", needed.allowed, "")
		}
	}
	return lib.NodeOf(c.GPU), nil
}
