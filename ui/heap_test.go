package ui

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/ui/state"
)

// What the current setup may take: the order and the plan of its operations (16
// bytes each), their times (16) and what answers about it note (2).
const bytesPerOperation = 36

// liveHeap is what is in use after everything else has been collected, in bytes.
func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// long is a setup on 64 pipeline ranks whose step has so many operations.
func long(t testing.TB, operations int) engine.Setup {
	t.Helper()
	s := presets.DefaultSetup()
	s.TP, s.SP, s.DP, s.PP = 1, false, 1, 64
	s.MicroBatches = operations / (2 * s.PP)
	s.GPUs, s.GBS = s.PP, s.MicroBatches*s.MBS
	if !engine.Legal(s) {
		t.Fatal(engine.Check(s))
	}
	return s
}

// engined is a model with the engine's own answers.
func engined(s engine.Setup) *Model {
	m := New(Options{Setup: s, Env: []string{"LANG=en_US.UTF-8", "TERM=xterm-256color"}})
	send(m, tea.ColorProfileMsg{Profile: colorprofile.ANSI256}, tea.WindowSizeMsg{Width: 160, Height: 50})
	return m
}

// play presses keys and carries out what follows from each, as the program does.
func play(m *Model, names ...string) {
	for _, name := range names {
		_, cmd := m.Update(press(name))
		carryOut(m, cmd, 0)
		_ = m.View()
	}
}

func carryOut(m *Model, cmd tea.Cmd, deep int) {
	if cmd == nil || deep > 8 { // playback goes on for ever
		return
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			carryOut(m, c, deep+1)
		}
		return
	}
	if msg != nil {
		_, next := m.Update(msg)
		carryOut(m, next, deep+1)
	}
}

// Whatever screen has been on a long pipeline, what stays in memory is the current
// setup with its timeline; a second one only while two are compared. Back at a
// small setup nothing is left of it.
func TestHeapOfLongPipelines(t *testing.T) {
	m := engined(presets.DefaultSetup())
	visit := func(tab state.Tab, names ...string) {
		carryOut(m, m.do(state.Action{Verb: state.GoTab, N: int(tab)}), 0)
		play(m, names...)
	}
	visit(EvidenceTab) // compares the runs once
	visit(state.ExploreTab)
	small := liveHeap()
	const operations = 1 << 18
	bound := func(where string, timelines float64) {
		t.Helper()
		_ = m.View()
		if more := liveHeap() - small; more > timelines*bytesPerOperation*operations+1e6 {
			t.Errorf("%s: %.1f MB more than at the start", where, more/1e6)
		} else {
			t.Logf("%s: %.1f MB more than at the start", where, more/1e6)
		}
	}
	s := long(t, operations)
	carryOut(m, m.do(state.Action{Verb: state.UseSetup, Setup: &s}), 0)
	bound("Explore", 1)
	visit(MemoryTab, "down", "+", "right")
	bound("Memory", 1)
	visit(PipelineTab, "t")
	bound("table of schedules", 1)
	play(m, "t", "b", "home", "enter")
	if !strings.Contains(screenText(m), "B minus A") {
		t.Fatalf("no second schedule:\n%s", screenText(m))
	}
	bound("two schedules", 2)
	visit(NetworkTab)
	bound("Network", 1)
	visit(state.ExploreTab, "e")
	bound("list of figures", 2)
	play(m, "esc")
	for range 3 {
		visit(MemoryTab, "u", "ctrl+r") // undone, and done again
		visit(PipelineTab, "u", "ctrl+r")
	}
	visit(state.ExploreTab)
	bound("after undo and redo", 1)
	play(m, "u")
	bound("back at the start", 0)
	runtime.KeepAlive(m)
}

// Thousands of turns back and forth, on every screen, leave nothing behind but a
// history of bounded length.
func TestHeapAfterThousandsOfKeys(t *testing.T) {
	s := long(t, 1<<15)
	m := engined(s)
	names := []string{
		"left", "right", "left", "right", "shift+left", "shift+right", "up", "down", "up", "down",
		"tab", "tab", "u", "ctrl+r", "+", "-", "pgup", "pgdown", "enter", "esc", "home",
	}
	random := rand.New(rand.NewPCG(3, 14)) //nolint:gosec // the same keys in every run
	stroll := func(n int) {
		for i := range n {
			name := names[random.IntN(len(names))]
			if i%100 == 0 {
				play(m, name)
				continue
			}
			m.Update(press(name)) // the next key comes before the answer
		}
		play(m, "esc", "esc", "esc")
		carryOut(m, m.do(state.Action{Verb: state.GoTab}), 0)
		carryOut(m, m.do(state.Action{Verb: state.UseSetup, Setup: &s}), 0)
	}
	keys := 1000
	if draws.Deep() {
		keys = 3000
	}
	stroll(500)
	first := liveHeap()
	stroll(keys)
	history := float64(m.state.Past()+m.state.Future()) * 1500
	t.Logf("%.2f MB after 500 keys, %.2f more after %d; the history has %.2f", first/1e6,
		(liveHeap()-first)/1e6, 500+keys, history/1e6)
	if more := liveHeap() - first - history; more > 4e6 {
		t.Errorf("%.1f MB more after thousands of keys", more/1e6)
	}
	runtime.KeepAlive(m)
}
