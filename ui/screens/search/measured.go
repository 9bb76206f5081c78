package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/presets/published"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// measured are the published runs of the model on as many GPUs, or on the nearest
// number of them that somebody published.
type measured struct {
	of    runsOf
	done  bool
	jobs  widget.Jobs
	runs  []run // the fastest per GPU first
	fault string
	row   int // under the cursor
}

// runsOf is what runs are looked for.
type runsOf struct {
	model string
	gpus  int
}

// run is one published run: what was measured and what is predicted.
type run struct {
	id, source          string
	setup               engine.Setup
	measured, predicted float64 // tokens per second per GPU
}

// refreshMeasured reads the runs where others are wanted.
func (v *View) refreshMeasured(in *screen.Context) screen.Request {
	m := &v.measured
	want := runsOf{in.Setup.Model.ID, in.Setup.GPUs}
	if m.of == want && (m.done || m.jobs.Running()) {
		return screen.Request{}
	}
	*m = measured{of: want, jobs: m.jobs}
	return screen.Work(&m.jobs, func(open context.Context) measured {
		groups, err := published.Groups(v.lib)
		found := measured{done: true, runs: like(open, groups, want)}
		if err != nil {
			found.fault = err.Error()
		}
		return found
	}, func(found measured) { m.done, m.runs, m.fault = true, found.runs, found.fault })
}

// like returns the runs of a model on the number of GPUs nearest to what is wanted.
func like(ctx context.Context, groups []published.Group, want runsOf) []run {
	var out []run
	best := math.Inf(1)
	e := engine.Evaluator{SkipTimeline: true}
	for g := range groups {
		for i := range groups[g].Runs {
			r := &groups[g].Runs[i]
			if r.Step <= 0 || r.Setup.Model.ID != want.model || ctx.Err() != nil {
				continue
			}
			far := math.Abs(math.Log(float64(r.Setup.GPUs) / float64(max(want.gpus, 1))))
			if far > best {
				continue
			}
			if far < best {
				best, out = far, nil
			}
			one := run{
				id: r.ID, source: groups[g].Source, setup: r.Setup,
				measured: r.TokensPerSecondPerGPU(),
			}
			if p := e.Evaluate(r.Setup); p.Legal {
				one.predicted = p.Throughput.TokensPerSecondPerGPU
			}
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b run) int { return cmp.Compare(b.measured, a.measured) })
	return out
}

// measuredTable lists the runs, and where the current setup would stand.
func (v *View) measuredTable(in *screen.Context, w, h int) []string {
	m := &v.measured
	lines := []string{in.Heading(w, "MEASURED", "published runs of this model", v.measuredRemark(in))}
	switch {
	case !m.done:
		return widget.Height(append(lines, in.Note(w, "evaluating the published runs")), w, h)
	case m.fault != "":
		return widget.Height(append(lines, in.Note(w, m.fault)), w, h)
	case len(m.runs) == 0:
		return widget.Height(append(lines, in.Note(w, "no published run of "+in.Setup.Model.Name)), w, h)
	}
	lines = append(lines, v.standing(in, w))
	muted := in.Paint(themes.Muted)
	head := widget.NewLine(w).RightAligned(muted, "measured", pointer+14).RightAligned(muted, "predicted",
		pointer+24).RightAligned(muted, "time error %", pointer+38).Gap(2)
	what := "layout; tok/s/GPU"
	if m.gpu() == "" {
		what = "GPU, " + what
	}
	lines = append(lines, head.Put(muted, in.Cut(what, head.Left())).String())
	at := min(m.row, len(m.runs)-1)
	body := h - len(lines)
	from := widget.Page(at, body, len(m.runs))
	for i := from; i < min(from+body, len(m.runs)); i++ {
		lines = append(lines, v.runLine(in, i, i == at && v.inPicture, w))
	}
	return widget.Height(lines, w, h)
}

// gpu returns the GPU of all runs; empty where they have several.
func (m *measured) gpu() string {
	first := &m.runs[0].setup.Cluster.GPU
	for i := range m.runs {
		if m.runs[i].setup.Cluster.GPU.ID != first.ID {
			return ""
		}
	}
	return first.Name
}

func (v *View) measuredRemark(in *screen.Context) string {
	m := &v.measured
	if len(m.runs) == 0 {
		return ""
	}
	n := m.runs[0].setup.GPUs
	text := fmt.Sprintf("%d on %s", len(m.runs), figure.Plural(n, "GPU"))
	if gpu := m.gpu(); gpu != "" {
		text = fmt.Sprintf("%d on %s x %s", len(m.runs), figure.Comma(n), bareName(gpu))
	}
	if n != in.Setup.GPUs {
		text += ", the nearest"
	}
	return text
}

// standing says where the current setup would stand among the measured runs by its
// prediction, or what keeps it from being compared with them.
func (v *View) standing(in *screen.Context, w int) string {
	text := v.standingWords(in)
	l := widget.NewLine(w)
	if own := v.own(in); own != nil && v.measured.runs[0].setup.GPUs == in.Setup.GPUs {
		l.Put(in.Paint(themes.Current), in.Glyphs.Here)
	}
	l.To(pointer)
	return l.Put(in.Paint(themes.Text), in.Cut(text, l.Left())).String()
}

func (v *View) standingWords(in *screen.Context) string {
	m := &v.measured
	own := v.own(in)
	if len(in.Problems) > 0 || own == nil {
		return "your setup is illegal: no prediction to compare"
	}
	speed := figure.Three(own.PerGPU) + " tok/s/GPU"
	predicted := fmt.Sprintf("your setup: %s predicted (%s)", speed, in.Report.Time.Band(in.Glyphs.PlusMinus))
	all, faster := 0, 0
	for i := range m.runs {
		if m.runs[i].setup == *in.Setup {
			text := fmt.Sprintf("%s, it is run %d", predicted, i+1)
			if own.Fit == engine.Over {
				text += ", which ran although it is predicted not to fit"
			}
			return text
		}
		if m.runs[i].setup.Cluster.GPU.ID == in.Setup.Cluster.GPU.ID {
			all++
			if own.PerGPU > m.runs[i].measured {
				faster++
			}
		}
	}
	switch n := m.runs[0].setup.GPUs; {
	case n != in.Setup.GPUs:
		return fmt.Sprintf("no place for your setup, on %s (%s predicted)",
			figure.Plural(in.Setup.GPUs, "GPU"), speed)
	case all == 0:
		return fmt.Sprintf("no place for your setup, on %s (%s predicted)",
			bareName(in.Setup.Cluster.GPU.Name), speed)
	case own.Fit == engine.Over:
		return fmt.Sprintf("your setup does not fit, so it is not ranked here (would reach %s)", speed)
	case all == 1 && faster == 1:
		return predicted + ", faster than the one run on its GPU"
	case all == 1:
		return predicted + ", not faster than the one run on its GPU"
	}
	return predicted + fmt.Sprintf(", faster than %d of the %d on its GPU", faster, all)
}

// bareName returns the name of a GPU without where it stands.
func bareName(name string) string {
	name, _, _ = strings.Cut(name, " (")
	return name
}

func (v *View) runLine(in *screen.Context, i int, here bool, w int) string {
	r := &v.measured.runs[i]
	l, role := in.Row(w, here)
	l.RightAligned(in.Paint(themes.Muted), fmt.Sprint(i+1), pointer+3)
	l.RightAligned(in.Paint(role), figure.Three(r.measured), pointer+14)
	off := r.timeError()
	errorPaint := in.Paint(role)
	if !here && r.predicted > 0 {
		errorPaint = in.Paint(screen.ErrorRole(off))
	}
	predicted, wrong := in.Glyphs.None, in.Glyphs.None
	if r.predicted > 0 {
		predicted, wrong = figure.Three(r.predicted), figure.Signed(100*off, 1)
	}
	l.RightAligned(in.Paint(role), predicted, pointer+24).RightAligned(errorPaint, wrong, pointer+38).Gap(2)
	text := briefWords(&r.setup)
	if v.measured.gpu() == "" {
		text = bareName(r.setup.Cluster.GPU.Name) + ", " + text
	}
	return l.Put(in.Paint(role), in.Cut(text, l.Left())).String()
}

// timeError returns the predicted step over the measured one, less 1, as on Evidence: above 0
// the prediction is too slow. Infinite where nothing is predicted.
func (r *run) timeError() float64 { return r.measured/r.predicted - 1 }

// briefWords returns a layout in few cells.
func briefWords(s *engine.Setup) string {
	text := fmt.Sprintf("dp %d tp %d pp %d", s.DP, s.TP, s.PP)
	if s.VPP > 1 {
		text += fmt.Sprintf(" vpp %d", s.VPP)
	}
	if s.EP > 1 {
		text += fmt.Sprintf(" ep %d", s.EP)
	}
	return text + fmt.Sprintf(" z%d mbs %d gbs %d", s.ZeRO, s.MBS, s.GBS)
}

// takeRun takes the run under the cursor.
func (v *View) takeRun() screen.Request {
	m := &v.measured
	if len(m.runs) == 0 {
		return screen.Request{}
	}
	r := &m.runs[min(m.row, len(m.runs)-1)]
	return screen.Take(r.setup, "published run "+r.id)
}

func (v *View) measuredStatus() string {
	m := &v.measured
	if len(m.runs) == 0 {
		return ""
	}
	r := &m.runs[min(m.row, len(m.runs)-1)]
	return fmt.Sprintf("%s: %s x %s, gbs %s, seq %s, %s. %s", r.id, figure.Comma(r.setup.GPUs),
		r.setup.Cluster.GPU.Name,
		figure.Comma(r.setup.GBS), figure.Comma(r.setup.Seq), r.setup.Stack, r.source)
}
