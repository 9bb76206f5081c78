package lessons

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/fit"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/record"
	"meshscope/engine/step"
	"meshscope/presets/near"
)

// Side is a setup with its report: what an act compares.
type Side struct {
	Setup  engine.Setup
	Report engine.Report
}

// newSide evaluates a setup.
func newSide(s engine.Setup) Side { return Side{s, engine.Evaluate(s)} }

// Name is a name that lessons use for a figure.
type Name struct {
	Name string // in expressions: peak_first_step
	ID   string // of the figure that it stands for: memory.peak
	Says string // in words
	Yes  bool   // it holds or does not: no number
}

// derived is a figure that no report has.
type derived struct {
	Name
	unit record.Unit
	of   func(*Side) (float64, bool)
}

// yes returns a condition as a number.
func yes(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// derivedFigures lists the figures of lessons beyond those of a report.
func derivedFigures() []derived {
	overStep := func(read func(*engine.OverStep) float64) func(*Side) (float64, bool) {
		return func(s *Side) (float64, bool) {
			o, ok := engine.MemoryOverStep(s.Setup)
			if !ok {
				return 0, false
			}
			return read(&o), true
		}
	}
	limit := func(read func(*fit.Limits) int) func(*Side) (float64, bool) {
		return func(s *Side) (float64, bool) {
			l, ok := fit.Find(&engine.Evaluator{}, s.Setup)
			return float64(read(&l)), ok
		}
	}
	imbalance := func(zigzag bool) func(*Side) (float64, bool) {
		return func(s *Side) (float64, bool) {
			work := layout.CausalWork(s.Setup.Seq, s.Setup.CP, zigzag)
			sum := 0
			for _, w := range work {
				sum += w
			}
			return float64(slices.Max(work)) * float64(len(work)) / float64(max(sum, 1)), sum > 0
		}
	}
	return []derived{
		{
			Name{"fits", "memory.fits", "the fullest rank fits, and what is offloaded in host memory", true},
			record.Count,
			func(s *Side) (float64, bool) {
				return yes(s.Report.Memory.Fits), true
			},
		},
		{
			Name{
				"fits_first_step", "memory.fits-first-step",
				"the first step fits: the optimizer has no moments yet", true,
			},
			record.Count,
			overStep(func(o *engine.OverStep) float64 { return yes(o.Fits[0]) }),
		},
		{
			Name{"peak_first_step", "memory.peak-first-step", "peak of the first step", false},
			record.Memory,
			overStep(func(o *engine.OverStep) float64 {
				most := o.Ranks[0].Peaks[0]
				for _, r := range o.Ranks {
					most = max(most, r.Peaks[0])
				}
				return float64(most)
			}),
		},
		{Name{
			"longest_sequence", "memory.longest-sequence", "longest sequence that fits with its margin",
			false,
		}, record.Count, limit(func(l *fit.Limits) int { return l.Seq })},
		{
			Name{
				"largest_micro_batch", "memory.largest-micro-batch",
				"largest micro-batch that fits with its margin", false,
			},
			record.Count,
			limit(func(l *fit.Limits) int { return l.MBS }),
		},
		{
			Name{
				"causal_contiguous", "attention.causal-contiguous",
				"attention work of the busiest CP rank over the mean, sequence cut in order", false,
			},
			record.Count, imbalance(false),
		},
		{
			Name{"causal_zigzag", "attention.causal-zigzag", "the same, sequence cut zig-zag", false},
			record.Count, imbalance(true),
		},
	}
}

// ranked are the figures of a rank beyond those of a report: a name and the number of the rank.
func ranked(s *Side, name string) (float64, record.Unit, bool) {
	at := strings.LastIndexByte(name, '_')
	n, err := strconv.Atoi(name[at+1:])
	if err != nil || n < 0 {
		return 0, "", false
	}
	switch name[:max(at, 0)] {
	case "idle_rank":
		if t := s.Report.Timeline; t != nil && n < len(t.Ranks) {
			return t.Ranks[n].Idle, record.Seconds, true
		}
	case "causal_work_rank":
		if n < s.Setup.CP {
			return float64(layout.CausalWork(s.Setup.Seq, s.Setup.CP, s.Setup.Seq%(2*s.Setup.CP) == 0)[n]),
				record.Count, true
		}
	}
	return 0, "", false
}

// Names lists the short names of figures; in addition to them every figure that 'explain' lists and
// every knob that is a number has its own, with underscores for dots and hyphens.
func Names() []Name {
	var out []Name
	for _, w := range figures.Words() {
		out = append(out, Name{Name: flat(w.Word), ID: w.ID, Says: w.Name})
	}
	for _, d := range derivedFigures() {
		out = append(out, d.Name)
	}
	return append(out, Name{
		"idle_rank_N", "pipeline.idle.N", "time that pipeline rank N waits in a step",
		false,
	},
		Name{
			"causal_work_rank_N", "layer.attention.causal-work.N", "query-key pairs that CP rank N computes",
			false,
		})
}

// flat writes a name as expressions have it.
func flat(id string) string { return strings.NewReplacer(".", "_", "-", "_").Replace(id) }

// zero returns a value of the type that a figure has in expressions.
func zero(name string) any {
	for _, d := range derivedFigures() {
		if d.Yes && d.is(name) {
			return false
		}
	}
	return 0.0
}

func (d *derived) is(name string) bool { return d.Name.Name == name || flat(d.ID) == name }

// figure returns a figure of a side by any of its names.
func (s *Side) figure(id string) (figures.Figure, error) {
	name := flat(id)
	if !s.Report.Legal || s.Report.Memory == nil {
		return figures.Figure{}, fmt.Errorf("%s: the layout is illegal and has no figures", name)
	}
	for _, w := range figures.Words() {
		if flat(w.Word) == name {
			if f, ok := figures.Find(&s.Report, w.ID); ok {
				return f, nil
			}
		}
	}
	for _, d := range derivedFigures() {
		if d.is(name) {
			v, ok := d.of(s)
			if !ok {
				return figures.Figure{}, fmt.Errorf("%s: the layout has no such figure", name)
			}
			return figures.Figure{ID: d.ID, Value: v, Unit: d.unit}, nil
		}
	}
	if v, unit, ok := ranked(s, name); ok {
		return figures.Figure{ID: strings.NewReplacer("idle_rank_", "pipeline.idle.", "causal_work_rank_",
			"layer.attention.causal-work.").Replace(name), Value: v, Unit: unit}, nil
	}
	for _, k := range knob.All() {
		if k.Kind == knob.Number && flat(string(k.ID)) == name {
			return figures.Figure{ID: string(k.ID), Value: float64(k.Int(s.Setup)), Unit: record.Count}, nil
		}
	}
	if f, ok := figures.Find(&s.Report, id); ok {
		return f, nil
	}
	for _, f := range figures.List(&s.Report) {
		if flat(f.ID) == name {
			return f, nil
		}
	}
	if unit, ok := unsent(name); ok {
		return figures.Figure{ID: name, Unit: unit}, nil
	}
	return figures.Figure{}, unknownFigure(name)
}

// unknownID returns the error of an id that is none of those there are, with the one most like it.
func unknownID(kind, id string, ids []string) error {
	if nearest := near.Question(id, ids); nearest != "" {
		return fmt.Errorf("no %s %q%s There are %s", kind, id, nearest, strings.Join(ids, ", "))
	}
	return fmt.Errorf("no %s %q; there are %s", kind, id, strings.Join(ids, ", "))
}

// unknownFigure returns the error of a name that is no figure's, with the nearest short one.
func unknownFigure(name string) error {
	var known []string
	for _, n := range Names() {
		known = append(known, n.Name, flat(n.ID))
	}
	if nearest := near.Question(name, known); nearest != "" {
		return fmt.Errorf("unknown figure %s%s", name, nearest)
	}
	return fmt.Errorf("unknown figure %s; 'meshscope explain' lists them, with underscores for dots and "+
		"hyphens", name)
}

// unsent returns the unit of traffic that a layout does not have: it is zero.
func unsent(name string) (record.Unit, bool) {
	rest, ok := strings.CutPrefix(name, "communication_")
	links := step.LinkDimensions()
	for _, dimension := range append(links[:], "dp", "expert_dp", "mirror", "pp_wait", "pp") {
		what, of := strings.CutPrefix(rest, dimension+"_")
		unit, known := map[string]record.Unit{
			"bytes": record.Traffic, "seconds": record.Seconds,
			"exposed": record.Seconds,
		}[what]
		if ok && of && known {
			return unit, true
		}
	}
	return "", false
}
