package ui

import (
	"strings"
	"testing"

	"meshscope/ui/screens/search"
	"meshscope/ui/tty"
)

// TestClassFrames: a follower that goes through any number of window sizes neither fills the memory of the
// shared frames nor keeps those out that come after.
func TestClassFrames(t *testing.T) {
	var f frames
	frame := strings.Repeat("x", mostFrameBytes/100)
	for width := range 1000 {
		k := frameKey{caps: tty.Caps{Width: width}}
		f.keep(k, frame)
		f.keep(k, frame)
		if have, ok := f.get(k); !ok || have != frame {
			t.Fatalf("frame %d is not kept", width)
		}
	}
	if len(f.by) != 100 || len(f.order) != 100 || f.bytes != 100*len(frame) {
		t.Errorf("%d frames, %d in order, %d bytes", len(f.by), len(f.order), f.bytes)
	}
	if f.keep(frameKey{}, strings.Repeat("x", mostFrameBytes+1)); len(f.by) != 100 {
		t.Error("one too large moves the others out")
	}
}

// TestClassSharesCores: on a server a search has one core.
func TestClassSharesCores(t *testing.T) {
	for _, turns := range []chan struct{}{nil, make(chan struct{}, 1)} {
		m := New(Options{Turns: turns, Env: []string{}})
		if shared := m.screens.all[SearchTab].(*search.View).Shared; shared != (turns != nil) {
			t.Errorf("with turns %t it is shared %t", turns != nil, shared)
		}
	}
}
