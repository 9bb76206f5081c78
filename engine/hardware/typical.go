package hardware

import "math"

// Typical are public figures of whole runs and of drives, each group with the sentence of its source.
type Typical struct {
	Goodput struct {
		Failures, Days, GPUs float64
		Storage              float64 `toml:"storage_GBps"`
		Bytes                float64 `toml:"bytes_per_parameter"` // of a checkpoint
		Restart              float64 `toml:"restart_minutes"`
		Source               string
	}
	Power struct {
		Draw   float64 // of a GPU that trains, over its TDP
		Source string
	}
	Node, Rack MachinePower
	Facility   struct {
		PUE    float64
		Source string
	}
	Drives struct { // of a node, together
		Read   float64 `toml:"read_GBps"`
		Write  float64 `toml:"write_GBps"`
		Source string
	}
}

// MachinePower is a node or a rack whose power is published.
type MachinePower struct {
	W, GPUs float64
	GPU     float64 `toml:"GPU_W"` // of each GPU at that power
	Source  string
}

// OverGPUs computes the power of the machine over that of its GPUs.
func (m *MachinePower) OverGPUs() float64 { return m.W / (m.GPUs * m.GPU) }

// Share computes the share of the time that advances a run of a model. It has checkpoints at the interval
// that loses least, sqrt(2 save / failure rate) (Young 1974, doi 10.1145/361147.361115): each failure costs
// half of one and the restart. Failures and storage scale with the GPUs.
func (t *Typical) Share(gpus, parameters float64) float64 {
	const least, day, minute, giga = 0.01, 86400, 60, 1e9
	g := &t.Goodput
	rate := g.Failures / (g.Days * day * g.GPUs) * gpus
	save := parameters * g.Bytes / (g.Storage * giga / g.GPUs * gpus)
	return max(least, 1-math.Sqrt(2*save*rate)-g.Restart*minute*rate)
}

// Machine returns the machine whose power is published that is most like a cluster's: a rack where the
// scale-up domain spans nodes.
func (t *Typical) Machine(c *Cluster) *MachinePower {
	if c.Domain() > c.Node() {
		return &t.Rack
	}
	return &t.Node
}
