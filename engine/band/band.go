// Package band gives every prediction its error band: the mean error of published
// runs, each weighted by how similar it is to the setup, widened where they are few
// or unlike. It knows no setup and no file; engine says what a setup is like, and
// presets hold the runs.
//
// The formulas, with e = |ln(predicted / measured)| of a run:
//
//	rho(x) = (0.1 + X + min(1.5, T))^0.3     X: share of the step that is neither compute nor recomputation,
//	                                         T: communication over the step, overlapped or not
//	of memory rho = 1
//	q(S)   = (sum w_i u_i + w0 u0) / (sum w_i + w0)   over the cells i outside source S,
//	         w_i = v_i (exp(-distance) - exp(-far)), u_i the mean of e / rho over the runs of the cell
//	B(x)   = factor rho(x) max(q(no source), q(S) of each source S)
//
// The measurement is expected between predicted / exp(B) and predicted * exp(B); the
// band is exp(B) - 1. Factor is the 90 % quantile of e / (B / factor) over all runs
// with their own release left out, so nine of ten runs of a release that nobody has
// seen lie inside; a class of runs that has too few inside has a larger one of its own. The maximum over the
// sources makes the band that of an outsider: constants were fitted to some of the very runs that are
// nearest. Of memory there is no such maximum: it is counted tensor by tensor, and a stack is like no other
// one.
package band

import "math"

// Table is what is known about the error of one kind of prediction: of step times, or
// of memory.
type Table struct {
	Factor      float64 // makes nine of ten runs lie inside
	Classes     []ClassFactor
	Prior       float64 // u0: the mean error where no run is similar, in the log
	PriorWeight float64 // w0: how many similar runs the prior counts for
	Memory      bool    // of memory: rho is 1
	Scales      Scales
	Cells       []Cell

	GPUs, Seq, Active, MBS Range // what the published runs cover

	sources int
	quick   quick
	packed  []packed
}

// ClassFactor is the factor of a class of runs that the factor of all would leave outside
// too often.
type ClassFactor struct {
	Experts           bool
	Generation, Stack string
	Factor            float64
}

// FactorOf returns the factor of a setup's class.
func (t *Table) FactorOf(x *Traits) float64 {
	for i := range t.Classes {
		if c := &t.Classes[i]; c.Experts == x.Experts && c.Stack == x.Stack && c.Generation == x.Generation {
			return c.Factor
		}
	}
	return t.Factor
}

// BuildIndex prepares the cells for Of; call it once after the last cell is there.
func (t *Table) BuildIndex() {
	for i := range t.Cells {
		c := &t.Cells[i]
		c.Normalize()
		t.sources = max(t.sources, c.Source+1)
	}
	t.prepare()
}

// Cell is a set of published runs alike in what matters to the error.
type Cell struct {
	Traits
	Group   string  // the published group, as presets name it
	Title   string  // of the group, for a reader
	Example string  // the run of the cell with the median error: its model and GPUs, in words
	Off     float64 // mean of exp(|ln(predicted / measured)|) - 1 of the runs
	Release string  // of the software, or the paper: what is left out at once
	Source  int     // index of who published it, below MaxSources
	Runs    int     // how many
	Weight  float64 // v_i: runs over the root of the runs of the release
	Error   float64 // u_i: mean of e / rho
	Fitted  bool    // constants were fitted to these runs
}

// Band is the error of a prediction. Both errors are relative and in the larger
// direction: the measurement lies between the prediction divided by and multiplied
// with 1 + error.
type Band struct {
	Error   float64 // nine of ten published runs are closer
	Typical float64 // half of them are
	Similar int     // published runs at a distance below 1
	Nearest *Cell   // the nearest runs; nil where there are none at all
}

// similar is the distance below which runs count as similar.
const similar = 1

// far is the distance from which on a run counts for nothing. Weights are exp(-distance)
// less what that is there, so that none ends with a step.
const far = 4

// typicalShare is the width of the half of runs that is closest, over that of nine of
// ten, in the log: measured on the published runs with their release left out.
const typicalShare = 0.22

// MaxSources is how many sources a table may have: Of keeps a sum for each.
const MaxSources = 32

// Unknown returns the table where no published run is known: the prior of step times
// alone, with a factor near that of published runs.
func Unknown() *Table { return &Table{Factor: 1.4, Prior: 0.5, PriorWeight: 0.7} }

// Of returns the band of a prediction for a setup like x; for many, a Lens is faster.
func (t *Table) Of(x *Traits) Band { return new(Lens).Of(t, x) }

// Log returns B(x) over the factor with a release left out: what the factor is found
// from.
func (t *Table) Log(x *Traits, without string) float64 {
	at := t.quick.pack(x)
	q, _ := t.mean(t.near(&at, without), t.beyond(x, t.knows(x, without)), &at.counts)
	return t.Rho(x) * q
}

// Rho returns how large errors are expected to be at the traits' share of
// communication and waiting: a step that only computes is predicted best. It tends to 1 with
// each doubling of a size beyond all published runs, where nothing says that compute is.
func (t *Table) Rho(x *Traits) float64 {
	if t.Memory {
		return 1
	}
	const floor, most, power = 0.1, 1.5, 0.3
	rho := math.Pow(floor+x.NonCompute+min(most, x.Traffic), power)
	if over := t.sizes(x); over != (sizes{}) && rho < 1 {
		rho = 1 - (1-rho)*math.Exp(-over.gpus-over.seq-over.active-over.mbs-over.load)
	}
	return rho
}

// mean returns max q(S) over the cells near a setup of these counts, which are in the order
// of their sources, and the nearest of those that can count. Beyond is how far all of them
// are in what no published run has.
func (t *Table) mean(near []near, beyond float64, x *[counts]float64) (q float64, out Band) {
	var errors, weights [MaxSources]float64
	least, nearest := float64(far), int32(-1)
	for i := 0; i < len(near); {
		source, e, v := near[i].source, 0.0, 0.0
		for ; i < len(near) && near[i].source == source; i++ {
			c := &near[i]
			d := c.kind + math.Abs(x[0]-c.counts[0]) + math.Abs(x[1]-c.counts[1]) +
				math.Abs(x[2]-c.counts[2]) + math.Abs(x[3]-c.counts[3]) +
				math.Abs(x[4]-c.counts[4]) + math.Abs(x[5]-c.counts[5]) + math.Abs(x[6]-c.counts[6])
			if d < least || d == least && c.cell < nearest {
				least, nearest = d, c.cell
			}
			if d += beyond; d >= far {
				continue
			}
			if d < similar {
				out.Similar += int(c.runs)
			}
			w := c.weight * t.quick.decay(d)
			e += w * c.off
			v += w
		}
		errors[source], weights[source] = e, v
	}
	if nearest >= 0 {
		out.Nearest = &t.Cells[nearest]
	}
	sum, weight := t.PriorWeight*t.Prior, t.PriorWeight
	for s := range t.sources {
		sum += errors[s]
		weight += weights[s]
	}
	q = sum / weight
	if t.Memory {
		return q, out
	}
	for s := range t.sources {
		q = max(q, (sum-errors[s])/(weight-weights[s]))
	}
	return q, out
}
