// Package hardware describes what the training runs on: the GPU, the node,
// the links between them, and how long an operation or a collective takes.
package hardware

import (
	"cmp"

	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// GPU is one accelerator. Peaks are dense rates from the vendor; a zero peak
// means that the format is not supported or not published.
type GPU struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Vendor string `json:"vendor"`
	// Architecture is the generation, as the vendor calls it; empty: not stated.
	Architecture string `json:"architecture,omitempty"`

	MemoryNominal units.Bytes `json:"memory_bytes"` // what it is sold with
	// what the framework can see and allocate
	MemoryUsable    units.Bytes          `json:"memory_usable_bytes"`
	MemoryBandwidth units.BytesPerSecond `json:"memory_bandwidth"` // HBM, bytes per second

	PeakBF16 units.FLOPsPerSecond `json:"peak_bf16"`
	PeakFP16 units.FLOPsPerSecond `json:"peak_fp16"`
	PeakFP8  units.FLOPsPerSecond `json:"peak_fp8"`
	PeakFP4  units.FLOPsPerSecond `json:"peak_fp4,omitempty"`
	PeakTF32 units.FLOPsPerSecond `json:"peak_tf32"`
	PeakFP32 units.FLOPsPerSecond `json:"peak_fp32"`

	// MatmulBF16 is the best bf16 matrix product measured on this GPU, 0 where
	// nobody published one.
	MatmulBF16 units.FLOPsPerSecond `json:"matmul_bf16_measured"`
	MatmulFP8  units.FLOPsPerSecond `json:"matmul_fp8_measured"` // the same in fp8

	NodeGPUs      int                  `json:"typical_gpus_per_node"`
	ScaleUpGPUs   int                  `json:"max_scale_up_domain"` // GPUs that one NVLink-class domain joins
	LinkName      string               `json:"intra_node_link"`
	LinkBandwidth units.BytesPerSecond `json:"intra_node_bandwidth"` // per GPU and direction
	HostBandwidth units.BytesPerSecond `json:"host_bandwidth"`       // PCIe, per direction; 0: not published
	// NVLink-C2C to a Grace, per GPU and direction; 0: none
	HostLink units.BytesPerSecond `json:"host_link,omitempty"`

	TDPWatt     float64 `json:"tdp_W,omitempty"`                  // of the GPU alone; 0: not published
	PriceUSD    float64 `json:"price_usd_per_gpu_hour,omitempty"` // 0: unknown
	PriceSource string  `json:"price_source,omitempty"`           // whose price, and of when
}

// Peak returns the dense rate of matrix products in the given precision; 0 when the
// GPU does not support it. fp32 training uses TF32 where the GPU has it.
func (g *GPU) Peak(p recipe.Precision) units.FLOPsPerSecond {
	switch {
	case p == recipe.NVFP4:
		return g.PeakFP4
	case p.IsFP8():
		return g.PeakFP8
	case p == recipe.FP16:
		return g.PeakFP16
	case p == recipe.FP32:
		if g.PeakTF32 > 0 {
			return g.PeakTF32
		}
		return g.PeakFP32
	default:
		return g.PeakBF16
	}
}

// Measured returns the best matrix product that somebody measured on the GPU in this
// precision, which no long run is faster than; 0 where nobody did.
func (g *GPU) Measured(p recipe.Precision) units.FLOPsPerSecond {
	switch {
	case p.IsFP8():
		return g.MatmulFP8
	case p == recipe.FP32, p == recipe.NVFP4:
		return 0
	default:
		return g.MatmulBF16
	}
}

// Host returns what the GPU moves to or from its host, per direction.
func (g *GPU) Host() units.BytesPerSecond { return max(g.HostLink, g.HostBandwidth) }

// Link is one kind of connection, as one GPU sees it.
type Link struct {
	Name      string               `json:"name"`
	Bandwidth units.BytesPerSecond `json:"bandwidth"` // per GPU and direction
	Latency   units.Seconds        `json:"latency"`   // of one hop, one step of a ring
}

// Cluster is a machine: nodes of one GPU type, a scale-up link inside a
// domain, a scale-out link between domains.
type Cluster struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	GPU  GPU    `json:"gpu"`

	NodeGPUs int `json:"gpus_per_node"`
	// GPUs joined by the Intra link, >= NodeGPUs on rack-scale systems
	ScaleUpGPUs int  `json:"scale_up_domain_gpus"`
	Intra       Link `json:"intra"`
	Inter       Link `json:"inter"`    // zero bandwidth: there is nothing outside the scale-up domain
	MaxGPUs     int  `json:"max_gpus"` // 0: not stated

	HostMemory units.Bytes `json:"host_memory,omitempty"` // of a node; 0: not stated
	// of the drives of a node, together; 0: those of Drives
	DriveRead  units.BytesPerSecond `json:"drive_read_bandwidth,omitempty"`
	DriveWrite units.BytesPerSecond `json:"drive_write_bandwidth,omitempty"`

	// Calibration is what is known about the speed of this machine, found by the
	// ids above; nil: nothing, and times are those of a plain roofline.
	Calibration *Calibration `json:"-"`
	// Memory is what is known about the memory of software stacks; nil: nothing.
	Memory *StackMemories `json:"-"`
	// Published is what published runs tell about the errors of predictions; nil:
	// nothing, and bands are those of a setup unlike any run.
	Published *Published `json:"-"`
}

// Drives returns what the drives of a node read and write: where nobody says it, the public figures, or 0.
func (c *Cluster) Drives() (read, write units.BytesPerSecond) {
	read, write = c.DriveRead, c.DriveWrite
	if p := c.Published; p != nil {
		read = cmp.Or(read, units.GBps*units.BytesPerSecond(p.Typical.Drives.Read))
		write = cmp.Or(write, units.GBps*units.BytesPerSecond(p.Typical.Drives.Write))
	}
	return read, write
}

// DrivesGiven reports whether somebody says both of them.
func (c *Cluster) DrivesGiven() bool { return c.DriveRead > 0 && c.DriveWrite > 0 }

// Domain returns the number of GPUs joined by the scale-up link.
func (c *Cluster) Domain() int { return max(c.ScaleUpGPUs, 1) }

// Node returns the number of GPUs in one node.
func (c *Cluster) Node() int { return max(c.NodeGPUs, 1) }

// Changed ends what a cluster is called that is not as its preset has it.
const Changed = ", changed"

// Called returns a name of the machine, and that it was changed where it differs from the preset of that
// name.
func (c *Cluster) Called(name string) string {
	if c.Calibration == nil || c.Calibration.Of == nil {
		return name
	}
	is, was := *c, *c.Calibration.Of
	for _, m := range []*Cluster{&is, &was} {
		m.Calibration, m.Memory, m.Published = nil, nil, nil
	}
	if is == was {
		return name
	}
	return name + Changed
}
