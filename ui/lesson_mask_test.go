package ui

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/lessons"
	"meshscope/presets"
)

// TestMaskedPictures: while a figure is masked no picture depends on it. Where it is another, with all
// that follows from it, the frame is the same: no bar, curve, mark or word tells it.
func TestMaskedPictures(t *testing.T) {
	all, errs := lessons.All("", presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	acts := 0
	for i, l := range all {
		for at := range l.Acts {
			if len(l.Acts[at].Mask) == 0 {
				continue
			}
			if acts++; !draws.Deep() && i%3 != 0 {
				continue
			}
			for _, size := range [][2]int{{80, 24}, {120, 36}} {
				m := taughtAt(t, l, at, size[0], size[1])
				play := m.lesson.Play
				was := screenText(m)
				r := altered(m.legal.report, play.Asked())
				changed := *l
				changed.Acts = slices.Clone(l.Acts)
				changed.Acts[at].Before.Report, changed.Acts[at].After.Report = r, r
				m.lesson.Play.Lesson = &changed
				m.now.report, m.legal.report = r, r
				m.serial++
				m.now.serial, m.legal.serial = m.serial, m.serial
				if is := screenText(m); unhidden(is) != unhidden(was) {
					t.Errorf("%s, act %d: what is on the screen follows %v:\n%s\n%s", l.ID, at+1, play.Asked(), was, is)
				}
			}
		}
	}
	if acts < 7 {
		t.Errorf("%d acts mask anything", acts)
	}
}

// unhidden is a screen without the widths of hidden numbers.
func unhidden(text string) string {
	return strings.Join(strings.Fields(regexp.MustCompile(`\?[?.,]*`).ReplaceAllString(text, "?")), " ")
}

// altered returns a report in which masked figures, and what follows from them, are half as large again.
func altered(r engine.Report, masked []string) engine.Report {
	memory, time, rates := *r.Memory, *r.Time, *r.Throughput
	memory.Ranks = slices.Clone(memory.Ranks)
	r.Communication = slices.Clone(r.Communication)
	grow := 1.5
	for _, id := range masked {
		switch {
		case id == "memory.peak":
			memory.Peak *= 1.5
			for i := range memory.Ranks {
				memory.Ranks[i].Total *= 1.5
				memory.Ranks[i].Optimizer *= 2
			}
		case strings.HasPrefix(id, "memory.fullest."):
			memory.Peak *= 1.5
			for i := range memory.Ranks {
				m := &memory.Ranks[i]
				m.Total *= 1.5
				m.Weights, m.Gradients, m.Optimizer, m.Activations = m.Activations, m.Weights, m.Gradients, m.Optimizer
			}
		case strings.HasPrefix(id, "communication."):
			for i := range r.Communication {
				r.Communication[i].Exposed *= 1.5
			}
		case id == "time.exposed":
			time.Exposed *= 1.5
		case id == "throughput.hfu":
			rates.HFU *= grow
		case id == "model.active-parameters":
			r.Model.ActiveParameters *= grow
		default: // how fast it is
			time.Step /= 1.5
			rates.MFU, rates.HFU, rates.ModelTFLOPSPerGPU = rates.MFU*grow, rates.HFU*grow, rates.ModelTFLOPSPerGPU*grow
			rates.TokensPerSecond, rates.TokensPerSecondPerGPU = rates.TokensPerSecond*grow, rates.TokensPerSecondPerGPU*grow
		}
	}
	memory.Fits = memory.Peak <= memory.Usable
	r.Memory, r.Time, r.Throughput = &memory, &time, &rates
	return r
}
