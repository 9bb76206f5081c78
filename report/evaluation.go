package report

import (
	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/search"
	"meshscope/engine/units"
)

// SchemaVersion is the version of every JSON document: it changes when a key is removed or
// changes its meaning.
const SchemaVersion = 1

// Header begins every JSON document.
type Header struct {
	SchemaVersion int    `json:"schema_version"`
	Version       string `json:"version"`
}

// NewHeader returns the header of a document by a version of the program.
func NewHeader(version string) Header { return Header{SchemaVersion, version} }

// Evaluation is a report with its setup, the JSON document of eval. Figures that an illegal
// setup does not have are absent; a legal setup without communication has an empty list.
type Evaluation struct {
	Header
	Setup    engine.Setup     `json:"setup"`
	Legal    bool             `json:"legal"`
	Problems []engine.Problem `json:"problems"`
	Memory   *engine.Memory   `json:"memory,omitempty"`
	// where it does not fit with its error band
	Moment        *PeakMoment             `json:"peak_moment,omitempty"`
	Pipeline      *engine.Pipeline        `json:"pipeline,omitempty"`
	Communication *[]engine.Communication `json:"communication,omitempty"`
	Time          *engine.Time            `json:"time,omitempty"`
	Range         *StepRange              `json:"step_range,omitempty"`
	Throughput    *engine.Throughput      `json:"throughput,omitempty"`
	Run           *engine.Run             `json:"run,omitempty"`
	// with public figures of what is not given of it
	TypicalRun  *engine.Run          `json:"typical_run,omitempty"`
	Model       *engine.ModelFigures `json:"model,omitempty"`
	Assumptions []string             `json:"assumptions"`
	NotModelled []string             `json:"not_modelled"`
	// the assumptions have their messages too
	NoEffect []engine.NoEffect `json:"no_effect,omitempty"`

	// Command is the command line that gives the setup; "" if no flags do.
	Command string `json:"-"`

	// Screen are the tables of the screen that the document was exported from; eval has none.
	Screen []Table `json:"screen,omitempty"`

	// UnsetBatch tells that no global batch was given.
	UnsetBatch bool `json:"-"`

	// Prices are what values that were not given are worth.
	Prices []advise.Price `json:"-"`

	// Chosen tells that no degree was given and how the layout was found; nil: one was.
	Chosen *search.Chosen `json:"layout_chosen,omitempty"`

	// Partial tells how the best layout is found where some degrees were given; empty: all, or none.
	Partial string `json:"-"`

	report engine.Report
}

// StepRange is a step from where all overlap works that is assumed to where none works of
// what few published runs show (engine.Pessimistic).
type StepRange struct {
	Assumed         units.Seconds `json:"overlap_assumed_seconds"`
	UnprovenOverlap units.Seconds `json:"unproven_overlap_exposed_seconds"`
}

// stepRange returns that of a report; nil where all overlap is proven.
func stepRange(s *engine.Setup, r *engine.Report) *StepRange {
	if r.Time == nil {
		return nil
	}
	if slow := engine.PessimisticStep(s, r); slow > r.Time.Step {
		return &StepRange{r.Time.Step, slow}
	}
	return nil
}

// NewEvaluation returns the evaluation of a setup and its report by a version of the
// program.
func NewEvaluation(version string, s engine.Setup, r engine.Report) Evaluation {
	idle := engine.NoEffects(&s, &r)
	r.Assumptions = engine.WithNoEffects(idle, r.Assumptions)
	d := Evaluation{
		Header: NewHeader(version), Setup: s,
		Legal: r.Legal, Problems: Listed(r.Problems),
		Memory: r.Memory, Pipeline: r.Pipeline, Time: r.Time, Throughput: r.Throughput, Run: r.Run,
		Model:       r.Model,
		Assumptions: Listed(r.Assumptions), NotModelled: Listed(r.NotModelled), NoEffect: idle,
		Range: stepRange(&s, &r), Moment: MomentOfPeak(&s, &r),
		report: r,
	}
	if r.Run != nil {
		d.TypicalRun = engine.TypicalRun(&s, r.Time)
	}
	if r.Legal {
		traffic := Listed(r.Communication)
		d.Communication = &traffic
	}
	return d
}

// Answer returns the evaluation for all formats.
func (d *Evaluation) Answer() *Answer {
	return &Answer{
		Document: d.document, Records: d.records, Data: func() any { return d }, Whole: true,
		Setup: func() *engine.Setup { return &d.Setup },
	}
}
