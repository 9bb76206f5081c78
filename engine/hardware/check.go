package hardware

import (
	"fmt"
	"strings"
)

// Bounds of hardware figures. They are orders of magnitude around anything
// built, and keep every quotient of the engine finite.
const (
	minBandwidth, maxBandwidth = 1e6, 1e16 // bytes per second
	minMemory, maxMemory       = 1e6, 1e16 // bytes
	minPeak, maxPeak           = 1e9, 1e20 // operations per second
	maxLatency                 = 10.0      // seconds
	maxDomain                  = 1 << 20   // GPUs
)

// FieldError is a figure of a GPU or cluster that cannot be.
type FieldError struct{ Field, Given, Allowed string }

// Error names the field, what was given and what is allowed.
func (e FieldError) Error() string {
	return fmt.Sprintf("%s is %s; allowed is %s", e.Field, e.Given, e.Allowed)
}

// Errors are all fields of a cluster that cannot be.
type Errors []FieldError

// Error joins the messages.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i := range e {
		texts[i] = e[i].Error()
	}
	return strings.Join(texts, "; ")
}

// Check says which figures of the cluster and its GPU cannot be; nil when all
// can. A zero peak means an unsupported format, a zero scale-out bandwidth that
// there is no network, a zero MaxGPUs and MatmulBF16 that nothing was stated.
func (c *Cluster) Check() error {
	var errs Errors
	within := func(field string, value, low, high float64, orZero bool) {
		if value >= low && value <= high || orZero && value == 0 {
			return
		}
		allowed := fmt.Sprintf("%g to %g", low, high)
		if orZero {
			allowed += ", or 0 for none"
		}
		errs = append(errs, FieldError{Field: field, Given: fmt.Sprintf("%g", value), Allowed: allowed})
	}
	g := &c.GPU
	within("cluster.gpu.memory_usable_bytes", float64(g.MemoryUsable), minMemory, maxMemory, false)
	within("cluster.gpu.memory_bytes", float64(g.MemoryNominal), minMemory, maxMemory, true)
	within("cluster.gpu.memory_bandwidth", float64(g.MemoryBandwidth), minBandwidth, maxBandwidth, false)
	within("cluster.gpu.peak_bf16", float64(g.PeakBF16), minPeak, maxPeak, true)
	within("cluster.gpu.peak_fp16", float64(g.PeakFP16), minPeak, maxPeak, true)
	within("cluster.gpu.peak_fp8", float64(g.PeakFP8), minPeak, maxPeak, true)
	within("cluster.gpu.peak_tf32", float64(g.PeakTF32), minPeak, maxPeak, true)
	within("cluster.gpu.peak_fp32", float64(g.PeakFP32), minPeak, maxPeak, true)
	within("cluster.gpu.matmul_bf16_measured", float64(g.MatmulBF16), minPeak, max(minPeak, float64(g.PeakBF16)), true)
	within("cluster.intra.bandwidth", float64(c.Intra.Bandwidth), minBandwidth, maxBandwidth, false)
	within("cluster.inter.bandwidth", float64(c.Inter.Bandwidth), minBandwidth, maxBandwidth, true)
	within("cluster.intra.latency", float64(c.Intra.Latency), 0, maxLatency, false)
	within("cluster.inter.latency", float64(c.Inter.Latency), 0, maxLatency, false)
	within("cluster.gpus_per_node", float64(c.NodeGPUs), 1, maxDomain, false)
	within("cluster.scale_up_domain_gpus", float64(c.ScaleUpGPUs), 1, maxDomain, false)
	within("cluster.max_gpus", float64(c.MaxGPUs), 0, 1<<24, false)
	if len(errs) == 0 {
		return nil
	}
	return errs
}
