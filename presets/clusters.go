package presets

import (
	"fmt"

	"meshscope/engine/escape"
	"meshscope/engine/hardware"
	"meshscope/engine/units"
)

// clusterFile is clusters/ID.toml. The unit of a figure is the end of its key.
type clusterFile struct {
	ID    string `toml:"id"`
	Name  string `toml:"name"`
	GPUID string `toml:"gpu_id"`

	NodeGPUs    *int64 `toml:"gpus_per_node"`
	ScaleUpGPUs *int64 `toml:"scale_up_domain_gpus"`
	MaxGPUs     *int64 `toml:"max_gpus"`

	HostGB     *float64 `toml:"host_memory_GB"`
	HostSource string   `toml:"host_memory_source"`

	IntraName      string   `toml:"intra_node_link"`
	IntraGBps      *float64 `toml:"intra_node_GBps_per_dir_per_gpu"`
	InterName      string   `toml:"inter_node_link"`
	InterGBps      *float64 `toml:"inter_node_GBps_per_dir_per_gpu"`
	NodeGBps       *float64 `toml:"inter_node_GBps_per_dir_per_node"`
	NICs           *int64   `toml:"nics_per_node"`
	NICGbps        *float64 `toml:"nic_Gbps"`
	IntraLatencyUs *float64 `toml:"intra_latency_us"`
	InterLatencyUs *float64 `toml:"inter_latency_us"`
	LatencySource  string   `toml:"latency_source"`

	Topology         string `toml:"topology"`
	Oversubscription string `toml:"oversubscription"`

	BusBW1        *float64 `toml:"busbw_allreduce_1node_GBps"`
	BusBW2        *float64 `toml:"busbw_allreduce_2node_GBps"`
	BusBW4        *float64 `toml:"busbw_allreduce_4node_GBps"`
	BusBW8        *float64 `toml:"busbw_allreduce_8node_GBps"`
	BusBW16       *float64 `toml:"busbw_allreduce_16node_GBps"`
	BusBW32       *float64 `toml:"busbw_allreduce_32node_GBps"`
	BusBW64       *float64 `toml:"busbw_allreduce_64node_GBps"`
	BusBWPayload  string   `toml:"busbw_payload"`
	BusBWMeasured string   `toml:"busbw_source"`

	Unsourced []string `toml:"unsourced"`
	Note      string   `toml:"note"`
	Source    string   `toml:"source"`
}

func parseCluster(l *Library, d *document) (ClusterPreset, error) {
	var f clusterFile
	if err := d.decode(&f); err != nil {
		return ClusterPreset{}, err
	}
	d.identity(f.ID, f.Name, f.Source)
	p := ClusterPreset{
		Cluster: hardware.Cluster{
			ID: f.ID, Name: f.Name,
			NodeGPUs:    d.whole("gpus_per_node", f.NodeGPUs, maxNodeGPUs),
			ScaleUpGPUs: d.whole("scale_up_domain_gpus", f.ScaleUpGPUs, maxDomainGPUs),
			MaxGPUs:     d.optionalWhole("max_gpus", f.MaxGPUs, maxClusterGPUs),
			HostMemory:  1e9 * units.Bytes(d.optional("host_memory_GB", f.HostGB, 1, 1<<20)),
			Intra: hardware.Link{
				Name: d.required("intra_node_link", f.IntraName),
				Bandwidth: units.GBps * units.BytesPerSecond(d.figure("intra_node_GBps_per_dir_per_gpu",
					f.IntraGBps, 0.01, maxLinkGBps)),
			},
			Inter: hardware.Link{
				Name:      d.line("inter_node_link", f.InterName),
				Bandwidth: d.bandwidth("inter_node_GBps_per_dir_per_gpu", f.InterGBps),
			},
		},
		NICsPerNode:      d.optionalWhole("nics_per_node", f.NICs, maxNodeGPUs),
		NICGbps:          d.optional("nic_Gbps", f.NICGbps, 0.1, 8*maxLinkGBps),
		NodeBandwidth:    d.bandwidth("inter_node_GBps_per_dir_per_node", f.NodeGBps),
		Topology:         d.line("topology", f.Topology),
		Oversubscription: d.line("oversubscription", f.Oversubscription),
		AllReduce:        f.allReduce(d), AllReducePayload: d.line("busbw_payload", f.BusBWPayload),
		AllReduceSource: d.line("busbw_source", f.BusBWMeasured),
		LatencySource:   d.line("latency_source", f.LatencySource),
		Unsourced:       f.Unsourced, Note: d.line("note", f.Note), Source: f.Source,
	}
	p.GPU = d.gpu(l, f.GPUID)
	d.latencies(l, &f, &p)
	if f.HostGB != nil {
		d.required("host_memory_source", f.HostSource)
	}
	d.unsourced(f.Unsourced)
	return p, d.err()
}

func (d *document) gpu(l *Library, id string) hardware.GPU {
	gpu, err := l.GPU(id)
	if err != nil {
		d.refuse("gpu_id", escape.Quote(id), "the id of a GPU preset ("+err.Error()+")")
	}
	return gpu
}

// latencies takes those of the file, or of the class of each link.
func (d *document) latencies(l *Library, f *clusterFile, p *ClusterPreset) {
	links, err := l.linkTable()
	if err != nil {
		d.errs = append(d.errs, err)
		return
	}
	given := p.LatencySource
	for _, x := range []struct {
		key   string
		value *float64
		link  *hardware.Link
	}{
		{"intra_latency_us", f.IntraLatencyUs, &p.Intra},
		{"inter_latency_us", f.InterLatencyUs, &p.Inter},
	} {
		if x.value != nil {
			x.link.Latency = units.Microsecond * units.Seconds(d.figure(x.key, x.value, 0.01, maxLatencyUs))
			if given == "" {
				d.refuse("latency_source", "missing", "where "+x.key+" comes from")
			}
			continue
		}
		if x.link.Bandwidth == 0 {
			continue
		}
		class := links.of(x.link.Name)
		x.link.Latency = class.latency()
		if p.LatencySource != "" {
			p.LatencySource += "; "
		}
		p.LatencySource += fmt.Sprintf("%s: %s (%s)", x.link.Name, class.Source, class.Kind)
	}
}

func (f *clusterFile) allReduce(d *document) []BusBandwidth {
	var all []BusBandwidth
	for _, m := range []struct {
		nodes int
		value *float64
	}{
		{1, f.BusBW1},
		{2, f.BusBW2},
		{4, f.BusBW4},
		{8, f.BusBW8},
		{16, f.BusBW16},
		{32, f.BusBW32},
		{64, f.BusBW64},
	} {
		if m.value != nil {
			key := fmt.Sprintf("busbw_allreduce_%dnode_GBps", m.nodes)
			all = append(all, BusBandwidth{Nodes: m.nodes, Bandwidth: d.bandwidth(key, m.value)})
		}
	}
	if len(all) > 0 && f.BusBWMeasured == "" {
		d.refuse("busbw_source", "missing", "where the measured bandwidths come from")
	}
	return all
}
