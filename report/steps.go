package report

import (
	"fmt"
	"slices"

	"meshscope/engine/record"
	"meshscope/presets/steps"
)

// StepValidation compares measured training steps with their predictions.
type StepValidation struct {
	SchemaVersion int              `json:"schema_version"`
	Rows          []steps.Step     `json:"rows"`
	Unmapped      []steps.Unmapped `json:"unmapped"`
}

// stepFigures are the figures of a step that errors are given of.
func stepFigures() [7]stepFigure {
	return [...]stepFigure{
		{"peak allocated", record.Memory, func(s *steps.Step) steps.Pair { return s.PeakAllocated }},
		{"after forward", record.Memory, func(s *steps.Step) steps.Pair { return s.AfterForward }},
		{"reserved", record.Memory, func(s *steps.Step) steps.Pair { return s.Reserved }},
		{"forward", record.Seconds, func(s *steps.Step) steps.Pair { return s.Forward }},
		{"backward", record.Seconds, func(s *steps.Step) steps.Pair { return s.Backward }},
		{"optimizer", record.Seconds, func(s *steps.Step) steps.Pair { return s.Optimizer }},
		{"step", record.Seconds, func(s *steps.Step) steps.Pair { return s.Step }},
	}
}

type stepFigure struct {
	head string
	unit record.Unit
	of   func(*steps.Step) steps.Pair
}

// Document returns every step phase by phase, the errors by kind and the records that are left out.
func (v *StepValidation) Document() *Document {
	out := &Document{}
	add := func(heading, lead string, t *Table) {
		if len(t.Rows) > 0 {
			out.Sections = append(out.Sections, Section{Heading: heading, Lead: lead, Blocks: []Block{t}})
		}
	}
	figures := stepFigures()
	for i := range v.Rows {
		s := &v.Rows[i]
		t := &Table{Head: []string{"", "measured", "predicted", "error"}}
		line := func(name string, u record.Unit, p steps.Pair) {
			t.add(Word(name), Figure(u, p.Measured), Figure(u, p.Predicted),
				written(fmt.Sprintf("%+.2f %%", 100*p.Error()), record.Share, p.Error()))
		}
		for _, p := range s.Phases {
			line(p.Name, record.Memory, p.Pair)
		}
		for _, f := range figures[2:] {
			line(f.head, f.unit, f.of(s))
		}
		lead := s.Kind + "; the peak is in the " + s.Moment
		if s.ComparedAs != "" {
			lead += "; compared as " + s.ComparedAs + ": there are no rules for its class"
		}
		add(s.Name, lead, t)
	}
	add("Errors by kind", "mean and largest absolute error", v.byKind())
	left := &Table{Head: []string{"record", "why"}}
	for _, u := range v.Unmapped {
		left.add(Word(u.Name), Word(u.Reason))
	}
	add("Left out", "records that are not compared", left)
	return out
}

// byKind returns mean and largest errors of all steps and of each kind.
func (v *StepValidation) byKind() *Table {
	figures := stepFigures()
	t := &Table{Head: []string{"kind", "steps"}}
	for _, f := range figures {
		t.Head = append(t.Head, f.head)
	}
	kinds := []string{""}
	for i := range v.Rows {
		if !slices.Contains(kinds, v.Rows[i].Kind) {
			kinds = append(kinds, v.Rows[i].Kind)
		}
	}
	for _, kind := range kinds {
		n := 0
		var sum, largest [len(figures)]float64
		for i := range v.Rows {
			if s := &v.Rows[i]; kind == "" || s.Kind == kind {
				n++
				for j, f := range figures {
					e := max(f.of(s).Error(), -f.of(s).Error())
					sum[j], largest[j] = sum[j]+e, max(largest[j], e)
				}
			}
		}
		if n == 0 {
			continue
		}
		name := kind
		if kind == "" {
			name = "all"
		}
		cells := []Cell{Word(name), Figure(record.Count, float64(n))}
		for j := range figures {
			mean := sum[j] / float64(n)
			cells = append(cells, written(fmt.Sprintf("%.2f / %.2f %%", 100*mean, 100*largest[j]),
				record.Share, mean))
		}
		t.add(cells...)
	}
	return t
}
