package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/report"
	"meshscope/ui/state"
)

// TestWholeRun: r lists the run on every screen, a line of the list types into
// its knob, figures are explained, the assumptions are read and left again.
func TestWholeRun(t *testing.T) {
	m := live(t, 80, 24)
	keys(m, "tab", "r")
	if text := screenText(m); !strings.Contains(text, "WHOLE RUN") || !strings.Contains(text, "train on") ||
		strings.Contains(text, "GPU-hours ") || !strings.Contains(text, "2.50, preset") ||
		!strings.Contains(text, "700, TDP") {
		t.Fatalf("r on the Memory screen, no budget yet:\n%s", text)
	}
	keys(m, "enter")
	if m.state.Tab != state.ExploreTab || m.state.Focus != "tokens" || m.typing() == nil {
		t.Fatalf("enter on the budget: %s, focus %s, typing %v", tabName(m.state.Tab), m.state.Focus,
			m.typing() != nil)
	}
	keys(m, "1", "5", "T", "enter")
	if m.state.Setup.Budget != 15e12 || m.now.report.Run == nil {
		t.Fatalf("15T was typed: %v", m.state.Setup.Budget)
	}
	keys(m, "r")
	text := screenText(m)
	for _, want := range []string{
		"days ±", "GPU-hours", "cost", "energy", "15T", "2.50, preset", "700, TDP",
		"assumptions",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the list does not say %q:\n%s", want, text)
		}
	}
	keys(m, "end", "enter")
	if text := screenText(m); !strings.Contains(text, "ASSUMPTIONS") ||
		!strings.Contains(text, "TDP of H100") {
		t.Errorf("the assumptions:\n%s", text)
	}
	keys(m, "esc")
	if text := screenText(m); !strings.Contains(text, "WHOLE RUN") {
		t.Errorf("esc does not go back to the list:\n%s", text)
	}
	keys(m, "home", "enter")
	if text := screenText(m); !strings.Contains(text, "EXPLAIN") || !strings.Contains(text, "run.days") {
		t.Errorf("enter on the time:\n%s", text)
	}
	keys(m, "esc", "u")
	if m.state.Setup.Budget != 0 {
		t.Error("u does not take the budget back")
	}
}

// TestWholeRunTyped: on any screen r takes the tokens and a price at once, and shows what they
// make; days and cost then stand in the first line of every screen.
func TestWholeRunTyped(t *testing.T) {
	for tab := range tabs {
		m := live(t, 100, 30)
		m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		keys(m, "r", "2", "T", "enter")
		if text := screenText(m); m.state.Setup.Budget != 2e12 || !strings.Contains(text, "WHOLE RUN") {
			t.Errorf("%s: r 2T gives %v tokens:\n%s", tabName(tab), m.state.Setup.Budget, text)
		}
	}
	m := live(t, 80, 24)
	focus := m.state.Focus
	keys(m, "tab", "r", "2")
	if text := screenText(m); !strings.Contains(text, "nearest 2T") {
		t.Errorf("2 tokens are typed:\n%s", text)
	}
	keys(m, "T")
	if text := screenText(m); !strings.Contains(text, "enter: the run trains on 2T tokens") {
		t.Fatalf("2T is typed:\n%s", text)
	}
	keys(m, "enter")
	if text := screenText(m); m.state.Setup.Budget != 2e12 || !strings.Contains(text, "WHOLE RUN") ||
		!strings.Contains(text, "days ±") {
		t.Fatalf("after 2T: %v\n%s", m.state.Setup.Budget, text)
	}
	keys(m, "$", "3", ".", "5", "enter", "esc")
	if m.state.Setup.Price != 3.5 || m.state.Focus != focus || m.state.Tab != MemoryTab {
		t.Errorf("after $3.5: price %v, focus %s, screen %s", m.state.Setup.Price, m.state.Focus,
			tabName(m.state.Tab))
	}
	for range int(tabs) {
		if first, _, _ := strings.Cut(screenText(m), "\n"); !strings.Contains(first, " days, $") ||
			!strings.Contains(first, "tokens") {
			t.Errorf("%s: %q", tabName(m.state.Tab), first)
		}
		keys(m, "tab")
	}
}

// TestWholeRunPanel: on large screens the run stands next to the step, with its
// band; without a budget nothing is there.
func TestWholeRunPanel(t *testing.T) {
	for name, setup := range banded(t) {
		for _, budget := range []float64{0, 15e12} {
			setup.Budget, setup.Goodput = budget, 0
			m := New(Options{
				Setup: setup, Evaluate: engine.Evaluate,
				Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
			})
			send(m, tea.WindowSizeMsg{Width: 200, Height: 60})
			finishWork(m)
			text := screenText(m)
			if strings.Contains(text, "WHOLE RUN 15.0 T tokens") != (budget > 0) {
				t.Errorf("%s, budget %v:\n%s", name, budget, text)
			}
			r := engine.Evaluate(setup)
			for line := range strings.Lines(text) {
				if strings.Contains(line, "WHOLE RUN") && !strings.Contains(line, r.Time.Band("±")) {
					t.Errorf("%s: the run has no band: %s", name, line)
				}
			}
		}
	}
}

// TestTypicalRunShown: the run says what it is with public figures for what is not given, in the panel and in
// the list, whose line leads to them and their sources.
func TestTypicalRunShown(t *testing.T) {
	m := live(t, 200, 60)
	keys(m, "r", "2", "T", "enter", "esc")
	usual := engine.TypicalRun(&m.now.setup, m.now.report.Time)
	brief := report.RunBrief(usual)
	if text := screenText(m); !strings.Contains(text, "typically "+brief+" (r says with what)") ||
		!strings.Contains(text, "GPUs alone") {
		t.Errorf("the panel does not say %q:\n%s", brief, text)
	}
	keys(m, "r")
	if text := screenText(m); !strings.Contains(text, "typically") || !strings.Contains(text, brief) {
		t.Errorf("the list does not say %q:\n%s", brief, text)
	}
	keys(m, "end", "up", "enter")
	for _, want := range []string{"ASSUMPTIONS", "arXiv 2407.21783", "595 W per GPU", "PUE 1.2, Jean Zay"} {
		if text := screenText(m); !strings.Contains(text, want) {
			t.Errorf("the typical run does not say %q:\n%s", want, text)
		}
	}
}
