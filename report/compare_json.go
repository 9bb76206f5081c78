package report

import (
	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/figures"
	"meshscope/presets/setupdoc"
)

// comparisonDocument is the JSON of a comparison.
type comparisonDocument struct {
	Header
	A       Evaluation       `json:"a"` // that of eval
	B       Evaluation       `json:"b"`
	Changes []compare.Change `json:"changes"`
	Figures []deltaDocument  `json:"figures"`
	Way     []wayDocument    `json:"way"` // path from A to B in legal changes; empty if a side is illegal
	// Close says that the step times are too close to call.
	Close bool `json:"too_close_to_call"`
	// Held says what a side has from the other, for neither gives it.
	Held []string `json:"held,omitempty"`
}

type deltaDocument struct {
	*compare.Delta
	Change *float64 `json:"change"` // B - A
	Ratio  *float64 `json:"ratio"`  // B / A
	// BandA and BandB are the error bands of A and B; absent of what nobody measures.
	BandA *float64 `json:"error_band_a,omitempty"`
	BandB *float64 `json:"error_band_b,omitempty"`
}

type wayDocument struct {
	Fields []string `json:"fields"`
	*compare.Move
	Flags string `json:"flags,omitempty"`
}

// Answer returns the comparison for all formats.
func (c *Comparison) Answer(version string) *Answer {
	return &Answer{Document: c.Document, Records: c.Records, Data: func() any { return c.data(version) }}
}

func (c *Comparison) data(version string) comparisonDocument {
	d := comparisonDocument{
		Header: NewHeader(version),
		A:      NewEvaluation(version, c.A.Setup, c.A.Report),
		B:      NewEvaluation(version, c.B.Setup, c.B.Report),
		Held:   c.Held, Changes: Listed(c.Changes), Figures: []deltaDocument{}, Way: []wayDocument{},
	}
	d.A.Chosen, d.B.Chosen = c.Chosen[0], c.Chosen[1]
	if a, b := c.A.Report.Time, c.B.Report.Time; a != nil && b != nil {
		d.Close = a.TooClose(b)
	}
	for i := range c.Deltas {
		row := deltaDocument{Delta: &c.Deltas[i]}
		row.BandA, row.BandB = c.errorBands(row.Delta)
		if v, ok := row.Delta.Change(); ok {
			row.Change = &v
		}
		if v, ok := row.Delta.Ratio(); ok {
			row.Ratio = &v
		}
		d.Figures = append(d.Figures, row)
	}
	for i := range c.Way {
		move := wayDocument{Move: &c.Way[i]}
		move.Flags, _ = setupdoc.Flags(move.Setup, c.Library)
		for _, x := range move.Changes {
			move.Fields = append(move.Fields, x.Field)
		}
		d.Way = append(d.Way, move)
	}
	return d
}

// errorBands returns the error bands of a figure of A and of B; nil: there is none.
func (c *Comparison) errorBands(d *compare.Delta) (a, b *float64) {
	of := func(r *engine.Report, has bool) *float64 {
		e := figures.Evidence(r, d.ID)
		if e == nil || !has {
			return nil
		}
		return &e.ErrorBand
	}
	return of(&c.A.Report, d.A != nil), of(&c.B.Report, d.B != nil)
}
