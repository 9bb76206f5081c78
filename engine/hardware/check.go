package hardware

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"meshscope/engine/escape"
)

// Bounds of hardware figures. They are orders of magnitude around anything
// built, and keep every quotient of the engine finite.
const (
	minBandwidth, maxBandwidth = 1e6, 1e16 // bytes per second
	minMemory, maxMemory       = 1e6, 1e16 // bytes
	minPeak, maxPeak           = 1e9, 1e20 // operations per second
	minLatency, maxLatency     = 1e-9, 10  // seconds
	MaxDomain                  = 1 << 20   // GPUs
	maxWatt                    = 1e5       // of one GPU
	minPrice, maxPrice         = 1e-3, 1e6 // dollars per GPU and hour
	maxLabel                   = 200       // bytes of a name
	memoryRounding             = 1.001     // 34.36 GB are sold as 32 GiB
)

// FieldError is a figure of a GPU or cluster that cannot be.
type FieldError struct {
	Field, Given, Allowed string
	Nearest               string // allowed value; empty where none is near
}

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
// there is no network, a zero MaxGPUs and MatmulBF16 that nothing was stated. A
// zero latency is one that nobody stated, and no link has none.
func (c *Cluster) Check() error {
	var k checker
	k.labels(c)
	k.gpu(&c.GPU)
	k.within("cluster.intra.bandwidth", float64(c.Intra.Bandwidth), minBandwidth, maxBandwidth)
	k.withinOrZero("cluster.inter.bandwidth", float64(c.Inter.Bandwidth), minBandwidth, maxBandwidth)
	k.within("cluster.intra.latency", float64(c.Intra.Latency), minLatency, maxLatency)
	if c.Inter.Bandwidth != 0 || c.Inter.Latency != 0 {
		k.within("cluster.inter.latency", float64(c.Inter.Latency), minLatency, maxLatency)
	}
	k.within("cluster.gpus_per_node", float64(c.NodeGPUs), 1, MaxDomain)
	k.within("cluster.scale_up_domain_gpus", float64(c.ScaleUpGPUs), 1, MaxDomain)
	k.within("cluster.max_gpus", float64(c.MaxGPUs), 0, 1<<24)
	k.drives("cluster.drive_read_bandwidth", float64(c.DriveRead))
	k.drives("cluster.drive_write_bandwidth", float64(c.DriveWrite))
	k.within("cluster.host_memory", float64(c.HostMemory), 0, 1<<50)
	if len(k.errs) == 0 {
		return nil
	}
	return k.errs
}

type checker struct{ errs Errors }

// within holds a figure against its bounds; it refuses NaN too.
func (k *checker) within(field string, value, low, high float64) {
	if value >= low && value <= high {
		return
	}
	k.add(field, figure(value), fmt.Sprintf("%s to %s", figure(low), figure(high)))
	k.near(value, low, high)
}

func (k *checker) withinOrZero(field string, value, low, high float64) {
	if value >= low && value <= high || value == 0 {
		return
	}
	k.add(field, figure(value), fmt.Sprintf("%s to %s, or 0 for none", figure(low), figure(high)))
	k.near(value, low, high)
}

// drives holds what a node's drives do against its bounds: 0 is what typical ones do.
func (k *checker) drives(field string, value float64) {
	if value >= minBandwidth && value <= maxBandwidth || value == 0 {
		return
	}
	k.add(field, figure(value), "1e6 to 1e16 bytes per second (10e9 is 10 GB/s), or 0 for typical drives")
	k.near(value, minBandwidth, maxBandwidth)
}

// near gives the last error the bound that is nearest to what was given.
func (k *checker) near(value, low, high float64) {
	if !math.IsNaN(value) {
		k.errs[len(k.errs)-1].Nearest = figure(min(max(value, low), high))
	}
}

func (k *checker) add(field, given, allowed string) {
	k.errs = append(k.errs, FieldError{Field: field, Given: given, Allowed: allowed})
}

// figure writes a bound as people do: 8, 1048576, 1e+16.
func figure(v float64) string {
	if v == float64(int64(v)) && v >= 0 && v < 1e9 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

func (k *checker) gpu(g *GPU) {
	k.within("cluster.gpu.memory_usable_bytes", float64(g.MemoryUsable), minMemory, maxMemory)
	k.withinOrZero("cluster.gpu.memory_bytes", float64(g.MemoryNominal), minMemory, maxMemory)
	if n := g.MemoryNominal; n >= minMemory && g.MemoryUsable > n*memoryRounding &&
		g.MemoryUsable <= maxMemory {
		k.add("cluster.gpu.memory_usable_bytes", figure(float64(g.MemoryUsable)),
			"up to memory_bytes, "+figure(float64(n)))
	}
	k.within("cluster.gpu.memory_bandwidth", float64(g.MemoryBandwidth), minBandwidth, maxBandwidth)
	k.withinOrZero("cluster.gpu.peak_bf16", float64(g.PeakBF16), minPeak, maxPeak)
	k.withinOrZero("cluster.gpu.peak_fp16", float64(g.PeakFP16), minPeak, maxPeak)
	k.withinOrZero("cluster.gpu.peak_fp8", float64(g.PeakFP8), minPeak, maxPeak)
	k.withinOrZero("cluster.gpu.peak_fp4", float64(g.PeakFP4), minPeak, maxPeak)
	k.withinOrZero("cluster.gpu.peak_tf32", float64(g.PeakTF32), minPeak, maxPeak)
	k.withinOrZero("cluster.gpu.peak_fp32", float64(g.PeakFP32), minPeak, maxPeak)
	measured := maxPeak // of a GPU whose bf16 units were turned off it is not used
	if g.PeakBF16 > 0 {
		measured = max(minPeak, float64(g.PeakBF16))
	}
	k.withinOrZero("cluster.gpu.matmul_bf16_measured", float64(g.MatmulBF16), minPeak, measured)
	measured = maxPeak
	if g.PeakFP8 > 0 {
		measured = max(minPeak, float64(g.PeakFP8))
	}
	k.withinOrZero("cluster.gpu.matmul_fp8_measured", float64(g.MatmulFP8), minPeak, measured)
	k.withinOrZero("cluster.gpu.host_bandwidth", float64(g.HostBandwidth), minBandwidth, maxBandwidth)
	k.withinOrZero("cluster.gpu.host_link", float64(g.HostLink), minBandwidth, maxBandwidth)
	k.withinOrZero("cluster.gpu.intra_node_bandwidth", float64(g.LinkBandwidth), minBandwidth, maxBandwidth)
	k.withinOrZero("cluster.gpu.tdp_W", g.TDPWatt, 1, maxWatt)
	k.withinOrZero("cluster.gpu.price_usd_per_gpu_hour", g.PriceUSD, minPrice, maxPrice)
	k.within("cluster.gpu.typical_gpus_per_node", float64(g.NodeGPUs), 0, MaxDomain)
	k.within("cluster.gpu.max_scale_up_domain", float64(g.ScaleUpGPUs), 0, MaxDomain)
	if g.PeakBF16 == 0 && g.PeakFP16 == 0 && g.PeakTF32 == 0 && g.PeakFP32 == 0 {
		k.add("cluster.gpu.peak_bf16", "0", "above 0 when no other peak is")
	}
}

// labels are shown in a terminal: what could steer one is refused.
func (k *checker) labels(c *Cluster) {
	for _, l := range [...]struct{ field, text string }{
		{"cluster.id", c.ID},
		{"cluster.name", c.Name},
		{"cluster.intra.name", c.Intra.Name},
		{"cluster.inter.name", c.Inter.Name},
		{"cluster.gpu.id", c.GPU.ID},
		{"cluster.gpu.name", c.GPU.Name},
		{"cluster.gpu.vendor", c.GPU.Vendor},
		{"cluster.gpu.intra_node_link", c.GPU.LinkName},
		{"cluster.gpu.price_source", c.GPU.PriceSource},
	} {
		if len(l.text) <= maxLabel && escape.Printable(l.text) {
			continue
		}
		k.add(l.field, escape.Quote(l.text), fmt.Sprintf("at most %d bytes of printable text", maxLabel))
	}
}
