package knob

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/units"
)

// Defaults of what is left out; the others are in the rows.
const (
	DefaultNodes      = 8
	DefaultSeq        = 8192 // tokens, or the model's own length when shorter
	DefaultBatchDepth = 4    // sequences per pipeline rank and replica, in whole micro-batches
)

// BatchDepthUnit is what DefaultBatchDepth counts, in words.
const BatchDepthUnit = "sequences per pipeline rank and replica"

// ConflictError says that two given values cannot both be true.
type ConflictError struct {
	Fields [2]string // the flags' names
	Why    string    // the arithmetic, with the numbers
}

// Error names both flags and shows the arithmetic.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("--%s and --%s contradict each other: %s", e.Fields[0], e.Fields[1], e.Why)
}

// Resolve derives what was not given. A value out of bounds is a *ValueError, two
// values that contradict each other a *ConflictError. Degrees that do not divide
// the GPUs, or a batch that does not divide, resolve to the next lower quotient:
// such a setup is illegal and Check says why.
func (d Draft) Resolve() (Setup, error) {
	if d.wrong != nil {
		return Setup{}, d.wrong
	}
	if !d.hasModel || !d.hasCluster {
		field := "model"
		if d.hasModel {
			field = "cluster"
		}
		return Setup{}, &ValueError{Field: field, Allowed: "a known " + field}
	}
	s := d.setup
	knobs := registry()
	for i := range knobs {
		if k := &knobs[i]; k.unset != nil && !d.given.has(k) {
			k.unset(&s)
		}
	}
	divides, err := d.resolveGPUs(&s)
	if err != nil {
		return Setup{}, err
	}
	if d.published {
		d.follow(&s)
	}
	if err := d.resolveBatch(&s, divides); err != nil {
		return Setup{}, err
	}
	return s, nil
}

// resolveGPUs resolves GPUs and DP: gpus = dp x tp x pp x cp. It reports whether
// the identity holds.
func (d *Draft) resolveGPUs(s *Setup) (divides bool, err error) {
	node, replica := s.Cluster.Node(), product(s.TP, s.PP, s.CP)
	gpus, nodes, dp := d.Has(GPUs), d.Has(Nodes), d.Has(DP)
	from := GPUs
	switch {
	case gpus:
		if nodes && s.Nodes() != d.nodes {
			return false, &ConflictError{
				Fields: [2]string{string(GPUs), string(Nodes)},
				Why: fmt.Sprintf("%d GPUs fill %s of %d, not %d", s.GPUs,
					units.Plural(s.Nodes(), "node"), node, d.nodes),
			}
		}
	case nodes:
		from = Nodes
		s.GPUs = product(d.nodes, node)
		// A last node that is only partly used is fine when dp asks for it.
		if world := product(s.DP, replica); dp && world < s.GPUs && world > s.GPUs-node {
			s.GPUs = world
		}
	case dp:
		from = DP
		s.GPUs = product(s.DP, replica)
	default:
		s.GPUs = product(defaultNodes(s.Cluster), node)
	}
	if s.GPUs > MaxGPUs {
		return false, &ValueError{
			Field: string(from), Given: fmt.Sprintf("%d GPUs in all", s.GPUs),
			Allowed: fmt.Sprintf("up to %d GPUs", MaxGPUs),
		}
	}
	if !dp {
		s.DP = max(1, s.GPUs/replica)
		if s.DP > MaxDegree {
			return false, &ValueError{
				Field: string(from), Given: fmt.Sprintf("%d GPUs in all", s.GPUs),
				Allowed: fmt.Sprintf("up to %d replicas (dp) of tp x pp x cp = %d GPUs; more GPUs need a "+
					"larger tp, pp or cp", MaxDegree, replica),
				Nearest: nearestGPUs(from, product(MaxDegree, replica), node),
			}
		}
		return s.GPUs == product(s.DP, replica), nil
	}
	if world := product(s.DP, replica); world != s.GPUs {
		return false, &ConflictError{
			Fields: [2]string{string(from), string(DP)},
			Why: fmt.Sprintf("dp x tp x pp x cp = %d x %d x %d x %d = %d, not the %s",
				s.DP, s.TP, s.PP, s.CP, world, units.Plural(s.GPUs, "GPU")),
		}
	}
	return true, nil
}

// nearestGPUs returns a number of GPUs in the unit that was given, GPUs or nodes.
func nearestGPUs(unit ID, gpus, node int) string {
	if unit == Nodes {
		gpus /= node
	}
	return strconv.Itoa(gpus)
}

// defaultNodes is 8, or the whole machine when it is smaller; one where GPUs are joined by PCIe alone: a
// workstation or a rented machine.
func defaultNodes(c hardware.Cluster) int {
	if strings.HasPrefix(c.Intra.Name, "PCIe") {
		return 1
	}
	if c.MaxGPUs > 0 {
		return min(DefaultNodes, max(1, c.MaxGPUs/c.Node()))
	}
	return DefaultNodes
}

// resolveBatch resolves micro-batches and global batch: gbs = mbs x m x dp.
func (d *Draft) resolveBatch(s *Setup, gpusDivide bool) error {
	gbs, count := d.Has(GBS), d.Has(MicroBatches)
	if tokens, ok := BatchTokens(d.batch); ok {
		s.GBS = s.BatchOf(tokens)
		if s.GBS > MaxBatch {
			return &ValueError{
				Field: string(GBS), Given: d.batch,
				Allowed: fmt.Sprintf("up to %d sequences", MaxBatch),
			}
		}
	}
	switch {
	case gbs && count:
		// Where dp is itself a rounded quotient there is nothing to check this
		// against: the layout is illegal for that reason.
		if batch := product(s.MBS, s.MicroBatches, s.DP); batch != s.GBS && gpusDivide {
			why := fmt.Sprintf("mbs x microbatches x dp = %d x %d x %d = %d sequences, but gbs is %d",
				s.MBS, s.MicroBatches, s.DP, batch, s.GBS)
			if !d.Has(MBS) {
				why += " (mbs not given; using 1)"
			}
			return &ConflictError{Fields: [2]string{string(GBS), string(MicroBatches)}, Why: why}
		}
		return nil
	case gbs:
		s.MicroBatches = max(1, s.GBS/product(s.MBS, s.DP))
		if s.MicroBatches > MaxMicroBatches {
			return &ValueError{
				Field: string(GBS), Given: strconv.Itoa(s.GBS),
				Allowed: fmt.Sprintf("up to %d micro-batches (gbs / mbs / dp)", MaxMicroBatches),
				Nearest: strconv.Itoa(min(MaxBatch, product(MaxMicroBatches, s.MBS, s.DP))),
			}
		}
		return nil
	case count:
	default:
		// One sequence per data-parallel rank, pipeline rank and 4 turns; in
		// whole micro-batches where mbs does not divide that.
		s.MicroBatches = min((s.PP*DefaultBatchDepth+s.MBS-1)/s.MBS, MaxMicroBatches)
		if d.published {
			s.followBatch()
		}
	}
	s.GBS = product(s.MBS, s.MicroBatches, s.DP)
	if s.GBS > MaxBatch {
		return &ValueError{
			Field: string(MicroBatches), Given: strconv.Itoa(s.MicroBatches),
			Allowed: fmt.Sprintf("a global batch (mbs x microbatches x dp) of up to %d sequences", MaxBatch),
			Nearest: strconv.Itoa(max(1, MaxBatch/product(s.MBS, s.DP))),
		}
	}
	return nil
}
