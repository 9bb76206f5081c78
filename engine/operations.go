package engine

import (
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/record"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// Operation is one operation of a layer, of one micro-batch on one GPU.
type Operation struct {
	memory.Operation
	FLOPs    units.FLOPs   `json:"flops"` // of matrix products and scores, forward
	Forward  units.Seconds `json:"forward_seconds"`
	Backward units.Seconds `json:"backward_seconds"`
}

// OperationFigure is a figure that each operation has.
type OperationFigure struct {
	ID, Name string
	Unit     record.Unit
	Of       func(*Operation) float64
}

// OperationFigures lists the figures of an operation, in the order of tables.
func OperationFigures() []OperationFigure {
	return []OperationFigure{
		{"parameters", "params", record.Count, func(o *Operation) float64 { return o.Parameters }},
		{"flops", "FLOPs", record.FLOPs, func(o *Operation) float64 { return float64(o.FLOPs) }},
		{"saved", "saved", record.Memory, func(o *Operation) float64 { return float64(o.Activations) }},
		{
			"time", "time", record.Seconds,
			func(o *Operation) float64 { return float64(o.Forward + o.Backward) },
		},
	}
}

// LayerKind is one kind of layer of a setup, operation by operation.
type LayerKind struct {
	ID         string      `json:"id"`     // of the kind, in its figures
	Name       string      `json:"name"`   // "dense", "MoE", "sliding MoE"
	Layers     int         `json:"layers"` // of this kind in the model
	Operations []Operation `json:"operations"`
}

// Operation returns the operation of that ID; nil where the kind has none.
func (k *LayerKind) Operation(id string) *Operation {
	for i := range k.Operations {
		if k.Operations[i].ID == id {
			return &k.Operations[i]
		}
	}
	return nil
}

// whole is the part of an identifier that all operations of a layer have together.
const whole = "whole"

// Whole returns the sum of the operations.
func (k *LayerKind) Whole() Operation {
	sum := Operation{Operation: memory.Operation{ID: whole, Name: k.Name + " layer"}}
	for i := range k.Operations {
		o := &k.Operations[i]
		sum.Parameters += o.Parameters
		sum.States += o.States
		sum.Activations += o.Activations
		sum.FLOPs += o.FLOPs
		sum.Forward += o.Forward
		sum.Backward += o.Backward
	}
	return sum
}

// Figure returns the identifier of a figure of an operation; of one that has none, and of nil, that
// of the whole layer.
func (k *LayerKind) Figure(o *Operation, f *OperationFigure) string {
	id := whole
	if o != nil && f.Of(o) > 0 {
		id = o.ID
	}
	return "layer." + k.ID + "." + id + "." + f.ID
}

// Layers takes one layer of each kind that the model has to pieces. The second value is false
// for a setup that is illegal.
func (e *Evaluator) Layers(s Setup) ([]LayerKind, bool) {
	if !knob.Legal(&s) || e.Memory(s) == nil {
		return nil, false
	}
	return e.plan.operations(), true
}

// operations is Layers of a plan.
func (p *plan) operations() (kinds []LayerKind) {
	for i := range p.program.Layers {
		l := &p.program.Layers[i]
		k := LayerKind{ID: l.ID, Name: l.Words, Layers: l.Count}
		times := step.Operations(&p.step, l)
		for _, o := range memory.Operations(&p.mem, p.stack, l) {
			row := Operation{Operation: o}
			for _, t := range times {
				if t.ID == o.ID {
					row.FLOPs, row.Forward, row.Backward = t.FLOPs, t.Forward, t.Backward
				}
			}
			k.Operations = append(k.Operations, row)
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// recordLayers records what the operations of each kind of layer have, and their sums.
func (p *plan) recordLayers() {
	if !p.record.On() {
		return
	}
	for _, k := range p.operations() {
		sum := k.Whole()
		for _, f := range OperationFigures() {
			var terms []string
			for i := range k.Operations {
				if o := &k.Operations[i]; f.Of(o) > 0 {
					terms = append(terms, record.Ref(k.Figure(o, &f)))
				}
			}
			p.record.Figure(record.Entry{
				ID: k.Figure(nil, &f),
				Name: f.Name + " of the operations of one " + k.Name +
					" layer on one GPU, of one micro-batch", Symbol: f.ID + " of one " + k.Name + " layer",
				Unit: f.Unit, Formula: record.Sum(terms...), Value: f.Of(&sum),
				Source: "the sum of its operations",
			})
		}
	}
}
