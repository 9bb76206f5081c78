package ui

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/ui/knobs"
)

// BenchmarkKeyPress is one slider step with the real engine, from the key to
// the finished frame. Budget at 160x50: 8 ms.
func BenchmarkKeyPress(b *testing.B) {
	for _, size := range []struct {
		name string
		w, h int
	}{{"80x24", 80, 24}, {"160x50", 160, 50}, {"240x70", 240, 70}} {
		b.Run(size.name, func(b *testing.B) {
			m := sample(b, size.w, size.h, func(o *Options) { o.Evaluate = engine.Evaluate })
			step := 0
			for b.Loop() {
				m.Update(press([]string{"left", "right"}[step%2]))
				_ = m.View()
				step++
			}
		})
	}
}

// BenchmarkFocus is a move to the next knob: no new report.
func BenchmarkFocus(b *testing.B) {
	m := sample(b, 160, 50, func(o *Options) { o.Evaluate = engine.Evaluate })
	step := 0
	for b.Loop() {
		m.Update(press([]string{"up", "down"}[step%2]))
		_ = m.View()
		step++
	}
}

// counter counts the bytes that reach the terminal.
type counter struct {
	mu sync.Mutex
	n  int
	at time.Time
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += len(p)
	c.at = time.Now()
	return len(p), nil
}

// rest waits until nothing has been written for a while and returns the count.
func (c *counter) rest() int {
	for {
		time.Sleep(20 * time.Millisecond)
		c.mu.Lock()
		n, quiet := c.n, time.Since(c.at)
		c.mu.Unlock()
		if quiet > 150*time.Millisecond {
			return n
		}
	}
}

// BenchmarkBytes counts what one slider step sends to a terminal of 160x50, the
// chart that follows included. Budget: a median of 2 KB.
func BenchmarkBytes(b *testing.B) {
	out := &counter{at: time.Now()}
	m := New(Options{Setup: presets.DefaultSetup(), Env: []string{"LANG=C.UTF-8"}})
	p := tea.NewProgram(m,
		tea.WithInput(nil), tea.WithOutput(out), tea.WithWindowSize(160, 50),
		tea.WithColorProfile(colorprofile.ANSI256), tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignals(),
	)
	done := make(chan error, 1)
	go func() {
		_, err := p.Run()
		done <- err
	}()
	out.rest()
	// Four turns of each knob, from the first to the last and round again.
	turns := []string{"right", "left", "left", "right"}
	var all, changes []int
	for step := 0; b.Loop(); step++ {
		if step%len(turns) == 0 {
			next := "down"
			if step%(len(turns)*len(knobs.Order())) == 0 {
				next = "home"
			}
			p.Send(press(next))
		}
		before, setup := out.rest(), m.state.Setup
		p.Send(press(turns[step%len(turns)]))
		n := out.rest() - before
		all = append(all, n)
		if m.state.Setup != setup {
			changes = append(changes, n)
		}
	}
	p.Quit()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2]), "B/step")
	b.ReportMetric(float64(all[len(all)-1]), "max-B/step")
	if slices.Sort(changes); len(changes) > 0 {
		b.ReportMetric(float64(changes[len(changes)/2]), "B/change")
	}
}

// TestEqualFrames: the same model draws the same bytes, from its caches and
// without them.
func TestEqualFrames(t *testing.T) {
	m := sample(t, 160, 50)
	for _, key := range []string{"left", "down", "right", "t", "up", "3", "enter", "u"} {
		keys(m, key)
		first := m.View().Content
		m.cache = newCache()
		if again := m.View().Content; !bytes.Equal([]byte(first), []byte(again)) {
			t.Fatalf("after %q the cache shows something else", key)
		}
	}
}
