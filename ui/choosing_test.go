package ui

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/report/figure"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// fraction is a number with a fraction.
var fraction = regexp.MustCompile(`^[-+]?[0-9,]+\.[0-9]`)

// finding returns options whose searches end with their context and find a setup.
func finding(found engine.Setup) func(*Options) {
	return func(o *Options) {
		o.find = func(_ *search.Begun, ctx context.Context, _ int) (engine.Setup, *search.Chosen, error) {
			<-ctx.Done()
			own := "--tp " + strconv.Itoa(found.TP)
			return found, &search.Chosen{Layouts: 28740, Found: true, Own: own}, nil
		}
	}
}

// TestOpensWithWhatIsFound: while a layout is searched a frame says so, enter ends the search,
// and what it has found opens without a step to go back to.
func TestOpensWithWhatIsFound(t *testing.T) {
	found := presets.StartSetup()
	o := Options{
		Setup: presets.DefaultSetup(), Asked: true,
		Query: &search.Query{Setup: presets.DefaultSetup()}, Remark: "gpus not given",
	}
	finding(found)(&o)
	m := New(o)
	cmd := m.search(search.Begun{Setup: o.Setup, Query: o.Query}, "")
	send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
	if text := screenText(m); !strings.Contains(text, "searching for the best layout of Llama-3.1 70B") ||
		!strings.Contains(text, "enter takes") {
		t.Fatalf("no word of the search:\n%s", text)
	}
	send(m, press("enter"))
	m.Update(cmd())
	if m.state.Setup != found || m.state.Past() != 0 || m.start.Setup != found {
		t.Errorf("opens with %+v, %d steps back", m.state.Setup.Layout, m.state.Past())
	}
	if text := screenText(m); strings.Contains(text, "searching for") ||
		!strings.Contains(text, "gpus not given; layout not given: best of 28,740") {
		t.Errorf("after the search:\n%s", text)
	}
}

// TestKeysWaitForTheLayout: what is typed during a search acts in its order on what is found, enter among it
// too, at the start as for another model; esc goes back and says how many were dropped.
func TestKeysWaitForTheLayout(t *testing.T) {
	model, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	found := presets.StartSetup()
	for _, start := range []bool{true, false} {
		m := sample(t, 120, 36, finding(found))
		cmd := m.search(search.Begun{Setup: found, Query: &search.Query{Setup: found}}, "")
		if !start {
			m.drop()
			cmd = m.do(state.Action{Verb: state.UseModel, Model: &model})
		}
		for _, key := range []string{"down", "2", "enter", "tab", "tab"} { // pp 2, and to Pipeline
			send(m, press(key))
		}
		if text := screenText(m); !strings.Contains(text, "5 keys wait") {
			t.Errorf("start %v: no word of the keys:\n%s", start, text)
		}
		m.choosing.stop()
		finishAll(m, cmd)
		if m.state.Setup.PP != 2 || tabName(m.state.Tab) != "Pipeline" || m.choosing != nil {
			t.Errorf("start %v: pp %d on %s", start, m.state.Setup.PP, tabName(m.state.Tab))
		}
	}
	m := sample(t, 120, 36, finding(found))
	m.do(state.Action{Verb: state.UseModel, Model: &model})
	for _, key := range []string{"down", "enter", "esc"} {
		send(m, press(key))
	}
	if note := m.state.Note.Text; m.choosing != nil ||
		!strings.Contains(note, "the 2 keys typed meanwhile are dropped") {
		t.Errorf("after esc: %q", note)
	}
}

// TestKeysWaitForTheSecondSearch: where what was typed during a search begins another one, the rest waits for
// that: enter does not cut it short, and esc does not drop it.
func TestKeysWaitForTheSecondSearch(t *testing.T) {
	found := presets.StartSetup()
	m := sample(t, 120, 36, finding(found))
	m.options.Library = presets.Default()
	m.catalog = overlay.ReadCatalog(m.options.Library)
	cmd := m.search(search.Begun{Setup: found, Query: &search.Query{Setup: found}}, "")
	send(m, press("m"))
	typeText(m, "llama3.1-8b")
	for _, key := range []string{"enter", "enter", "esc"} {
		send(m, press(key))
	}
	first := m.choosing
	first.stop()
	m.Update(cmd())
	if m.choosing == nil || m.choosing == first || m.choosing.of.Setup.Model.ID != "llama3.1-8b" ||
		len(m.choosing.held) != 2 {
		t.Fatalf("the second search: %+v\n%s", m.choosing, screenText(m))
	}
}

// TestSearchesAgain: for another model or machine the layout is searched. The next frame says so and has no
// figure of the old setup, on every screen; esc goes back, enter takes what was found, other keys wait.
func TestSearchesAgain(t *testing.T) {
	model, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	found := presets.DefaultSetup()
	found.Model, found.TP, found.DP = model, 1, 32
	for tab := state.ExploreTab; tab < tabs; tab++ {
		m := sample(t, 120, 36, finding(found))
		m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		before := m.state
		old := screenText(m)
		cmd := m.do(state.Action{Verb: state.UseModel, Model: &model})
		text := screenText(m)
		if !strings.Contains(text, "searching for the best layout of Llama-3.1 8B on 64") ||
			!strings.Contains(text, "esc goes back") {
			t.Fatalf("%s: no word of the search:\n%s", tabName(tab), text)
		}
		for _, word := range strings.Fields(old) {
			if fraction.MatchString(word) && strings.Contains(text, word) {
				t.Errorf("%s: %s is of the old setup:\n%s", tabName(tab), word, text)
			}
		}
		send(m, press("esc"))
		if m.Update(cmd()); m.state.Setup != before.Setup || m.choosing != nil ||
			m.state.Past() != before.Past() {
			t.Errorf("%s: esc leaves %+v", tabName(tab), m.state.Setup.Layout)
		}
		cmd = m.do(state.Action{Verb: state.UseModel, Model: &model})
		send(m, press("enter"))
		send(m, press("down"))
		m.Update(cmd())
		if m.state.Setup != found || m.choosing != nil {
			t.Errorf("%s: %+v, %q", tabName(tab), m.state.Setup.Layout, m.state.Note.Text)
		}
		if tab == state.ExploreTab && m.state.Focus != knob.PP {
			t.Errorf("the key that was typed meanwhile is lost: %s has the focus", m.state.Focus)
		}
		if m.do(state.Action{Verb: state.Undo}); m.state.Setup != before.Setup {
			t.Errorf("%s: undo leads to %+v", tabName(tab), m.state.Setup.Layout)
		}
	}
}

// TestFixedStays: what was turned, typed or given by a flag is what the search for another model is given;
// what only followed is not.
func TestFixedStays(t *testing.T) {
	model, err := presets.Default().Model("qwen3-8b")
	if err != nil {
		t.Fatal(err)
	}
	var asked *search.Query
	m := sample(t, 120, 36, func(o *Options) {
		o.Fixed = knob.SetOf(knob.GPUs, knob.Loss)
		o.find = func(b *search.Begun, _ context.Context, _ int) (engine.Setup, *search.Chosen, error) {
			asked = b.Query
			s := b.Setup
			s.TP = 4
			return s, &search.Chosen{Layouts: 7, Found: true, Own: "--tp " + strconv.Itoa(s.TP)}, nil
		}
	})
	m.do(state.Action{Verb: state.SetKnob, ID: knob.TP, Text: "4"})
	m.do(state.Action{Verb: state.SetKnob, ID: knob.Seq, Text: "4k"})
	m.do(state.Action{Verb: state.FocusKnob, ID: knob.MBS})
	m.do(state.Action{Verb: state.TurnKnob, N: 1})
	finishAll(m, m.do(state.Action{Verb: state.UseModel, Model: &model}))
	for id, want := range map[knob.ID]string{knob.GPUs: "64", knob.TP: "4", knob.Seq: "4096", knob.MBS: "2"} {
		if got := asked.Texts[id]; got != want {
			t.Errorf("%s is %q in the query, not %s", id, got, want)
		}
	}
	for _, id := range []knob.ID{knob.DP, knob.PP, knob.GBS, knob.MicroBatches, knob.Recompute} {
		if asked.Given(id) {
			t.Errorf("%s is given, though nobody gave it", id)
		}
	}
	if note := m.state.Note.Text; !strings.Contains(note, "model Qwen3 8B, best of 7 layouts, fixed: ") ||
		!strings.Contains(note, "TP 4") {
		t.Errorf("note %q", note)
	}
	m.do(state.Action{Verb: state.Undo})
	m.do(state.Action{Verb: state.Undo}) // the micro-batch
	if m.state.Fixed.Has(knob.MBS) || !m.state.Fixed.Has(knob.TP) {
		t.Error("undo does not give back what was fixed")
	}
}

// TestFixedNodesAreGPUs: on a machine with nodes of another size the GPUs stay, and they are what is named as
// fixed; on one with nodes as large the nodes are.
func TestFixedNodesAreGPUs(t *testing.T) {
	for id, want := range map[string]string{"gb200-nvl72": "fixed: GPUs 48", "dgx-b200": "fixed: nodes 6"} {
		cluster, err := presets.Default().Cluster(id)
		if err != nil {
			t.Fatal(err)
		}
		m := sample(t, 120, 36, func(o *Options) {
			o.find = func(b *search.Begun, _ context.Context, _ int) (engine.Setup, *search.Chosen, error) {
				return b.Setup, &search.Chosen{Layouts: 7, Found: true, Own: "--tp 1"}, nil
			}
		})
		m.do(state.Action{Verb: state.SetKnob, ID: knob.Nodes, Text: "6"})
		finishAll(m, m.do(state.Action{Verb: state.UseCluster, Cluster: &cluster}))
		if note := m.state.Note.Text; m.state.Setup.GPUs != 48 || !strings.Contains(note, want) {
			t.Errorf("%s: %d GPUs, note %q, want %q", id, m.state.Setup.GPUs, note, want)
		}
	}
}

// TestSaysWhatAnotherModelChanges: after another model the line names the batch, the sequence and the
// precision that came with it before the layout, and how many changes have no room.
func TestSaysWhatAnotherModelChanges(t *testing.T) {
	model, err := presets.Default().Model("mixtral-8x22b")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		m := sample(t, size[0], size[1])
		finishAll(m, m.do(state.Action{Verb: state.UseModel, Model: &model}))
		text := strings.Join(strings.Fields(screenText(m)), " ")
		if m.state.Setup.GBS == 512 || m.state.Setup.Seq == 8192 {
			t.Fatalf("the batch stays %d sequences of %d", m.state.Setup.GBS, m.state.Setup.Seq)
		}
		for _, want := range []string{
			" layouts, " + search.MarginBrief + ": global batch ", ", sequence 8,192 → 4,096, ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in:\n%s", size, want, screenText(m))
			}
		}
		if size[0] == 80 && !strings.Contains(text, " more ") {
			t.Errorf("nothing says that there is more:\n%s", screenText(m))
		}
	}
}

// TestSaysWhichMachineWouldDo: where no layout of another model fits, the line says by how much and which
// machine would do, at every size and before why the setup does not fit.
func TestSaysWhichMachineWouldDo(t *testing.T) {
	model, err := presets.Default().Model("llama3.1-405b")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		m := sample(t, size[0], size[1], func(o *Options) {
			o.Evaluate = engine.Evaluate
			o.Setup.GPUs, o.Setup.DP, o.Setup.PP, o.Setup.MicroBatches = 8, 1, 1, o.Setup.GBS
		})
		if !m.now.report.Legal || m.state.Setup.GPUs != 8 {
			t.Fatalf("%+v", m.state.Setup.Layout)
		}
		finishAll(m, m.do(state.Action{Verb: state.UseModel, Model: &model}))
		text := strings.Join(strings.Fields(screenText(m)), " ")
		for _, want := range []string{"layouts fits: ", " GiB over at least; ", " nodes) would do"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in:\n%s", size, want, screenText(m))
			}
		}
	}
}

// TestAnotherStackTakesItsLayout: adapters take the stack that trains them, as on the command line, and a
// stack without these degrees the layout that it has: both at once, said in the line, on as many sequences as
// before, adapters on their own.
func TestAnotherStackTakesItsLayout(t *testing.T) {
	for _, c := range []struct {
		id         knob.ID
		text, want string
		gbs, m     int
	}{
		{knob.LoRA, "16", "LoRA rank 16, best of 15 layouts: stack default → transformers", 256, 1},
		{
			knob.Calibration, "transformers",
			"stack transformers, best of 30 layouts: stack default → transformers", 512, 2,
		},
	} {
		m := sample(t, 120, 36, func(o *Options) {
			o.Evaluate, o.Setup = engine.Evaluate, presets.StartSetup()
		})
		finishAll(m, m.do(state.Action{Verb: state.SetKnob, ID: c.id, Text: c.text}))
		s, note := &m.state.Setup, m.state.Note.Text
		if !m.now.report.Legal || s.Stack != "transformers" || s.GBS != c.gbs || s.MicroBatches != c.m ||
			s.ZeRO != 3 {
			t.Errorf("%s: %s, gbs %d, m %d, zero %d", c.id, s.Stack, s.GBS, s.MicroBatches, s.ZeRO)
		}
		if !strings.HasPrefix(note, c.want) || !m.state.Fixed.Has(c.id) {
			t.Errorf("%s: note %q", c.id, note)
		}
		if m.do(state.Action{Verb: state.Undo}); m.state.Setup != presets.StartSetup() {
			t.Errorf("%s: undo leads to %+v", c.id, m.state.Setup.Layout)
		}
	}
	// degrees that the reader has fixed stay
	m := sample(t, 120, 36)
	m.do(state.Action{Verb: state.SetKnob, ID: knob.TP, Text: "4"})
	m.do(state.Action{Verb: state.SetKnob, ID: knob.LoRA, Text: "16"})
	if s := &m.state.Setup; m.choosing != nil || s.TP != 4 || s.Rank != 16 {
		t.Errorf("searches: %+v", s.Layout)
	}
}

// TestAnotherNumberOfGPUsIsOffered: after another number of GPUs enter chooses the batch and the layout that
// the model has there, so that the order of choices makes no difference; undo and other knobs offer nothing.
func TestAnotherNumberOfGPUsIsOffered(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) { o.Evaluate, o.Setup = engine.Evaluate, presets.StartSetup() })
	m.do(state.Action{Verb: state.SetKnob, ID: knob.Nodes, Text: "2"})
	if text := screenText(m); !strings.Contains(text, "best layout for 16 GPUs") {
		t.Errorf("no offer:\n%s", text)
	}
	for _, size := range [][2]int{{60, 20}, {80, 24}} {
		send(m, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		if text := screenText(m); !strings.Contains(text, " for 16 GPUs  ? help  q quit") {
			t.Errorf("%v: no offer, or no help beside it:\n%s", size, text)
		}
	}
	var draft knob.Draft
	draft, _ = state.Again(&m.state, m.fixAction())
	if draft.Has(knob.GBS) || draft.Has(knob.TP) || !draft.Has(knob.GPUs) {
		t.Errorf("gives %+v", draft.Said())
	}
	m.do(state.Action{Verb: state.FocusKnob, ID: knob.TP})
	if m.rechooses() {
		t.Error("offered on another knob")
	}
	if m.do(state.Action{Verb: state.Undo}); m.rechooses() {
		t.Error("offered after undo")
	}
}

// TestOfferedBatchIsTaken: of a number of GPUs over which no layout has the published batch, enter does not
// offer that one, and takes the nearest with which one is legal.
func TestOfferedBatchIsTaken(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) {
		o.Evaluate = engine.Evaluate
		o.Setup = setupOf(t, "llama3.1-405b", "dgx-h100", knob.Given{knob.GPUs: 64})
	})
	m.do(state.Action{Verb: state.SetKnob, ID: knob.GPUs, Text: "100000"})
	if text := screenText(m); !strings.Contains(text, "enter takes a batch near 2,048 x 8,192 and the best") {
		t.Errorf("offered:\n%s", text)
	}
	m.Update(m.do(m.fixAction())())
	if s := &m.state.Setup; s.GPUs != 100000 || s.GBS != 3125 || !m.now.report.Legal ||
		!strings.Contains(m.state.Note.Text, "3,125") {
		t.Errorf("batch %d on %d GPUs, %+v: %s", s.GBS, s.GPUs, m.now.report.Problems, m.state.Note.Text)
	}
}

// TestOfferNamesItsBatch: where the published batch does not divide over the GPUs, the offer has the batch
// that enter takes, at the sequence that the reader has fixed.
func TestOfferNamesItsBatch(t *testing.T) {
	for _, seq := range []string{"", "16384"} {
		m := sample(t, 120, 36,
			func(o *Options) { o.Evaluate, o.Setup = engine.Evaluate, presets.StartSetup() })
		if seq != "" {
			m.do(state.Action{Verb: state.SetKnob, ID: knob.Seq, Text: seq})
		}
		m.do(state.Action{Verb: state.SetKnob, ID: knob.Nodes, Text: "12"})
		offer := regexp.MustCompile(`enter takes a batch of ([0-9,]+) x ([0-9,]+) and`)
		offered := offer.FindStringSubmatch(screenText(m))
		m.Update(m.do(m.fixAction())())
		if s := &m.state.Setup; len(offered) < 3 || offered[1] != figure.Comma(s.GBS) ||
			offered[2] != figure.Comma(s.Seq) || s.GPUs != 96 {
			t.Errorf("sequence %s: offered %v, taken %d x %d on %d GPUs", seq, offered, s.GBS, s.Seq, s.GPUs)
		}
	}
}

// TestBestLayoutForWhatDoesNotFit: a sequence, batch or precision that the layout does not do with offers the
// best layout for it, with the batch that there is; nothing is offered where it fits, and a nearest legal
// value comes first.
func TestBestLayoutForWhatDoesNotFit(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) { o.Evaluate, o.Setup = engine.Evaluate, presets.StartSetup() })
	if m.do(state.Action{Verb: state.SetKnob, ID: knob.Seq, Text: "4096"}); m.rechooses() {
		t.Error("offered where it fits")
	}
	m.do(state.Action{Verb: state.SetKnob, ID: knob.Seq, Text: "131072"})
	if text := screenText(m); m.now.report.Memory.Fit != engine.Over ||
		!strings.Contains(text, "enter takes the best layout for sequence 131,072  ? help") {
		t.Errorf("no offer:\n%s", text)
	}
	batch := m.state.Setup.GBS
	draft, _ := state.Again(&m.state, m.fixAction())
	if text, _ := draft.Take(knob.GBS); text != fmt.Sprint(batch) || draft.Has(knob.TP) ||
		draft.Has(knob.PP) {
		t.Errorf("gives %+v", draft.Said())
	}
	m.Update(m.do(m.fixAction())())
	if s, r := &m.state.Setup, &m.now.report; !r.Legal || r.Memory.Fit == engine.Over || s.Seq != 131072 ||
		s.GBS != batch || m.rechooses() {
		t.Errorf("sequence %d, batch %d, %+v: %v", s.Seq, s.GBS, s.Layout, r.Memory.Fit)
	}
	if keys(m, "u"); !m.state.Fixed.Has(knob.Seq) || m.rechooses() {
		t.Error("offered after undo")
	}
	m.do(state.Action{Verb: state.SetKnob, ID: knob.GBS, Text: "511"})
	if words := state.FixWords(m.now.report.Problems); words == "" || m.fixAction().Verb != state.TakeFix {
		t.Errorf("enter does %v, nearest %q", m.fixAction().Verb, words)
	}
}
