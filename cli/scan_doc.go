package cli

import (
	"io"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/units"
	"meshscope/ui/export"
)

// scanDocument is what scan --json prints.
type scanDocument struct {
	header
	Setup  engine.Setup   `json:"setup"` // the one that is turned
	X      engine.Axis    `json:"x"`
	By     *engine.Axis   `json:"by,omitempty"`
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
	Unit engine.Unit `json:"unit"`
}

type pointDocument struct {
	X       string          `json:"x"`
	By      string          `json:"by,omitempty"`
	Verdict engine.Verdict  `json:"verdict"`
	Value   *float64        `json:"value"` // null where it is illegal or has no such figure
	Current bool            `json:"current"`
	Why     string          `json:"why,omitempty"`
	Layout  *layoutDocument `json:"layout,omitempty"` // of a legal point
}

func (o *scanned) document() scanDocument {
	d := scanDocument{
		header: header{schemaVersion, version}, Setup: o.scan.Setup, X: o.grid.X,
		Figure: figureDocument{o.scan.Figure, o.name, o.grid.Unit}, Usable: o.grid.Usable, Points: []pointDocument{},
	}
	d.X.Values = listed(d.X.Values)
	if o.grid.By.ID != "" {
		by := o.grid.By
		by.Values = listed(by.Values)
		d.By = &by
	}
	d.Locks.GPUs, d.Locks.Batch = o.scan.Locks.GPUs, o.scan.Locks.Batch
	for p := range o.points {
		point := pointDocument{X: p.X, By: p.By, Verdict: p.Verdict, Value: p.Value, Current: p.Current, Why: p.Why}
		if p.Verdict != engine.PointIllegal {
			layout := newLayout(&p.Setup)
			point.Layout = &layout
		}
		d.Points = append(d.Points, point)
	}
	return d
}

// writeCSV writes a line per point, row by row.
func (o *scanned) writeCSV(to io.Writer) error {
	w := escape.NewCSV(to)
	by := string(o.grid.By.ID)
	head := []string{string(o.grid.X.ID), o.scan.Figure, "unit", "verdict", "current", "why"}
	if by != "" {
		head = append([]string{by}, head...)
	}
	w.Write(head...)
	for p := range o.points {
		cell := ""
		if p.Value != nil {
			cell = export.Digits(*p.Value)
		}
		row := []string{p.X, cell, string(o.grid.Unit), string(p.Verdict), strconv.FormatBool(p.Current), p.Why}
		if by != "" {
			row = append([]string{p.By}, row...)
		}
		w.Write(row...)
	}
	return w.Close()
}
