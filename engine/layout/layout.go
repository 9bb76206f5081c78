// Package layout describes how the training is cut over the GPUs: the degrees
// of parallelism, the batch, which layers stand on which pipeline rank, which
// links each group of ranks crosses, and which of all that is legal.
package layout

// Layout is how model, batch and sequence are cut. It is a plain comparable
// value; the identities that bind its fields are checked by Check, not assumed:
//
//	GPUs = DP * TP * PP * CP
//	GBS  = MBS * MicroBatches * DP
//
// EP and ETP fold over the same ranks: EP*ETP divides DP*CP*TP.
type Layout struct {
	GPUs int `json:"gpus"`

	DP  int `json:"dp"`
	TP  int `json:"tp"`
	PP  int `json:"pp"`
	VPP int `json:"vpp"` // virtual stages per rank
	CP  int `json:"cp"`
	EP  int `json:"ep"`
	ETP int `json:"etp"`

	SP   bool `json:"sp"`   // sequence parallelism together with TP
	ZeRO int  `json:"zero"` // 0 to 3
	HSDP int  `json:"hsdp"` // replicas over which ZeRO does not shard; 0 means 1

	MBS          int `json:"mbs"`          // micro-batch size, sequences
	MicroBatches int `json:"microbatches"` // per pipeline and step (= gradient-accumulation steps)
	GBS          int `json:"gbs"`          // global batch, sequences
	Seq          int `json:"seq"`          // sequence length, tokens

	Split string `json:"split,omitempty"` // layers per stage, "15,16,16,14"; empty: balanced
}

// Stages returns the number of model stages, PP * VPP.
func (l *Layout) Stages() int { return l.PP * l.VPP }

// Ranks is DP * TP * PP * CP, which must be GPUs. Each degree within MaxDegree,
// the product of three fits an int; a fourth could overflow, so what is over
// MaxGPUs is one above it.
func (l *Layout) Ranks() int {
	if plane := l.DP * l.TP * l.CP; plane <= MaxGPUs {
		return min(plane*l.PP, MaxGPUs+1)
	}
	return MaxGPUs + 1
}

// Communicators returns how many kinds of groups a GPU talks in: CP, DP and EP, TP and the shards of a
// model that clip gradients together, a pipeline and its two ends, and where there are several all of them.
func (l *Layout) Communicators() (n int) {
	for _, degree := range [...]int{l.CP, l.DP, l.EP, l.TP, l.TP, l.PP, l.PP} {
		if degree > 1 {
			n++
		}
	}
	if n > 1 {
		n++
	}
	return n
}

// Tokens returns the number of tokens of one optimizer step.
func (l *Layout) Tokens() float64 { return float64(l.GBS) * float64(l.Seq) }

// MicroBatchTokens is T, the tokens of one micro-batch on one rank:
// sequence * micro-batch size / CP.
func (l *Layout) MicroBatchTokens() float64 {
	return float64(l.Seq) * float64(l.MBS) / float64(l.CP)
}

// Replicas returns the number of copies over which ZeRO does not shard (hybrid
// sharding, HSDP).
func (l *Layout) Replicas() int { return max(l.HSDP, 1) }

// DenseRanks returns the number of ranks that hold or share the same dense parameters: CP, too, has all.
func (l *Layout) DenseRanks() int { return l.DP * l.CP }

// DenseShards returns the number of ranks that share the states of dense parameters:
// those that hold the same ones, of one replica.
func (l *Layout) DenseShards() int { return max(l.DenseRanks()/l.Replicas(), 1) }

// ExpertShards returns the same for routed experts.
func (l *Layout) ExpertShards() int { return max(l.ExpertDP()/l.Replicas(), 1) }

// ExpertDP returns the number of ranks that hold the same routed experts,
// GPUs / (EP * ETP * PP).
func (l *Layout) ExpertDP() int { return max(l.GPUs/(l.EP*l.ETP*l.PP), 1) }

// Int4Gradients reports whether qgZ has nodes of so many GPUs to exchange gradients between; in one DeepSpeed
// reduces them in 16 bits (deepspeed/runtime/zero/stage3.py, __avg_scatter_grads).
func (l *Layout) Int4Gradients(qgz bool, node int) bool { return qgz && l.ZeRO == 3 && l.GPUs > node }

// Severity of a Problem.
type Severity string

// Error problems make a layout illegal; warnings are what one launcher rejects
// or what is legal but rarely wanted.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem says what is wrong with one field, and what would be right.
type Problem struct {
	Code     string   `json:"code"` // stable, kebab-case
	Severity Severity `json:"severity"`
	Field    string   `json:"field"` // the flag's name
	Message  string   `json:"message"`
	// Nearest gives legal values, field by field; setting them together makes
	// this problem go away. Empty when no single change helps.
	Nearest map[string]any `json:"nearest,omitempty"`
}
