package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Params is the registry: every parameter in the order in which a reader meets
// them. Knobs, flags, setup documents and the reference are made from it. The
// slice is the caller's own, the Choices in it are shared and only to be read.
func Params() []Param { return slices.Clone(registry()) }

// registry is the table that all share, because it is asked for at every key
// press and for every line of a batch.
//
//nolint:gochecknoglobals // built once, then only read
var registry = sync.OnceValue(func() []Param {
	return slices.Concat(degreeParams(), batchParams(), machineParams(), recipeParams(), runParams())
})

func degreeParams() []Param {
	degree := func(id ParamID, label, help string, field func(*Setup) *int, draft func(*Draft) **int) Param {
		return number(Param{ID: id, Label: label, Help: help, Min: 1, Max: MaxDegree}, field, draft)
	}
	return []Param{
		degree("dp", "DP", "Copies of the model that each take their own share of the batch: more throughput, paid with an exchange of all gradients.",
			func(s *Setup) *int { return &s.DP }, func(d *Draft) **int { return &d.DP }),
		degree("tp", "TP", "How many GPUs share every matrix of a layer: cuts weights and activations, paid with traffic twice per layer each way, so it belongs inside the node.",
			func(s *Setup) *int { return &s.TP }, func(d *Draft) **int { return &d.TP }),
		degree("pp", "PP", "Pipeline ranks that hold consecutive layers: cuts weights with little traffic, paid with idle time, the bubble.",
			func(s *Setup) *int { return &s.PP }, func(d *Draft) **int { return &d.PP }),
		degree("vpp", "VPP", "Stages per pipeline rank: divides the bubble by this number, paid with as many times the hand-overs and somewhat more activations.",
			func(s *Setup) *int { return &s.VPP }, func(d *Draft) **int { return &d.VPP }),
		degree("cp", "CP", "How many GPUs share one long sequence: cuts activations, paid with keys and values passed around in every attention.",
			func(s *Setup) *int { return &s.CP }, func(d *Draft) **int { return &d.CP }),
		degree("ep", "EP", "Over how many GPUs the routed experts are spread: cuts expert weights, paid with two exchanges of tokens per MoE layer each way.",
			func(s *Setup) *int { return &s.EP }, func(d *Draft) **int { return &d.EP }),
		degree("etp", "ETP", "Tensor parallelism inside each expert: cuts its matrices, paid with small matrix products and more traffic.",
			func(s *Setup) *int { return &s.ETP }, func(d *Draft) **int { return &d.ETP }),
		toggle(Param{ID: "sp", Label: "SP", Help: "Splits what TP leaves whole (norms, dropout, residuals) along the sequence: cuts activations by up to TP, paid with one more gather per exchange in the backward."},
			func(s *Setup) *bool { return &s.SP }, func(d *Draft) **bool { return &d.SP }),
		number(Param{ID: "zero", Label: "ZeRO", Help: "What data-parallel copies share instead of repeating, 0 to 3: 1 optimizer, 2 and gradients, 3 and weights; 2 sums gradients and 3 gathers weights too for every micro-batch.", Min: 0, Max: 3},
			func(s *Setup) *int { return &s.ZeRO }, func(d *Draft) **int { return &d.ZeRO }),
		degree("hsdp", "replicas", "Copies of the model over which ZeRO does not shard (HSDP): keeps the gathering of weights inside each copy, paid with memory.",
			func(s *Setup) *int { return &s.HSDP }, func(d *Draft) **int { return &d.HSDP }),
	}
}

func batchParams() []Param {
	return []Param{
		number(Param{ID: "mbs", Label: "micro-batch", Unit: "sequences", Help: "Sequences that go through the layers together: larger matrices run faster, paid with activations in proportion.", Min: 1, Max: MaxDegree},
			func(s *Setup) *int { return &s.MBS }, func(d *Draft) **int { return &d.MBS }),
		number(Param{ID: "microbatches", Label: "micro-batches", Help: "How many micro-batches go through each pipeline per step: more of them make the bubble a smaller share, paid with a larger global batch.", Min: 1, Max: MaxMicroBatches},
			func(s *Setup) *int { return &s.MicroBatches }, func(d *Draft) **int { return &d.MicroBatches }),
		number(Param{ID: "gbs", Label: "global batch", Unit: "sequences", Help: "Sequences per optimizer step over all GPUs: a smaller share for the bubble and for what happens once per step; what training can use of it is limited.", Min: 1, Max: MaxBatch},
			func(s *Setup) *int { return &s.GBS }, func(d *Draft) **int { return &d.GBS }),
		number(Param{ID: "seq", Label: "sequence", Unit: "tokens", Help: "Tokens per sequence: activations grow in proportion, the work of attention per token too.", Min: 1, Max: MaxSeq},
			func(s *Setup) *int { return &s.Seq }, func(d *Draft) **int { return &d.Seq }),
	}
}

func machineParams() []Param {
	return []Param{
		number(Param{ID: "nodes", Label: "nodes", Help: "How many machines take part: more of them split the batch further, paid with traffic over the slower links between them.", Min: 1, Max: MaxGPUs},
			nil, func(d *Draft) **int { return &d.Nodes }),
		number(Param{ID: "gpus", Label: "GPUs", Help: "How many GPUs take part: always DP x TP x PP x CP.", Min: 1, Max: MaxGPUs},
			func(s *Setup) *int { return &s.GPUs }, func(d *Draft) **int { return &d.GPUs }),
	}
}

func recipeParams() []Param {
	return []Param{
		choice(Param{ID: "schedule", Label: "schedule", Help: "Order in which pipeline ranks run their forward and backward passes: decides the bubble and how many activations wait."},
			scheduleKinds(), func(s *Setup) *schedule.Kind { return &s.Schedule }, func(d *Draft) **schedule.Kind { return &d.Schedule }),
		number(Param{ID: "group-size", Label: "group size", Help: "How many micro-batches pass a chunk before the next chunk starts in an interleaved schedule (0 means PP): larger hides hand-overs, paid with activations.", Min: 0, Max: MaxMicroBatches},
			func(s *Setup) *int { return &s.GroupSize }, func(d *Draft) **int { return &d.GroupSize }),
		number(Param{ID: "max-in-flight", Label: "in flight", Unit: "activations", Help: "Activations that the zb-auto schedule lets a rank hold, one that only waits for its weight gradient counted half (0 means 1.5 x PP): more of them make the bubble smaller.", Min: 0, Max: MaxDegree},
			func(s *Setup) *int { return &s.MaxInFlight }, func(d *Draft) **int { return &d.MaxInFlight }),
		splitParam(),
		recomputeParam(),
		choice(Param{ID: "precision", Label: "precision", Help: "Number format of weights, activations and products: 16 bits halve memory and run on the fast units."},
			recipe.Precisions(), func(s *Setup) *recipe.Precision { return &s.Precision }, func(d *Draft) **recipe.Precision { return &d.Precision }),
		choice(Param{ID: "grad-dtype", Label: "gradients", Help: "How gradients are kept: fp32 takes 4 bytes per parameter, bf16 2, bf16+fp32 both."},
			recipe.GradDtypes(), func(s *Setup) *recipe.GradDtype { return &s.GradDtype }, func(d *Draft) **recipe.GradDtype { return &d.GradDtype }),
		choice(Param{ID: "optimizer", Label: "optimizer", Help: "Update rule: Adam keeps 12 bytes per parameter beside 16-bit weights, 8 without an fp32 master copy, SGD with momentum 8."},
			recipe.Optimizers(), func(s *Setup) *recipe.Optimizer { return &s.Optimizer }, func(d *Draft) **recipe.Optimizer { return &d.Optimizer }),
		choice(Param{ID: "offload", Label: "offload", Help: "What is kept in host memory: optimizer takes its state off the GPU, paid with gradients and weights crossing PCIe once per step."},
			recipe.Offloads(), func(s *Setup) *recipe.Offload { return &s.Offload }, func(d *Draft) **recipe.Offload { return &d.Offload }),
		choice(Param{ID: "loss", Label: "loss", Help: "Cross-entropy over the vocabulary: fused keeps the logits in 16 bits, unfused also in fp32, three times as much on the last stage."},
			recipe.Losses(), func(s *Setup) *recipe.Loss { return &s.Loss }, func(d *Draft) **recipe.Loss { return &d.Loss }),
		number(Param{ID: "imbalance", Label: "imbalance", Unit: "%", Help: "Routed tokens of the busiest expert rank in percent of the even share: 100 is balanced, 150 is half as many again in memory and time.", Min: recipe.EvenLoad, Max: recipe.MaxLoad},
			func(s *Setup) *int { return &s.Imbalance }, func(d *Draft) **int { return &d.Imbalance }),
		choice(Param{ID: "attention", Label: "attention", Help: "Attention kernel: flash never stores the scores, standard stores them, which grows with the square of the sequence."},
			recipe.Attentions(), func(s *Setup) *recipe.Attention { return &s.Attention }, func(d *Draft) **recipe.Attention { return &d.Attention }),
		toggle(Param{ID: "mtp", Label: "MTP", Help: "Trains the model's multi-token-prediction modules too: about one layer and one more loss each on the last stage."},
			func(s *Setup) *bool { return &s.TrainMTP }, func(d *Draft) **bool { return &d.TrainMTP }),
		choice(Param{ID: "calibration", Label: "stack", Help: "Software whose memory and time behaviour is modelled; textbook is the plain formulas and nothing else."},
			recipe.Stacks(), func(s *Setup) *recipe.Stack { return &s.Stack }, func(d *Draft) **recipe.Stack { return &d.Stack }),
		choice(Param{ID: "mfu", Label: "MFU counts", Help: "Attention work counted in MFU: causal counts the half that the mask needs, full counts all of it and gives larger figures."},
			recipe.MFUConventions(), func(s *Setup) *recipe.MFUConvention { return &s.MFU }, func(d *Draft) **recipe.MFUConvention { return &d.MFU }),
	}
}

func number(p Param, field func(*Setup) *int, draft func(*Draft) **int) Param {
	p.Kind, p.number, p.draftNumber = IntParam, field, draft
	p.draftGiven = func(d *Draft) bool { return *draft(d) != nil }
	return p
}

func toggle(p Param, field func(*Setup) *bool, draft func(*Draft) **bool) Param {
	p.Kind, p.toggle, p.draftToggle = BoolParam, field, draft
	p.draftGiven = func(d *Draft) bool { return *draft(d) != nil }
	p.Choices, p.Max = []string{"off", "on"}, 1
	return p
}

// choice makes a parameter of a closed set of words.
func choice[T ~string](p Param, words []T, field func(*Setup) *T, draft func(*Draft) **T) Param {
	p.Kind, p.Max = ChoiceParam, len(words)-1
	for _, w := range words {
		p.Choices = append(p.Choices, string(w))
	}
	check := p // the closures must not keep a copy of themselves
	parse := func(text string) (T, error) {
		word := strings.TrimSpace(text)
		for _, w := range words {
			if string(w) == word {
				return w, nil
			}
		}
		return "", &ValueError{Field: string(check.ID), Given: text, Allowed: check.Allowed(), Nearest: closestWord(word, check.Choices)}
	}
	p.read = func(s *Setup) string { return string(*field(s)) }
	p.draftGiven = func(d *Draft) bool { return *draft(d) != nil }
	p.draftTake = func(d *Draft) string {
		word := string(**draft(d))
		*draft(d) = nil
		return word
	}
	p.write = func(s *Setup, text string) error {
		w, err := parse(text)
		if err == nil {
			*field(s) = w
		}
		return err
	}
	p.draftWrite = func(d *Draft, text string) error {
		w, err := parse(text)
		if err == nil {
			*draft(d) = &w
		}
		return err
	}
	return p
}

// nearestRecompute is a number of layers within bounds for full:N, else the word that
// is most like it.
func nearestRecompute(text string, words []string) string {
	if mode, layers, ok := strings.Cut(strings.TrimSpace(text), ":"); ok && mode == string(recipe.RecomputeFull) {
		if n, err := strconv.ParseFloat(layers, 64); err == nil && !math.IsNaN(n) {
			return fmt.Sprintf("%s:%d", mode, int(min(max(math.Round(n), 1), recipe.MaxRecomputeLayers)))
		}
	}
	return closestWord(text, words)
}

func recomputeParam() Param {
	p := Param{
		ID: "recompute", Label: "recompute", Kind: ChoiceParam, Max: 2,
		Help:    "Runs part of the forward pass again in the backward instead of keeping it: selective drops attention's inside and modules the named parts for little work, full keeps only layer inputs for about a third more work.",
		Choices: []string{string(recipe.RecomputeNone), string(recipe.RecomputeSelective), string(recipe.RecomputeFull)},
	}
	check := p
	parse := func(text string) (recipe.Recompute, error) {
		var r recipe.Recompute
		if r.UnmarshalText([]byte(strings.TrimSpace(text))) != nil {
			return r, &ValueError{Field: "recompute", Given: text, Allowed: check.Allowed(), Nearest: nearestRecompute(text, check.Choices)}
		}
		return r, nil
	}
	p.read = func(s *Setup) string { return s.Recompute.String() }
	p.draftGiven = func(d *Draft) bool { return d.Recompute != nil }
	p.draftTake = func(d *Draft) string {
		word := d.Recompute.String()
		d.Recompute = nil
		return word
	}
	p.write = func(s *Setup, text string) error {
		r, err := parse(text)
		if err == nil {
			s.Recompute = r
		}
		return err
	}
	p.draftWrite = func(d *Draft, text string) error {
		r, err := parse(text)
		if err == nil {
			d.Recompute = &r
		}
		return err
	}
	return p
}

func splitParam() Param {
	p := Param{
		ID: "split", Label: "split", Unit: "layers", Kind: TextParam,
		Help: "Layers on each stage, such as 15,16,16,14: evens out the stages with embedding and head; the slowest stage sets the pace.",
	}
	check := p
	parse := func(text string) (string, error) {
		clean := strings.ReplaceAll(strings.TrimSpace(text), " ", "")
		if clean == "" || clean == "balanced" {
			return "", nil
		}
		bad := &ValueError{Field: "split", Given: text, Allowed: check.Allowed()}
		if len(clean) > maxSplitLen {
			bad.Given = clean[:16] + "..."
			return "", bad
		}
		for part := range strings.SplitSeq(clean, ",") {
			if n, err := strconv.Atoi(part); err != nil || n < 0 || n > MaxDegree || strings.HasPrefix(part, "+") {
				return "", bad
			}
		}
		return clean, nil
	}
	p.read = func(s *Setup) string { return s.Split }
	p.draftGiven = func(d *Draft) bool { return d.Split != nil }
	p.draftTake = func(d *Draft) string {
		split := *d.Split
		d.Split = nil
		return split
	}
	p.write = func(s *Setup, text string) error {
		split, err := parse(text)
		if err == nil {
			s.Split = split
		}
		return err
	}
	p.draftWrite = func(d *Draft, text string) error {
		split, err := parse(text)
		if err == nil {
			d.Split = &split
		}
		return err
	}
	return p
}

// closestWord is the choice that shares the longest beginning with what was
// typed, hyphens aside; none when not even the first letter agrees.
func closestWord(typed string, choices []string) string {
	best, length := "", 0
	typed = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(typed), "-", ""))
	for _, c := range choices {
		n, plain := 0, strings.ReplaceAll(c, "-", "")
		for n < len(plain) && n < len(typed) && plain[n] == typed[n] {
			n++
		}
		if n > length {
			best, length = c, n
		}
	}
	return best
}
