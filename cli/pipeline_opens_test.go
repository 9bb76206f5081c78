package cli

import (
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/own"
)

// TestPipelineOpensWithCells: whatever model the program starts with, Pipeline opens as the picture of
// papers: on each rank F and B can be read with their micro-batch, under the whole step where a part of it is
// drawn.
func TestPipelineOpensWithCells(t *testing.T) {
	t.Parallel()
	lib := presets.Default()
	a := &app{lib: lib.ReadingModels(own.ReadModel), closed: lib}
	cell, row := regexp.MustCompile(`[FBfb]\d+`), regexp.MustCompile(`^ *▸?(\d+)│`)
	for _, id := range draws.Some(3,
		"llama3.1-8b", "mixtral-8x22b", "gpt-oss-120b", "llama3.1-405b", "deepseek-v3", "qwen3-235b-a22b",
		"qwen3-30b-a3b",
		"kimi-k2", "llama4-scout", "gpt3-175b",
	) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			b, err := a.commandLine([]string{"--model=" + id}, true)
			if err != nil {
				t.Fatal(err)
			}
			setup, _, err := b.Choose(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			s := seatWith(t, a, setup)
			for range 2 {
				s.send(tea.KeyPressMsg{Code: tea.KeyTab})
			}
			for _, size := range []tea.WindowSizeMsg{
				{Width: 80, Height: 24},
				{Width: 120, Height: 36},
				{Width: 200, Height: 60},
			} {
				s.send(size)
				text, rows := ansi.Strip(s.m.View().Content), 0
				for line := range strings.Lines(text) {
					if !row.MatchString(line) {
						continue
					}
					// a rank that waits in warm-up and drain shows the steady state, one alone wide cells
					least := 2
					if rows == 0 && setup.PP > 1 {
						least = 4
					}
					rows++
					if cells := len(cell.FindAllString(line, -1)); cells < least {
						t.Errorf("%dx%d: %d cells on %q", size.Width, size.Height, cells, line)
					}
				}
				if want := min(setup.PP, 4); rows < want {
					t.Errorf("%dx%d: %d ranks of %d", size.Width, size.Height, rows, setup.PP)
				}
				if left := strings.Contains(text, "left out"); left && !strings.Contains(text, "whole step") {
					t.Errorf("%dx%d: a part without the whole", size.Width, size.Height)
				}
				if t.Failed() {
					t.Fatal(text)
				}
			}
		})
	}
}
