package engine

import (
	"fmt"
	"strconv"

	"meshscope/engine/hardware"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// NotValidated replaces the error band where no published group is close enough.
const NotValidated = noRun + " like this"

// noRun says the same where room is short.
const noRun = "no published run"

// Evidence holds the error of predictions for measured runs like this setup: that
// of the nearest validated group. Every predicted step time, throughput and peak
// memory carries one; only this file words it.
type Evidence struct {
	ErrorBand    *float64 `json:"error_band,omitempty"`       // relative; nine of ten runs of the group are closer
	TypicalError *float64 `json:"typical_error,omitempty"`    // relative; half of them are
	ValidatedBy  string   `json:"validated_by"`               // the group of published runs, or NotValidated
	Runs         int      `json:"validated_runs,omitempty"`   // of the group on this GPU and stack
	Fitted       *bool    `json:"validated_fitted,omitempty"` // constants were fitted to these runs
}

// evidence finds the published runs nearest to the setup.
func evidence(s *Setup, memory bool) Evidence {
	if !s.Stack.Traits().Formulas {
		like := Like(s)
		if b := s.Cluster.Nearest(memory, &like); b != nil {
			return Evidence{ErrorBand: &b.P90, TypicalError: &b.Median, ValidatedBy: b.Group, Runs: b.Rows, Fitted: &b.InSample}
		}
	}
	return Evidence{ValidatedBy: NotValidated}
}

// record records the source of the error of a part of the report; what names the
// figure.
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

// Like returns the traits by which a setup is compared with published runs.
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

// Validated reports whether there is a group.
func (e *Evidence) Validated() bool { return e.ErrorBand != nil && e.TypicalError != nil }

// Band writes the error that nine of ten runs of the group stay below, after a
// sign ("±" gives "±8.2 %", "within " gives "within 8.2 %"), or NotValidated.
func (e *Evidence) Band(sign string) string {
	if !e.Validated() {
		return NotValidated
	}
	return sign + errorPercent(*e.ErrorBand)
}

// BandOf writes the band after the figures that it belongs to ("steps ±8.2 %"), or
// NotValidated alone.
func (e *Evidence) BandOf(figures, sign string) string {
	if !e.Validated() {
		return NotValidated
	}
	return figures + " " + e.Band(sign)
}

// BandBrief writes the band where room is short: without a group the first words of
// NotValidated.
func (e *Evidence) BandBrief(sign string) string {
	if !e.Validated() {
		return noRun
	}
	return e.Band(sign)
}

// Close reports whether the error band of the peak covers the usable memory: then the
// figure alone does not tell whether the setup fits. It is false without a band.
func (m *Memory) Close() bool {
	slip := m.Slip()
	return slip > 0 && m.Peak-slip <= m.Usable && m.Usable < m.Peak+slip
}

// Slip returns the error band of the peak in bytes, either way; 0 without a band.
func (m *Memory) Slip() units.Bytes {
	if m.ErrorBand == nil {
		return 0
	}
	return m.Peak * units.Bytes(*m.ErrorBand)
}

// Words explains the band in a sentence: its group, the number of runs, and whether
// constants were fitted to them.
func (e *Evidence) Words() string {
	if !e.Validated() {
		return NotValidated
	}
	return fmt.Sprintf("nine of ten of the %d runs of %s were predicted within %s, half of them within %s; %s",
		e.Runs, e.ValidatedBy, errorPercent(*e.ErrorBand), errorPercent(*e.TypicalError), e.fit("constants were fitted to them", "nothing was fitted to them"))
}

// Note writes Words in brief, for one line of a screen.
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
