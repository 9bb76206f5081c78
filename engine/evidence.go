package engine

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/band"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Evidence holds the error band of a prediction: how far such predictions were from
// published runs, the more similar ones counting more (see package band). Every predicted
// step time, throughput and peak memory carries one; this file and band.Differences put it
// into words.
type Evidence struct {
	ErrorBand    float64 `json:"error_band"`    // relative; nine of ten published runs are closer
	TypicalError float64 `json:"typical_error"` // relative; half of them are
	// the group of the nearest runs; empty: no run is published
	ValidatedBy string           `json:"validated_by"`
	Runs        int              `json:"validated_runs"` // how many published runs are similar
	Fitted      bool             `json:"validated_fitted"`
	UserRuns    int              `json:"-"` // similar runs of the user's own that constants were fitted to
	Nearest     NearestRuns      `json:"nearest,omitzero"`
	Differs     band.Differences `json:"differs,omitzero"`
}

// NearestRuns are the published runs most like a setup.
type NearestRuns struct {
	Title   string  `json:"title"`   // of their group
	Example string  `json:"example"` // a run of them with the median error: model and GPUs
	Runs    int     `json:"runs"`
	Off     float64 `json:"mean_error"` // relative, in the larger direction
	// their GPUs are of another generation than the setup's
	Other bool `json:"other_generation,omitempty"`
	cell  *band.Cell
}

// RunsOf returns the runs of a cell.
func RunsOf(c *band.Cell) NearestRuns {
	return NearestRuns{Title: cmp.Or(c.Title, c.Group), Example: c.Example, Runs: c.Runs, Off: c.Off, cell: c}
}

// Cell returns the cell of the error bands that holds them; nil: there are none.
func (n *NearestRuns) Cell() *band.Cell { return n.cell }

// String names them: "DGX Cloud 25.04, Llama-3 70B on 64 H100 SXM5 (3 % off)".
func (n *NearestRuns) String() string {
	off := strconv.FormatFloat(100*n.Off, 'f', 0, 64) + " % off"
	if n.Off < 0.01 {
		off = "less than 1 % off"
	}
	if n.Runs > 1 {
		off = fmt.Sprintf("%d runs, %s on average", n.Runs, off)
	}
	if n.Other {
		off += "; another GPU generation"
	}
	return fmt.Sprintf("%s, %s (%s)", n.Title, n.Example, off)
}

// evidence works out the error band of the step time, or of the peak.
func (e *Evaluator) evidence(s *Setup, x *band.Traits, memory bool) Evidence {
	all := s.Cluster.Published
	if all == nil {
		b := band.Unknown().Of(x)
		return Evidence{ErrorBand: b.Error, TypicalError: b.Typical}
	}
	table, lens := &all.Time, &e.timeLens
	if memory {
		table, lens = &all.Memory, &e.memoryLens
	}
	b := lens.Of(table, x)
	userRuns := 0
	if cal := s.Cluster.Calibration; x.Custom && cal != nil && len(cal.Custom.Runs) > 0 {
		built := *x
		built.Custom = false
		userRuns = table.Narrow(&b, lens.Of(table, &built), x, cal.Custom.Runs)
	}
	out := Evidence{ErrorBand: b.Error, TypicalError: b.Typical, Runs: b.Similar, UserRuns: userRuns}
	if b.Nearest == nil {
		return out
	}
	out.ValidatedBy, out.Fitted = b.Nearest.Group, b.Nearest.Fitted
	out.Nearest = RunsOf(b.Nearest)
	out.Nearest.Other = b.Nearest.Generation != x.Generation
	for i, f := range table.Differences(x, b.Nearest) {
		out.Differs[i] = difference(f, s, x, e.plan.program)
	}
	return out
}

// Traits returns what a setup and its report are compared with published runs by.
func Traits(s *Setup, r *Report, memory bool) band.Traits {
	return traits(s, r, s.Groups(&s.Cluster), memory)
}

func traits(s *Setup, r *Report, groups layout.Groups, memory bool) band.Traits {
	m, stack := &s.Model, s.Stack.Resolve()
	x := band.Traits{
		GPU: s.Cluster.GPU.ID, Vendor: s.Cluster.GPU.Vendor, Generation: s.Cluster.GPU.Architecture,
		Stack: string(stack), Family: stack.Family(),
		Experts: m.IsMoE(), TP: reach(groups.TP), CP: reach(groups.CP), EP: reach(groups.EP),
		Pipeline: s.PP > 1, ZeRO3: s.ZeRO == 3,
		PCIe:      strings.Contains(s.Cluster.GPU.LinkName, "PCIe"),
		Recompute: s.Recompute.String() != string(recipe.RecomputeNone),
		Bits:      s.Precision.ProductBits(),
		GPUs:      band.LogOf(float64(s.GPUs)), MicroBatches: band.LogOf(float64(s.MicroBatches)),
		Active: band.LogOf(active(m, r)), Seq: band.LogOf(float64(s.Seq)), MBS: band.LogOf(float64(s.MBS)),
		Version: s.Stack.Release(),
	}
	if t := r.Time; t != nil && t.Step > 0 {
		x.NonCompute = 1 - float64((t.Compute+t.Recompute)/t.Step)
		for i := range r.Communication {
			x.Traffic += float64(r.Communication[i].Seconds / t.Step)
		}
	}
	switch {
	case m.Scans():
		x.Layers = "layers of linear attention"
	case !m.Only("*W-E"), m.IndexTopK|m.ResidualBlock|m.AltUpStreams|m.LayerInput|
		m.HyperStreams|m.OutputGroups > 0:
		x.Layers = "layers of a kind that was not measured"
	}
	if x.Inferred = m.Inferred(); x.Inferred {
		x.Layers += ", inferred"
	}
	if m.ReadAs != "" {
		x.Layers = "layers of a family read as another"
	}
	if m.IsMoE() {
		x.Load = band.LogOf(s.ExpertLoad())
	}
	markCustom(s, &x, memory)
	x.Normalize()
	return x
}

// active returns the parameters that a token passes.
func active(m *model.Model, r *Report) float64 {
	if r.Model != nil {
		return r.Model.ActiveParameters
	}
	return float64(m.Active())
}

// markCustom marks the traits that a user's calibration or cluster changes; for memory others than for time.
func markCustom(s *Setup, x *band.Traits, memory bool) {
	cal := s.Cluster.Calibration
	x.Custom = cal == nil || cal.Custom.Decides(memory, s.Stack)
	x.Changed = s.Cluster.Changed(memory, s.GPUs > s.Cluster.Domain())
}

// Distance returns how far two setups are apart in what decides how far their step times
// can be predicted alike; neither is evaluated.
func Distance(a, b *Setup) float64 {
	var none Report
	x, y := Traits(a, &none, false), Traits(b, &none, false)
	table := band.Unknown()
	if a.Cluster.Published != nil {
		table = &a.Cluster.Published.Time
	}
	return table.Distance(&x, &y)
}

func reach(g layout.Group) band.Reach {
	switch {
	case g.Size <= 1:
		return band.None
	case g.Crosses():
		return band.Across
	}
	return band.Inside
}

// difference says what a setup is in a feature.
func difference(f band.Feature, s *Setup, x *band.Traits, program *model.Program) band.Difference {
	d := band.Difference{Feature: f}
	switch f {
	case band.GPUs:
		d.Count = float64(s.GPUs)
	case band.MicroBatches:
		d.Count = float64(s.MicroBatches)
	case band.Seq:
		d.Count = float64(s.Seq)
	case band.Active:
		d.Count = program.Active()
	case band.GPU:
		d.Name = s.Cluster.GPU.ID
	case band.Stack:
		d.Name = string(s.Stack.Resolve())
	case band.MBS:
		d.Count = float64(s.MBS)
	case band.Layers:
		d.Name = x.Layers
	case band.Release:
		d.Name = string(s.Stack)
	case band.Precision:
		d.Name = string(s.Precision)
	case band.TP:
		d.Count, d.Name = float64(s.TP), x.TP.String()
	case band.CP:
		d.Count, d.Name = float64(s.CP), x.CP.String()
	case band.EP:
		d.Count, d.Name = float64(s.EP), x.EP.String()
	case band.Pipeline:
		d.Count = float64(s.PP)
	case band.ZeRO3:
		d.Count = float64(s.ZeRO)
	case band.Load:
		d.Count = 100 * s.ExpertLoad()
	case band.Experts:
		d.Count = float64(s.Model.Experts)
	case band.Wait:
		d.Count = x.NonCompute
	case band.Traffic:
		d.Count = x.Traffic
	default: // the words say it all
	}
	return d
}

// record records where the error of a part of the report comes from; what names the
// figure.
func (e *Evidence) record(rec *record.Recorder, part, what string) {
	if !rec.On() {
		return
	}
	for _, f := range [...]struct {
		id, name, symbol string
		unit             record.Unit
		value            float64
	}{
		{
			"error-band",
			"error of " + what + " that nine of ten published runs stay below, the similar ones counting " +
				"more", "error band", record.Share, e.ErrorBand,
		},
		{
			"typical-error",
			"error of " + what + " that half of the published runs stay below, the similar ones counting " +
				"more", "typical error", record.Share, e.TypicalError,
		},
		{
			"validated-runs", "similar published runs with a measured " + what, "runs", record.Count,
			float64(e.Runs),
		},
		{
			"nearest-runs", "published runs nearest to this setup, all alike", "nearest runs", record.Count,
			float64(e.Nearest.Runs),
		},
		{
			"nearest-error", "mean error of " + what + " of the nearest runs", "error of the nearest runs",
			record.Share, e.Nearest.Off,
		},
	} {
		rec.Figure(record.Entry{
			ID: part + "." + f.id, Name: f.name, Symbol: f.symbol, Unit: f.unit, Formula: "measured",
			Value: f.value,
			Source: "data: errors of published runs weighted by similarity, see validate and " +
				"docs/accuracy.md", LeavesOut: "software newer than the published runs",
		}, record.InUnit(f.unit, "measured", f.value))
	}
}

// Band writes the error that nine of ten published runs stay below, after a sign
// ("±" gives "±8.2 %", "within " gives "within 8.2 %").
func (e *Evidence) Band(sign string) string { return sign + errorPercent(e.ErrorBand) }

// BandOf writes the band after the figures that it belongs to: "steps ±8.2 %".
func (e *Evidence) BandOf(figures, sign string) string { return figures + " " + e.Band(sign) }

// CloseShare is the share of the error band within which two layouts are too close to
// call: most of an error is common to both.
const CloseShare = 0.25

// CloseMargin returns how far apart, relative to the better one, two predictions of this
// band are at most where they are too close to call.
func (e *Evidence) CloseMargin() float64 { return CloseShare * e.ErrorBand }

// TooClose reports whether two steps are too close to call: they differ, and by less than
// a quarter of the wider of their bands.
func (t *Time) TooClose(other *Time) bool {
	least, most := min(t.Step, other.Step), max(t.Step, other.Step)
	return least != most && float64(most/least)-1 <= max(t.CloseMargin(), other.CloseMargin())
}

// Fit says whether a layout fits, as far as the error of its memory lets one know.
type Fit string

// Whether a layout fits.
const (
	Fits  Fit = "fits"  // also with the error band on top
	Tight Fit = "tight" // the usable memory is inside the error band
	Over  Fit = "over"  // also with the error band taken off
)

// FitWithin compares a peak and its relative error band with the usable memory. The band
// is a ratio: what is measured lies between the peak over and the peak times 1 + band.
func FitWithin(peak, usable units.Bytes, band float64) Fit {
	up := units.Bytes(1 + band)
	switch {
	case peak*up <= usable:
		return Fits
	case peak > usable*up:
		return Over
	}
	return Tight
}

// HostOver returns by how much what is offloaded is more than the host memory of a node; 0 where it is not
// more, or where nobody states that.
func (m *Memory) HostOver() units.Bytes {
	if m.HostSize <= 0 {
		return 0
	}
	return max(m.Host-m.HostSize, 0)
}

// Needs returns what ranks layouts by memory: the peak; where host memory is too small, max(Peak, Usable) +
// Usable x HostOver / HostSize, so that a share short on the host weighs as that share of a GPU.
func (m *Memory) Needs() units.Bytes {
	if over := m.HostOver(); over > 0 {
		return max(m.Peak, m.Usable) + m.Usable*(over/m.HostSize)
	}
	return m.Peak
}

// HostWords tells by how much host memory is too small; empty where it is not.
func (m *Memory) HostWords() string {
	if m.HostOver() == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f GiB over in the host memory of a node (%.1f of %.1f)", m.HostOver().GiB(),
		m.Host.GiB(), m.HostSize.GiB())
}

// OnGPU says whether a layout fits in the memory of its GPUs, whatever host memory has.
func (m *Memory) OnGPU() Fit { return FitWithin(m.Peak, m.Usable, m.ErrorBand) }

// fit says whether a layout fits, on its GPUs and in host memory.
func (m *Memory) fit() Fit {
	if m.HostOver() > 0 {
		return Over
	}
	return m.OnGPU()
}

// FitWord is Fit in words: where host memory alone is too small it says so.
func (m *Memory) FitWord() string {
	if m.HostOver() > 0 && m.Peak <= m.Usable {
		return "host over"
	}
	return string(m.Fit)
}

// PeakErrorBytes returns the error band of the peak in bytes, upwards.
func (m *Memory) PeakErrorBytes() units.Bytes { return m.Peak * units.Bytes(m.ErrorBand) }

// DefaultHeadroom is the share of usable memory that a layout leaves free at least, where no
// other share is asked for, before it is proposed: the tensor-by-tensor peak leaves
// fragmentation, other processes on the GPU and changes of the software out.
const DefaultHeadroom = 0.05

// Margin returns the memory that a layout leaves free by default before it is proposed:
// DefaultHeadroom of the usable memory, or the error band of the peak where that is
// larger. With it a peak of 1 + band times the prediction still fits.
func (m *Memory) Margin() units.Bytes {
	band := m.Usable * units.Bytes(m.ErrorBand/(1+m.ErrorBand))
	return max(m.Usable*DefaultHeadroom, band)
}

// HasMargin reports whether a layout leaves its Margin free. Search, advice and the largest
// values that fit prefer layouts that do.
func (m *Memory) HasMargin() bool { return m.roomFor(1) }

// HasAmpleMargin reports whether a layout leaves twice its Margin free. Of layouts that are too close to
// call one that does leads: what the margin is for costs nothing there.
func (m *Memory) HasAmpleMargin() bool { return m.roomFor(2) }

// roomFor reports whether a layout leaves that many times its Margin free, and fits in host memory.
func (m *Memory) roomFor(times units.Bytes) bool {
	return m.Peak+times*m.Margin() <= m.Usable && m.HostOver() == 0
}

// few is the number of similar runs below which the band is mostly that of other runs.
const few = 3

// Words explains the band in a sentence: how many runs are similar, which are nearest
// and how far off they are, and what differs here.
func (e *Evidence) Words() string {
	within, text := errorPercent(e.ErrorBand), ""
	switch {
	case e.ValidatedBy == "":
		return "within " + within + ": no published run is known"
	case e.UserRuns > 0:
		text = fmt.Sprintf("within %s: %d of your own runs are like this, each predicted by a fit without "+
			"it; nearest published: %s", within, e.UserRuns, e.Nearest.String())
	case e.Runs < few:
		text = "within " + within + ": few runs like this are published; nearest: " + e.Nearest.String()
	default:
		text = fmt.Sprintf("nine of ten published runs are within %s, half within %s; %d similar runs, "+
			"nearest for example: %s", within, errorPercent(e.TypicalError), e.Runs, e.Nearest.String())
	}
	if e.Fitted {
		text += "; constants were fitted to these"
	}
	if differs := e.Differs.Words(); differs != "" {
		text += "; different here: " + differs
	}
	return text
}

// Note writes Words in brief, for one line of a screen.
func (e *Evidence) Note() string {
	switch {
	case e.ValidatedBy == "":
		return "no published run is known"
	case e.UserRuns > 0:
		return fmt.Sprintf("%d of your own runs are like this, nearest published %s", e.UserRuns,
			e.Nearest.Title)
	case e.Runs < few:
		return "few published runs like this, nearest " + e.Nearest.Title
	}
	return fmt.Sprintf("%d similar runs, nearest %s; half within %s", e.Runs, e.Nearest.Title,
		errorPercent(e.TypicalError))
}

// Count writes Note without the nearest runs.
func (e *Evidence) Count() string {
	switch {
	case e.ValidatedBy == "":
		return e.Note()
	case e.UserRuns > 0:
		return fmt.Sprintf("%d of your own runs are like this", e.UserRuns)
	case e.Runs < few:
		return "few published runs like this"
	}
	return fmt.Sprintf("%d similar runs; half within %s", e.Runs, errorPercent(e.TypicalError))
}

// errorPercent writes an error with two digits at most: more would pretend to know the
// error itself.
func errorPercent(f float64) string {
	digits := 1
	if f >= 0.0995 {
		digits = 0
	}
	return strconv.FormatFloat(100*f, 'f', digits, 64) + " %"
}
