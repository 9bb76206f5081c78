package presets

import (
	"errors"
	"io/fs"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/hardware"
	"meshscope/engine/units"
)

// linkFile is links.toml: the latency of a hop for links whose cluster states
// none.
type linkFile struct {
	Unknown  linkClass    `toml:"unknown"`
	ScaleOut scaleOutLink `toml:"scale_out"`
	Classes  []linkClass  `toml:"class"`
}

type linkClass struct {
	Match     []string `toml:"match"` // a link belongs here when its name begins with one of these
	LatencyUs float64  `toml:"latency_us"`
	Kind      string   `toml:"kind"`
	Source    string   `toml:"source"`
}

type scaleOutLink struct {
	Link   string  `toml:"link"`
	GBps   float64 `toml:"GBps_per_dir_per_gpu"`
	Kind   string  `toml:"kind"`
	Source string  `toml:"source"`
}

func (c *linkClass) latency() units.Seconds {
	return units.Microsecond * units.Seconds(c.LatencyUs)
}

type linkTable struct{ linkFile }

// linkTable returns the table of the library, or of the one below it.
func (l *Library) linkTable() (*linkTable, error) {
	for at := l; at != nil; at = at.base {
		if t, err := at.links(); t != nil || err != nil {
			return t, err
		}
	}
	return &linkTable{}, nil
}

const linksFile = "links.toml"

// readLinks reads the table of a library; nil where it has none.
func readLinks(l *Library) (*linkTable, error) {
	text, err := readFile(l.fsys, linksFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // absence is not an error: the library below has a table
	}
	if err != nil {
		return nil, err
	}
	d := &document{name: linksFile, text: text}
	var t linkTable
	if err := d.decode(&t.linkFile); err != nil {
		return nil, err
	}
	for i := range t.Classes {
		d.class(&t.Classes[i])
		if len(t.Classes[i].Match) == 0 {
			d.refuse("match", "empty", "the words that names of such links begin with")
		}
	}
	d.class(&t.Unknown)
	d.figure("GBps_per_dir_per_gpu", &t.ScaleOut.GBps, 0.01, maxLinkGBps)
	return &t, d.err()
}

func (d *document) class(c *linkClass) {
	d.figure("latency_us", &c.LatencyUs, 0.01, maxLatencyUs)
	d.required("source", c.Source)
	switch c.Kind {
	case "author", "measured", "assumed":
	default:
		d.refuse("kind", escape.Line(c.Kind), "author, measured, assumed")
	}
}

// of returns the class of a link: the longest word that its name begins with decides.
func (t *linkTable) of(name string) *linkClass {
	best, length := &t.Unknown, 0
	lower := strings.ToLower(name)
	for i := range t.Classes {
		for _, word := range t.Classes[i].Match {
			if len(word) > length && strings.HasPrefix(lower, strings.ToLower(word)) {
				best, length = &t.Classes[i], len(word)
			}
		}
	}
	return best
}

// NodeOf returns a cluster of typical nodes of one GPU: the GPU's usual number per node
// and its own link inside; between the nodes the scale-out link of its typical cluster.
func (l *Library) NodeOf(g hardware.GPU) hardware.Cluster { return l.calibrated(l.nodeOf(g)) }

// nodeID returns the id of the typical nodes of a GPU.
func nodeID(g hardware.GPU) string { return nodePrefix + g.ID }

const nodePrefix = "node-of-"

func (l *Library) nodeOf(g hardware.GPU) hardware.Cluster {
	c := hardware.Cluster{
		ID: nodeID(g), Name: g.Name + " nodes", GPU: g,
		NodeGPUs: max(g.NodeGPUs, 1), ScaleUpGPUs: max(g.ScaleUpGPUs, 1),
		Intra: hardware.Link{Name: g.LinkName, Bandwidth: g.LinkBandwidth},
	}
	links, err := l.linkTable()
	if err != nil {
		links = &linkTable{} // a library that was loaded has reported it
	}
	c.Intra.Latency = links.of(g.LinkName).latency()
	c.Inter = hardware.Link{
		Name:      links.ScaleOut.Link + ", assumed",
		Bandwidth: units.GBps * units.BytesPerSecond(links.ScaleOut.GBps),
		Latency:   links.of(links.ScaleOut.Link).latency(),
	}
	preset, err := l.GPUPreset(g.ID)
	if err != nil || preset.TypicalCluster == "" {
		return c
	}
	// Not through ClusterPreset: nodes are requested while a machine is calibrated.
	typical, err := find(l, preset.TypicalCluster, func(l *Library) *store[ClusterPreset] {
		return &l.clusters
	})
	if err == nil {
		c.Inter = typical.Inter
		if typical.GPU.ID == g.ID {
			c.Intra.Latency = typical.Intra.Latency
		}
	}
	return c
}
