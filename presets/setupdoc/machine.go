package setupdoc

import (
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/units"
)

// sayMachine reads a word for a figure of the machine, such as node_bandwidth, as a field of the cluster.
func (d *Document) sayMachine(w *knob.MachineWord, m *member) error {
	value := *m.value
	if w.Kind == "rate" {
		v, err := knob.ParseRate(m.key, value.text)
		if err != nil {
			return place(value.at, err)
		}
		value.kind, value.text = number, strconv.FormatFloat(v, 'g', -1, 64)
	}
	d.sets = append(d.sets, assignment{
		part: "cluster", path: m.key, keys: strings.Split(w.Field, "."), at: m.at, value: &value,
		node: w.Node, words: true,
	})
	return nil
}

// ownMachine resolves what the words for a machine leave open, once all is said: the GPUs of a node share its
// rate, a scale-up domain that was the node stays the node, and a link of another rate is not that of the
// preset.
func (d *Document) ownMachine(c, was *hardware.Cluster) {
	last := func(field string) *assignment {
		for _, a := range slices.Backward(d.sets) {
			if a.part == "cluster" && strings.Join(a.keys, ".") == field {
				return &a
			}
		}
		return nil
	}
	if a := last("gpus_per_node"); a != nil && a.words && last("scale_up_domain_gpus") == nil &&
		was.ScaleUpGPUs == was.NodeGPUs {
		c.ScaleUpGPUs = c.NodeGPUs
	}
	for _, w := range knob.MachineWords() {
		if w.Kind != "rate" {
			continue
		}
		link, a := w.Link(c), last(w.Field)
		if a == nil || !a.words || a.node != w.Node {
			continue
		}
		if a.node {
			link.Bandwidth /= units.BytesPerSecond(c.Node())
		}
		if link.Bandwidth != w.Link(was).Bandwidth &&
			last(strings.Replace(w.Field, ".bandwidth", ".name", 1)) == nil {
			w.NameLink(c)
		}
	}
}
