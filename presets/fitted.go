package presets

import (
	"embed"
	"errors"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine/escape"
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/presets/input"
)

// fittedPart is what a fitted calibration says of one kind.
type fittedPart struct {
	Kind     string             `toml:"kind"`
	Inherits string             `toml:"inherits,omitempty"`
	Figures  map[string]float64 `toml:"figures"`
}

// FittedRun is a measured run that a calibration was fitted to.
type FittedRun struct {
	Name   string `json:"name"   toml:"name"`
	Layout string `json:"layout" toml:"layout"` // as flags
	Setup  string `json:"setup"  toml:"setup"`  // as a share string
	// Seconds of a step: measured, predicted with the constants as they were, with the fitted
	// ones, and with those of a fit without this run.
	Measured float64 `json:"measured_seconds"         toml:"measured_seconds"`
	Before   float64 `json:"before_seconds"           toml:"before_seconds"`
	After    float64 `json:"predicted_seconds"        toml:"predicted_seconds"`
	LeftOut  float64 `json:"left_out_seconds"         toml:"left_out_seconds"`
	// GiB of the fullest rank that printed it; 0: not measured.
	Allocated float64 `json:"allocated_GiB,omitempty" toml:"allocated_GiB,omitempty"`
	Reserved  float64 `json:"reserved_GiB,omitempty"  toml:"reserved_GiB,omitempty"`
}

// fitted completes the preset of a fitted calibration: files of one kind each under one id. What it
// says of a stack holds on its machines alone.
func (d *document) fitted(l *Library, p *CalibrationPreset) {
	d.fittedTo(p)
	p.Inherits, p.Figures, p.Knobs, p.Machines = "", map[string]float64{}, nil, nil // each part has its own
	if err := l.speaksOf(kindStack, p.Stack); err != nil {
		d.refuse("stack", escape.Line(p.Stack), err.Error())
	}
	if len(p.Parts) == 0 {
		d.refuse("part", "none", "what was fitted: a [[part]] with kind, inherits and figures")
	}
	for _, part := range p.Parts {
		known, ok := figureRanges(part.Kind)
		if !ok ||
			slices.ContainsFunc(p.parts, func(q CalibrationPreset) bool { return q.Kind == part.Kind }) {
			d.refuse("part.kind", escape.Line(part.Kind), "gpu, network, stack, memory, each once")
			continue
		}
		q := *p
		q.Kind, q.Inherits, q.Figures, q.own, q.parts, q.Runs = part.Kind, part.Inherits,
			d.figures(known, part.Figures), true, nil, nil
		switch part.Kind {
		case kindStack:
			q.Machines = []MachineFigures{{AppliesTo: p.AppliesTo, FittedTo: p.FittedTo, Figures: q.Figures}}
			q.AppliesTo, q.Figures = []string{p.Stack}, map[string]float64{}
		case kindMemory:
			q.AppliesTo = []string{string(recipe.Stack(p.Stack).Resolve())}
		}
		p.parts = append(p.parts, q)
	}
}

// Fitted is a calibration that was fitted to runs on one machine.
type Fitted struct {
	ID             string
	Machine        hardware.Cluster
	Stack          recipe.Stack
	FittedTo, Note string
	Error, LeftOut float64            // mean absolute relative errors after the fit, and of runs left out
	Figures        map[string]float64 // by key of the calibration files
	Runs           []FittedRun
	Source         string
}

// FittedText returns the file of a fitted calibration. Each part inherits from the file that is
// in force on the machine; where that is a fitted one of the same id, from what that inherits,
// with its figures.
func (l *Library) FittedText(of *Fitted) ([]byte, error) {
	machine, stack := []string{of.Machine.ID, of.Machine.GPU.ID, "*"}, of.Stack
	if stack == recipe.DefaultStack {
		stack = stack.Resolve()
	}
	if l.speaksOf(kindGPU, of.Machine.ID) != nil { // a cluster of its own, without a preset
		machine = machine[1:]
	}
	files := l.calibrationFiles()
	out := CalibrationPreset{
		ID: of.ID, Kind: kindFitted, AppliesTo: machine[:1], Stack: string(stack), FittedTo: of.FittedTo,
		FitError: of.Error, HeldError: of.LeftOut, Note: of.Note, Source: of.Source, Runs: of.Runs,
	}
	for _, kind := range []string{kindGPU, kindNetwork, kindStack, kindMemory} {
		inForce := files.pick(kind, machine)
		switch kind {
		case kindStack:
			inForce = files.ofStack(kind, stack)
		case kindMemory:
			inForce = files.ofStack(kind, stack.Resolve())
		}
		if inForce == nil {
			continue
		}
		known, _ := figureRanges(kind)
		part := fittedPart{Kind: kind, Inherits: inForce.ID, Figures: map[string]float64{}}
		for _, r := range known {
			if v, ok := of.Figures[r.key]; ok {
				part.Figures[r.key] = v
			}
		}
		if inForce.ID == of.ID {
			part.Inherits = inForce.Inherits
			before := maps.Clone(inForce.Figures)
			for _, m := range inForce.Machines {
				maps.Copy(before, m.Figures)
			}
			maps.Copy(before, part.Figures)
			part.Figures = before
		}
		if len(part.Figures) > 0 {
			out.Parts = append(out.Parts, part)
		}
	}
	return toml.Marshal(out)
}

// WithFitted returns a library with a fitted calibration before those of base, from the text of
// its file, and the stack that it is of.
func WithFitted(name string, text []byte, base *Library) (*Library, recipe.Stack, error) {
	l := newLibrary(embed.FS{}, base)
	l.outside, l.folder = base.outside, base.folder
	var head struct {
		ID string `toml:"id"`
	}
	_, _ = input.DecodeTOML(name, text, &head)
	p, err := parseCalibration(l, &document{name: name, id: head.ID, text: text})
	if err == nil && p.parts == nil {
		err = &input.Error{
			File: name, Key: "kind",
			Err: errors.New("given " + escape.Line(p.Kind) +
				", allowed is fitted: other presets belong into the folder of your presets"),
		}
	}
	if err != nil {
		return nil, "", err
	}
	l.calibrations.listing.Do(func() { l.calibrations.all = []CalibrationPreset{p} })
	if errs := l.refuseCalibrations(); len(errs) > 0 {
		return nil, "", errs[0]
	}
	return l, recipe.Stack(p.Stack), nil
}
