package presets

import (
	"fmt"
	"slices"

	"meshscope/engine/escape"
	"meshscope/engine/hardware"
)

// calibrationFile is calibrations/ID.toml: constants of a GPU's kernels, of a
// machine's links, the behaviour of a software stack or the tensors it keeps in memory, and the runs
// they were fitted to. Every figure is optional; a missing one comes from the file
// named in Inherits.
type calibrationFile struct {
	ID       string   `toml:"id"`
	Kind     string   `toml:"kind"`       // gpu, network, stack, memory
	For      []string `toml:"applies_to"` // ids of clusters or GPUs, a cluster before its GPU; of stacks for memory
	Inherits string   `toml:"inherits"`

	FittedTo  string   `toml:"fitted_to"`
	FitError  *float64 `toml:"fit_error"`      // mean absolute relative error on the rows it was fitted to
	HeldError *float64 `toml:"held_out_error"` // the same on held-out rows
	Note      string   `toml:"note"`
	Source    string   `toml:"source"`

	Figures  map[string]float64 `toml:"figures"`
	Machines []machineFigures   `toml:"machine"`
}

// machineFigures are a stack's figures on one machine, where they differ.
type machineFigures struct {
	For      []string           `toml:"applies_to"`
	FittedTo string             `toml:"fitted_to"`
	Figures  map[string]float64 `toml:"figures"`
}

// Kinds of calibration files.
const (
	kindGPU     = "gpu"
	kindNetwork = "network"
	kindStack   = "stack"
	kindMemory  = "memory" // tensors that software stacks keep, on every machine
)

// CalibrationPreset is a calibration file that was checked.
type CalibrationPreset struct {
	ID        string             `json:"id"`
	Kind      string             `json:"kind"`
	AppliesTo []string           `json:"applies_to"`
	Inherits  string             `json:"inherits,omitempty"`
	FittedTo  string             `json:"fitted_to"`
	FitError  float64            `json:"fit_error,omitempty"`
	HeldError float64            `json:"held_out_error,omitempty"`
	Figures   map[string]float64 `json:"figures"`
	Machines  []MachineFigures   `json:"machines,omitempty"`
	Note      string             `json:"note,omitempty"`
	Source    string             `json:"source"`

	own bool // not one of the built-in files
}

// MachineFigures are the figures of a stack on some machines.
type MachineFigures struct {
	AppliesTo []string           `json:"applies_to"`
	FittedTo  string             `json:"fitted_to"`
	Figures   map[string]float64 `json:"figures"`
}

func parseCalibration(_ *Library, d *document) (CalibrationPreset, error) {
	var f calibrationFile
	if err := d.decode(&f); err != nil {
		return CalibrationPreset{}, err
	}
	d.identity(f.ID, f.ID, f.Source)
	known, ok := figureRanges(f.Kind)
	if !ok {
		d.refuse("kind", escape.Line(f.Kind), "gpu, network, stack, memory")
	}
	p := CalibrationPreset{
		ID: f.ID, Kind: f.Kind, AppliesTo: f.For, Inherits: f.Inherits, FittedTo: d.required("fitted_to", f.FittedTo),
		FitError: d.optional("fit_error", f.FitError, 0, 10), HeldError: d.optional("held_out_error", f.HeldError, 0, 10),
		Figures: map[string]float64{}, Note: d.line("note", f.Note), Source: f.Source,
	}
	d.figures(known, f.Figures, p.Figures)
	for _, m := range f.Machines {
		own := MachineFigures{AppliesTo: m.For, FittedTo: m.FittedTo, Figures: map[string]float64{}}
		d.figures(known, m.Figures, own.Figures)
		p.Machines = append(p.Machines, own)
	}
	return p, d.err()
}

// figures checks a table of figures against their ranges, by name.
func (d *document) figures(known []figureRange, given, into map[string]float64) {
	names := make([]string, 0, len(given))
	for key := range given {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		i := slices.IndexFunc(known, func(r figureRange) bool { return r.key == key })
		if i < 0 {
			d.refuse(key, "not a figure of this kind", "a known figure")
			continue
		}
		v := given[key]
		r := known[i]
		if !(v >= r.low && v <= r.high) {
			d.refuse(key, fmt.Sprint(v), fmt.Sprintf("from %g to %g", r.low, r.high))
			continue
		}
		into[key] = v
	}
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
	return list(l, func(l *Library) *store[CalibrationPreset] { return &l.calibrations }, func(p *CalibrationPreset) string { return p.ID })
}

// calibrationFiles returns those of the library, then those of the ones below it
// that it does not hide: the first that speaks of a machine is taken.
func (l *Library) calibrationFiles() calibrationList {
	var files calibrationList
	for at := l; at != nil; at = at.base {
		for _, f := range at.calibrations.list(at) {
			if !at.refused[f.ID] && !slices.ContainsFunc(files, func(g CalibrationPreset) bool { return g.ID == f.ID }) {
				f.own = at.base != nil
				files = append(files, f)
			}
		}
	}
	return files
}
