package published

import (
	"meshscope/engine"
)

// Verdicts counts what the model says of the memory of some runs.
type Verdicts struct {
	Fits  int `json:"fits"`
	Tight int `json:"tight"` // the usable memory is inside the error band
	Over  int `json:"over"`
	// Beyond counts those whose peak is above the usable memory, error band or not.
	Beyond int `json:"beyond"`
}

// Sum returns how many runs there are.
func (v Verdicts) Sum() int { return v.Fits + v.Tight + v.Over }

func (v *Verdicts) add(w Verdicts) {
	v.Fits, v.Tight, v.Over, v.Beyond = v.Fits+w.Fits, v.Tight+w.Tight, v.Over+w.Over, v.Beyond+w.Beyond
}

func (v *Verdicts) take(p *prediction) {
	if !p.fits {
		v.Beyond++
	}
	switch p.fit {
	case engine.Fits:
		v.Fits++
	case engine.Tight:
		v.Tight++
	case engine.Over:
		v.Over++
	}
}

// Confusion is what the model says of runs that fitted and of runs that did not.
type Confusion struct {
	Group       string   `json:"group"`
	Ran         Verdicts `json:"ran"`
	OutOfMemory Verdicts `json:"out_of_memory"`
}

// Add adds the runs of another one.
func (c *Confusion) Add(d Confusion) {
	c.Ran.add(d.Ran)
	c.OutOfMemory.add(d.OutOfMemory)
}

// FalseOver returns the share of runs that ran and are said not to fit; a tight one is half
// of one. It is 0 where none ran.
func (c *Confusion) FalseOver() float64 {
	return (float64(c.Ran.Over) + float64(c.Ran.Tight)/2) / float64(max(c.Ran.Sum(), 1))
}

// Caught returns the share of runs out of memory that are said not to fit; a tight one is
// half of one. It is 0 where none ran out of memory.
func (c *Confusion) Caught() float64 {
	return (float64(c.OutOfMemory.Over) + float64(c.OutOfMemory.Tight)/2) / float64(max(c.OutOfMemory.Sum(),
		1))
}

// Tight returns the share of all runs that are said to be tight.
func (c *Confusion) Tight() float64 {
	return float64(c.Ran.Tight+c.OutOfMemory.Tight) / float64(max(c.Ran.Sum()+c.OutOfMemory.Sum(), 1))
}

// Confuse compares what the model says of memory with the outcome of every run of a group
// that states its whole layout: one whose recomputation is unknown does not.
func Confuse(e *engine.Evaluator, g *Group, lib Library) (Confusion, error) {
	c := Confusion{Group: g.ID}
	failed, err := g.OutOfMemory(lib)
	if err != nil {
		return c, err
	}
	count := func(runs []Run, into *Verdicts) {
		for i := range runs {
			if runs[i].AnyRecompute {
				continue
			}
			if p := runs[i].predict(e); p != nil {
				into.take(p)
			}
		}
	}
	count(g.Runs, &c.Ran)
	count(failed, &c.OutOfMemory)
	return c, nil
}
