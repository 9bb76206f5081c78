package ui

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
)

// TestMaskedPictures: while a figure is masked no picture depends on it. Where it is another, with all
// that follows from it, the frame is the same: no bar, curve, mark or word tells it.
func TestMaskedPictures(t *testing.T) {
	all, errs := everyLesson()
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
				var m *Model
				follows := func(grow float64) bool {
					m = taughtAt(t, l, at, size[0], size[1], nil)
					was := screenText(m)
					r := altered(m.legal.report, m.lesson.Play.Asked(), grow)
					changed := *l
					changed.Acts = slices.Clone(l.Acts)
					changed.Acts[at].Before.Report, changed.Acts[at].After.Report = r, r
					m.lesson.Play.Lesson = &changed
					m.now.report, m.legal.report = r, r
					m.serial++
					m.now.serial, m.legal.serial = m.serial, m.serial
					return withoutWidths(screenText(m)) != withoutWidths(was)
				}
				// a grown figure may equal another that is shown, which the mask then hides too
				if follows(1.5) && follows(1.43) && follows(1.61) {
					t.Errorf("%s, act %d: what is on the screen follows %v:\n%s", l.ID, at+1,
						m.lesson.Play.Asked(), screenText(m))
				}
			}
		}
	}
	if acts < 7 {
		t.Errorf("%d acts mask anything", acts)
	}
}

// withoutWidths is a screen without the widths of hidden numbers.
func withoutWidths(text string) string {
	return strings.Join(strings.Fields(regexp.MustCompile(`\?[?.,]*`).ReplaceAllString(text, "?")), " ")
}

// altered returns a report in which masked figures, and what follows from them, are larger.
func altered(r engine.Report, masked []string, grow float64) engine.Report {
	memory, time, rates := *r.Memory, *r.Time, *r.Throughput
	memory.Ranks = slices.Clone(memory.Ranks)
	r.Communication = slices.Clone(r.Communication)
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
				m.Weights, m.Gradients, m.Optimizer, m.Activations = m.Activations, m.Weights, m.Gradients,
					m.Optimizer
			}
		case strings.HasPrefix(id, "communication."):
			for i := range r.Communication {
				r.Communication[i].Exposed *= 1.5
				r.Communication[i].Seconds *= 1.5
				if !strings.HasSuffix(id, ".exposed") {
					r.Communication[i].Bytes *= 1.5
				}
			}
		case id == "time.exposed":
			time.Exposed *= 1.5
			for i := range r.Communication {
				r.Communication[i].Exposed *= 1.5
			}
		case id == "throughput.hfu":
			rates.HFU *= grow
		case id == "model.active-parameters":
			r.Model.ActiveParameters *= grow
		default: // how fast it is
			time.Step /= units.Seconds(grow)
			rates.MFU, rates.HFU, rates.ModelTFLOPSPerGPU = rates.MFU*grow, rates.HFU*grow,
				rates.ModelTFLOPSPerGPU*grow
			rates.TokensPerSecond, rates.TokensPerSecondPerGPU = rates.TokensPerSecond*grow,
				rates.TokensPerSecondPerGPU*grow
		}
	}
	memory.Fits = memory.Peak <= memory.Usable
	r.Memory, r.Time, r.Throughput = &memory, &time, &rates
	return r
}

// TestStageFrames is the stage as it is drawn: asking, answered, and without Unicode or colours. Digits are
// left out: predictions get better.
func TestStageFrames(t *testing.T) {
	digits := regexp.MustCompile(`\d`)
	l := built(t, "second-step")
	for _, c := range []struct {
		name string
		act  int
		w, h int
		keys string
		o    func(*Options)
	}{
		{"80x24-asks", 2, 80, 24, "b", nil},
		{"120x36-answered", 2, 120, 36, "b space", nil},
		{"80x24-ascii", 0, 80, 24, "", func(o *Options) { o.ASCII, o.NoColor = true, true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := taughtAt(t, l, c.act, c.w, c.h, c.o)
			tell(m, strings.Fields(c.keys)...)
			text := screenText(m)
			if strings.HasSuffix(c.name, "ascii") &&
				strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
				t.Errorf("not ASCII:\n%s", text)
			}
			golden.RequireEqual(t, digits.ReplaceAllString(text, "0"))
		})
	}
}

// TestStageColours: with 16 colours and with none the stage says in signs what it says in colours.
func TestStageColours(t *testing.T) {
	l := built(t, "second-step")
	for _, profile := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ASCII} {
		m := taughtAt(t, l, 2, 80, 24, nil)
		_, cmd := m.Update(tea.ColorProfileMsg{Profile: profile})
		followed(m, cmd)
		tell(m, "b")
		frame := m.View().Content
		if strings.Contains(frame, "38;5;") || strings.Contains(frame, "38;2;") {
			t.Errorf("%v: more than 16 colours", profile)
		}
		if text := screenText(m); !strings.Contains(text, "▸ b") ||
			!strings.Contains(text, "[over a step]") || !strings.Contains(text, "┤1├") {
			t.Errorf("%v: the answer, the pane or the knob is told by colour alone:\n%s", profile, text)
		}
	}
}
