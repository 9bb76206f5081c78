package engine

import (
	"fmt"
	"strconv"

	"meshscope/engine/hardware"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// NotValidated is said where no published group is close enough.
const NotValidated = "not validated here"

// Evidence is how far the model was from measured runs like this one: the error
// of the nearest validated group. It stands with every predicted step time,
// throughput and peak memory; this file is the one place that words it.
type Evidence struct {
	ErrorBand    *float64 `json:"error_band,omitempty"`       // relative; nine of ten runs of the group are closer
	TypicalError *float64 `json:"typical_error,omitempty"`    // relative; half of them are
	ValidatedBy  string   `json:"validated_by"`               // the group of published runs, or NotValidated
	Runs         int      `json:"validated_runs,omitempty"`   // of the group on this GPU and stack
	Fitted       *bool    `json:"validated_fitted,omitempty"` // constants were fitted to these runs
}

// evidence finds the published runs that are most like the setup.
func evidence(s *Setup, memory bool) Evidence {
	if !s.Stack.Traits().Formulas {
		like := Like(s)
		if b := s.Cluster.Nearest(memory, &like); b != nil {
			return Evidence{ErrorBand: &b.P90, TypicalError: &b.Median, ValidatedBy: b.Group, Runs: b.Rows, Fitted: &b.InSample}
		}
	}
	return Evidence{ValidatedBy: NotValidated}
}

// record takes down where the error of a part of the report comes from; what is
// whose error it is.
func (e *Evidence) record(rec *record.Recorder, part, what string) {
	if !rec.On() || !e.Validated() {
		return
	}
	for _, f := range [...]struct {
		id, name, symbol string
		unit             record.Unit
		value            float64
	}{
		{"error-band", "error of " + what + " that nine of ten runs of the nearest validated group stay below", "error of " + e.ValidatedBy, record.Share, *e.ErrorBand},
		{"typical-error", "median error of " + what + " in the nearest validated group", "error of " + e.ValidatedBy, record.Share, *e.TypicalError},
		{"validated-runs", "runs of the nearest validated group with a measured " + what, "runs", record.Count, float64(e.Runs)},
	} {
		rec.Figure(record.Entry{
			ID: part + "." + f.id, Name: f.name, Symbol: f.symbol, Unit: f.unit, Formula: "measured", Value: f.value,
			Source: "data: measured runs of " + e.ValidatedBy + ", see validate", LeavesOut: "how far this setup is from those runs",
		}, record.InUnit(f.unit, "measured", f.value))
	}
}

// Like is what a setup is compared by with published runs.
func Like(s *Setup) hardware.Like {
	return hardware.Like{
		Stack: s.Stack.Resolve(), MoE: s.Model.IsMoE(), GPUs: s.GPUs, Seq: s.Seq, TP: s.TP, PP: s.PP, CP: s.CP, EP: s.EP,
		Model: &s.Model, Precision: s.Precision.On(s.Stack), Schedule: string(s.Schedule),
		Recompute: s.Recompute.Mode, Offload: s.Offload,
		Recipe: hardware.Recipe{
			ZeRO: s.ZeRO, HSDP: s.Replicas() > 1, TP: s.TP > 1, SP: s.TP > 1 && s.SP,
			Attention: s.Attention, Optimizer: s.Optimizer, Gradients: s.GradDtype,
		},
	}
}

// Validated says whether there is a group.
func (e *Evidence) Validated() bool { return e.ErrorBand != nil && e.TypicalError != nil }

// Band is what stands beside a predicted figure: the error that nine of ten runs
// of the group stay below, after a sign ("±" gives "±8.2 %", "within " gives
// "within 8.2 %"), or NotValidated.
func (e *Evidence) Band(sign string) string {
	if !e.Validated() {
		return NotValidated
	}
	return sign + errorPercent(*e.ErrorBand)
}

// Close says whether the error band of the peak covers the usable memory: then the
// figure alone does not tell whether the setup fits. False where it is not validated.
func (m *Memory) Close() bool {
	slip := m.Slip()
	return slip > 0 && m.Peak-slip <= m.Usable && m.Usable < m.Peak+slip
}

// Slip is by how much the peak may be wrong, either way: its error band in bytes. 0
// where it is not validated.
func (m *Memory) Slip() units.Bytes {
	if m.ErrorBand == nil {
		return 0
	}
	return m.Peak * units.Bytes(*m.ErrorBand)
}

// Words explain the band in a sentence: whose error it is, of how many runs, and
// whether constants were fitted to them.
func (e *Evidence) Words() string {
	if !e.Validated() {
		return NotValidated
	}
	return fmt.Sprintf("nine of ten of the %d runs of %s were predicted within %s, half of them within %s; %s",
		e.Runs, e.ValidatedBy, errorPercent(*e.ErrorBand), errorPercent(*e.TypicalError), e.fit("constants were fitted to them", "nothing was fitted to them"))
}

// Note is what Words add to Band in brief, for a line of a screen.
func (e *Evidence) Note() string {
	if !e.Validated() {
		return NotValidated
	}
	return fmt.Sprintf("%d runs of %s, %s; half within %s", e.Runs, e.ValidatedBy, e.fit("fitted", "not fitted"), errorPercent(*e.TypicalError))
}

func (e *Evidence) fit(yes, no string) string {
	if e.Fitted != nil && *e.Fitted {
		return yes
	}
	return no
}

// errorPercent writes an error with two digits: more would pretend to know the
// error itself.
func errorPercent(f float64) string {
	digits := 1
	if f >= 0.0995 {
		digits = 0
	}
	return strconv.FormatFloat(100*f, 'f', digits, 64) + " %"
}
