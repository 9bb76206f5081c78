package search

import (
	"context"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/knob"
	"meshscope/presets"
)

// TestReasonCanBeStopped: looking for why nothing fits says how far it is, and ends
// when somebody stops it; the screen then says that there is no layout.
func TestReasonCanBeStopped(t *testing.T) {
	in := small(t)
	m, err := presets.Default().Model("llama3.1-405b")
	if err != nil {
		t.Fatal(err)
	}
	s := knob.WithModel(*in.Setup, m)
	in.Setup, in.Report = &s, nil
	v := New(presets.Default())
	v.Refresh(in)
	j := v.running
	j.questions.Store(7)
	j.asking.Store(450)
	text := ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n"))
	if !strings.Contains(text, "nothing found; which limit excludes all? try 7") ||
		!strings.Contains(text, "esc stops") {
		t.Errorf("no progress:\n%s", text)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	v.running, v.answer = nil, &answer{of: j.of, searched: true}
	if a := j.search(ctx); a.conflict != nil || a.searched {
		t.Errorf("a stopped search gives the reason %+v", a.conflict)
	}
	text = ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n"))
	if !strings.Contains(text, "There is no layout. The search for the reason was stopped") {
		t.Errorf("not said:\n%s", text)
	}
	// What is asked is counted.
	whole := j.search(t.Context())
	if whole.conflict == nil || !whole.searched || j.questions.Load() < 2 {
		t.Errorf("%d questions, reason %v", j.questions.Load(), whole.conflict)
	}
}
