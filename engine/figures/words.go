package figures

import (
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Word is a short word for a figure of a report that is requested often.
type Word struct {
	Word string
	ID   string // as Find takes it
	Name string // in words
}

// Words lists them, those that are requested most first.
func Words() []Word {
	return []Word{
		{"step", "time.step", "time of a step"},
		{"peak", "memory.peak", "memory of the fullest rank"},
		{"mfu", "throughput.mfu", "MFU"},
		{"tokens", "throughput.tokens-per-second-per-gpu", "tokens per second per GPU"},
		{"bubble", "time.bubble-share", "bubble: idle share of the slowest rank's step"},
		{"exposed", "time.exposed", "exposed communication"},
		{"compute", "time.compute", "time of compute"},
		{"recompute", "time.recompute", "time of recomputation"},
		{"tflops", "throughput.model-tflops-per-gpu", "model TFLOP/s per GPU"},
		{"hfu", "throughput.hfu", "HFU"},
		{"total-tokens", "throughput.tokens-per-second", "tokens per second"},
		{"free", "memory.free", "free memory of the fullest rank"},
		{"weights", FullestRank + "weights", "weights of the fullest rank"},
		{"gradients", FullestRank + "gradients", "gradients of the fullest rank"},
		{"optimizer", FullestRank + "optimizer", "optimizer states of the fullest rank"},
		{"activations", FullestRank + "activations", "activations of the fullest rank"},
		{"logits", FullestRank + "logits", "logits of the fullest rank"},
		{"buffers", FullestRank + "buffers", "buffers of the fullest rank"},
		{"overhead", FullestRank + "overhead", "overhead of the fullest rank"},
		{"days", "run.days", "days of the whole run"},
		{"cost", "run.cost", "cost of the whole run"},
	}
}

// ByWord returns the path of a word, or the word where it is none.
func ByWord(word string) (id, name string) {
	for _, w := range Words() {
		if w.Word == word || w.ID == word {
			return w.ID, w.Name
		}
	}
	return word, word
}

// Lacking returns what a setup has to say for its reports to have a figure: the ID of the
// parameter (tokens, price), empty where nothing that it could say gives it one.
func Lacking(s engine.Setup, figure string) knob.ID {
	has := func(s engine.Setup) bool {
		r := engine.Evaluate(s)
		_, ok := Find(&r, figure)
		return ok
	}
	if has(s) {
		return ""
	}
	if s.Budget == 0 {
		if s.Budget = 1e12; has(s) {
			return knob.Tokens
		}
	}
	asked := s
	if asked.Price = 1; s.Price == 0 && has(asked) {
		return knob.Price
	}
	return ""
}

// OfRank returns the ID of a figure of the fullest rank with the number of that rank, as
// explanations name it; any other ID is itself.
func OfRank(r *engine.Report, id string) string {
	if rest, ok := strings.CutPrefix(id, FullestRank); ok && r.Memory != nil {
		return "memory.ranks." + strconv.Itoa(r.Memory.PeakRank) + "." + rest
	}
	return id
}
