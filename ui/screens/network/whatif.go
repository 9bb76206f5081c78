package network

import (
	"context"
	"fmt"
	"math"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/overlap"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// steps is the number of bandwidths of the ladder, from an eighth to eight
// times the one there is.
const (
	steps = 7
	asIs  = steps / 2
)

// query identifies a ladder of bandwidths.
type query struct {
	setup engine.Setup
	inter bool
}

// whatIf is the step at each bandwidth of the ladder.
type whatIf struct {
	query
	known bool
	step  [steps]float64 // seconds; NaN: no figures
	mfu   [steps]float64
}

// inter says which link the ladder turns: the one between scale-up domains
// where there are several, unless the other was asked for.
func (v *overview) inter(in *screen.Context) bool {
	if in.Setup.Cluster.Inter.Bandwidth <= 0 {
		return false
	}
	return (in.Setup.GPUs > in.Setup.Cluster.Domain()) != v.other
}

func (v *overview) query(in *screen.Context) query { return query{*in.Setup, v.inter(in)} }

// Refresh asks for the data that the screen lacks: to be called when it is opened and
// after every change of the setup. The Request is empty where nothing is
// missing or it is under way.
func (v *overview) Refresh(in *screen.Context) screen.Request {
	if !known(in) {
		return screen.Request{}
	}
	q := v.query(in)
	if v.pending == q {
		return screen.Request{}
	}
	v.pending = q
	job := v.jobs.Begin()
	report := *in.Report
	return screen.Request{Work: func(ctx context.Context) func() {
		answer, ok := ask(ctx, q, &report)
		return func() {
			switch {
			case !v.jobs.End(job): // another one is on its way
			case ok:
				v.answer = answer
			default:
				v.pending = query{} // stopped: ask again
			}
		}
	}}
}

// Forget is for when the screen is left: it has nothing that is large.
func (*overview) Forget() {}

// ask evaluates the setup, whose report is there, at each bandwidth; false: it
// was stopped.
func ask(ctx context.Context, q query, r *engine.Report) (whatIf, bool) {
	a := whatIf{query: q, known: true}
	e := engine.EvaluatorFrom(r)
	e.SkipTimeline = true
	stop := func() bool { return ctx.Err() != nil }
	for i := range steps {
		a.step[i], a.mfu[i] = math.NaN(), math.NaN()
		if stop() {
			return a, false
		}
		intra, inter := factorOf(i), 1.0
		if q.inter {
			intra, inter = inter, intra
		}
		r, ok := e.EvaluateUntil(overlap.ScaleBandwidth(q.setup, intra, inter), stop)
		if !ok {
			return a, false
		}
		if r.Legal && r.Time != nil && r.Throughput != nil {
			a.step[i], a.mfu[i] = float64(r.Time.Step), r.Throughput.MFU
		}
	}
	return a, true
}

func factorOf(i int) float64 { return math.Pow(2, float64(i-asIs)) }

func factorText(i int, g widget.Glyphs) string {
	if i < asIs {
		return g.Times + "1/" + figure.Comma(1<<(asIs-i))
	}
	return g.Times + figure.Comma(1<<(i-asIs))
}

// place returns the chosen bandwidth on the ladder.
func (v *overview) place() int { return min(max(asIs+v.factor, 0), steps-1) }

// current returns the last answer when it belongs to this setup.
func (v *overview) current(in *screen.Context) *whatIf {
	if v.answer.known && v.answer.query == v.query(in) {
		return &v.answer
	}
	return nil
}

// link returns the one that the ladder turns, and what it is called.
func (v *overview) link(in *screen.Context) (hardware.Link, string) {
	if v.inter(in) {
		return in.Setup.Cluster.Inter, "between domains"
	}
	return in.Setup.Cluster.Intra, "inside a domain"
}

// ladder shows step time and MFU at each bandwidth.
func (v *overview) ladder(in *screen.Context, w, h int) []string {
	if h <= 0 {
		return nil
	}
	link, where := v.link(in)
	detail := where + ", " + link.Name + " " + figure.Three(float64(link.Bandwidth)/1e9) + " GB/s"
	exact := in.Report.Time.BandOf("step", in.Glyphs.PlusMinus)
	remark := exact + ", same latency"
	const title = len("IF BANDWIDTH ") + 4
	if title+widget.Width(detail)+widget.Width(remark) > w {
		detail = where
	}
	if title+widget.Width(detail)+widget.Width(remark) > w {
		remark = exact
	}
	lines := []string{in.Heading(w, "IF BANDWIDTH", detail, remark)}
	a := v.current(in)
	const label, factor = 10, "bandwidth"
	cell := min(max((w-label)/steps, 1), 11)
	unit, size := "ms", 1e-3
	if a != nil && a.step[asIs] >= 1 {
		unit, size = "s", 1
	}
	if plot := h - ladderLines; plot >= 3 && a != nil {
		curve := widget.Curve{
			Values: a.step[:], Current: v.place(), Role: themes.Time,
			Band: in.Report.Time.ErrorBand, Unit: size,
		}
		for i := range steps {
			curve.At = append(curve.At, i*cell+cell-3)
		}
		tick := func(v float64) string { return figure.Round(figure.Three(v/size)) + " " + unit }
		for _, drawn := range curve.Plot(in.Theme, in.Glyphs, label+steps*cell, plot, label, tick) {
			lines = append(lines, drawn+widget.Blank(w-label-steps*cell))
		}
	}
	row := func(name string, role themes.Role, text func(i int) string) {
		l := widget.NewLine(w).Put(in.Paint(role), name)
		for i := range steps {
			t, paint, end := text(i), in.Paint(themes.Text), label+(i+1)*cell-1
			if i == v.place() {
				paint = in.Paint(themes.Current)
				if name == factor {
					t, end = "["+t+"]", end+1
				}
			}
			l.RightAligned(paint, t, end)
		}
		lines = append(lines, l.String())
	}
	row("step, "+unit, themes.Time, func(i int) string {
		if a == nil {
			return in.Glyphs.Ellipsis
		}
		return figure.Three(a.step[i] / size)
	})
	row("MFU, %", themes.Strong, func(i int) string {
		if a == nil {
			return in.Glyphs.Ellipsis
		}
		return figure.PercentValue(a.mfu[i])
	})
	row(factor, themes.Muted, func(i int) string { return factorText(i, in.Glyphs) })
	return widget.Height(lines, w, h)
}

// change says in words what the chosen bandwidth does.
func (v *overview) change(in *screen.Context) string {
	a, i := v.current(in), v.place()
	link, where := v.link(in)
	if a == nil || i == asIs {
		return ""
	}
	arrow := " " + in.Glyphs.Arrow + " "
	return fmt.Sprintf("%s %s%s%s GB/s: step %s%s%s, MFU %s%s%s", where,
		figure.Three(float64(link.Bandwidth)/1e9), arrow,
		figure.Three(factorOf(i)*float64(link.Bandwidth)/1e9),
		seconds(a.step[asIs]), arrow, seconds(a.step[i]),
		figure.Percent(a.mfu[asIs]), arrow, figure.Percent(a.mfu[i]))
}
