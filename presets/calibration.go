package presets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/presets/input"
)

// Kinds of calibration files.
const (
	kindGPU     = "gpu"
	kindNetwork = "network"
	kindStack   = "stack"
	kindMemory  = "memory"  // tensors that software stacks keep, on every machine
	kindKernels = "kernels" // of PyTorch, on every GPU
	kindFitted  = "fitted"  // constants of several kinds that were fitted to one machine's runs
)

// CalibrationPreset is calibrations/ID.toml: constants of a GPU's kernels, of a
// machine's links, the behaviour of a software stack or the tensors it keeps in memory, and the runs
// they were fitted to. Every figure is optional; a missing one comes from the file
// named in Inherits.
type CalibrationPreset struct {
	ID   string `json:"id"                 toml:"id"`
	Kind string `json:"kind"               toml:"kind"` // gpu, network, stack, memory, kernels, fitted
	// ids of clusters or GPUs, a cluster before its GPU; of stacks for memory
	AppliesTo []string `json:"applies_to"         toml:"applies_to"`
	Inherits  string   `json:"inherits,omitempty" toml:"inherits,omitempty"`

	FittedTo string `json:"fitted_to"                toml:"fitted_to"`
	// mean absolute relative error on the rows it was fitted to
	FitError  float64 `json:"fit_error,omitempty"      toml:"fit_error"`
	HeldError float64 `json:"held_out_error,omitempty" toml:"held_out_error"` // the same on held-out rows

	Figures map[string]float64 `json:"figures"            toml:"figures,omitempty"`
	// of a stack: what it runs where a setup gives nothing
	Knobs    map[string]string `json:"knobs,omitempty"    toml:"knobs,omitempty"`
	Machines []MachineFigures  `json:"machines,omitempty" toml:"machine,omitempty"`
	Note     string            `json:"note,omitempty"     toml:"note,omitempty"`
	Source   string            `json:"source"             toml:"source"`

	// Of a fitted one: what was fitted, by kind, for the stack on the machines that it applies
	// to, and the runs.
	Stack string       `json:"-"              toml:"stack,omitempty"`
	Parts []fittedPart `json:"-"              toml:"part,omitempty"`
	Runs  []FittedRun  `json:"runs,omitempty" toml:"run,omitempty"`

	parts []CalibrationPreset // of a fitted one: the files of one kind each that it stands for
	own   bool                // not one of the built-in files
}

// MachineFigures are a stack's figures on some machines, where they differ.
type MachineFigures struct {
	AppliesTo []string           `json:"applies_to"      toml:"applies_to"`
	FittedTo  string             `json:"fitted_to"       toml:"fitted_to"`
	Figures   map[string]float64 `json:"figures"         toml:"figures,omitempty"`
	Knobs     map[string]string  `json:"knobs,omitempty" toml:"knobs,omitempty"`
}

func parseCalibration(l *Library, d *document) (CalibrationPreset, error) {
	var p CalibrationPreset
	if err := d.decode(&p); err != nil {
		return CalibrationPreset{}, ranged(err, p.Kind)
	}
	d.identity(p.ID, "a calibration has none", p.Source)
	if p.Kind == kindFitted {
		d.fitted(l, &p)
		return p, d.err()
	}
	known, ok := figureRanges(p.Kind)
	if !ok {
		d.refuse("kind",
			escape.Line(p.Kind)+closestKey(p.Kind, []string{
				kindGPU, kindNetwork, kindStack, kindMemory, kindKernels,
				kindFitted,
			}), "gpu, network, stack, memory, kernels, fitted")
		return CalibrationPreset{}, d.err() // of no kind there are no figures
	}
	p.Stack, p.Parts, p.Runs = "", nil, nil // of fitted ones only
	d.fittedTo(&p)
	p.Figures = d.figures(known, p.Figures)
	d.knobs(p.Kind, p.AppliesTo, p.Knobs)
	for i := range p.Machines {
		m := &p.Machines[i]
		d.knobs(p.Kind, p.AppliesTo, m.Knobs)
		m.Figures = d.figures(known, m.Figures)
	}
	return p, d.err()
}

// fittedTo checks what a calibration says of how it was fitted.
func (d *document) fittedTo(p *CalibrationPreset) {
	d.required("fitted_to", p.FittedTo)
	d.optional("fit_error", &p.FitError, 0, 10)
	d.optional("held_out_error", &p.HeldError, 0, 10)
	d.line("note", p.Note)
}

// ranged adds to an error about a figure that is no number what numbers are allowed.
func ranged(err error, kind string) error {
	var wrong *input.Error
	known, _ := figureRanges(kind)
	if !errors.As(err, &wrong) {
		return err
	}
	key := wrong.Key[strings.LastIndexByte(wrong.Key, '.')+1:]
	if i := slices.IndexFunc(known, func(r figureRange) bool { return r.key == key }); i >= 0 &&
		strings.HasSuffix(wrong.Err.Error(), "a number") {
		wrong.Err = fmt.Errorf("%w from %g to %g", wrong.Err, known[i].low, known[i].high)
	}
	return err
}

// knobs checks a table of what stacks run by default: knobs that every one of them has,
// and words that it has of them.
func (d *document) knobs(kind string, stacks []string, given map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if kind != kindStack {
			d.refuse("knobs."+key, given[key], "knobs in a file of kind stack only")
			continue
		}
		for _, id := range stacks {
			stack, word := recipe.Stack(id), given[key]
			switch has := stack.Words(key); {
			case len(has) == 1:
				d.refuse("knobs."+key, "a knob that "+escape.Line(id)+" does not have", knobsOf(stack))
			case !slices.Contains(has, word) || word == recipe.Auto:
				d.refuse("knobs."+key, escape.Line(word),
					"one of "+strings.Join(has[1:], ", ")+", which "+escape.Line(id)+" has")
			}
		}
	}
}

// knobsOf names the knobs of software that a stack has.
func knobsOf(stack recipe.Stack) string {
	var names []string
	for _, f := range recipe.SoftwareFields() {
		if len(stack.Words(f.Knob)) > 1 {
			names = append(names, f.Knob)
		}
	}
	if len(names) == 0 {
		return "none: it has no such knob"
	}
	return strings.Join(names, ", ")
}

// figures checks a table of figures against their ranges, by name.
func (d *document) figures(known []figureRange, given map[string]float64) map[string]float64 {
	if given == nil {
		given = map[string]float64{}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(known, func(r figureRange) bool { return r.key == key })
		if i < 0 {
			keys := figureKeys(known)
			d.refuse(key, "not a figure of this kind"+closestKey(key, keys), strings.Join(keys, ", "))
			continue
		}
		if v, r := given[key], known[i]; !(v >= r.low && v <= r.high) {
			d.refuse(key, fmt.Sprint(v), fmt.Sprintf("from %g to %g", r.low, r.high))
		}
	}
	return given
}

// calibrated adds the calibration, the stack memories and the published runs to a cluster.
func (l *Library) calibrated(c hardware.Cluster) hardware.Cluster {
	c.Calibration = l.tables.of(l, &c)
	c.Memory = l.memories()
	c.Published = l.Published()
	return c
}

// Calibrate adds the calibration of a cluster, found by its id and its GPU's id. The
// cluster need not be a preset.
func (l *Library) Calibrate(c hardware.Cluster) hardware.Cluster { return l.calibrated(c) }

// Calibrations lists the calibration files by id.
func (l *Library) Calibrations() []CalibrationPreset {
	return list(l, func(l *Library) *store[CalibrationPreset] { return &l.calibrations },
		func(p *CalibrationPreset) string { return p.ID })
}

// calibrationFiles returns those of the library, then those of the ones below it
// that it does not hide: the first that speaks of a machine is taken.
func (l *Library) calibrationFiles() calibrationList {
	var files calibrationList
	for at := l; at != nil; at = at.base {
		for _, f := range at.calibrations.list(at) {
			if at.refused[f.ID] ||
				slices.ContainsFunc(files, func(g CalibrationPreset) bool { return g.ID == f.ID }) {
				continue
			}
			f.own = at.base != nil
			files = append(append(files, f), f.parts...)
		}
	}
	return files
}
