// Package measured compares a user's measured runs with their predictions and fits the constants
// of the calibration to them.
package measured

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/calibrate"
	"meshscope/engine/recipe"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// Run is a measured run. What was not measured is 0.
type Run struct {
	Name     string // file and line
	Launcher string // that printed it, by its id; empty: a table
	Setup    engine.Setup
	Seconds  float64 // of a step
	Spread   float64 // median deviation of its iterations, relative
	// GiB, of the rank that has most of those that print it.
	Allocated, Reserved, Device float64
}

// Compared is a run next to its predictions, which are 0 where there is none.
type Compared struct {
	Name      string  `json:"name"`
	Layout    string  `json:"layout"` // as flags
	Measured  float64 `json:"measured_seconds"`
	Spread    float64 `json:"spread_of_iterations,omitempty"`
	Before    float64 `json:"predicted_seconds"`
	After     float64 `json:"fitted_seconds,omitempty"`
	LeftOut   float64 `json:"left_out_seconds,omitempty"`
	Allocated float64 `json:"allocated_GiB,omitempty"`
	Reserved  float64 `json:"reserved_GiB,omitempty"`
	// AllocatedPredicted and ReservedPredicted are of the fullest rank.
	AllocatedPredicted float64 `json:"predicted_allocated_GiB"`
	ReservedPredicted  float64 `json:"predicted_reserved_GiB"`
	Why                string  `json:"not_fitted,omitempty"` // why no constant was fitted to it

	setup engine.Setup
}

// Constant is what became of a constant.
type Constant struct {
	ID     string   `json:"id"`
	What   string   `json:"what"`
	Keys   []string `json:"keys"`
	Before float64  `json:"before"`
	After  float64  `json:"after"`
	Error  float64  `json:"standard_error,omitempty"`
	Fitted bool     `json:"fitted"`
	Why    string   `json:"why,omitempty"`        // why it was not, or that it is at the end of its range
	Tells  string   `json:"would_tell,omitempty"` // which runs would determine it
}

// Fit is the comparison of runs and what was fitted to them.
type Fit struct {
	Machine   string     `json:"machine"`
	Stack     string     `json:"stack"`
	Runs      []Compared `json:"runs"`
	Constants []Constant `json:"constants"`
	Fitted    int        `json:"runs_fitted"` // number of runs that the constants were fitted to
	// Mean absolute relative errors of step times of those runs: as they were, after the fit, and
	// each predicted by a fit without it.
	Before  float64 `json:"error_before"`
	After   float64 `json:"error_after"`
	LeftOut float64 `json:"error_left_out"`

	figures map[string]float64
	setup   engine.Setup
}

// Changed reports whether any constant was fitted.
func (f *Fit) Changed() bool { return len(f.figures) > 0 }

// Setup returns the setup of the first run that constants were fitted to.
func (f *Fit) Setup() engine.Setup { return f.setup }

// MaxRuns is how many runs are fitted at once: a fit without each of them is made too.
const MaxRuns = 1000

// Do compares the runs with their predictions and fits the constants to those on the machine and
// the software stack that most of them are of.
func Do(e *engine.Evaluator, runs []Run, layout func(*engine.Setup) string) (*Fit, error) {
	if len(runs) > MaxRuns {
		return nil, fmt.Errorf("%d runs; at most %d are fitted at once", len(runs), MaxRuns)
	}
	type kind struct{ machine, stack string }
	of := func(r *Run) kind {
		if r.Setup.Stack == recipe.DefaultStack {
			return kind{r.Setup.Cluster.ID, string(r.Setup.Stack.Resolve())}
		}
		return kind{r.Setup.Cluster.ID, string(r.Setup.Stack)}
	}
	count, most := map[kind]int{}, kind{}
	for i := range runs {
		k := of(&runs[i])
		if count[k]++; count[k] > count[most] {
			most = k
		}
	}
	f := &Fit{Machine: most.machine, Stack: most.stack, figures: map[string]float64{}}
	var fitted []int
	for i := range runs {
		r := &runs[i]
		c := Compared{
			setup: r.Setup, Name: r.Name, Layout: layout(&r.Setup), Measured: r.Seconds,
			Spread: r.Spread, Allocated: r.Allocated, Reserved: r.Reserved,
		}
		report := e.Evaluate(r.Setup)
		switch {
		case !report.Legal:
			c.Why = "illegal layout: " + report.Problems[0].Message
		case report.Time == nil:
			c.Why = "no step time is predicted for it"
		case of(r) != most:
			c.Why = fmt.Sprintf("another machine or stack: %s, %s", r.Setup.Cluster.ID, r.Setup.Stack)
		case !(r.Seconds > 0):
			c.Why = "no step time"
		default:
			fitted = append(fitted, i)
		}
		if report.Time != nil {
			c.Before = float64(report.Time.Step)
		}
		if report.Memory != nil {
			for k := range report.Memory.Ranks {
				rank := &report.Memory.Ranks[k]
				c.AllocatedPredicted = max(c.AllocatedPredicted, rank.Allocated.GiB())
				c.ReservedPredicted = max(c.ReservedPredicted,
					(rank.Allocated + rank.OverheadParts.Slack).GiB())
			}
		}
		f.Runs = append(f.Runs, c)
	}
	if f.Fitted = len(fitted); len(fitted) == 0 {
		return f, calibrate.ErrNoRun
	}
	return f, f.fit(e, runs, fitted)
}

// fit fits the constants to some of the runs.
func (f *Fit) fit(e *engine.Evaluator, runs []Run, fitted []int) error {
	f.setup = runs[fitted[0]].Setup
	m, err := newModel(e, &f.setup)
	if err != nil {
		return err
	}
	var steps []calibrate.Run
	for _, i := range fitted {
		steps = append(steps, m.run(runs[i].Setup, runs[i].Seconds))
	}
	r, err := calibrate.Fit(m.constants, steps)
	if err != nil {
		return err
	}
	for n, i := range fitted {
		c := &f.Runs[i]
		c.After, c.LeftOut = r.After[n], r.LeftOut[n]
		share := 1 / float64(len(fitted))
		f.Before += share * math.Abs(c.Before/c.Measured-1)
		f.After += share * math.Abs(c.After/c.Measured-1)
		f.LeftOut += share * math.Abs(c.LeftOut/c.Measured-1)
	}
	for k := range r.Constants {
		est, of := &r.Constants[k], m.of[k]
		c := Constant{
			ID: of.id, What: of.what, Keys: of.keys, Before: est.Value, After: est.Fitted,
			Error: est.Error, Fitted: est.Error > 0,
		}
		c.Why, c.Tells = why(est, of)
		f.Constants = append(f.Constants, c)
	}
	if r.Changed() {
		f.figures = m.figures(r)
	}
	f.slack(runs, fitted, m.was[slackKey])
	return nil
}

// slackKey is the share of allocated memory that the allocator reserves on top of it.
const slackKey = "allocator_slack"

// leastSlack is how many runs that measured allocated and reserved memory determine it.
const leastSlack = 3

// slack fits the slack of the allocator to the runs that measured what it is the ratio of: their
// mean, with its standard error.
func (f *Fit) slack(runs []Run, fitted []int, was presets.Figure) {
	c := Constant{
		ID: "allocator", What: "reserved beyond allocated memory, share", Keys: []string{slackKey},
		Before: was.Value, After: was.Value,
	}
	sum, squares, n := 0.0, 0.0, 0.0
	for _, i := range fitted {
		if r := &runs[i]; r.Allocated > 0 && r.Reserved >= r.Allocated {
			share := r.Reserved/r.Allocated - 1
			sum, squares, n = sum+share, squares+share*share, n+1
		}
	}
	if n < leastSlack {
		c.Why, c.Tells = "fewer than three runs measured allocated and reserved memory",
			"logs of Megatron-LM or nanotron, which print both"
	} else {
		c.Fitted, c.After = true, min(sum/n, was.High)
		c.Error = max(math.Sqrt(max(squares/n-sum*sum/n/n, 0)/(n-1)), 1e-6)
		f.figures[slackKey] = c.After
	}
	f.Constants = append(f.Constants, c)
}

// why says why a constant was not fitted and which runs would determine it.
func why(e *calibrate.Estimate, of *constant) (reason, tells string) {
	switch e.Why {
	case calibrate.Unfelt:
		return "no step depends on it enough", of.tells
	case calibrate.Scattered:
		return "the runs spread too much around any fit: look at those with the largest errors", ""
	case calibrate.Entangled, calibrate.TooFew:
		reason = "cannot be told from " + cmp.Or(e.With, "the others")
		if e.Why == calibrate.TooFew {
			reason = "too few runs for so many constants"
		}
		return reason, of.tells
	case calibrate.Unfounded:
		return "runs that are left out are predicted as well without changing it", ""
	case calibrate.AtTheLimit:
		return fmt.Sprintf("at the end of its range, %g to %g", e.Low, e.High), ""
	}
	return "", ""
}

// model are the constants of a machine and how steps depend on them.
type model struct {
	e         *engine.Evaluator
	of        []*constant
	constants []calibrate.Constant
	was       map[string]presets.Figure
}

func newModel(e *engine.Evaluator, s *engine.Setup) (*model, error) {
	was, err := presets.FiguresOf(s.Cluster, s.Stack)
	if err != nil {
		return nil, err
	}
	m := &model{e: e, was: was}
	for _, c := range constants() {
		lead := was[c.keys[0]]
		if c.unit == 0 && lead.Value <= 0 {
			continue
		}
		unit := c.unit
		if lead.Value > 0 {
			unit = 0
		}
		m.of = append(m.of, &c)
		m.constants = append(m.constants, calibrate.Constant{
			ID: c.id, Value: lead.Value, Low: lead.Low,
			High: lead.High, Unit: unit,
		})
	}
	return m, nil
}

// changed returns the figures for values of the constants that differ from what they were.
func (m *model) changed(values []float64) map[string]float64 {
	out := map[string]float64{}
	for k, v := range values {
		was := m.constants[k].Value
		if v == was {
			continue
		}
		for _, key := range m.of[k].keys {
			switch f := m.was[key]; {
			case key == m.of[k].keys[0]:
				out[key] = v
			case f.Value > 0:
				out[key] = min(max(f.Value*v/was, f.Low), f.High)
			}
		}
	}
	return out
}

// figures returns what the fitted constants change.
func (m *model) figures(r *calibrate.Result) map[string]float64 {
	values := slices.Clone(r.Values)
	for k := range r.Constants {
		if r.Constants[k].Error == 0 {
			values[k] = r.Constants[k].Value
		}
	}
	return m.changed(values)
}

// run returns a run of the fit.
func (m *model) run(s engine.Setup, seconds float64) calibrate.Run {
	cluster := s.Cluster
	return calibrate.Run{Measured: seconds, Step: func(values []float64) float64 {
		var err error
		if s.Cluster, err = presets.WithFigures(cluster, s.Stack, m.changed(values)); err != nil {
			return 0
		}
		report := m.e.Evaluate(s)
		if report.Time == nil {
			return 0
		}
		return float64(report.Time.Step)
	}}
}

// Plan returns which of some layouts of one machine and stack, in addition to the first few, to run so
// that the constants are told apart, at most k, and what all of these would determine.
func Plan(e *engine.Evaluator, setups []engine.Setup, first, k int) (chosen []int, would []Constant,
	err error,
) {
	if len(setups) == 0 {
		return nil, nil, nil
	}
	m, err := newModel(e, &setups[0])
	if err != nil {
		return nil, nil, err
	}
	var runs []calibrate.Run
	for i := range setups {
		runs = append(runs, m.run(setups[i], 1))
	}
	jacobian, taken := calibrate.Jacobian(m.constants, runs, nil), make([]int, first)
	for i := range taken {
		taken[i] = i
	}
	chosen = calibrate.Spread(jacobian, taken, k)
	for n, deviation := range calibrate.Determined(jacobian, append(taken, chosen...)) {
		c := Constant{ID: m.of[n].id, What: m.of[n].what, Error: deviation, Fitted: deviation > 0}
		if !c.Fitted {
			c.Tells = m.of[n].tells
		}
		would = append(would, c)
	}
	return chosen, would, nil
}

// Preset returns the file of the fitted constants. The id is the name of the file.
func (f *Fit) Preset(lib *presets.Library, id, source string) ([]byte, error) {
	out := presets.Fitted{
		ID: id, Machine: f.setup.Cluster, Stack: f.setup.Stack, Figures: f.figures, Error: f.After,
		LeftOut: f.LeftOut, Source: source,
		FittedTo: fmt.Sprintf("%d measured runs on %s with %s", f.Fitted, f.Machine, f.Stack),
		Note: fmt.Sprintf("Mean error of step times %.1f %% before, %.1f %% after, %.1f %% of runs "+
			"left out.", 100*f.Before, 100*f.After, 100*f.LeftOut),
	}
	for i := range f.Runs {
		c := &f.Runs[i]
		if c.After == 0 || len(out.Runs) == mostRuns {
			continue
		}
		setup, _ := setupdoc.Share(c.setup, presets.Default(), lib)
		out.Runs = append(out.Runs, presets.FittedRun{
			Name: c.Name, Layout: c.Layout, Setup: setup, Measured: c.Measured, Before: c.Before,
			After: c.After, LeftOut: c.LeftOut,
			Allocated: c.Allocated, Reserved: c.Reserved,
		})
	}
	return lib.FittedText(&out)
}

// mostRuns is how many runs a preset lists, so that it stays well below input.MaxPreset.
const mostRuns = 60
