package ui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/ui/frame"
	"meshscope/ui/state"
)

// TestFootSpeaks: what the last key caused is in sight at every size, whole or
// with its gist, whatever else there is to say.
func TestFootSpeaks(t *testing.T) {
	moe := setupOf(t, "deepseek-v3", "deepseek-h800", knob.Given{
		knob.GPUs: 2048, knob.PP: 16, knob.EP: 64, knob.GBS: 15360, knob.Seq: 4096,
	})
	few := setupOf(t, "llama3.1-70b", "dgx-h100",
		knob.Given{knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.GBS: 64})
	never := presets.DefaultSetup()
	never.PP = 16
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		for _, test := range []struct {
			name  string
			setup engine.Setup
			keys  []string
			want  []string
		}{
			{
				"a new warning", presets.DefaultSetup(),
				[]string{"right"},
				[]string{"! (+1) tp 16 exceeds the 8 GPUs"},
			},
			{
				"its end with the focus", presets.DefaultSetup(),
				[]string{"right", "down"},
				[]string{"uts weights with little traffic"},
			},
			{
				"a knob that does not turn", moe,
				[]string{"down", "down", "right"},
				[]string{"no other legal value", "112 or 128"},
			},
			{
				"an illegal value", presets.DefaultSetup(),
				[]string{"3", "enter"},
				[]string{"more problems", "ILLEGAL", "last legal setup"},
			},
			{
				"an illegal start", never, nil,
				[]string{
					"WHY IT IS ILLEGAL", "enter sets DP 1, micro-batches 512, PP 8",
					"no legal setup yet",
				},
			},
			{"the error band", presets.DefaultSetup(), nil, []string{"s ±18 %"}},
			{"what is waited for", presets.DefaultSetup(), nil, []string{"exposed: TP 2.00 s, DP 1.00 s"}},
			{
				"a batch unlike others", few, slices.Repeat([]string{"down"}, 10),
				[]string{"0.524 M tokens per step are below the 4 to 60 M of large models"},
			},
			{"hidden ranks", moe, nil, []string{"[ ] ranks"}},
		} {
			m := sample(t, size[0], size[1], func(o *Options) { o.Setup = test.setup })
			keys(m, test.keys...)
			flat := strings.Join(strings.Fields(screenText(m)), " ")
			for _, want := range test.want {
				if test.name == "hidden ranks" && size[0] == 200 {
					continue // all are shown
				}
				if !strings.Contains(flat, want) {
					t.Errorf("%s at %v: %q is not on the screen:\n%s", test.name, size, want, screenText(m))
				}
			}
		}
	}
}

// TestAnswersAreSeen: what a key did that turns nothing is in sight at every size,
// before new warnings and before why the setup does not fit or is illegal.
func TestAnswersAreSeen(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}, {200, 60}} {
		for name, before := range map[string][]string{
			"fine": nil, "a warning": {"right"}, "no fit": {"left", "left", "left"},
			"illegal": {"7", "enter"},
		} {
			m := sample(t, size[0], size[1])
			keys(m, before...)
			for _, answer := range []struct {
				do   func()
				want string
			}{
				{func() { keys(m, "t") }, "theme: "},
				{func() { keys(m, "M") }, "mouse o"},
				{func() { keys(m, "W") }, "glossary words are"},
				{func() { keys(m, "U") }, "nothing left to redo"},
				{func() { keys(m, "p") }, "pinned"},
				{
					func() { send(m, state.Action{Verb: state.Say, Tone: state.Answer, Text: "copied"}) },
					"copied",
				},
				{
					func() { send(m, state.Action{Verb: state.Say, Tone: state.Answer, Text: "wrote"}) },
					"wrote",
				},
			} {
				answer.do()
				if got := screenText(m); !strings.Contains(got, answer.want) {
					t.Errorf("%s at %v: %q is not seen:\n%s", name, size, answer.want, got)
				}
			}
		}
	}
}

// TestPageStepsBackWithoutColours: behind a list the page is faint and nothing of it is
// reversed, so that one chosen line is seen; its signs stay what they were.
func TestPageStepsBackWithoutColours(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) { o.Theme = "mono" })
	before := strings.Split(m.View().Content, "\n")
	keys(m, "r")
	behind := strings.Split(m.View().Content, "\n")
	const focus = 11 // the row of TP, above the list
	if !strings.Contains(before[focus], "\x1b[1;7m") {
		t.Fatalf("no focus in %q", before[focus])
	}
	for i, line := range behind {
		if strings.Contains(ansi.Strip(line), "train on") {
			break
		}
		if i <= focus && (strings.Contains(line, ";7m") || strings.Contains(line, "[7m") ||
			strings.Contains(line, "[1m")) {
			t.Errorf("line %d stands out: %q", i, line)
		}
		if i <= focus && ansi.Strip(line) != ansi.Strip(before[i]) {
			t.Errorf("line %d says %q instead of %q", i, ansi.Strip(line), ansi.Strip(before[i]))
		}
	}
	keys(m, "esc", "7", "enter")
	if got := screenText(m); !strings.Contains(got, "ILLEGAL") || !strings.Contains(got, "W█ ") {
		t.Errorf("the legend of the last legal picture has no shades:\n%s", got)
	}
}

// TestFootSilentUnderLists: while a list or card is open, the last line offers no key
// of the screen below it, which would go into the filter; afterwards it does again.
func TestFootSilentUnderLists(t *testing.T) {
	last := func(m *Model) string {
		lines := strings.Split(strings.TrimSuffix(screenText(m), "\n"), "\n")
		return lines[len(lines)-1]
	}
	for _, to := range [][]string{nil, {"tab"}} {
		for _, open := range []string{"?", "m", "g", "w", "i", "r", "T"} {
			m := sample(t, 120, 36)
			keys(m, to...)
			if to != nil && strings.Contains("imgr", open) {
				continue // keys of Explore
			}
			before := last(m)
			keys(m, open)
			if m.overlays.Empty() {
				t.Fatalf("%s opens nothing", open)
			}
			if got := last(m); got != "" {
				t.Errorf("%s after %v: %q below", open, to, got)
			}
			keys(m, "esc")
			if got := last(m); got != before || !strings.Contains(got, "q quit") {
				t.Errorf("%s and esc after %v: %q below", open, to, got)
			}
		}
	}
}

// TestScrollsByOne: the first press of ] brings another rank, in the memory
// and in the timeline.
func TestScrollsByOne(t *testing.T) {
	llama405 := setupOf(t, "llama3.1-405b", "meta-roce-24k", knob.Given{
		knob.GPUs: 16384, knob.TP: 8, knob.PP: 16, knob.GBS: 2048, knob.Seq: 8192,
	})
	m := sample(t, 80, 24, func(o *Options) { o.Setup = llama405 })
	in := func() (memory, timeline string) {
		r := frame.Layout(80, 24, m.content())
		lines := strings.Split(screenText(m), "\n")
		cut := func(at frame.Rect) string {
			text := ""
			for _, line := range lines[at.Y : at.Y+at.H] {
				text += string([]rune(line)[at.X:min(at.X+9, len([]rune(line)))])
			}
			return text
		}
		return cut(r.Memory), cut(r.Pipeline)
	}
	memory, timeline := in()
	keys(m, "]")
	if a, b := in(); a == memory || b == timeline {
		t.Errorf("nothing moved: %q, %q", a, b)
	}
	keys(m, "[")
	if a, b := in(); a != memory || b != timeline {
		t.Errorf("[ does not lead back: %q, %q", a, b)
	}
}

// TestTooLarge: values whose schedules are too large to scan are not worked
// out, and the chart says so.
func TestTooLarge(t *testing.T) {
	s := presets.DefaultSetup()
	s.GBS, s.MicroBatches = 1<<18, 1<<16
	m := New(Options{Setup: s, Env: []string{"LANG=C.UTF-8"}, Evaluate: plain})
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
	if !s.Slow() {
		t.Fatalf("%d stages x %d micro-batches are not too large", s.Stages(), s.MicroBatches)
	}
	msg, ok := m.sweepCmd()().(sweptMsg)
	if !ok {
		t.Fatal("no chart")
	}
	known := 0
	for _, p := range msg.Points {
		if p.Known {
			known++
		}
	}
	if known == 0 || known == len(msg.Points) {
		t.Errorf("%d of %d values were worked out", known, len(msg.Points))
	}
}
