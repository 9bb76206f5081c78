package ledger

import (
	"strings"

	"meshscope/engine/recipe"
)

// Rates are what kernels of PyTorch reach on a GPU and what launching them costs, in SI units.
type Rates struct {
	Products      [2]float64 // FLOP/s of 16-bit products inside a step, forward and backward
	Products32    float64    // of fp32 ones
	ProductBytes  float64    // byte/s of products that memory limits
	ProductLaunch float64    // seconds of each
	Stream        float64    // byte/s of element-wise kernels
	Launch        float64    // seconds of each
	Wide          float64    // byte/s of passes over fp32 copies in norms that run operation by operation
	NormForward   float64    // byte/s of fused norms
	NormBackward  float64
	NormLaunch    float64
	LogSoftmax    [2]float64 // seconds of a logit, forward and backward
	Sort          float64    // seconds of sorting indices
	// FLOP/s of experts' products: forward, gradient of the input, of the weights
	Grouped      [3]float64
	GroupedBytes [3]float64        // byte/s, the last one of what weights' gradients write
	Gather       float64           // byte/s of FSDP's copies
	HostLink     float64           // byte/s of pinned memory
	Flash, CuDNN [2]AttentionRates // heads up to 64 wide, wider ones
	// over those of CuDNN, of CuDNN and of Flash
	Flash3, Flash4, Efficient [2]AttentionRates
	Processors                float64
	Adam                      [2]float64 // byte/s of fused AdamW: 16-bit weights, fp32 ones
	Foreach                   float64    // seconds of a parameter
	ClipRead                  float64
	ClipScale                 float64
	HostAdam                  float64 // seconds of a parameter on the host
	Drives                    float64 // byte/s that a node's drives read; of the machine, in no file of rates

	HostForward, HostBackward float64    // seconds of launching a kernel
	HostGather                [2]float64 // of a group of FSDP, forward and backward
	Reduce, Root              float64
	HostCompiled              float64 // of a compiled block
	Selective                 float64 // of an operation under selective checkpointing in eager code
}

// AttentionRates are FLOP/s and seconds of an element of the queries, forward and backward.
type AttentionRates struct{ FLOPs, PerQuery [2]float64 }

// of returns the rates of a kernel that was measured next to another.
func (over AttentionRates) of(a AttentionRates) AttentionRates {
	for i := range a.FLOPs {
		a.FLOPs[i] *= over.FLOPs[i]
		a.PerQuery[i] *= over.PerQuery[i]
	}
	return a
}

// kernel returns the rates of a kernel of attention.
func (r *Rates) kernel(a recipe.Attention, wide int) AttentionRates {
	switch a {
	case recipe.CuDNN:
		return r.CuDNN[wide]
	case recipe.Flash3:
		return r.Flash3[wide].of(r.CuDNN[wide])
	case recipe.Flash4:
		return r.Flash4[wide].of(r.CuDNN[wide])
	case recipe.Efficient:
		return r.Efficient[wide].of(r.Flash[wide])
	default:
		return r.Flash[wide]
	}
}

// Limit is the property of a GPU that a rate grows with.
type Limit uint8

// Limits.
const (
	NoLimit Limit = iota // the host, or latency
	Peak                 // of 16-bit products
	Peak32
	Memory
	Link // to the host
	limits
)

// Rate is one of Rates by the name that files have it by, whose end is its unit.
type Rate struct {
	Key string
	Of  *float64
	By  Limit
}

// List names all of them that files have.
func (r *Rates) List() []Rate {
	list := []Rate{
		{"product_forward_TFLOPS", &r.Products[0], Peak},
		{"product_backward_TFLOPS", &r.Products[1], Peak},
		{"product_fp32_TFLOPS", &r.Products32, Peak32},
		{"product_TBps", &r.ProductBytes, Memory},
		{"product_start_us", &r.ProductLaunch, NoLimit},
		{"stream_TBps", &r.Stream, Memory},
		{"kernel_start_us", &r.Launch, NoLimit},
		{"norm_copies_TBps", &r.Wide, Memory},
		{"norm_forward_TBps", &r.NormForward, Memory},
		{"norm_backward_TBps", &r.NormBackward, Memory},
		{"norm_start_us", &r.NormLaunch, NoLimit},
		{"log_softmax_forward_ps", &r.LogSoftmax[0], Memory},
		{"log_softmax_backward_ps", &r.LogSoftmax[1], Memory},
		{"sort_us", &r.Sort, NoLimit},
		{"grouped_forward_TFLOPS", &r.Grouped[0], Peak},
		{"grouped_input_gradient_TFLOPS", &r.Grouped[1], Peak},
		{"grouped_weight_gradient_TFLOPS", &r.Grouped[2], Peak},
		{"grouped_forward_TBps", &r.GroupedBytes[0], Memory},
		{"grouped_input_gradient_TBps", &r.GroupedBytes[1], Memory},
		{"grouped_weight_gradient_TBps", &r.GroupedBytes[2], Memory},
		{"gather_TBps", &r.Gather, Memory},
		{"host_link_GBps", &r.HostLink, Link},
		{"multiprocessors", &r.Processors, NoLimit},
		{"adam_bf16_TBps", &r.Adam[0], Memory},
		{"adam_fp32_TBps", &r.Adam[1], Memory},
		{"adam_foreach_ps", &r.Foreach, Memory},
		{"clip_read_TBps", &r.ClipRead, Memory},
		{"clip_scale_TBps", &r.ClipScale, Memory},
		{"adam_on_the_host_ps", &r.HostAdam, NoLimit},
		{"host_forward_us", &r.HostForward, NoLimit},
		{"host_backward_us", &r.HostBackward, NoLimit},
		{"host_gather_forward_us", &r.HostGather[0], NoLimit},
		{"host_gather_backward_us", &r.HostGather[1], NoLimit},
		{"host_reduce_us", &r.Reduce, NoLimit},
		{"host_root_us", &r.Root, NoLimit},
		{"host_compiled_us", &r.HostCompiled, NoLimit},
		{"host_selective_us", &r.Selective, NoLimit},
	}
	for _, a := range [...]struct {
		name string
		of   *AttentionRates
	}{
		{"flash_64", &r.Flash[0]},
		{"flash_128", &r.Flash[1]},
		{"cudnn_64", &r.CuDNN[0]},
		{"cudnn_128", &r.CuDNN[1]},
	} {
		for i, pass := range [...]string{"_forward", "_backward"} {
			list = append(list, Rate{a.name + pass + "_TFLOPS", &a.of.FLOPs[i], Peak},
				Rate{a.name + pass + "_ps", &a.of.PerQuery[i], Memory})
		}
	}
	for _, a := range [...]struct {
		name, over string
		of         *[2]AttentionRates
	}{
		{"flash3", "cudnn", &r.Flash3}, {"flash4", "cudnn", &r.Flash4}, {"efficient", "flash", &r.Efficient},
	} {
		for wide, heads := range [...]string{"_64", "_128"} {
			for i, pass := range [...]string{"_forward", "_backward"} {
				key := a.name + heads + pass
				list = append(list, Rate{key + "_over_" + a.over, &a.of[wide].FLOPs[i], NoLimit},
					Rate{key + "_query_over_" + a.over, &a.of[wide].PerQuery[i], NoLimit})
			}
		}
	}
	return list
}

// Times returns the rates of a GPU whose limits are so many times as large.
func (r Rates) Times(by [limits]float64) Rates {
	for _, rate := range r.List() {
		if f := by[rate.By]; strings.HasSuffix(rate.Key, "_ps") {
			*rate.Of /= f
		} else {
			*rate.Of *= f
		}
	}
	return r
}

// Largest returns the most FLOP/s of any product or attention.
func (r *Rates) Largest() (most float64) {
	for _, rate := range r.List() {
		if rate.By == Peak {
			most = max(most, *rate.Of)
		}
	}
	for _, a := range recipe.Attentions() {
		for wide := range r.Flash {
			for _, rate := range r.kernel(a, wide).FLOPs {
				most = max(most, rate)
			}
		}
	}
	return most
}
