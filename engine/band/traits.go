package band

import "math"

// Traits are what a setup, or a set of published runs, is compared by.
type Traits struct {
	GPU, Generation string // preset id and architecture
	Vendor          string // of the GPU
	Stack, Family   string // of the software; the family is what its releases and forks share
	Version         string // release of the stack, as year and month; empty: none is named
	Experts         bool   // the model has routed experts
	Layers          string // what no published run's model has; empty: nothing
	Inferred        bool   // what they save or take is inferred
	TP, CP, EP      Reach
	Pipeline        bool
	ZeRO3           bool // weights are sharded over the data-parallel ranks
	PCIe            bool // the GPUs of a node are joined by PCIe
	Recompute       bool
	Custom          bool    // a calibration of the user's own decides the prediction, or there is none
	Bits            int     // of matrix products: 16, 8 or 4
	Changed         float64 // doublings by which rates and links differ from those of the preset

	GPUs, MicroBatches, Active, Seq, MBS Log // count; count; parameters; tokens; sequences of a micro-batch
	Load                                 Log // of the busiest expert rank over the even share

	// NonCompute is the share of the step that is neither compute nor recomputation;
	// Traffic is communication over the step, hidden or not.
	NonCompute, Traffic float64
	logWait, logTraffic float64
}

// Log is the binary logarithm of a positive number.
type Log float64

// LogOf returns the binary logarithm of v, at least that of the smallest count, 1.
func LogOf(v float64) Log { return Log(math.Log2(max(v, 1))) }

// Reach says how far the traffic of a dimension of parallelism goes.
type Reach uint8

// Reaches.
const (
	None   Reach = iota // the degree is 1
	Inside              // inside the scale-up domain
	Across              // over the network
)

// Normalize derives what comparisons read; call it after the last field is set.
func (x *Traits) Normalize() {
	const floor = 0.05
	x.logWait, x.logTraffic = math.Log(floor+max(x.NonCompute, 0)), math.Log(floor+max(x.Traffic, 0))
	x.MicroBatches = min(x.MicroBatches, mostMicroBatches)
}

// mostMicroBatches is the binary logarithm of 16: with more the step is the same but
// for its ends.
const mostMicroBatches = 4

// String says how far it goes; empty for None.
func (r Reach) String() string {
	switch r {
	case Inside:
		return "inside the scale-up domain"
	case Across:
		return "across domains"
	case None:
	}
	return ""
}
