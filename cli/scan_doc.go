package cli

import (
	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/engine/scan"
	"meshscope/engine/units"
	"meshscope/report"
)

// scanDocument is what scan --json prints.
type scanDocument struct {
	header
	Setup  engine.Setup   `json:"setup"` // the given setup
	X      scan.Axis      `json:"x"`
	By     *scan.Axis     `json:"by,omitempty"`
	Figure figureDocument `json:"figure"`
	Locks  struct {
		GPUs  bool `json:"gpus"`
		Batch bool `json:"batch"`
	} `json:"locks"`
	Usable units.Bytes     `json:"usable_bytes"`
	Points []pointDocument `json:"points"` // row by row
}

type figureDocument struct {
	ID   string      `json:"figure"`
	Name string      `json:"name"`
	Unit record.Unit `json:"unit"`
}

type pointDocument struct {
	X       string         `json:"x"`
	By      string         `json:"by,omitempty"`
	Verdict scan.Verdict   `json:"verdict"`
	Value   *float64       `json:"value"` // null if illegal or without this figure
	Current bool           `json:"current"`
	Why     string         `json:"why,omitempty"`
	Layout  *report.Layout `json:"layout,omitempty"` // of a legal point
}

func newScan(o *report.Scan) scanDocument {
	d := scanDocument{
		header: header{schemaVersion, version}, Setup: o.Query.Setup, X: o.Grid.X,
		Figure: figureDocument{o.Query.Figure, o.Name, o.Grid.Unit}, Usable: o.Grid.Usable, Points: []pointDocument{},
	}
	d.X.Values = listed(d.X.Values)
	if o.Grid.By.ID != "" {
		by := o.Grid.By
		by.Values = listed(by.Values)
		d.By = &by
	}
	d.Locks.GPUs, d.Locks.Batch = o.Query.Locks.GPUs, o.Query.Locks.Batch
	for p := range o.Points {
		point := pointDocument{X: p.X, By: p.By, Verdict: p.Verdict, Value: p.Value, Current: p.Current, Why: p.Why}
		if p.Verdict != scan.Illegal {
			layout := report.Layout(p.Setup)
			point.Layout = &layout
		}
		d.Points = append(d.Points, point)
	}
	return d
}
