package ui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/presets"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
)

// TestNote: i says what the focused knob is for, and follows it up and down and
// through its values.
func TestNote(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			m := sample(t, size[0], size[1])
			keys(m, "i")
			golden.RequireEqual(t, page(m))
		})
	}
	m := sample(t, 80, 24)
	keys(m, "i", "down")
	if text := screenText(m); m.state.Focus != "pp" || !strings.Contains(text, "PP, pipeline parallelism") {
		t.Errorf("the note does not follow the focus:\n%s", text)
	}
	keys(m, "right")
	if text := screenText(m); m.state.Setup.PP != 4 || !strings.Contains(text, "  4 │") {
		t.Errorf("PP %d; the note does not follow the value:\n%s", m.state.Setup.PP, text)
	}
	for _, leave := range []string{"i", "esc", "q"} {
		if keys(m, leave); !m.overlays.Empty() {
			t.Errorf("%s does not close the note", leave)
		}
		keys(m, "i")
	}
	send(m, tea.MouseClickMsg{X: 3, Y: 23, Button: tea.MouseLeft}, tea.WindowSizeMsg{Width: 60, Height: 20})
	checkFrame(t, m)
}

// TestNoteOfHybrid: what cuts the layers of a hybrid tells their kinds, of each rank or of all, and nothing
// else does.
func TestNoteOfHybrid(t *testing.T) {
	m := sample(t, 80, 24)
	s := &m.state.Setup
	s.Model.Pattern, s.Model.LinearKeyHeads = "GGG*", 16
	ranks := m.now.report.Memory.Ranks
	for i := range ranks {
		ranks[i].Kinds = []memory.KindLayers{
			{Name: "Gated DeltaNet", Layers: 6 + i}, {Name: "full", Layers: 2},
		}
	}
	all := fmt.Sprintf("%d Gated DeltaNet, %d full; 16 heads of linear attention",
		6*len(ranks)+len(ranks)*(len(ranks)-1)/2, 2*len(ranks))
	for id, want := range map[knob.ID]string{
		knob.TP: all, knob.CP: all, knob.PP: "rank 0: 6 Gated DeltaNet, 2 full", knob.EP: "", knob.ZeRO: "",
	} {
		m.state.Focus = id
		text := ""
		for _, p := range m.noteLayers() {
			text += p.Label + " " + p.Text
		}
		if want != "" && !strings.HasPrefix(text, "layers "+want) || want == "" && text != "" {
			t.Errorf("%s: %q, want %q", id, text, want)
		}
	}
}

// TestNoteOfEveryKnob: each says something of its own, at the smallest size, and
// the help finds it.
func TestNoteOfEveryKnob(t *testing.T) {
	m := sample(t, 60, 20)
	seen := map[string]string{}
	for _, id := range knobs.Order(&m.state.Setup) {
		m.do(state.Action{Verb: state.FocusKnob, ID: id})
		m.do(state.Action{Verb: state.Open, Overlay: overlay.NoteID})
		checkFrame(t, m)
		note := m.lexicon.Methods()[id]
		if note.Cuts == "" || seen[note.Cuts+note.Costs] != "" {
			t.Errorf("%s says what %s does", id, seen[note.Cuts+note.Costs])
		}
		seen[note.Cuts+note.Costs] = string(id)
		if !strings.Contains(screenText(m), "--"+string(id)) {
			t.Errorf("%s is not on the screen:\n%s", id, screenText(m))
		}
		m.overlays.Clear()
	}
	keys(m, "?", "c", "u", "t", "s", " ", "c", "o", "s", "t", "s", "enter")
	if m.overlays.ID() != overlay.NoteID {
		t.Errorf("the help does not lead to the note:\n%s", screenText(m))
	}
}

// TestGlossary: w lists the words at that of the focused knob, typing finds one
// by any of its names, enter reads it and goes on, esc goes back all the way.
func TestGlossary(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			m := sample(t, size[0], size[1])
			keys(m, "w")
			golden.RequireEqual(t, page(m))
		})
	}
	m := sample(t, 80, 24)
	keys(m, "w", "enter")
	if text := screenText(m); !strings.Contains(text, "tensor parallelism") ||
		!strings.Contains(text, "see also   ▸ SP") {
		t.Fatalf("the word of the focused knob:\n%s", text)
	}
	keys(m, "enter", "down", "enter")
	if m.overlays.Len() != 4 || !strings.Contains(screenText(m), "context parallelism") {
		t.Fatalf("TP, SP, CP:\n%s", screenText(m))
	}
	keys(m, "esc", "alt+esc") // two that come at once
	if m.overlays.ID() != overlay.GlossaryID {
		t.Fatalf("esc does not lead back to the list:\n%s", screenText(m))
	}
	keys(m, "g", "a", "s", "enter")
	if text := screenText(m); !strings.Contains(text, "micro-batches") ||
		!strings.Contains(text, "gas, gradient accumulation") {
		t.Errorf("gas:\n%s", text)
	}
	if keys(m, "q"); !m.overlays.Empty() {
		t.Error("q does not close everything")
	}
	for i := range m.lexicon.Glossary() {
		m.do(state.Action{Verb: state.Open, Overlay: overlay.GlossaryID})
		m.carry(m.lexicon.Word(m.look.glyphs, i))
		checkFrame(t, m)
		if w := m.lexicon.Glossary()[i]; !strings.Contains(screenText(m), w.Term) {
			t.Errorf("%s:\n%s", w.Term, screenText(m))
		}
		m.overlays.Clear()
	}
}

// TestGlossaryEverywhere: the glossary opens on every screen that has no use of
// its own for the key, and from the help of that one too.
func TestGlossaryEverywhere(t *testing.T) {
	m := live(t, 120, 36)
	for tab := range tabs {
		m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		if tab == PipelineTab {
			keys(m, "?", "g", "l", "o", "s", "s", "enter")
		} else {
			keys(m, "w")
		}
		if m.overlays.ID() != overlay.GlossaryID {
			t.Errorf("no glossary on %s:\n%s", tabName(tab), screenText(m))
		}
		checkFrame(t, m)
		keys(m, "esc")
	}
}

// TestMarks: words of the glossary are underlined until W says otherwise, and
// never where the terminal has no underlines.
func TestMarks(t *testing.T) {
	underlined := func(m *Model, word string) bool {
		for rest := m.View().Content; ; {
			at := strings.Index(rest, word+"\x1b[m")
			if at < 0 {
				return false
			}
			if strings.HasSuffix(rest[:at], "\x1b[4m") {
				return true
			}
			rest = rest[at+1:]
		}
	}
	m := sample(t, 120, 36)
	for _, word := range []string{"DP", "ZeRO", "MFU", "TFLOP/s/GPU"} {
		if !underlined(m, word) {
			t.Errorf("%s is not underlined", word)
		}
	}
	for _, word := range []string{"TP", "ETP", "nodes"} { // focused, without effect, plain English
		if underlined(m, word) {
			t.Errorf("%s is underlined", word)
		}
	}
	keys(m, "W")
	if underlined(m, "DP") || !m.session().Unmarked {
		t.Error("W does not put the underlines away")
	}
	if keys(m, "W"); !underlined(m, "DP") || m.session().Unmarked {
		t.Error("W does not bring them back")
	}
	for _, term := range []string{"linux", "dumb", "vt52"} {
		if m := sample(t, 120, 36, func(o *Options) { o.Env = []string{"TERM=" + term} }); underlined(m,
			"DP") {
			t.Errorf("underlined on %s", term)
		}
	}
}

// TestNoteFigures: the note shows what the values of its knob give on the current
// setup, by the engine's own figures, so that it cannot contradict them.
func TestNoteFigures(t *testing.T) {
	setup := setupOf(t, "llama3.1-8b", "dgx-h100", knob.Given{knob.GPUs: 8, knob.TP: 1, knob.ZeRO: 2})
	m := sample(t, 80, 24, func(o *Options) { o.Setup, o.Evaluate = setup, engine.Evaluate })
	m.do(state.Action{Verb: state.FocusKnob, ID: "zero"})
	m.do(state.Action{Verb: state.Open, Overlay: overlay.NoteID})
	if text := screenText(m); strings.Contains(text, "traffic  ") &&
		!strings.Contains(text, m.look.glyphs.Dot) {
		t.Errorf("figures before they are worked out:\n%s", text)
	}
	finishWork(m)
	checkFrame(t, m)
	text := screenText(m)
	for zero := range 4 {
		s := setup
		s.ZeRO = zero
		r := engine.Evaluate(s)
		for _, want := range []string{
			figure.Traffic(r.Communication[0].Bytes), figure.Seconds(r.Time.Step),
			figure.GiB(r.Memory.Peak),
		} {
			if !strings.Contains(text, " "+want) {
				t.Errorf("ZeRO %d: %s is not on the card:\n%s", zero, want, text)
			}
		}
	}
	if !strings.Contains(text, "[2]") {
		t.Errorf("the current value is not marked:\n%s", text)
	}
}

// TestAlike: a knob two of whose choices give the same figures says so and why, in the foot and in its note,
// but not while the figures are of another knob or still computed.
func TestAlike(t *testing.T) {
	m := sample(t, 120, 36)
	m.do(state.Action{Verb: state.FocusKnob, ID: "tp-overlap"})
	points := []explore.Point{
		{Text: "auto", Known: true, Step: 4.6, Peak: 1},
		{Text: "none", Known: true, Step: 4.6 * (1 + 1e-15), Peak: 1},
		{Text: "user-buffers", Known: true, Step: 4.3, Peak: 1},
	}
	m.sweep = sweep{id: "tp-overlap", points: points}
	const want = "TP overlap auto and none are the same here: auto exposes "
	if got := m.sentence(); !strings.HasPrefix(got, want) {
		t.Errorf("the foot says %q", got)
	}
	silent := map[string]sweep{
		"of another knob": {id: "tp", points: points},
		"pending":         {id: "tp-overlap", points: points, pending: true},
		"different":       {id: "tp-overlap", points: points, current: 2},
	}
	m.do(state.Action{Verb: state.Open, Overlay: overlay.NoteID})
	m.sweep = sweep{id: "tp-overlap", points: points}
	if text := strings.Join(strings.Fields(screenText(m)), " "); !strings.Contains(text,
		"same TP overlap auto and none") {
		t.Errorf("the note does not say it:\n%s", screenText(m))
	}
	for name, s := range silent {
		if m.sweep = s; m.alike() != "" {
			t.Errorf("%s: %q", name, m.alike())
		}
	}
}

// TestNoEffect: a knob whose value changes nothing is dim, and said so under ASSUMED, in the foot and in its
// note; not where the value changes something.
func TestNoEffect(t *testing.T) {
	s := presets.DefaultSetup()
	s.Stack, s.Optimizer = recipe.TorchTitan, recipe.AdamNoMaster
	m := sample(t, 200, 60, func(o *Options) { o.Setup = s })
	m.options.Evaluate = nil
	sweep := func() {
		m.take(engine.Evaluate(m.state.Setup), nil)
		m.Update(m.sweepCmd()())
	}
	sweep()
	const want = "optimizer adam-no-master has no effect on torchtitan: memory, time and traffic are as " +
		"with adam"
	said := func() string { return strings.Join(strings.Fields(screenText(m)), " ") }
	m.do(state.Action{Verb: state.FocusKnob, ID: "optimizer"})
	if got := m.sentence(); !strings.HasPrefix(got, want+". ") {
		t.Errorf("the foot says %q", got)
	}
	m.do(state.Action{Verb: state.FocusKnob, ID: "tp"})
	if !strings.Contains(said(), "optimizer adam-no-master has no effect") {
		t.Errorf("not under ASSUMED:\n%s", screenText(m))
	}
	row := func() string {
		c := knobs.Column{Rows: m.rows, NoEffect: m.noEffect, Theme: m.look.theme, Glyphs: m.look.glyphs}
		for _, line := range c.Render(60, 200).Lines {
			if strings.Contains(line, string(m.state.Setup.Optimizer)) {
				return line
			}
		}
		return ""
	}
	dim := m.look.theme.Paint(themes.Muted).Render("optimizer")
	if !strings.Contains(row(), dim) {
		t.Errorf("the row is not dim: %q", row())
	}
	m.do(state.Action{Verb: state.FocusKnob, ID: "optimizer"})
	m.do(state.Action{Verb: state.Open, Overlay: overlay.NoteID})
	if !strings.Contains(said(), "here optimizer adam-no-master has no effect on torchtitan") {
		t.Errorf("the note does not say it:\n%s", screenText(m))
	}
	m.overlays.Clear()
	m.do(state.Action{Verb: state.SetKnob, ID: "optimizer", Text: "sgd"})
	sweep()
	if len(m.noEffect) > 0 || strings.Contains(said(), "optimizer sgd has no effect") ||
		strings.Contains(row(), dim) {
		t.Errorf("sgd changes memory: %+v\n%s", m.noEffect, row())
	}
}

// TestNoteNamesOtherStacks: the note of a knob says which stacks have the values that this one lacks, those
// of one reason together.
func TestNoteNamesOtherStacks(t *testing.T) {
	m := sample(t, 120, 60)
	m.do(state.Action{Verb: state.FocusKnob, ID: knob.Offload})
	m.do(state.Action{Verb: state.Open, Overlay: overlay.NoteID})
	text := strings.Join(strings.Fields(strings.ReplaceAll(screenText(m), "│", "")), " ")
	for _, want := range []string{
		"not here weights, everything: ", "optimizer-nvme, weights-nvme: ",
		"--calibration deepspeed --zero 3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the note of offload:\n%s", want, screenText(m))
		}
	}
	p, _ := knob.Find(knob.Offload)
	s := presets.StartSetup()
	s.Stack = "deepspeed"
	if lines := strings.Join(p.Elsewhere(&s), "\n"); strings.Contains(lines, "optimizer: ") {
		t.Errorf("deepspeed lacks what it has: %s", lines)
	}
}
