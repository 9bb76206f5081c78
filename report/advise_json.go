package report

import (
	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/compare"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// adviceDocument is the JSON of advice.
type adviceDocument struct {
	Header
	Setup engine.Setup `json:"setup"`
	Fits  bool         `json:"fits"`
	// StepBand and PeakBand are the relative errors of the setup's step and peak.
	StepBand float64        `json:"error_band_step"`
	PeakBand float64        `json:"error_band_memory"`
	Moment   *PeakMoment    `json:"peak_moment,omitempty"` // where it does not fit with its error band
	Terms    []advise.Term  `json:"memory_terms"`
	Limits   []advise.Limit `json:"limits"`
	Moves    []moveDocument `json:"moves"`
	Looked   advise.Looked  `json:"looked_at"`
	Knobs    []advise.Knob  `json:"knobs"`
	Rules    []ruleDocument `json:"rules"`
	Missed   *search.Missed `json:"deadline_missed,omitempty"` // where no move meets it either
}

type moveDocument struct {
	Changes []compare.Change `json:"changes"`
	Flags   string           `json:"flags,omitempty"` // that give this setup; absent where no flags do
	Fits    bool             `json:"fits"`
	State   engine.Fit       `json:"state"`
	Last    string           `json:"ranked_last_because,omitempty"`
	Step    float64          `json:"step_seconds"`
	// where no unproven overlap works; Speed is of it
	Slow   float64     `json:"pessimistic_step_seconds"`
	Speed  float64     `json:"speed"`
	Run    *engine.Run `json:"run,omitempty"` // where tokens of the run are given
	InTime *bool       `json:"meets_deadline,omitempty"`
	Peak   float64     `json:"peak_bytes"`
	Saved  float64     `json:"saved_bytes"`

	StepBand float64 `json:"error_band_step"` // relative errors of Step and Peak, as eval has them
	PeakBand float64 `json:"error_band_memory"`
}

type ruleDocument struct {
	*advise.Rule
	Move *moveDocument `json:"move,omitempty"`
}

// Answer returns the advice for all formats.
func (a *Advice) Answer(version string) *Answer {
	return &Answer{Document: a.Document, Records: a.Records, Data: func() any { return a.data(version) }}
}

func (a *Advice) data(version string) adviceDocument {
	d := adviceDocument{
		Header: NewHeader(version), Setup: a.Setup, Fits: a.Report.Memory.Fits, Looked: a.Looked,
		StepBand: a.Report.Time.ErrorBand, PeakBand: a.Report.Memory.ErrorBand,
		Moment: MomentOfPeak(&a.Setup, &a.Report),
		Terms:  Listed(a.Terms), Limits: Listed(a.Limits), Moves: []moveDocument{}, Knobs: Listed(a.Knobs),
		Rules: []ruleDocument{}, Missed: a.Missed,
	}
	for i := range d.Knobs {
		d.Knobs[i].Values = Listed(d.Knobs[i].Values)
	}
	for i := range a.Moves {
		d.Moves = append(d.Moves, *a.move(&a.Moves[i]))
	}
	for i := range a.Rules {
		d.Rules = append(d.Rules, ruleDocument{&a.Rules[i], a.move(a.Rules[i].Move)})
	}
	return d
}

// move returns the document of a move; nil of nil.
func (a *Advice) move(m *advise.Move) *moveDocument {
	if m == nil {
		return nil
	}
	flags, _ := setupdoc.Flags(m.Setup, a.Library)
	d := &moveDocument{
		Changes: m.Changes, Flags: flags, Fits: m.Fits, State: m.Report.Memory.Fit, Last: m.Last,
		Step: float64(m.Report.Time.Step), Slow: float64(m.PessimisticStep), Speed: m.Speed,
		Peak: float64(m.Report.Memory.Peak), Saved: float64(m.Saved),
		StepBand: m.Report.Time.ErrorBand, PeakBand: m.Report.Memory.ErrorBand,
	}
	if d.Run = m.Report.Run; d.Run != nil && a.Deadline > 0 {
		in := a.meets(&m.Report, m.PessimisticStep)
		d.InTime = &in
	}
	return d
}
