// Package steps reads records of measured training steps in plain PyTorch, phase by phase, and compares them
// with the ledger's predictions.
package steps

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/ledger"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/presets"
	"meshscope/presets/input"
)

// MaxRecords is how many training steps are compared at once.
const MaxRecords = 2000

// maxPasses bounds the work on a file: layers times micro-batches of all its records, 3 steps of 0.1 ms each.
const maxPasses = 200_000

// maxNotes is how many notes are kept.
const maxNotes = 20

// Pair is a figure as measured and as predicted: bytes or seconds.
type Pair struct {
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
}

// Error returns how far the prediction is off, relative to the measurement.
func (p Pair) Error() float64 { return p.Predicted/p.Measured - 1 }

// Step is a measured training step next to its prediction.
type Step struct {
	Name          string `json:"name"`
	Kind          string `json:"kind"`
	PeakAllocated Pair   `json:"peak_allocated"`
	AfterForward  Pair   `json:"after_forward"`
	Reserved      Pair   `json:"reserved"`
	Forward       Pair   `json:"forward_seconds"`
	Backward      Pair   `json:"backward_seconds"`
	Optimizer     Pair   `json:"optimizer_seconds"`
	Step          Pair   `json:"step_seconds"`

	// ComparedAs is the class of transformers whose rules stand in for those of a class that has none.
	ComparedAs string `json:"compared_as,omitempty"`

	Phases []Phase `json:"-"` // bytes allocated at the boundaries of the phases and at most in each
	Moment string  `json:"-"` // of the predicted peak
}

// Phase is what is allocated at one place of a step.
type Phase struct {
	Name string
	Pair
}

// Unmapped is a record that is left out.
type Unmapped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Compare reads records of measured training steps, one JSON object a line, and predicts each. The error is
// one of reading; notes are what else must be known of those that are compared.
func Compare(from io.Reader) (steps []Step, unmapped []Unmapped, notes []string, err error) {
	number, passes := 0, 0.0
	gpu, err := presets.Default().GPU("h100-sxm")
	if err != nil {
		return nil, nil, nil, err
	}
	on := presets.Default().NodeOf(gpu)
	rates, _ := on.Rates(recipe.BF16)
	steps, unmapped = []Step{}, []Unmapped{}
	err = input.LongLines(from, func(line []byte, tooLong bool) bool {
		number++
		name := fmt.Sprintf("line %d", number)
		leave := func(reason string) { unmapped = append(unmapped, Unmapped{name, reason}) }
		switch {
		case tooLong:
			leave(fmt.Sprintf("longer than %d bytes", input.MaxDocument))
			return true
		case len(strings.TrimSpace(string(line))) == 0:
			return true
		case len(steps)+len(unmapped) >= MaxRecords:
			leave(fmt.Sprintf("only %d records are read: this one and those that follow are left out",
				MaxRecords))
			return false
		}
		var r record
		keys, err := r.read(line)
		if r.Name != "" {
			name = escape.Clip(r.Name)
		}
		if err != nil {
			leave(err.Error())
			return true
		}
		if passes += r.passes(); passes > maxPasses {
			leave(fmt.Sprintf("only %d layers and micro-batches of a file are simulated: this record and "+
				"those "+
				"that follow are left out", maxPasses))
			return false
		}
		step, err := r.predict(&rates)
		if err != nil {
			leave(err.Error())
			return true
		}
		step.Name, step.ComparedAs = name, r.like
		steps = append(steps, step)
		note := func(text string) {
			if !slices.Contains(notes, text) && len(notes) < maxNotes {
				notes = append(notes, text)
			}
		}
		for _, key := range keys {
			note("key " + key + " of a record is not read")
		}
		if r.like != "" {
			note("no rules for the class " + escape.Clip(r.Class) + " of transformers: compared as " +
				r.like + ", which has as many parameters")
		}
		return true
	})
	return steps, unmapped, notes, err
}

// record is one measured training step, with the sizes and the way of what ran.
type record struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Way  string `json:"way"`

	Layers  int64 `json:"L"`
	Hidden  int64 `json:"h"`
	Heads   int64 `json:"heads"`
	KVHeads int64 `json:"kv"`
	HeadDim int64 `json:"d"`
	FFN     int64 `json:"f"`
	Vocab   int64 `json:"V"`
	Tied    bool  `json:"tied"`
	Experts int64 `json:"E"`
	TopK    int64 `json:"top"`
	Expert  int64 `json:"moe"`
	Shared  int64 `json:"shared"`

	Seq          int64    `json:"seq"`
	MicroBatch   int64    `json:"mbs"`
	MicroBatches *int64   `json:"m"`
	Checkpoint   string   `json:"ac"`
	Compile      bool     `json:"compile"`
	CuDNN        bool     `json:"cudnn"`
	Repeat       *bool    `json:"repeat"`
	Optimizer    string   `json:"opt"`
	Rank         *int64   `json:"rank"`
	Targets      []string `json:"targets"`
	Class        string   `json:"cls"`
	Offload      bool     `json:"cpu"`
	HostSaved    bool     `json:"acts_cpu"`
	Expandable   bool     `json:"expandable"` // segments of the allocator

	Base       int64   `json:"base"`
	Reserved   float64 `json:"reserved"`
	Parameters int64   `json:"parameters"`
	Trainable  int64   `json:"trainable"`
	Forward    float64 `json:"forward_ms"`
	Backward   float64 `json:"backward_ms"`
	Update     float64 `json:"optimizer_ms"`
	Step       float64 `json:"step_ms"`
	Memory     struct {
		Later map[string]float64 `json:"later"`
	} `json:"memory"`

	like string // class whose rules stand in for its own
}

// otherKeys are documented keys that no figure depends on.
func otherKeys() []string {
	return strings.Fields("kind name steps limit clip host_ms all_ms tokens_per_s used_by_driver " +
		"free_before trace seconds")
}

// phases are the keys of memory.later with their words.
func phases() [7]phase {
	return [...]phase{
		{"start", "start", func(p *ledger.Phases) int64 { return p.Start }},
		{"peak_forward", "peak, forward", func(p *ledger.Phases) int64 { return p.PeakForward }},
		{"after_forward", "after forward", func(p *ledger.Phases) int64 { return p.AfterForward }},
		{"peak_backward", "peak, backward", func(p *ledger.Phases) int64 { return p.PeakBackward }},
		{"after_backward", "after backward", func(p *ledger.Phases) int64 { return p.AfterBackward }},
		{"peak_optimizer", "peak, optimizer", func(p *ledger.Phases) int64 { return p.PeakOptimizer }},
		{"after_optimizer", "after optimizer", func(p *ledger.Phases) int64 { return p.AfterOptimizer }},
	}
}

// phase is a figure of memory.later.
type phase struct {
	key, name string
	of        func(p *ledger.Phases) int64
}

// read decodes a record, and returns keys that are not known.
func (r *record) read(line []byte) (unread []string, err error) {
	var all map[string]json.RawMessage
	if err := input.DecodeJSON(line, &all); err != nil {
		return nil, fmt.Errorf("no record: %w", err)
	}
	_ = json.Unmarshal(all["name"], &r.Name)
	_ = json.Unmarshal(all["kind"], &r.Kind)
	if r.Kind != "step" {
		return nil, fmt.Errorf("kind is %s; a measured step has the kind %q", escape.Quote(r.Kind), "step")
	}
	if err := json.Unmarshal(line, r); err != nil {
		return nil,
			fmt.Errorf("no record of a step: %s", escape.Clip(strings.TrimPrefix(err.Error(), "json: ")))
	}
	var known map[string]json.RawMessage
	text, err := json.Marshal(record{})
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	for key := range all {
		if _, ok := known[key]; !ok && !slices.Contains(otherKeys(), key) {
			unread = append(unread, escape.Clip(key))
		}
	}
	slices.Sort(unread)
	return unread, err
}

// check refuses a record without a figure, or with an impossible one.
func (r *record) check() error {
	for _, f := range [...]struct {
		key         string
		value, most float64
	}{
		{"forward_ms", r.Forward, maxMilliseconds},
		{"backward_ms", r.Backward, maxMilliseconds},
		{"optimizer_ms", r.Update, maxMilliseconds},
		{"step_ms", r.Step, maxMilliseconds},
		{"reserved", r.Reserved, maxBytes},
		{"seq", float64(r.Seq), math.MaxInt64},
		{"mbs", float64(r.MicroBatch), math.MaxInt64},
		{"m", float64(value(r.MicroBatches, 1)), math.MaxInt64},
		{"rank", float64(value(r.Rank, 1)), math.MaxInt64},
	} {
		if err := within(f.key, f.value, f.most); err != nil {
			return err
		}
	}
	for _, p := range phases() {
		if err := within("memory.later."+p.key, r.Memory.Later[p.key], maxBytes); err != nil {
			return err
		}
	}
	if r.Base < 0 {
		return fmt.Errorf("base is %d; allowed: 0 or more bytes", r.Base)
	}
	return nil
}

// Limits of measured figures, so that they and their sums stay readable: 11 days, 1 PB.
const (
	maxMilliseconds = 1e9
	maxBytes        = 1e15
)

// within refuses a figure that is missing, not positive or above a limit.
func within(key string, value, most float64) error {
	switch {
	case value > 0 && value <= most:
		return nil
	case value == 0:
		return fmt.Errorf("%s is missing or 0; allowed: more than 0, at most %.3g", key, most)
	}
	return fmt.Errorf("%s is %.4g; allowed: more than 0, at most %.3g", key, value, most)
}

// passes returns how many layers a step runs, as far as micro-batches are simulated.
func (r *record) passes() float64 {
	micro := 1.0
	if r.MicroBatches != nil {
		micro = min(max(float64(*r.MicroBatches), 1), ledger.MaxMicroBatches)
	}
	return min(max(float64(r.Layers), 1), ledger.MaxLayers) * micro
}

// predict maps a record to a model and a way, and compares.
func (r *record) predict(rates *ledger.Rates) (step Step, err error) {
	if err := r.check(); err != nil {
		return step, err
	}
	w, err := r.way()
	if err != nil {
		return step, err
	}
	m, err := r.model(w.Code)
	if err != nil {
		return step, err
	}
	res, err := ledger.Steps(model.Lay(m, nil), w, rates)
	if err != nil {
		return step, err
	}
	if n := res.Parameters; r.like != "" && abs(n-r.Parameters) > r.Parameters/500 {
		_, err := ledger.CodeOf(r.Class)
		return step, fmt.Errorf("%w; it is none with the %d parameters of Llama", err, n)
	} else if r.Parameters > 0 && abs(n-r.Parameters) > r.Parameters/100 {
		return step, fmt.Errorf("parameters is %d; allowed: %d, which these sizes make, within 1 %%",
			r.Parameters, n)
	}
	if n := res.Trainable; r.Trainable > 0 && abs(n-r.Trainable) > r.Trainable/100 {
		return step, fmt.Errorf("trainable is %d; allowed: %d, which this way trains, within 1 %%",
			r.Trainable, n)
	}
	step = Step{
		Kind: r.kind(), Reserved: Pair{r.Reserved, float64(res.Reserved)},
		Forward: Pair{r.Forward / 1e3, res.Forward}, Backward: Pair{r.Backward / 1e3, res.Backward},
		Optimizer: Pair{r.Update / 1e3, res.Optimizer}, Step: Pair{r.Step / 1e3, res.Step},
		Moment: res.LaterMoment.Words(),
	}
	// Of what was there before the model only cuBLAS's workspaces belong to it.
	before := float64(max(0, r.Base-64<<20))
	for _, p := range phases() {
		pair := Pair{r.Memory.Later[p.key] - before, float64(p.of(&res.Later))}
		step.Phases = append(step.Phases, Phase{p.name, pair})
		step.PeakAllocated.Measured = max(step.PeakAllocated.Measured, pair.Measured)
		if p.key == "after_forward" {
			step.AfterForward = pair
		}
		if !(pair.Measured > 0) {
			return step, fmt.Errorf("memory.later.%s is %.4g, less than base, %d", p.key,
				r.Memory.Later[p.key], r.Base)
		}
	}
	step.PeakAllocated.Predicted = float64(res.Later.Peak())
	return step, nil
}

// kind is what errors are added up by.
func (r *record) kind() string {
	switch {
	case r.Offload || r.HostSaved:
		return "offload"
	case r.Experts > 0:
		return "experts"
	case r.Compile:
		return "compile"
	case r.Way == "hf":
		return "transformers bf16"
	case r.Way == "hf-autocast":
		return "transformers autocast"
	}
	return r.Way
}

// ways are what a record's way means.
func ways() map[string]ledger.Way {
	return map[string]ledger.Way{
		"fsdp2":       {Bytes: 4, FSDP: true},
		"autocast":    {Bytes: 4, Autocast: true},
		"bf16":        {Bytes: 2},
		"hf":          {Bytes: 2},
		"hf-autocast": {Bytes: 4, Autocast: true},
		"lora":        {Bytes: 2, Rank: 16, Targets: strings.Fields("q k v o gate up down")},
	}
}

// way maps the way of a record.
func (r *record) way() (*ledger.Way, error) {
	w, ok := ways()[r.Way]
	if !ok {
		return nil, fmt.Errorf("no way %s; allowed: autocast, bf16, fsdp2, hf, hf-autocast, lora",
			escape.Quote(r.Way))
	}
	class := ""
	if strings.HasPrefix(r.Way, "hf") || r.Way == "lora" {
		class = "Llama"
		if r.Class != "" {
			class = r.Class
		}
	} else if r.Class != "" {
		return nil, fmt.Errorf("the way %s does not run the class %s of transformers", r.Way,
			escape.Quote(r.Class))
	}
	code, err := ledger.CodeOf(class)
	if err != nil && r.Parameters > 0 { // compared as Llama where it has as many parameters: see predict
		r.like = "Llama"
		code, err = ledger.CodeOf(r.like)
	}
	if err != nil {
		return nil, err
	}
	w.Code, w.Seq, w.MicroBatch, w.MicroBatches = code, r.Seq, r.MicroBatch, value(r.MicroBatches, 1)
	w.Compile, w.NoRepeat = r.Compile, !value(r.Repeat, true)
	if r.CuDNN {
		w.Attention = recipe.CuDNN
	}
	w.Offload, w.HostSaved, w.Expandable = r.Offload, r.HostSaved, r.Expandable
	w.Slice, w.Hooked = r.Vocab == 0, !r.Compile // hooks noted what was allocated at the blocks' ends
	w.Unreduced = true                           // set_requires_gradient_sync
	if r.Way == "lora" {
		w.Rank = value(r.Rank, w.Rank)
		if r.Targets != nil {
			w.Targets = nil
			for _, t := range r.Targets {
				w.Targets = append(w.Targets, strings.TrimSuffix(t, "_proj"))
			}
		}
	}
	switch r.Checkpoint {
	case "none":
	case "selective":
		w.Checkpoint = ledger.Selective
	case "full":
		w.Checkpoint = ledger.Full
	default:
		return nil, fmt.Errorf("ac is %s; allowed: none, selective, full", escape.Quote(r.Checkpoint))
	}
	switch r.Optimizer {
	case "", "fused":
	case "foreach":
		w.Optimizer = recipe.AdamForeach
	default:
		return nil, fmt.Errorf("opt is %s; allowed: fused, foreach", escape.Quote(r.Optimizer))
	}
	return &w, nil
}

// model maps the sizes of a record.
func (r *record) model(code *ledger.Code) (*model.Model, error) {
	for _, n := range [...]struct {
		key  string
		size int64
	}{
		{"L", r.Layers},
		{"h", r.Hidden},
		{"heads", r.Heads},
		{"kv", r.KVHeads},
		{"d", r.HeadDim},
		{"f", r.FFN},
		{"V", r.Vocab},
		{"E", r.Experts},
		{"top", r.TopK},
		{"moe", r.Expert},
		{"shared", r.Shared},
	} {
		if n.size < 0 || n.size > model.MaxVocab {
			return nil, fmt.Errorf("%s is %d; allowed: 0 to %d", n.key, n.size, model.MaxVocab)
		}
	}
	m := &model.Model{
		ID: "record", Name: "record", Layers: int(r.Layers), Hidden: int(r.Hidden), Heads: int(r.Heads),
		KVHeads: int(r.KVHeads), HeadDim: int(r.HeadDim), FFN: int(r.FFN),
		Vocab: int(max(r.Vocab, 1)), MaxSeq: int(min(r.Seq, model.MaxSequence)), Tied: r.Tied, Gated: true,
		Activation: "swiglu", Norm: model.NormRMS, NormsPer: 2,
		Position: "rope", AttnBias: model.BiasNone, QKNorm: model.QKNormNone,
		Experts: int(r.Experts), TopK: int(r.TopK), ExpertFFN: int(r.Expert), SharedFFN: int(r.Shared),
	}
	if m.Experts > 0 {
		m.MoEFreq = 1
	}
	code.Set(m)
	if m.Position == model.PositionLearned {
		m.MaxSeq = max(m.MaxSeq, 1024) // n_positions
	}
	if err := m.Check().Err(); err != nil {
		return nil, err
	}
	return m, nil
}

func value[T any](p *T, unset T) T {
	if p == nil {
		return unset
	}
	return *p
}

func abs(n int64) int64 { return max(n, -n) }
