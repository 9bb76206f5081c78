package knob

import (
	"math"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
)

// Dispatcher is the knob of what sends tokens to their experts.
const Dispatcher ID = "dispatcher"

// The batch of a published run counts on up to farGPUs times its GPUs, or where it has
// enoughTokens: on more GPUs a small one has no work for each.
const (
	farGPUs      = 4
	enoughTokens = 1 << 22
)

// Published returns the published run of the model on this generation of GPUs that is nearest in the
// number of GPUs; nil where there is none.
func (s *Setup) Published() *hardware.Recipe { return s.PublishedOn(s.GPUs) }

// PublishedOn returns what Published does for a number of GPUs.
func (s *Setup) PublishedOn(gpus int) *hardware.Recipe {
	if s.Frozen() { // none of those trains adapters
		return nil
	}
	return s.Cluster.Published.Recipe(&s.Model, s.Cluster.GPU.Architecture, gpus)
}

// PublishedTokens returns the global batch of the nearest published run in tokens, and the run; 0
// where there is none, or too many GPUs for its batch.
func (s *Setup) PublishedTokens(gpus int) (int, *hardware.Recipe) {
	r := s.PublishedOn(gpus)
	if r == nil || gpus > farGPUs*r.GPUs && r.Tokens() < enoughTokens {
		return 0, r
	}
	return r.Tokens(), r
}

// nearBatch is within which share of a published batch, in tokens, one is near it.
const nearBatch = 0.1

// NearPublished reports whether the global batch is near that of the nearest published run, in tokens.
func (s *Setup) NearPublished() bool {
	tokens, _ := s.PublishedTokens(s.GPUs)
	return tokens > 0 && math.Abs(s.Tokens()/float64(tokens)-1) <= nearBatch
}

// FollowPublished makes Resolve take the sequence, the precision, the dispatcher and the batch of the
// nearest published run where none is given; without a run the dispatcher is an all-to-all, which
// every release has.
func (d *Draft) FollowPublished() { d.published = true }

// follow gives a setup what its published run has of the sequence, the precision and the dispatcher.
func (d *Draft) follow(s *Setup) {
	r := s.Published()
	if r != nil && !d.Has(Seq) {
		s.Seq = r.Seq
	}
	if r != nil && !d.Has(Precision) && s.Cluster.GPU.Peak(r.Precision) > 0 {
		if runs, _ := s.Stack.Runs(r.Precision); runs {
			s.Precision = r.Precision
		}
	}
	if !s.Model.IsMoE() || d.Has(Dispatcher) {
		return
	}
	words := []recipe.Dispatcher{recipe.AllToAll}
	if r != nil && r.Dispatcher != "" {
		words = []recipe.Dispatcher{r.Dispatcher, recipe.AllToAll}
	}
	for _, word := range words {
		if s.Stack.Has(string(Dispatcher), string(word)) {
			s.Dispatcher = word
			return
		}
	}
}

// followBatch gives a setup as many micro-batches as the global batch of the nearest published run
// takes, in tokens where the sequence is another; of a run on far fewer GPUs not fewer than it has. Adapters
// have a batch of their own, as search takes it.
func (s *Setup) followBatch() {
	if s.Frozen() {
		s.MicroBatches = min(max(1, TunedBatch(s.GPUs)/product(s.MBS, s.DP)), MaxMicroBatches)
		return
	}
	tokens, r := s.PublishedTokens(s.GPUs)
	if tokens == 0 {
		return
	}
	gbs := s.BatchOf(tokens)
	if s.Seq == r.Seq && r.GBS%product(s.MBS, s.DP) == 0 {
		gbs = r.GBS
	}
	if count := min(gbs/product(s.MBS, s.DP), MaxMicroBatches); s.GPUs <= farGPUs*r.GPUs ||
		count > s.MicroBatches {
		s.MicroBatches = max(1, count)
	}
}
