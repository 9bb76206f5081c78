package report

import (
	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	"meshscope/engine/scan"
	"meshscope/engine/units"
)

// scanDocument is the JSON of a scan.
type scanDocument struct {
	Header
	Setup  engine.Setup    `json:"setup"` // the given setup
	X      scan.Axis       `json:"x"`
	By     *scan.Axis      `json:"by,omitempty"`
	Figure figureDocument  `json:"figure"`
	Locks  knob.Locks      `json:"locks"`
	Usable units.Bytes     `json:"usable_bytes"`
	Points []pointDocument `json:"points"` // row by row
}

type figureDocument struct {
	ID   string      `json:"figure"`
	Name string      `json:"name"`
	Unit record.Unit `json:"unit"`
}

type pointDocument struct {
	*scan.Point
	Layout *Layout `json:"layout,omitempty"` // of a legal point
}

// Answer returns the scan for all formats.
func (o *Scan) Answer(version string) *Answer {
	return &Answer{Document: o.Document, Records: o.Records, Data: func() any { return o.data(version) }}
}

func (o *Scan) data(version string) scanDocument {
	d := scanDocument{
		Header: NewHeader(version), Setup: o.Query.Setup, X: o.Grid.X,
		Figure: figureDocument{o.Query.Figure, o.Name, o.Grid.Unit},
		Locks:  o.Query.Locks, Usable: o.Grid.Usable, Points: []pointDocument{},
	}
	d.X.Values = Listed(d.X.Values)
	if o.Grid.By.ID != "" {
		by := o.Grid.By
		by.Values = Listed(by.Values)
		d.By = &by
	}
	for p := range o.Points {
		point := pointDocument{Point: p}
		if p.Verdict != scan.Illegal {
			point.Layout = (*Layout)(&p.Setup)
		}
		d.Points = append(d.Points, point)
	}
	return d
}
