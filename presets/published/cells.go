package published

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"meshscope/engine"
)

// leastCell is how many layouts a cell has at least: one model on one machine of
// one size and time.
const leastCell = 5

// rates returns the absolute errors of tokens per second.
func (j *stepErrors) rates() []float64 {
	out := make([]float64, len(j.rows))
	for i := range j.rows {
		out[i] = math.Abs(j.rows[i].Measured/j.rows[i].Predicted - 1)
	}
	return out
}

// cellOf names the model, machine and size that a run is one layout of.
func cellOf(r *Run) string {
	return fmt.Sprint(r.Setup.Model.ID, " ", r.Setup.Cluster.ID, " ", r.Setup.GPUs)
}

// cells returns the rows by model, machine and number of GPUs, those with enough
// layouts.
func (j *stepErrors) cells() [][]int {
	at := map[string][]int{}
	var order []string
	for i, r := range j.runs {
		key := cellOf(r)
		if at[key] == nil {
			order = append(order, key)
		}
		at[key] = append(at[key], i)
	}
	var out [][]int
	for _, key := range order {
		if len(at[key]) >= leastCell {
			out = append(out, at[key])
		}
	}
	return out
}

// correlation returns the mean rank correlation of predicted and measured time over
// the cells, and that of a constant rate, whose time is the work.
func (j *stepErrors) correlation() (ours, constant float64, cells int) {
	var a, b []float64
	for _, cell := range j.cells() {
		measured, predicted, work := make([]float64, len(cell)), make([]float64, len(cell)),
			make([]float64, len(cell))
		for k, i := range cell {
			measured[k], predicted[k], work[k] = j.rows[i].Measured, j.rows[i].Predicted, j.rows[i].work
		}
		a, b = append(a, RankCorrelation(predicted, measured)), append(b, RankCorrelation(work, measured))
	}
	return Mean(a), Mean(b), len(a)
}

// candidate is one layout of a cell: its measured rate, 0 for one that ran out of
// memory, and the predictions.
type candidate struct {
	rate float64 // tokens per second
	time float64 // predicted, seconds per token
	work float64 // per token
	fits bool    // predicted
	gpus int
	peak float64 // predicted, GiB
}

// candidates returns all layouts of a group that were tried, by cell.
func candidates(e *engine.Evaluator, lib Library, g *Group) (map[string][]candidate, error) {
	failed, err := g.OutOfMemory(lib)
	if err != nil {
		return nil, err
	}
	out := map[string][]candidate{}
	add := func(r *Run, rate float64) {
		p := r.predict(e)
		if p == nil {
			return
		}
		c := candidate{
			rate: rate, fits: p.fits, gpus: r.Setup.GPUs, peak: p.peak,
			time: p.step / r.Setup.Tokens(), work: p.work / r.Setup.Tokens(),
		}
		out[cellOf(r)] = append(out[cellOf(r)], c)
	}
	for i := range g.Runs {
		if r := &g.Runs[i]; r.Step > 0 {
			add(r, r.Setup.Tokens()/r.Step)
		}
	}
	for i := range failed {
		add(&failed[i], 0)
	}
	return out, nil
}

// choice is how fast the layouts are that a prediction prefers, against the
// fastest of their cell.
type choice struct {
	mean, worst, constant float64
	cells                 int
}

// smallJob is the number of GPUs up to which a wrong first choice weighs most:
// eight nodes.
const smallJob = 64

// firstChoices asks of every cell how fast the layout with the best prediction is
// among those that are predicted to fit; ties count at their worst, and one that
// ran out of memory as 0. A constant rate knows nothing of memory and cannot tell
// layouts of the same work apart. Worst is that of jobs up to eight nodes.
func firstChoices(cells map[string][]candidate) choice {
	var ours, constant []float64
	out := choice{worst: 1}
	for _, key := range slices.Sorted(maps.Keys(cells)) {
		list := cells[key]
		best := 0.0
		for i := range list {
			best = max(best, list[i].rate)
		}
		if len(list) < leastCell || best == 0 {
			continue
		}
		share := preferred(list, func(c *candidate) float64 { return c.time }, true) / best
		ours = append(ours, share)
		constant = append(constant, preferred(list, func(c *candidate) float64 { return c.work }, false)/best)
		if list[0].gpus <= smallJob {
			out.worst = min(out.worst, share)
		}
	}
	out.mean, out.constant, out.cells = Mean(ours), Mean(constant), len(ours)
	return out
}

// preferred returns the rate of the layout with the least predicted time per token.
func preferred(list []candidate, predicted func(*candidate) float64, fitting bool) float64 {
	chosen, at := 0.0, math.Inf(1)
	for i := range list {
		c := &list[i]
		if fitting && !c.fits {
			continue
		}
		const same = 1e-9
		if p := predicted(c); p < at*(1-same) || p < at*(1+same) && c.rate < chosen {
			at, chosen = p, c.rate
		}
	}
	return chosen
}

// answers are how often "does it fit" was answered rightly: of all layouts, and of
// those predicted near the edge the mean of both kinds. Most is what always giving
// the more frequent answer scores.
type answers struct {
	right, most, border float64
	all, near           int
}

// The edge: a predicted peak in GiB on a GPU of 80 GB.
const borderLow, borderHigh = 55.0, 110.0

func fitAnswers(cells map[string][]candidate) answers {
	type count struct{ right, all float64 }
	var whole, near [2]count // ran, ran out of memory
	for _, list := range cells {
		for i := range list {
			c := &list[i]
			kind, right := 0, 0.0
			if c.rate == 0 {
				kind = 1
			}
			if c.fits == (c.rate > 0) {
				right = 1
			}
			whole[kind].right, whole[kind].all = whole[kind].right+right, whole[kind].all+1
			if c.peak >= borderLow && c.peak <= borderHigh {
				near[kind].right, near[kind].all = near[kind].right+right, near[kind].all+1
			}
		}
	}
	total := whole[0].all + whole[1].all
	return answers{
		right: (whole[0].right + whole[1].right) / total, most: max(whole[0].all, whole[1].all) / total,
		border: (near[0].right/near[0].all + near[1].right/near[1].all) / 2,
		all:    int(total), near: int(near[0].all + near[1].all),
	}
}
