package ui

import (
	"bytes"
	"testing"

	"meshscope/engine"
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
