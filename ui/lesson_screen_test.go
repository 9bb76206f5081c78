package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/lessons"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// TestLessonExplains: after the answer e opens the figure that decided, and closing it brings the lesson
// back.
func TestLessonExplains(t *testing.T) {
	m := taught(t, built(t, "second-step"), 120, 36)
	tell(m, "e")
	if m.overlays.Len() != 1 {
		t.Error("e explains before the answer")
	}
	tell(m, "b", "e")
	if text := screenText(m); m.overlays.ID() != overlay.ExplainID || !strings.Contains(text, "memory.peak") {
		t.Fatalf("no explanation:\n%s", text)
	}
	tell(m, "esc")
	if m.staged() == nil || m.lesson.Play.Phase != lessons.Reveal {
		t.Error("the lesson does not come back")
	}
}

// TestLessonTask: while the student explores for a goal, every screen says what it still needs, whatever
// turns, and that it is reached.
func TestLessonTask(t *testing.T) {
	m := taught(t, built(t, "capstone"), 120, 36)
	tell(m, "space")
	wants := func(tells ...string) {
		t.Helper()
		for _, want := range tells {
			if first, _, _ := strings.Cut(screenText(m), "\n"); !strings.Contains(first, want) {
				t.Errorf("no %q in %q", want, first)
			}
		}
	}
	wants("LESSON act 1: it fits ✗ · TP stays within a node ✓ · knobs used 0 of 2 · B")
	turn := func(change func(s *engine.Setup)) {
		change(&m.state.Setup)
		m.evaluate()
	}
	turn(func(s *engine.Setup) { s.TP, s.DP, s.MicroBatches = 16, 4, 32 })
	wants("it fits ✓ · TP stays within a node ✗ · knobs used 1 of 2 · B")
	tell(m, "tab")
	wants("LESSON act 1:")
	tell(m, "shift+tab", "B")
	if m.lesson.Play.Phase != lessons.Predict || !strings.Contains(screenText(m), "TP leaves the node") {
		t.Errorf("TP over two nodes is taken, or not told why not:\n%s", screenText(m))
	}
	tell(m, "space")
	turn(func(s *engine.Setup) { s.TP, s.PP, s.DP, s.MicroBatches = 8, 4, 2, 64 })
	wants("LESSON act 1: reached, B tells")
	send(m, tea.WindowSizeMsg{Width: 60, Height: 24})
	turn(func(s *engine.Setup) { s.TP, s.PP, s.DP, s.MicroBatches = 16, 1, 4, 32 })
	wants("LESSON act 1: 1 of 2 met · knobs used 1 of 2 · B")
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
	turn(func(s *engine.Setup) { s.TP, s.PP, s.DP, s.MicroBatches = 8, 4, 2, 64 })
	if tell(m, "B", "space"); !strings.Contains(screenText(m), "we go on with TP 8, PP 2") {
		t.Errorf("the next act does not say that it has another setup:\n%s", screenText(m))
	}
	tell(m, "space")
	turn(func(s *engine.Setup) { s.GPUs, s.DP = 128, 2*s.DP })
	wants("GPUs is held ✗")
}

// TestLessonKeys: a key that answers nothing says what does; a capital is no answer, B not either after esc.
func TestLessonKeys(t *testing.T) {
	for _, c := range []struct {
		id        string
		act       int
		key, says string
	}{
		{"second-step", 0, "space", "answer with a to c"},
		{"second-step", 0, "C", "answer with a to c"},
		{"bubble", 0, "a", "arrows move the cursor, then enter"},
		{"bubble", 0, "space", "arrows move the cursor, then enter"},
		{"recomputation", 0, "d", "arrows move the cursor, then enter"},
		{"zero", 0, "space", "arrows move the cursor, then enter"},
		{"zero", 1, "x", "type a number in GiB, then enter"},
		{"capstone", 0, "a", "space gives you the knobs"},
	} {
		m := taughtAt(t, built(t, c.id), c.act, 80, 24, nil)
		if tell(m, c.key); m.lesson.Play.Phase != lessons.Predict ||
			!strings.Contains(screenText(m), c.says) {
			t.Errorf("%s act %d, %s: no %q:\n%s", c.id, c.act+1, c.key, c.says, screenText(m))
		}
	}
	m := taught(t, built(t, "second-step"), 80, 24)
	if tell(m, "esc", "B"); m.lesson.Play.Phase != lessons.Predict || m.lesson.Play.Given != "" {
		t.Errorf("B answers: %+v", m.lesson.Play)
	}
}

// TestLessonRow: all of a rank's row is its stage, idle time too.
func TestLessonRow(t *testing.T) {
	m := taught(t, built(t, "bubble"), 120, 36)
	for range 3 {
		tell(m, "down")
		if at := m.pointed(); at != fmt.Sprint("stage ",
			m.screen().(screen.Ranked).RankAtCursor(m.context())) {
			t.Errorf("the cursor is on %q:\n%s", at, screenText(m))
		}
	}
	if tell(m, "enter"); !m.lesson.Play.Verdict.Right {
		t.Errorf("the last row is not the last stage: %+v", m.lesson.Play.Verdict)
	}
}

// TestLessonWords: the glossary over a question begins with what the act says, and the opening is said before
// the first question alone.
func TestLessonWords(t *testing.T) {
	m := taught(t, built(t, "zero"), 120, 36)
	if text := screenText(m); !strings.Contains(text, "An all-reduce gives each the sum") {
		t.Errorf("no opening:\n%s", text)
	}
	if tell(m, "w"); !strings.Contains(screenText(m), "first the words of this act") {
		t.Errorf("another glossary:\n%s", screenText(m))
	}
	lines := strings.Split(screenText(m), "\n")
	var first []string
	for _, line := range lines[4:10] {
		first = append(first, strings.Fields(line)[1])
	}
	if got := strings.Join(first, " "); !strings.Contains(got, "DP") || !strings.Contains(got, "ZeRO") ||
		!strings.Contains(got, "MFU") || !strings.Contains(got, "exposed") {
		t.Errorf("the first words are %s", got)
	}
	if tell(m, "enter"); m.overlays.ID() != overlay.WordID ||
		!strings.Contains(screenText(m), "Replicas of the model") {
		t.Errorf("enter opens another word than the one that it is on:\n%s", screenText(m))
	}
	m = taughtAt(t, built(t, "zero"), 1, 120, 36, nil)
	if strings.Contains(screenText(m), "An all-reduce gives each the sum") {
		t.Error("the opening is said again")
	}
	for _, l := range []string{"second-step", "bubble", "experts"} {
		if built(t, l).Opening == "" {
			t.Errorf("%s has no opening", l)
		}
	}
}

// TestLessonNext: the end shows what was taught and how it was answered, and n begins the lesson that
// follows; the last one has none.
func TestLessonNext(t *testing.T) {
	for id, next := range map[string]string{"zero": "overlap-wall", "capstone": ""} {
		l := built(t, id)
		m := taughtAt(t, l, len(l.Acts)-1, 120, 36, nil)
		tell(m, "!", "space")
		text := strings.Join(strings.Fields(screenText(m)), " ")
		if !strings.Contains(text, "END OF LESSON") || !strings.Contains(text, "0 of 1 right") ||
			!strings.Contains(text, "✗") {
			t.Errorf("%s has no end:\n%s", id, screenText(m))
		}
		if strings.Contains(text, "n next lesson: "+next) != (next != "") {
			t.Errorf("%s: next is not %q:\n%s", id, next, screenText(m))
		}
		if tell(m, "n"); next != "" && (m.staged() == nil || m.lesson.Play.Lesson.ID != next) {
			t.Errorf("%s: n does not begin %s:\n%s", id, next, screenText(m))
		}
	}
}

// TestLessonHelp: ? over an open question finds every lesson and word by name, and nothing that answers.
func TestLessonHelp(t *testing.T) {
	m := taught(t, built(t, "second-step"), 120, 36)
	tell(m, "?", "l", "e", "s", "s", "o", "n", "space", "7")
	if text := screenText(m); !strings.Contains(text, "lesson 7") || strings.Contains(text, "knob ") {
		t.Fatalf("? does not find lesson 7:\n%s", text)
	}
	if tell(m, "esc", "esc"); m.staged() == nil || m.lesson.Play.Phase != lessons.Predict {
		t.Fatalf("the list does not close down to the question:\n%s", screenText(m))
	}
	if tell(m, "?", "l", "e", "s", "s", "o", "n", "space", "7", "enter"); m.staged() == nil ||
		m.lesson.Play.Lesson.ID != "bubble" {
		t.Errorf("enter does not begin lesson 7:\n%s", screenText(m))
	}
}

// TestLessonAbout: the cursor of Memory is on the figure of the act, and what the question is not about is
// left out.
func TestLessonAbout(t *testing.T) {
	for _, c := range []struct {
		id         string
		act        int
		says, lack string
	}{
		{"recomputation", 1, "activations on rank 0", "longest sequence"},
		{"zero", 3, "activations on rank 0", "longest sequence"},
		{"long-context", 2, "activations on rank 0", "longest sequence"},
		{"experts", 1, "weights on rank 0", "longest sequence"},
		{"tensor-sequence", 3, "activations on rank 0", "longest sequence"},
		{"tensor-sequence", 3, "4 ranks", "sum "},
		{"zero", 2, "TRAFFIC", "OVERLAP"},
	} {
		m := taughtAt(t, built(t, c.id), c.act, 120, 36, nil)
		for range 2 {
			if text := screenText(m); !strings.Contains(text, c.says) || strings.Contains(text, c.lack) {
				t.Errorf("%s, act %d: no %q, or %q:\n%s", c.id, c.act+1, c.says, c.lack, text)
			}
			tell(m, "a", "space")
		}
	}
	m := taught(t, built(t, "recomputation"), 120, 36)
	if tell(m, "!"); !strings.Contains(screenText(m), "activations on rank 0") {
		t.Errorf("the answer of a point is not where the cursor is:\n%s", screenText(m))
	}
}

// TestLessonTexts: question, answer and rule of every act have room in a window of 80x24.
func TestLessonTexts(t *testing.T) {
	all, errs := everyLesson()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for i, l := range all {
		for at := range l.Acts {
			if !draws.Deep() && (i+at)%3 != 0 {
				continue
			}
			m := taughtAt(t, l, at, 80, 24, nil)
			act := m.lesson.Play.Act()
			has := func(texts ...string) {
				t.Helper()
				plain := func(text string) string { // a line may end at a hyphen
					return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "- ", "-")
				}
				page := plain(screenText(m))
				for _, text := range texts {
					if !strings.Contains(page, plain(text)) {
						t.Errorf("%s, act %d: no %q:\n%s", l.ID, at+1, text, screenText(m))
					}
				}
			}
			has(act.Ask)
			wrong := slices.IndexFunc(act.Options, func(o lessons.Option) bool { return !o.Right })
			switch act.Kind {
			case lessons.Number:
				tell(m, "1", "enter")
			case lessons.Point:
				tell(m, "enter")
			case lessons.Goal:
				tell(m, "!")
			default:
				tell(m, lessons.Letter(wrong))
			}
			if m.lesson.Play.Phase == lessons.Turning {
				tell(m, "space")
			}
			has(act.Why, act.Rule, m.lesson.Play.Verdict.Says)
			if top := strings.Split(screenText(m), "\n")[3]; !strings.Contains(top,
				strings.ToUpper(m.screen().Name())) && act.Show != "explore" {
				t.Errorf("%s, act %d: the screen has no room:\n%s", l.ID, at+1, screenText(m))
			}
		}
	}
}

// TestLessonPicture: after the answer the steps of a ring play, and arrows and z belong to it: none of them
// leaves the act.
func TestLessonPicture(t *testing.T) {
	for _, c := range []struct {
		lesson string
		act    int
	}{{"overlap-wall", 1}, {"tensor-sequence", 2}, {"long-context", 3}} {
		l := built(t, c.lesson)
		if !strings.HasPrefix(l.Acts[c.act].Show, "network/") {
			t.Fatalf("%s act %d shows %s", c.lesson, c.act+1, l.Acts[c.act].Show)
		}
		m := taughtAt(t, l, c.act, 120, 36, nil)
		tell(m, "!")
		first := screenText(m)
		if !strings.Contains(first, "arrows picture") {
			t.Errorf("%s: no picture:\n%s", c.lesson, first)
		}
		tell(m, "right")
		if text := screenText(m); m.staged() == nil || m.lesson.Play.At != c.act || text == first {
			t.Errorf("%s: the arrow does not step:\n%s", c.lesson, text)
		}
		tell(m, "left", "z")
		if text := screenText(m); m.lesson.Play.At != c.act ||
			(text != first) != (c.lesson == "long-context") {
			t.Errorf("%s: z does not turn the split, or something else:\n%s", c.lesson, text)
		}
		m = taughtAt(t, l, c.act, 120, 36, func(o *Options) { o.Calm = false })
		tell(m, "!")
		if mover, ok := m.screen().(screen.Mover); !ok || !mover.Playing() {
			t.Errorf("%s: the picture does not play", c.lesson)
		}
	}
}

// TestTaskLine: the first line tells how far the goal of this act is, also where the act before ended with
// the setup that this one begins with.
func TestTaskLine(t *testing.T) {
	m := taughtAt(t, built(t, "capstone"), 1, 160, 40, nil)
	tell(m, "space")
	own := m.lesson.Play.Act().After.Setup
	followed(m, m.do(state.Action{Verb: state.UseSetup, Setup: &own}))
	first := func() string { return strings.Split(screenText(m), "\n")[0] }
	if line := first(); !strings.Contains(line, "LESSON act 2: reached") {
		t.Fatalf("the goal is not reached: %s", line)
	}
	tell(m, "B", "space", "space")
	if line := first(); !strings.Contains(line, "LESSON act 3:") || strings.Contains(line, "reached") {
		t.Errorf("in act 3 the first line is %s", line)
	}
}
