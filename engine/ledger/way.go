package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// Way is how a model is trained on one GPU: the code that runs, what is in which type, what is made again.
type Way struct {
	Code       *Code
	Bytes      int64 // of an element of the weights: 4 or 2
	Autocast   bool
	FSDP       bool  // FSDP2: 16-bit compute, fp32 reduction
	ZeRO       *ZeRO // DeepSpeed's; nil: none
	Ranks      int64 // that hold the same weights, which FSDP2 and ZeRO shard; 0: one
	Ulysses    int64 // ranks that share a sequence and exchange it for heads; 0: one
	Whole      bool  // FSDP2 keeps gathered weights from forward to backward
	Offload    bool  // FSDP2's parameters, gradients and states on the host
	HostSaved  bool  // saved tensors in host memory
	Compile    bool
	NoRepeat   bool // attention reads keys and values of fewer heads itself
	Hooked     bool // full backward hooks on blocks hold incoming gradients
	Checkpoint Checkpoint
	Attention  recipe.Attention // empty: FlashAttention-2
	Optimizer  recipe.Optimizer // empty: AdamW, fused
	Rank       int64            // of adapters; 0: all weights are trained
	Targets    []string         // products that have adapters: q k v o gate up down
	Base       recipe.BaseDtype
	DoRA       bool  // adapters with magnitudes
	InBackward bool  // each weight is updated as soon as its gradient is there, which is then freed
	Low        bool  // adapters of 16 bits, with their gradients and moments
	Layers     int64 // that are checkpointed, the first ones; 0: all

	Seq, MicroBatch, MicroBatches int64
	Slice                         bool // blocks alone, without embedding and head
	// FSDP2 reduces gradients in the last micro-batch alone, and keeps them whole until then
	Unreduced bool
	Steps     int         // that are simulated; 0: three
	Loss      recipe.Loss // empty: unfused

	Expandable bool // segments of the allocator
}

// Checkpoint is what the backward makes again.
type Checkpoint uint8

// Kinds of checkpointing.
const (
	Keep      Checkpoint = iota
	Selective            // every second product and attention are kept
	Full                 // the input of a block is
)

// MaxMicroBatches are simulated of a step.
const MaxMicroBatches = 16

// simulated returns how many micro-batches are: the second one and those that follow allocate alike, but what
// the host has not launched yet carries over into the next.
func (w *Way) simulated() int64 {
	most := int64(MaxMicroBatches)
	if w.Steps > 0 { // for memory alone
		most = 3
	}
	return min(w.MicroBatches, most)
}

// ranks returns how many ranks share the batch.
func (w *Way) ranks() int64 { return max(w.Ranks, 1) }

// shard returns the elements of a rank's share of so many.
func (w *Way) shard(n int64) int64 {
	if w.gathers() {
		return (n + w.ranks() - 1) / w.ranks()
	}
	return n
}

// part is the tokens of a sequence that a rank has.
func (w *Way) part() int64 { return w.Seq / max(w.Ulysses, 1) }

func (w *Way) tokens() int64 { return w.part() * w.MicroBatch }

// Frozen reports whether adapters alone are trained.
func (w *Way) Frozen() bool { return w.Rank > 0 }

// gathers reports whether modules gather their weights when they run.
func (w *Way) gathers() bool { return w.FSDP || w.ZeRO != nil && w.ZeRO.Stage == 3 }

// weightsOnHost reports whether shards of the weights are in host memory.
func (w *Way) weightsOnHost() bool { return w.Offload || w.ZeRO != nil && w.ZeRO.Weights }

// adapter returns the bytes of an element of adapters where they compute: peft makes them in fp32, torchtune
// in the model's type; FSDP2 gathers 16 bits of them, and DeepSpeed casts its whole module.
func (w *Way) adapter() int64 {
	if w.FSDP || w.ZeRO != nil || w.Low {
		return 2
	}
	return 4
}

// weight returns the bytes of an element of the weights that operations read.
func (w *Way) weight() int64 {
	if w.FSDP {
		return 2
	}
	return w.Bytes
}

func (w *Way) adapted(name string) bool {
	for _, t := range w.Targets {
		if w.Rank > 0 && t == name {
			return true
		}
	}
	return false
}

// Code is whose code a model runs: the project's of its author, or a class of transformers.
type Code struct {
	Name         string
	Transformers bool
	FusedQKV     bool // one product for queries, keys and values
	FusedUp      bool // one for gate and up
	Dropout      bool // behind attention, MLP and embedding
	PlusOne      bool // norms scale by 1 + weight, in fp32, and the embedding is scaled
	Set          func(*model.Model)
}

// masked reports whether each attention keeps a causal mask of all positions.
func (c *Code) masked() bool { return c.Name == "GPT2" }

// Codes lists the code that is known; the first one is that of torchtitan and the like: fused norms, complex
// rotary positions, repeated keys and values.
func Codes() []Code {
	llama := func(*model.Model) {}
	return []Code{
		{Name: "", Set: llama},
		{Name: "Llama", Transformers: true, Set: llama},
		{Name: "Mistral", Transformers: true, Set: llama},
		{Name: "Qwen2", Transformers: true, Set: func(m *model.Model) { m.AttnBias = model.BiasQKV }},
		{Name: "Qwen3", Transformers: true, Set: func(m *model.Model) { m.QKNorm = model.QKNormPerHead }},
		{Name: "Qwen3Moe", Transformers: true, Set: func(m *model.Model) { m.QKNorm = model.QKNormPerHead }},
		{Name: "Gemma", Transformers: true, PlusOne: true, Set: llama},
		{Name: "Phi3", Transformers: true, FusedQKV: true, FusedUp: true, Set: llama},
		{Name: "GPT2", Transformers: true, FusedQKV: true, Dropout: true, Set: func(m *model.Model) {
			m.Norm, m.Gated, m.MLPBias, m.AttnBias, m.Position, m.Tied = "layernorm", false, true,
				model.BiasAll, "learned", true
			m.Activation = "gelu"
		}},
	}
}

// CodeOf returns the code of a class of transformers; that of "" is the first one of Codes.
func CodeOf(class string) (*Code, error) {
	codes := Codes()
	names := []string{}
	for i := range codes {
		if codes[i].Name == class {
			return &codes[i], nil
		}
		names = append(names, codes[i].Name)
	}
	return nil, fmt.Errorf("no class %s of transformers; allowed: %s", escape.Quote(class),
		strings.Join(names[1:], ", "))
}

// maxElements bounds a tensor, so that sums of bytes stay far inside an int64.
const maxElements = 1 << 46

// Parts of a way that a model or a code may have no rules for, as the knobs that say them.
const (
	PartCompile    = "compile"
	PartCheckpoint = "recompute"
	PartOffload    = "offload"
	PartBase       = "base-dtype"
	PartTargets    = "lora-targets"
)

// PartError says what there are no rules for, and which part of the way asks for it; empty: the model.
type PartError struct{ Part, Text string }

// Error implements error.
func (e *PartError) Error() string { return e.Text }

// Check refuses what there are no rules for.
func Check(p *model.Program, w *Way) error {
	m := p.Model()
	experts := m.Experts > 0
	for _, c := range [...]struct {
		is   bool
		what string
		part string // of the way; empty: the model
	}{
		{
			w.Compile && (experts || w.Code.Transformers || w.Autocast || w.Frozen() || !m.Gated ||
				m.MLPBias || m.Norm != model.NormRMS || m.QKNorm != model.QKNormNone ||
				m.AttnBias != model.BiasNone || m.ValuesAreKeys || !m.IsMLA() && m.QLoraRank > 0),
			"compiled blocks other than dense ones of 16-bit weights with a gated MLP and RMSNorm, without " +
				"biases or norms of queries and keys, keys as values or a low rank of queries", PartCompile,
		},
		{
			w.Checkpoint == Selective && w.Code.Transformers,
			"selective checkpointing in transformers, which has full or none", PartCheckpoint,
		},
		{
			w.Layers > 0 && w.Layers < int64(m.Layers) && w.Code.Transformers,
			"checkpointing of some layers in transformers, which has full or none", PartCheckpoint,
		},
		{w.Ulysses > 1 && w.Compile, "compiled blocks that exchange the sequence for heads", PartCompile},
		{w.Offload && !w.FSDP, "weights on the host without FSDP2", PartOffload},
		{w.HostSaved && w.Compile, "compiled blocks whose saved tensors are in host memory", PartCompile},
		{w.Code.Transformers && m.SharedFFN > 0, "shared experts in transformers", ""},
		{experts && !m.Gated, "experts without a gate", ""},
		{
			!m.Gated && m.Activation != "gelu" && m.Activation != "" &&
				(m.Activation != "relu" || w.Code.masked()), "the activation " + m.Activation, "",
		},
		{
			m.Norm == model.NormLayerNoBias || m.HeadBias || m.EmbeddingNorm,
			"norms without a bias, a head with one, or a normed embedding", "",
		},
		{m.LocalHeads|m.LocalKVHeads|m.LocalHeadDim > 0, "attention of several widths", ""},
		{w.Slice && w.Code.Transformers, "transformers without embedding and head", ""},
		{
			w.ZeRO != nil && (w.FSDP || w.Autocast || w.Bytes != 2 || w.Slice || w.Compile),
			"ZeRO with anything but weights in 16 bits", "",
		},
		{w.Base != "" && w.Base != recipe.BaseBF16 && experts, "quantised experts", PartBase},
		{
			m.FFNWidths != "" || m.ResidualBlock|m.AltUpStreams|m.LayerInput|m.ReusedKV|m.LaurelRank > 0 ||
				m.HyperStreams|m.OutputGroups|m.HashLayers > 0 ||
				m.LocalSinks || m.ValueNorm, "this kind of layer", "",
		},
		{m.SharedGate || m.AttnSinks || m.IndexHeads > 0 || m.ExpertLatent > 0 || m.ZeroExperts > 0 ||
			float64(m.ExtraParams) > 1e-4*p.Total(), "this kind of layer", ""},
		{m.NormsPer != 2 || m.IsMLA() || m.MTPLayers > 0 || m.ParallelBlock ||
			m.AttnGate != "" && m.AttnGate != "none", "this kind of layer", ""},
	} {
		if c.is {
			return &PartError{c.part, "there are no rules for " + c.what}
		}
	}
	for i := range p.Layers {
		for j := range p.Layers[i].Ops {
			if k := p.Layers[i].Ops[j].Kind; k > model.View {
				what := cmp.Or(m.Beyond("*W-E"), p.Layers[i].Ops[j].Name, "this kind of layer")
				return fmt.Errorf("there are no rules for %s", what)
			}
		}
	}
	if allowed := Targets(p, w.Code); w.Frozen() && len(w.Targets) == 0 {
		return &PartError{PartTargets, "nothing is trained: no product has adapters; allowed: " +
			strings.Join(allowed, ", ")}
	}
	for _, target := range w.Targets {
		if allowed := Targets(p, w.Code); w.Frozen() && !slices.Contains(allowed, target) {
			return &PartError{PartTargets, "no product " + escape.Quote(target) + " for adapters; allowed: " +
				strings.Join(allowed, ", ")}
		}
	}
	if w.Rank > model.MaxWidth {
		return fmt.Errorf("adapters of rank %d; allowed: at most %d", w.Rank, model.MaxWidth)
	}
	wide := float64(max(m.Vocab, int(w.Rank)))
	for i := range p.Layers {
		b := lowering{builder: newBuilder(&Way{Seq: 1, MicroBatch: 1}, nil), layer: &p.Layers[i]}
		for r := range b.layer.Tensors {
			wide = max(wide, float64(b.wide(model.Ref(r))))
		}
	}
	if n := wide * float64(w.part()) * float64(w.MicroBatch); w.Seq > model.MaxSequence ||
		w.MicroBatch > model.MaxSequence || n > maxElements {
		return fmt.Errorf("a micro-batch has tensors of %.2g elements; allowed: at most %.2g", n,
			float64(maxElements))
	}
	if m.Layers > MaxLayers {
		return fmt.Errorf("%d layers; allowed: at most %d", m.Layers, MaxLayers)
	}
	if seq := float64(m.MaxSeq); w.Code.masked() && seq*seq*float64(m.Layers) > maxElements {
		return fmt.Errorf("masks of %d by %[1]d on %d layers; allowed: at most %.2g elements", m.MaxSeq,
			m.Layers, float64(maxElements))
	}
	return nil
}

// MaxLayers bounds the time of a simulation.
const MaxLayers = 1000

// Targets lists the products of a model that can have adapters: experts are no linear layers.
func Targets(p *model.Program, c *Code) []string {
	list := []string{"q", "k", "v"}
	if c.FusedQKV {
		list = []string{"qkv"}
	}
	list = append(list, "o")
	switch m := p.Model(); {
	case m.Experts > 0:
		return list
	case c.FusedUp:
		list = append(list, "gate_up")
	case m.Gated:
		list = append(list, "gate", "up")
	default:
		list = append(list, "up")
	}
	return append(list, "down")
}
