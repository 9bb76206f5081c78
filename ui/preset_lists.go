package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/report/figure"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// catalog is what the pickers choose from; read once, in a command.
type catalog struct {
	models       []model.Model
	modelItems   []overlay.Item
	clusters     []hardware.Cluster
	clusterItems []overlay.Item
}

// readCatalog lists what the pickers offer.
func readCatalog(l *presets.Library) catalog {
	var c catalog
	for _, p := range l.Models() {
		c.models = append(c.models, p.Model)
		kind := "dense"
		if p.IsMoE() {
			kind = fmt.Sprintf("MoE %d of %d", p.TopK, p.Experts)
		}
		c.modelItems = append(c.modelItems, overlay.Item{
			Title: p.Name, Name: p.ID,
			Fields: []string{figure.Short(float64(p.Total())), kind, fmt.Sprintf("%d layers", p.Layers)},
			Values: []float64{float64(p.Total()), float64(p.Layers)},
		})
	}
	for _, p := range l.Clusters() {
		c.addCluster(p.Cluster, "")
	}
	for _, p := range l.GPUs() {
		c.addCluster(l.NodeOf(p.GPU), p.ID)
	}
	return c
}

// addCluster adds a machine, or the typical node of a GPU named by id.
func (c *catalog) addCluster(m hardware.Cluster, gpu string) {
	item := overlay.Item{Title: m.Name, Name: m.ID}
	if gpu != "" {
		item = overlay.Item{Title: m.GPU.Name + " nodes", Name: gpu}
	}
	link := "no link out"
	if m.Inter.Bandwidth > 0 {
		link = rate(m.Inter.Bandwidth)
	}
	// The memory stands beside it; what is in brackets explains the name.
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

// modelAt and clusterAt are the places of what is in force, for the picker to
// start at.
func (c *catalog) modelAt(id string) int {
	return slices.IndexFunc(c.modelItems, func(i overlay.Item) bool { return i.Name == id })
}

func (c *catalog) clusterAt(id string) int {
	at := slices.IndexFunc(c.clusterItems, func(i overlay.Item) bool { return i.Name == id })
	if at < 0 {
		at = slices.IndexFunc(c.clusters, func(m hardware.Cluster) bool { return strings.EqualFold(m.ID, id) })
	}
	return at
}

// presetList offers models or clusters, which are read when they are first asked for.
func (m *Model) presetList(id overlay.ID) overlay.Action {
	if m.catalog != nil {
		return overlay.Push{ID: id, Overlay: m.presets(id)}
	}
	w, library := new(overlay.Waiting), m.options.Library
	return overlay.Sequence{overlay.Push{ID: id, Overlay: w}, m.guard(func() tea.Msg {
		read := readCatalog(library)
		return readMsg{w, func() overlay.Overlay {
			m.catalog = &read
			return m.presets(id)
		}}
	})}
}

func (m *Model) presets(id overlay.ID) *overlay.Picker {
	c, hint := m.catalog, m.hintLine("type to filter", "enter takes it", "ctrl+o sorts", "esc closes")
	if id == overlay.ModelID {
		p := overlay.NewPicker("MODEL", hint, c.modelItems, c.modelAt(m.state.Setup.Model.ID))
		p.Orders = []string{"parameters", "layers"}
		p.Choose = func(i int) overlay.Action { return closing(state.Action{Verb: state.UseModel, Model: &c.models[i]}) }
		return p
	}
	p := overlay.NewPicker("CLUSTER OR GPU", hint, c.clusterItems, c.clusterAt(m.state.Setup.Cluster.ID))
	p.Orders = []string{"memory", "link between nodes", "GPUs a node"}
	p.Choose = func(i int) overlay.Action {
		return closing(state.Action{Verb: state.UseCluster, Cluster: &c.clusters[i]})
	}
	return p
}
