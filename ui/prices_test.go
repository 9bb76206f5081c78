package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// explorerOf returns the explorer of a setup that the engine evaluates.
func explorerOf(s engine.Setup, w, h int, fixed knob.Set) *Model {
	m := New(Options{Setup: s, Fixed: fixed, Env: []string{"LANG=en_US.UTF-8", "TERM=xterm-256color"}})
	send(m, tea.WindowSizeMsg{Width: w, Height: h})
	return m
}

// TestPriceNextToVerdict: what nobody chose and is worth most stands in the verdict's sentence once it is
// known, of the current setup alone; what was given is not priced.
func TestPriceNextToVerdict(t *testing.T) {
	s := setupOf(t, "llama3.1-70b", "dgx-h100",
		knob.Given{knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.GBS: 512})
	const price = "; with tp-overlap user-buffers "
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		m := explorerOf(s, size[0], size[1], knob.Set{})
		if text := screenText(m); strings.Contains(text, price) {
			t.Fatalf("%v: priced before it is known:\n%s", size, text)
		}
		send(m, m.sweepCmd()())
		if text := screenText(m); !strings.Contains(text, price) {
			t.Errorf("%v:\n%s", size, text)
		}
		pressed(m, "down") // another focus, the same setup
		if text := screenText(m); !strings.Contains(text, price) {
			t.Errorf("%v, another focus:\n%s", size, text)
		}
		pressed(m, "right")
		if text := screenText(m); strings.Contains(text, price) {
			t.Errorf("%v: the price of another setup:\n%s", size, text)
		}
	}
	m := explorerOf(s, 120, 36, knob.SetOf("tp-overlap"))
	send(m, m.sweepCmd()())
	if text := screenText(m); strings.Contains(text, price) {
		t.Errorf("what was given is priced:\n%s", text)
	}
}

// TestSlowerPriceWhole: a price that is slower says what was assumed, whole in 80 columns too.
func TestSlowerPriceWhole(t *testing.T) {
	s := setupOf(t, "llama3.1-8b", "dgx-h100", knob.Given{knob.GPUs: 64, knob.TP: 2, knob.GBS: 64})
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		m := explorerOf(s, size[0], size[1], knob.Set{})
		send(m, m.sweepCmd()())
		text := strings.Join(strings.Fields(screenText(m)), " ")
		if !strings.Contains(text, "; dp-overlap on assumed (off: 1.02 s)") ||
			strings.Contains(text, "slower") {
			t.Errorf("%v:\n%s", size, text)
		}
	}
}

// TestStarvedSaid: a batch that leaves each pipeline few micro-batches says what was published.
func TestStarvedSaid(t *testing.T) {
	for gbs, said := range map[int]bool{128: true, 15360: false} {
		s := setupOf(t, "deepseek-v3", "deepseek-h800", knob.Given{
			knob.GPUs: 2048, knob.PP: 16, knob.EP: 64,
			knob.GBS: gbs, knob.Seq: 4096,
		})
		m := explorerOf(s, 120, 36, knob.Set{})
		pressed(m, "down") // what has just happened is said first
		if text := screenText(m); strings.Contains(text,
			"micro-batch a pipeline of 16 ranks; published: 15,360 sequences") != said {
			t.Errorf("%d sequences:\n%s", gbs, text)
		}
	}
}
