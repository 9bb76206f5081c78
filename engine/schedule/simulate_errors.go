package schedule

import (
	"fmt"
	"strings"
)

// CostError is costs that do not fit an order.
type CostError struct{ Reason string }

// Error says what does not fit.
func (e *CostError) Error() string { return "stage costs: " + e.Reason }

// costError returns a *CostError with a formatted reason.
func costError(format string, args ...any) error {
	return &CostError{Reason: fmt.Sprintf(format, args...)}
}

// OrderError is an order that is not one: an operation outside the spec, or
// lists that do not add up.
type OrderError struct{ Reason string }

// Error says what is malformed.
func (e *OrderError) Error() string { return "malformed order: " + e.Reason }

// DeadlockError is an order whose ranks wait for each other, with the first
// operation that each of them could not run.
type DeadlockError struct{ Blocked []BlockedOp }

// BlockedOp is where a rank stands still.
type BlockedOp struct {
	Rank int
	Op   string // in the notation of Order.Text
}

// Error names the first few blocked operations.
func (e *DeadlockError) Error() string {
	const shown = 4
	var parts []string
	for _, b := range e.Blocked[:min(shown, len(e.Blocked))] {
		parts = append(parts, fmt.Sprintf("rank %d at %s", b.Rank, b.Op))
	}
	if more := len(e.Blocked) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return "deadlock: " + strings.Join(parts, ", ")
}

// validate makes sure that a simulation stays inside its tables. Orders from
// Build always pass; others may be made by hand.
func (o *Order) validate() error {
	p, m, chunks := o.Spec.Ranks, o.Spec.MicroBatches, o.Chunks()
	if p < 1 || m < 1 || chunks < 1 {
		return &OrderError{Reason: fmt.Sprintf("%d ranks, %d chunks, %d micro-batches", p, chunks, m)}
	}
	if m > MaxMicroBatches || chunks > MaxVirtualStages || float64(p)*float64(chunks)*float64(m) > MaxOps {
		return &OrderError{Reason: "larger than MaxOps, MaxMicroBatches or MaxVirtualStages"}
	}
	if o.Placement > Bidirectional || o.Placement == Bidirectional && o.Spec.VirtualStages != 1 {
		return &OrderError{Reason: fmt.Sprintf("%d stages per rank placed %s", o.Spec.VirtualStages,
			o.Placement)}
	}
	if len(o.Start) != p+1 || o.Start[0] != 0 || o.Start[p] != len(o.Ops) {
		return &OrderError{Reason: fmt.Sprintf("the bounds of %d lists do not cover %d operations of %d "+
			"ranks", len(o.Start)-1, len(o.Ops), p)}
	}
	for r := range p {
		if o.Start[r] > o.Start[r+1] {
			return &OrderError{Reason: fmt.Sprintf("the list of rank %d ends before it starts", r)}
		}
	}
	return o.validateOps()
}

// validateOps checks the operations. A plain scan finds out whether any of them
// can be wrong; only then is the wrong one looked for.
func (o *Order) validateOps() error {
	chunks, m := o.Chunks(), o.Spec.MicroBatches
	chunk, microBatch, all := 0, 0, Op(0)
	for _, op := range o.Ops {
		chunk, microBatch = max(chunk, op.Chunk()), max(microBatch, op.MicroBatch())
		all |= op
	}
	if chunk < chunks && microBatch < m && !all.Paired() {
		return nil
	}
	for r := range o.Spec.Ranks {
		ops := o.Rank(r)
		for i, op := range ops {
			if op.Chunk() >= chunks || op.MicroBatch() >= m {
				return &OrderError{Reason: fmt.Sprintf("rank %d: %s is outside %d chunks x %d micro-batches",
					r, op, chunks, m)}
			}
			if op.Paired() && (i+1 == len(ops) || ops[i+1].Paired()) {
				return &OrderError{Reason: fmt.Sprintf("rank %d: %s is paired with nothing", r, op)}
			}
		}
	}
	return nil
}
