package published

import (
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/hardware"
)

// Software is what a source says of the software of a run beyond the setup. A key that
// is left out is not stated.
type Software struct {
	TPUserBuffers bool   `json:"tp_user_buffers,omitempty" toml:"tp_user_buffers"` // TP traffic overlapped by user buffers
	AsyncTP       bool   `json:"async_tp,omitempty"        toml:"async_tp"`        // torchtitan's overlap of TP traffic
	CUDAGraphs    string `json:"cuda_graphs,omitempty"     toml:"cuda_graphs"`     // some, or iteration: one graph for the whole of it
	FP8Scaling    string `json:"fp8_scaling,omitempty"     toml:"fp8_scaling"`     // delayed or current: one scale per tensor; mxfp8
	FP8Attention  bool   `json:"fp8_attention,omitempty"   toml:"fp8_attention"`
	Dispatcher    string `json:"dispatcher,omitempty"      toml:"dispatcher"`     // of tokens to experts: alltoall, deepep, hybridep, once
	EPOverlap     bool   `json:"ep_overlap,omitempty"      toml:"ep_overlap"`     // the all-to-all of one micro-batch next to the work of another
	TokenDrop     bool   `json:"token_drop,omitempty"      toml:"token_drop"`     // tokens beyond an even share are dropped
	OffloadLayers int    `json:"offload_layers,omitempty"  toml:"offload_layers"` // whose activations are kept in host memory
	PureBF16      bool   `json:"pure_bf16,omitempty"       toml:"pure_bf16"`      // FSDP computes and reduces in bf16 throughout
	Compile       bool   `json:"compile,omitempty"         toml:"compile"`        // torch.compile
	Unhidden      bool   `json:"unhidden,omitempty"        toml:"unhidden"`       // no overlap of data-parallel traffic was asked for
}

// with returns the software of a group with what a run says of its own.
func (s Software) with(own *Software) Software {
	s.TPUserBuffers = s.TPUserBuffers || own.TPUserBuffers
	s.AsyncTP = s.AsyncTP || own.AsyncTP
	s.FP8Attention = s.FP8Attention || own.FP8Attention
	s.EPOverlap = s.EPOverlap || own.EPOverlap
	s.TokenDrop = s.TokenDrop || own.TokenDrop
	s.PureBF16 = s.PureBF16 || own.PureBF16
	s.Compile = s.Compile || own.Compile
	s.Unhidden = s.Unhidden || own.Unhidden
	if own.CUDAGraphs != "" {
		s.CUDAGraphs = own.CUDAGraphs
	}
	if own.FP8Scaling != "" {
		s.FP8Scaling = own.FP8Scaling
	}
	if own.Dispatcher != "" {
		s.Dispatcher = own.Dispatcher
	}
	if own.OffloadLayers > 0 {
		s.OffloadLayers = own.OffloadLayers
	}
	return s
}

// Words of the software.
const (
	wholeGraph    = "iteration"
	plainAllToAll = "alltoall"
)

func (s *Software) check() error {
	for _, f := range []struct {
		key, given string
		allowed    []string
	}{
		{"cuda_graphs", s.CUDAGraphs, []string{"some", wholeGraph}},
		{"fp8_scaling", s.FP8Scaling, []string{"delayed", "current", "mxfp8"}},
		{"dispatcher", s.Dispatcher, []string{plainAllToAll, "deepep", "hybridep", "once"}},
	} {
		if f.given != "" && !slices.Contains(f.allowed, f.given) {
			return fmt.Errorf("software.%s: given %q, allowed is one of %v", f.key, f.given, f.allowed)
		}
	}
	if s.OffloadLayers < 0 {
		return fmt.Errorf("software.offload_layers: given %d, allowed is 0 or more", s.OffloadLayers)
	}
	return nil
}

// overlappedFelt is the share of an overlapped all-to-all that is felt: with the overlap
// 36.55 % of the communication ran under products, without it 0.11 %
// (NVIDIA-NeMo/Megatron-Bridge@228e9a3, skills/nemo-mbridge-perf-moe-hardware-configs).
const overlappedFelt = 0.63

// AsRun returns the setup on a machine whose calibration knows what the run states of
// its dispatcher, of the overlap of expert traffic and of CUDA graphs. The rest of
// Software is not modelled.
func (r *Run) AsRun() engine.Setup {
	s, soft := r.Setup, &r.Software
	if s.Cluster.Calibration == nil || !soft.EPOverlap && soft.Dispatcher == "" && soft.CUDAGraphs != wholeGraph {
		return s
	}
	own := *s.Cluster.Calibration
	own.Software = append([]hardware.Software(nil), own.Software...)
	of := own.For(s.Stack.Resolve())
	if soft.EPOverlap {
		of.EPOverlap = overlappedFelt
	}
	if soft.Dispatcher != "" {
		of.Once = soft.Dispatcher != plainAllToAll // any other sends a token to a rank once
	}
	if soft.CUDAGraphs == wholeGraph {
		of.HostMoE8 = 0 // the host issues nothing
	}
	s.Cluster.Calibration = &own
	return s
}
