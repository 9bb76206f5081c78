package overlay

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/report/figure"
	"meshscope/ui/widget"
)

// Catalog is the models, clusters and GPUs that are offered.
type Catalog struct {
	models       []model.Model
	modelItems   []Item
	clusters     []hardware.Cluster
	clusterItems []Item
}

// ReadCatalog reads what a library has.
func ReadCatalog(l *presets.Library) *Catalog {
	c := new(Catalog)
	for _, p := range l.Models() {
		c.models = append(c.models, p.Model)
		kind := "dense"
		if p.IsMoE() {
			kind = fmt.Sprintf("MoE %d of %d", p.TopK, p.Experts)
		}
		c.modelItems = append(c.modelItems, Item{
			Title: p.Name, Name: p.ID,
			Fields: []string{figure.Short(float64(p.Total())), kind, figure.Plural(p.Layers, "layer")},
			Values: []float64{float64(p.Total()), float64(p.Layers)},
		})
	}
	for _, p := range l.Clusters() {
		c.addCluster(p.Cluster, "")
	}
	for _, p := range l.GPUs() {
		c.addCluster(l.NodeOf(p.GPU), p.ID)
		item := &c.clusterItems[len(c.clusterItems)-1]
		for i, sign := range p.ID { // a shorter name for which --gpu takes it
			if g, err := l.GPU(p.ID[:i]); sign == '-' && err == nil && g.ID == p.ID {
				item.Hidden = append(item.Hidden, p.ID[:i])
			}
		}
	}
	return c
}

// addCluster adds a machine, or the typical node of a GPU named by id.
func (c *Catalog) addCluster(m hardware.Cluster, gpu string) {
	item := Item{Title: m.Name, Name: m.ID}
	if gpu != "" {
		item = Item{Title: m.GPU.Name + " nodes", Name: gpu, Rank: presets.Form(gpu)}
	}
	link := "no network"
	if m.Inter.Bandwidth > 0 {
		link = rate(m.Inter.Bandwidth)
	}
	// The memory stands next to it; what is in brackets explains the name.
	chip, _, _ := strings.Cut(m.GPU.Name, " (")
	item.Fields = []string{
		chip, figure.GiB(m.GPU.MemoryUsable) + " GiB", link, fmt.Sprintf("%d a node", m.Node()),
	}
	item.Values = []float64{float64(m.GPU.MemoryUsable), float64(m.Inter.Bandwidth), float64(m.Node())}
	c.clusters = append(c.clusters, m)
	c.clusterItems = append(c.clusterItems, item)
}

func rate(b units.BytesPerSecond) string {
	return figure.Three(float64(b/units.GBps)) + " GB/s"
}

// Everything returns models, clusters and GPUs as one list, by their names, and what choosing one
// of it does.
func (c *Catalog) Everything(toModel func(*model.Model) Action,
	toCluster func(*hardware.Cluster) Action,
) (items []Item, choose func(int) Action) {
	for i := range c.modelItems {
		items = append(items, Item{Title: "model " + c.modelItems[i].Title, Name: c.modelItems[i].Name})
	}
	for i := range c.clusterItems {
		items = append(items, Item{Title: "cluster " + c.clusterItems[i].Title, Name: c.clusterItems[i].Name})
	}
	return items, func(i int) Action {
		if n := len(c.models); i >= n {
			return toCluster(&c.clusters[i-n])
		}
		return toModel(&c.models[i])
	}
}

// Models lists the models, at the one with an id.
func (c *Catalog) Models(g widget.Glyphs, id string, choose func(*model.Model) Action) *Picker {
	at := slices.IndexFunc(c.modelItems, func(i Item) bool { return i.Name == id })
	p := NewPicker("MODEL", Hint(g, "type to filter, or the path of a config.json", "enter takes it",
		"ctrl+o sorts", "esc closes"), c.modelItems, at)
	p.Orders = []string{"parameters", "layers"}
	p.Choose = func(i int) Action { return choose(&c.models[i]) }
	return p
}

// Clusters lists the clusters, then the typical nodes of GPUs, at the one with an id.
func (c *Catalog) Clusters(g widget.Glyphs, id string, choose func(*hardware.Cluster) Action) *Picker {
	at := slices.IndexFunc(c.clusterItems, func(i Item) bool { return i.Name == id })
	if at < 0 {
		at = slices.IndexFunc(c.clusters,
			func(m hardware.Cluster) bool { return strings.EqualFold(m.ID, id) })
	}
	p := NewPicker("CLUSTER OR GPU", Hint(g, "type to filter, or gpus-per-node=4,node-bandwidth=100Gb/s",
		"enter takes it", "ctrl+o sorts", "esc closes"), c.clusterItems, at)
	p.Orders = []string{"memory", "link between nodes", "GPUs a node"}
	p.Choose = func(i int) Action { return choose(&c.clusters[i]) }
	return p
}
