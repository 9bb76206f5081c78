package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/presets/published"
	"meshscope/themes"
	"meshscope/ui/figure"
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
	measured, predicted float64 // tokens per second and GPU
}

// refreshMeasured reads the runs where others are wanted.
func (v *View) refreshMeasured(in *Input) Request {
	m := &v.measured
	want := runsOf{in.Setup.Model.ID, in.Setup.GPUs}
	if m.of == want && (m.done || m.jobs.Running()) {
		return Request{}
	}
	*m = measured{of: want, jobs: m.jobs}
	job := m.jobs.Begin()
	return Request{Work: func(open context.Context) func() {
		groups, err := published.Groups(v.lib)
		runs := like(open, groups, want)
		stopped := open.Err() != nil
		return func() {
			if !m.jobs.End(job) || stopped {
				return
			}
			m.done, m.runs = true, runs
			if err != nil {
				m.fault = err.Error()
			}
		}
	}}
}

// like are the runs of a model on the number of GPUs nearest to what is wanted.
func like(ctx context.Context, groups []published.Group, want runsOf) []run {
	var out []run
	best := math.Inf(1)
	e := engine.Evaluator{Brief: true}
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
			one := run{id: r.ID, source: groups[g].Source, setup: r.Setup, measured: r.TokensPerSecondPerGPU()}
			if p := e.Evaluate(r.Setup); p.Legal {
				one.predicted = p.Throughput.TokensPerSecondPerGPU
			}
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b run) int { return cmp.Compare(b.measured, a.measured) })
	return out
}

// measuredTable lists the runs, and where the setup in force would stand.
func (v *View) measuredTable(in *Input, w, h int) []string {
	m := &v.measured
	lines := []string{in.heading(w, "MEASURED", "published runs of this model", v.measuredRemark(in), themes.Muted)}
	switch {
	case !m.done:
		return widget.Height(append(lines, v.say(in, "reading the published runs", w)), w, h)
	case m.fault != "":
		return widget.Height(append(lines, v.say(in, m.fault, w)), w, h)
	case len(m.runs) == 0:
		return widget.Height(append(lines, v.say(in, "nobody published a run of "+in.Setup.Model.Name, w)), w, h)
	}
	lines = append(lines, v.standing(in, w))
	muted := in.paint(themes.Muted)
	head := widget.NewLine(w).RightAligned(muted, "measured", pointer+14).RightAligned(muted, "predicted", pointer+24).RightAligned(muted, "error %", pointer+32).Gap(2)
	lines = append(lines, head.Put(muted, in.cut("layout; tok/s/GPU", head.Left())).String())
	at := min(m.row, len(m.runs)-1)
	body := h - len(lines)
	from := page(at, body, len(m.runs))
	for i := from; i < min(from+body, len(m.runs)); i++ {
		lines = append(lines, v.runLine(in, i, i == at && v.inPicture, w))
	}
	return widget.Height(lines, w, h)
}

func (v *View) say(in *Input, text string, w int) string {
	return widget.NewLine(w).Gap(pointer).Put(in.paint(themes.Muted), in.cut(text, w-pointer)).String()
}

func (v *View) measuredRemark(in *Input) string {
	m := &v.measured
	if len(m.runs) == 0 {
		return ""
	}
	n := m.runs[0].setup.GPUs
	text := fmt.Sprintf("%d on %s GPUs", len(m.runs), figure.Comma(n))
	if n != in.Setup.GPUs {
		text += ", the nearest"
	}
	return text
}

// standing says which place among the measured runs the setup in force would
// take by its prediction.
func (v *View) standing(in *Input, w int) string {
	m := &v.measured
	l := widget.NewLine(w)
	own := v.own(in)
	if own == nil || m.runs[0].setup.GPUs != in.Setup.GPUs {
		return l.Gap(pointer).Put(in.paint(themes.Muted), in.cut("on another number of GPUs than this setup, so not ranked with it", w-pointer)).String()
	}
	place := 1
	for i := range m.runs {
		if m.runs[i].measured > own.perGPU {
			place++
		}
	}
	l.Put(in.paint(themes.Current), in.Glyphs.Here).To(pointer)
	if !own.fits {
		text := fmt.Sprintf("your setup does not fit, and so has no place among these (%s tok/s/GPU if it did)", figure.Three(own.perGPU))
		return l.Put(in.paint(themes.Text), in.cut(text, l.Left())).String()
	}
	text := fmt.Sprintf("your setup: %s tok/s/GPU predicted (%s), place %d among these %d", figure.Three(own.perGPU), in.Report.Time.Band(in.Glyphs.PlusMinus), place, len(m.runs))
	return l.Put(in.paint(themes.Text), in.cut(text, l.Left())).String()
}

func (v *View) runLine(in *Input, i int, here bool, w int) string {
	r := &v.measured.runs[i]
	l := widget.NewLine(w)
	role := themes.Text
	if here {
		role = themes.Focus
		l.Whole(in.paint(role)).Put(in.paint(role), in.Glyphs.Pointer)
	}
	l.RightAligned(in.paint(themes.Muted), fmt.Sprint(i+1), pointer+3)
	l.RightAligned(in.paint(role), figure.Three(r.measured), pointer+14)
	off := r.predicted/r.measured - 1
	errorPaint := in.paint(role)
	if !here && r.predicted > 0 {
		errorPaint = in.paint(errorRole(off))
	}
	predicted, wrong := in.Glyphs.None, in.Glyphs.None
	if r.predicted > 0 {
		predicted, wrong = figure.Three(r.predicted), figure.Signed(100*off, 1)
	}
	l.RightAligned(in.paint(role), predicted, pointer+24).RightAligned(errorPaint, wrong, pointer+32).Gap(2)
	return l.Put(in.paint(role), in.cut(briefWords(&r.setup), l.Left())).String()
}

// briefWords are a layout in few cells.
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

// errorRole is how an error is shown: within a tenth, a quarter, beyond.
func errorRole(e float64) themes.Role {
	switch a := math.Abs(e); {
	case a <= 0.1:
		return themes.Good
	case a <= 0.25:
		return themes.Warn
	default:
		return themes.Bad
	}
}

// measuredKey moves among the runs and takes one.
func (v *View) measuredKey(key string) (bool, Request) {
	m := &v.measured
	last := max(len(m.runs)-1, 0)
	switch key {
	case "up", "k":
		m.row = max(m.row-1, 0)
	case "down", "j":
		m.row = min(m.row+1, last)
	case "home":
		m.row = 0
	case "end", "G":
		m.row = last
	case "left", "right", "h", "l":
	case "enter":
		if len(m.runs) > 0 {
			r := &m.runs[min(m.row, last)]
			s := r.setup
			return true, Request{Setup: &s, Text: "published run " + r.id}
		}
	default:
		return false, Request{}
	}
	return true, Request{}
}

func (v *View) measuredStatus() string {
	m := &v.measured
	if len(m.runs) == 0 {
		return ""
	}
	r := &m.runs[min(m.row, len(m.runs)-1)]
	return fmt.Sprintf("%s: gbs %s, seq %s, %s. %s", r.id, figure.Comma(r.setup.GBS), figure.Comma(r.setup.Seq), r.setup.Stack, r.source)
}
