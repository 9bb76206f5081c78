package memory

import (
	"errors"
	"fmt"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/layout"
	"meshscope/engine/ledger"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// pyTorch is a training loop of plain PyTorch: FSDP2 (ZeRO-3, or ZeRO-2 where weights stay gathered), DDP or
// a single GPU (ZeRO-0), under autocast or all in bf16. Its memory is read off a ledger of the step's
// tensors; the terms of a rank are what is alive at the peak. In transformers the model is a class of that
// library.
type pyTorch struct {
	common
	transformers bool
	zero         bool // DeepSpeed's
}

func (k pyTorch) Offers() [4]bool { return [4]bool{0: !k.zero, 1: k.zero, 2: true, 3: true} }

func (k pyTorch) Assumptions(into []string, _ *layout.Layout, _ string) []string {
	code := "plain modules of PyTorch: fused norms, complex rotary positions, keys and values repeated for " +
		"their query heads, a loss in fp32"
	if k.transformers {
		code = "a class of transformers: norms, rotary positions and the loss operation by operation"
	}
	if k.zero {
		code += "; DeepSpeed's ZeRO with its default buckets (5e8 elements) and live parameters (1e9)"
	}
	return append(into,
		"memory follows a ledger of every tensor of a step, from its operations and the rules of "+
			"autograd: "+code+"; gradients are freed after each step",
		"reserved memory is the step's allocations replayed through PyTorch's caching allocator; the "+
			"driver shows 1.29 GiB more")
}

// Stage returns what is alive at the peak beyond weights, gradients and optimizer: a later step's largest
// moment.
func (k pyTorch) Stage(in *Input, stage int) StageMemory {
	if in.Floor {
		return StageMemory{}
	}
	alive, note := &k.steps(in).Alive, in.stageNote(stage)
	named := func(kind ledger.Kind, name string) record.Num {
		return note.named(name+"_alive_at_the_peak", float64(alive[kind]))
	}
	activations, logits := named(ledger.Activations, "activations"), named(ledger.Logits, "logits")
	mem := StageMemory{Activations: units.Bytes(activations.V), Logits: units.Bytes(logits.V)}
	note.add("activations", activations)
	note.add("logits", logits)
	note.temporary(&mem, named(ledger.Temporaries, "temporaries"))
	return mem
}

// Shard returns what is alive at the peak of weights, gradients and optimizer for each parameter of a rank.
func (k pyTorch) Shard(in *Input) Sharding {
	weights := in.Offload.Weights()
	host := k.zero && in.Offload.Optimizer()
	switch {
	case in.Floor && weights:
		none := in.perParam("", width{}, false)
		return Sharding{Weights: none, Gradients: none, Optimizer: none}
	case in.Floor && in.Training.Frozen(): // of adapters nothing
		each := 2.0
		if in.Training.BaseDtype != "" { // less than that of every weight
			each = 0.5
		}
		none := in.perParam("", width{}, false)
		return Sharding{
			Weights:   in.perParam("", width{bytes: each}, k.cutsFrozen(in)),
			Gradients: none, Optimizer: none,
		}
	case in.Floor && k.zero: // fp32 copies of the gradients are alive in the update; stage 3 has shards
		gradients := 4.0
		if in.Layout.ZeRO == 3 {
			gradients = 2
		}
		if host {
			gradients = 0
		}
		return Sharding{
			Weights:   in.perParam("", width{bytes: 2}, in.Layout.ZeRO == 3),
			Gradients: in.perParam("", width{bytes: gradients}, true),
			Optimizer: in.perParam("", width{bytes: 4 + in.leastMoments(4)}, true),
		}
	case in.Floor: // what the update reads is alive then
		each := 4.0
		if in.Training.SixteenBits(in.Optimizer) {
			each = 2
		}
		states := in.leastMoments(each)
		share := func(bytes float64) PerParam {
			return in.perParam("", width{bytes: bytes}, in.Layout.ZeRO >= 2)
		}
		return Sharding{Weights: share(each), Gradients: share(each), Optimizer: share(states)}
	}
	res := k.steps(in)
	each := func(term string, kind ledger.Kind) PerParam {
		w := width{float64(res.Alive[kind]) / max(in.Program.Total(), 1), "alive_" + term + "_of_a_parameter"}
		if in.Record.On() {
			in.Record.Given(record.In(w.formula, w.bytes))
		}
		return in.perParam(term, w, false)
	}
	s := Sharding{Weights: each("weights", ledger.Weights), Gradients: each("gradients", ledger.Gradients)}
	s.Optimizer = each("optimizer", ledger.States)
	if res.Host > 0 {
		w := width{float64(res.Host) / max(in.Program.Total(), 1), "host_bytes_of_a_parameter"}
		if in.Record.On() {
			in.Record.Given(record.In(w.formula, w.bytes))
		}
		s.Host = in.perParam("host", w, false)
	}
	return s
}

// leastMoments bounds the moments of a parameter on the GPU from below, where those without a format of their
// own have so many bytes.
func (in *Input) leastMoments(each float64) float64 {
	s := in.Optimizer.States()
	switch {
	case s.Paged:
		return 0
	case s.Narrow:
		each = 1
	case s.BitsAndBytes:
		each = 4
	}
	return float64(s.Moments) * each
}

// Save keeps what the ledger's layer does.
func (k pyTorch) Save(s *saver) {
	s.recomputation.Recompute = recipe.Recompute{} // the ledger knows it
	w, err := k.way(s.in)
	if err != nil {
		return // refused
	}
	perToken := 1 / s.in.perElement()
	for _, bytes := range ledger.Saved(s.in.Program, s.layer, w) {
		s.exact = append(s.exact, record.Lit(float64(bytes)*perToken))
	}
}

// Steps returns the ledger of a rank.
func (k pyTorch) steps(in *Input) *ledger.Result {
	key := ledgerKey{
		*in.Model, in.Layout.Seq, in.Layout.MBS, in.Layout.MicroBatches, in.Layout.DP, in.Layout.CP,
		in.Layout.ZeRO,
		in.Precision, in.Optimizer, in.Loss, in.Recompute, k.transformers, k.zero,
		in.Offload, in.Rates, in.Training, in.Attention, in.Node,
	}
	res := in.ledgers[key]
	if res == nil {
		res = new(ledger.Result)
		w, err := k.way(in)
		if err == nil {
			*res, err = ledger.Steps(in.Program, w, &in.Rates)
		}
		if err != nil { // nothing would fit everywhere
			panic("no ledger of what Refuses should have refused: " + err.Error())
		}
		if in.ledgers == nil || len(in.ledgers) >= maxLedgers {
			in.ledgers = map[ledgerKey]*ledger.Result{}
		}
		in.ledgers[key] = res
	}
	in.fragments = units.Bytes(max(0, res.Reserved-res.Alive.Sum()))
	return res
}

// maxLedgers is how many results are kept for further questions.
const maxLedgers = 256

// ledgerKey is all that a ledger depends on.
type ledgerKey struct {
	model                                model.Model
	seq, mbs, microBatches, dp, cp, zero int
	precision                            recipe.Precision
	optimizer                            recipe.Optimizer
	loss                                 recipe.Loss
	recompute                            recipe.Recompute
	transformers, deepspeed              bool
	offload                              recipe.Offload
	rates                                ledger.Rates
	training                             recipe.Training
	attention                            recipe.Attention
	node                                 int // whose GPUs share its drives
}

// Adapters returns the parameters of the adapters that are trained in place of all weights; 0: there are
// none, or no rules for them.
func Adapters(in *Input, stack Stack) float64 {
	k, ok := stack.(pyTorch)
	if !ok || !in.Training.Frozen() {
		return 0
	}
	w, err := k.way(in)
	if err != nil || ledger.Check(in.Program, w) != nil {
		return 0
	}
	return float64(ledger.Adapters(in.Program, w))
}

// cutsFrozen reports whether frozen weights are cut over the ranks: by FSDP2 and by ZeRO-3.
func (k pyTorch) cutsFrozen(in *Input) bool {
	return in.Layout.ZeRO == 3 || in.Layout.ZeRO == 2 && !k.zero
}

// StepTimes are what a step takes on one GPU without its traffic: of a micro-batch, and of the update.
type StepTimes struct {
	Forward, Backward, Recompute, Optimizer units.Seconds

	// Copies to and from host memory and drives: in forward, backward, recomputation; in none of the times.
	Copies [3]ledger.Copies
	// UpdateCopies are those of the update, not in Optimizer.
	UpdateCopies ledger.Copies

	// shares of the parameters whose gradients travel, and of their 16-bit bytes that are gathered
	Trained, Gathered float64

	// Wide is the share of trained parameters whose gradients qgZ leaves in 16 bits.
	Wide float64

	Matrices    int // that the update gathers, and their bytes
	MatrixBytes units.Bytes
}

// Times returns those of a stack with a ledger, or bounds from below where these will do; nil for other
// stacks, and where nobody measured the kernels.
func Times(in *Input, stack Stack) *StepTimes {
	k, ok := stack.(pyTorch)
	if !ok || in.Rates == (ledger.Rates{}) {
		return nil
	}
	if in.Floor { // every product at the best rate
		flops := in.Program.TrainingFLOPs(in.Layout.Seq, true, false) / 3
		trained := 1.0
		if in.Training.Frozen() {
			trained = 0
		}
		least := units.Seconds(in.Layout.MicroBatchTokens() * float64(flops) / in.Rates.Largest())
		return &StepTimes{
			Forward: least, Backward: 2 * least * units.Seconds(trained), Trained: trained, Gathered: trained,
		}
	}
	res, each := k.steps(in), 1/units.Seconds(in.Layout.MicroBatches)
	forward, again := res.Copies[0], res.Copies[2]
	backward := res.Copies[1].Plus(again, -1)
	gathered := 2 * res.Trainable
	if k.cutsFrozen(in) {
		gathered = res.WeightBytes
	}
	return &StepTimes{
		Forward:   units.Seconds(res.Forward-forward.Seconds()) * each,
		Backward:  units.Seconds(res.Backward-res.Recomputed-backward.Seconds()) * each,
		Recompute: units.Seconds(res.Recomputed-again.Seconds()) * each,
		Optimizer: units.Seconds(res.Optimizer - res.UpdateCopies.Seconds()), UpdateCopies: res.UpdateCopies,
		Copies: [...]ledger.Copies{
			ledger.Copies{}.Plus(forward, float64(each)), ledger.Copies{}.Plus(backward, float64(each)),
			ledger.Copies{}.Plus(again, float64(each)),
		},
		Trained:  float64(res.Trainable) / max(in.Program.Total(), 1),
		Gathered: float64(gathered) / max(2*in.Program.Total(), 1),
		Wide:     1 - float64(res.Divided)/max(float64(res.Trainable), 1),
		Matrices: res.Matrices, MatrixBytes: units.Bytes(res.MatrixBytes),
	}
}

// way returns how the ledger's rank trains.
func (k pyTorch) way(in *Input) (*ledger.Way, error) {
	l := in.Layout
	class := ""
	if k.transformers {
		var err error
		if class, err = classOf(in.Model); err != nil {
			return nil, err
		}
	}
	code, err := ledger.CodeOf(class)
	if err != nil {
		return nil, err
	}
	w := &ledger.Way{
		Code: code, Bytes: 4, Autocast: l.ZeRO == 0, FSDP: l.ZeRO >= 2, Whole: l.ZeRO == 2,
		Ranks: int64(l.DenseRanks()), Ulysses: int64(l.CP),
		Seq: int64(l.Seq), MicroBatch: int64(l.MBS), MicroBatches: int64(l.MicroBatches),
		Layers: int64(in.Recompute.Layers), Loss: in.Loss, Steps: 2,
		Compile: in.Training.Compile, Offload: in.Offload.Weights() && !k.zero,
		HostSaved: in.Offload.Activations(), InBackward: in.Training.InBackward,
		Attention: in.Attention,
	}
	if in.Training.Frozen() {
		w.Rank, w.Targets = int64(in.Training.Rank), in.Training.TargetsOf(ledger.Targets(in.Program, code))
		w.Autocast, w.Base, w.DoRA = false, in.Training.BaseDtype, in.Training.DoRA
		if !w.FSDP { // whose shards of adapters are fp32
			w.Bytes = 2
		}
	}
	if k.zero {
		w.Bytes, w.Autocast, w.FSDP, w.Whole, w.ZeRO = 2, false, false, false, ledger.NewZeRO(l.ZeRO)
		w.ZeRO.Second, w.ZeRO.Int8 = int64(in.Training.HPZ), in.Training.QWZ && l.DenseRanks() > 1
		w.ZeRO.Int4 = l.Int4Gradients(in.Training.QGZ, in.Node)
		w.ZeRO.Host, w.ZeRO.Weights = in.Offload.Optimizer(), in.Offload.Weights()
		w.ZeRO.NVMe, w.ZeRO.Drive = in.Offload.NVMe(), in.Rates.Drives/float64(max(min(l.GPUs, in.Node), 1))
	}
	switch in.Recompute.Mode {
	case recipe.RecomputeFull:
		w.Checkpoint = ledger.Full
	case recipe.RecomputeSelective:
		w.Checkpoint = ledger.Selective
	case recipe.RecomputeNone:
	default:
		return nil, &ledger.PartError{
			Part: ledger.PartCheckpoint,
			Text: fmt.Sprintf("it recomputes none, selective or full, not %s", in.Recompute),
		}
	}
	w.Optimizer = in.Optimizer
	if in.Training.SixteenBits(in.Optimizer) {
		if k.zero {
			return nil, errors.New("DeepSpeed's ZeRO keeps fp32 copies of 16-bit weights: not with " +
				"adam-no-master or weight-dtype bf16")
		}
		w.Bytes, w.Autocast, w.Low = 2, false, w.Frozen()
	}
	return w, nil
}

// Class returns the class of transformers whose operations a stack counts; empty: none.
func Class(m *model.Model, stack Stack) string {
	class := ""
	if k, ok := stack.(pyTorch); ok && k.transformers {
		class, _ = classOf(m) // Refuses names the error
	}
	return class
}

// classOf returns the class of transformers whose operations are those of a model.
func classOf(m *model.Model) (string, error) {
	is := func(family string) bool { return strings.HasPrefix(m.Family, family) }
	switch {
	case m.Norm == model.NormRMS && m.Gated && is("Gemma"):
		return "Gemma", nil
	case m.Norm == model.NormRMS && m.Gated && is("Phi-3"):
		return "Phi3", nil
	case m.Norm == model.NormRMS && m.Gated: // Mistral's, Qwen's: biases and norms are the model's
		return "Llama", nil
	case m.Norm == model.NormLayer && m.Position == model.PositionLearned && !m.Gated &&
		m.Activation == "gelu" && !m.IsMoE() && (is("GPT") || is("Megatron") || m.Family == ""):
		return "GPT2", nil
	}
	return "", fmt.Errorf("no class like %s with %s, %s positions and %s; allowed: those like Llama "+
		"(rmsnorm, a gated MLP) and GPT-2 (layernorm, learned positions, gelu)", escape.Quote(m.Family),
		m.Norm, m.Position, m.Activation)
}

// Reserved implements Reserver.
func (k pyTorch) Reserved(in *Input, out *Rank) {
	res := k.steps(in)
	out.Reserved, out.FirstStepPeak, out.Moment = units.Bytes(res.Reserved), units.Bytes(res.First.Peak()),
		res.LaterMoment.Words()
}

// Refuses returns why a stack cannot run an input; nil: it can, or it says nothing.
func Refuses(in *Input, stack Stack) error {
	k, ok := stack.(pyTorch)
	if !ok {
		return nil
	}
	w, err := k.way(in)
	if err != nil {
		return err
	}
	return ledger.Check(in.Program, w)
}
