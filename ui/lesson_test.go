package ui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/session"
	"meshscope/ui/state"
)

// taught is a model with a lesson on it, evaluated by the engine, with all that follows from that.
func taught(t testing.TB, l *lessons.Lesson, w, h int) *Model {
	t.Helper()
	return taughtAt(t, l, 0, w, h, nil)
}

// taughtAt is taught at an act, with other options.
func taughtAt(t testing.TB, l *lessons.Lesson, act, w, h int, change func(*Options)) *Model {
	t.Helper()
	o := Options{
		Setup: l.Start(), Lesson: l, Act: act + 1, Calm: true,
		Env: []string{"LANG=en_US.UTF-8", "TERM=xterm-256color"},
	}
	if change != nil {
		change(&o)
	}
	m := New(o)
	for _, msg := range []tea.Msg{
		tea.ColorProfileMsg{Profile: colorprofile.ANSI256},
		tea.WindowSizeMsg{Width: w, Height: h},
	} {
		_, cmd := m.Update(msg)
		followed(m, cmd)
	}
	return m
}

// everyLesson reads the built-in lessons once for all tests.
var everyLesson = sync.OnceValues(func() ([]*lessons.Lesson, []error) {
	return lessons.All("", presets.Default())
})

// built is a built-in lesson.
func built(t testing.TB, id string) *lessons.Lesson {
	t.Helper()
	all, errs := everyLesson()
	l, err := lessons.Find(all, id)
	if err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	return l
}

// TestLessons goes through every act of every lesson at two sizes with keys alone. While a figure is
// masked no frame has it, in any unit, and no key copies, exports or opens anything.
func TestLessons(t *testing.T) {
	all, errs := everyLesson()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for i, l := range all {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			// three lessons, each at one of the sizes
			if !draws.Deep() && (i%4 != 0 || (size[0] == 120) != (i%8 == 0)) {
				continue
			}
			t.Run(fmt.Sprintf("%s-%dx%d", l.ID, size[0], size[1]), func(t *testing.T) {
				m := taught(t, l, size[0], size[1])
				for at := range l.Acts {
					playAct(t, m, at)
				}
				if m.lesson != nil || m.overlays.ID() != overlay.LessonEndID ||
					!strings.Contains(screenText(m), "END OF LESSON") {
					t.Errorf("the lesson does not end:\n%s", screenText(m))
				}
			})
		}
	}
}

// playAct answers an act with its first option and goes on to the next.
func playAct(t *testing.T, m *Model, at int) {
	t.Helper()
	play := &m.lesson.Play
	if play.At != at || play.Phase != lessons.Predict {
		t.Fatalf("act %d in phase %d, wanted the question of %d", play.At, play.Phase, at)
	}
	masked(t, m)
	act, was := play.Act(), m.state.Setup
	for _, key := range []string{"y", "x", "u", ":", "R", "tab", ")"} { // nothing gets past the question
		tell(m, key)
		if m.staged() == nil || play.Phase != lessons.Predict || m.state.Setup != was ||
			m.overlays.Len() != 1 {
			t.Fatalf("act %d: %s is not held", at, key)
		}
	}
	switch act.Kind {
	case lessons.Number:
		tell(m, "1", "enter")
	case lessons.Point:
		tell(m, "right", "left", "enter")
	case lessons.Goal:
		tell(m, "!")
	default:
		tell(m, "a")
	}
	if play.Phase == lessons.Turning {
		masked(t, m)
		tell(m, "space")
	}
	if play.Phase != lessons.Reveal || m.state.Setup != act.After.Setup {
		t.Fatalf("act %d: phase %d after the turn", at, play.Phase)
	}
	if text := strings.Join(strings.Fields(screenText(m)), " "); !strings.Contains(text, "rule") {
		t.Errorf("act %d: no rule:\n%s", at, screenText(m))
	}
	tell(m, "space")
}

// masked checks that the page shows nothing that is hidden, as any of the program's ways to write a
// figure writes it, and that the strip does not show the answer.
func masked(t *testing.T, m *Model) {
	t.Helper()
	act := m.lesson.Play.Act()
	strip := m.overlays.Render(m.look.theme, m.look.glyphs)
	lines := strings.Split(screenText(m), "\n")
	page, question := strings.Join(lines[:strip.Y], "\n"), strings.Join(lines[strip.Y:], "\n")
	mask := m.lesson.Play.Mask()
	if places := mask.Places(page); len(places) > 0 {
		t.Errorf("act %d shows what is hidden at %v:\n%s", m.lesson.Play.At, places, page)
	}
	page = strings.ReplaceAll(page, m.state.Setup.Model.Name, "MODEL") // Llama-3.1: a version is no figure
	for _, f := range mask.Figures() {
		for _, text := range written(f) {
			alone := regexp.MustCompile(`(^|[^\d.,a-zA-Z])` + regexp.QuoteMeta(text) +
				`($|[^\d.,]|[.,](\D|$))`)
			if alone.MatchString(sameUnit(page, f.Unit)) {
				t.Errorf("act %d shows %s, %s:\n%s", m.lesson.Play.At, f.ID, text, page)
			}
			if alone.MatchString(sameUnit(question, f.Unit)) && !strings.Contains(act.Ask, text) {
				t.Errorf("act %d asks with %s, %s:\n%s", m.lesson.Play.At, f.ID, text, question)
			}
		}
	}
}

// sameUnit leaves out error bands, times where the figure is none, and shares where it is none: their digits
// are its by chance.
func sameUnit(text string, u record.Unit) string {
	others := []string{`±[\d.,]+ ?%`}
	if u != record.Seconds {
		others = append(others, `[\d.,]+ [mu]?s\b`)
	}
	if u != record.Share {
		others = append(others, `[\d.,]+ ?%`)
	}
	return regexp.MustCompile(strings.Join(others, "|")).ReplaceAllString(text, "")
}

// written returns a figure as each formatter of the program writes it, without units: numbers of two
// digits and more.
func written(f figures.Figure) []string {
	v := f.Value
	texts := []string{
		f.Unit.Text(v), figure.Of(f.Unit, v), figure.Fine(f.Unit, v), lessons.Text(f), figure.Short(v),
		figure.Three(v), figure.FineCount(v), fmt.Sprint(v), fmt.Sprintf("%.0f", v),
		figure.GiB(units.Bytes(v)), figure.Memory(units.Bytes(v)), figure.Traffic(units.Bytes(v)),
		fmt.Sprintf("%.1f", v/(1<<30)), fmt.Sprintf("%.0f", v/(1<<30)), fmt.Sprintf("%.1f", v/1e9),
		fmt.Sprintf("%.0f", v/(1<<20)),
	}
	switch f.Unit {
	case record.Seconds:
		texts = append(texts, figure.Seconds(units.Seconds(v)), figure.FineSeconds(units.Seconds(v)),
			figure.Headline(units.Seconds(v)), fmt.Sprintf("%.1f", 1e3*v), fmt.Sprintf("%.2f", v))
	case record.Share:
		texts = append(texts, figure.Percent(v), figure.FinePercent(v), fmt.Sprintf("%.0f", 100*v))
	default:
	}
	var out []string
	for _, text := range texts {
		number := regexp.MustCompile(`^[\d.,]+`).FindString(text)
		if len(strings.Trim(strings.ReplaceAll(number, ".", ""), "0,")) >= 2 &&
			!slices.Contains(out, number) {
			out = append(out, number)
		}
	}
	return out
}

// tell presses keys, each with everything that follows from it, as it would in the background.
func tell(m *Model, names ...string) {
	for _, name := range names {
		_, cmd := m.Update(press(name))
		followed(m, cmd)
	}
}

// followed runs a command and what follows from it, but for what moves by itself.
func followed(m *Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, one := range msg {
			followed(m, one)
		}
	case tickMsg, nil:
	default:
		_, next := m.Update(msg)
		followed(m, next)
	}
}

// TestLessonFreePlay: esc leaves the keys to the student; a question that is open is given up by that,
// after a second key. B brings the lesson back with its setup, one undo what was played with.
func TestLessonFreePlay(t *testing.T) {
	m := taught(t, built(t, "second-step"), 80, 24)
	start := m.state.Setup
	tell(m, "esc")
	if m.staged() == nil || !strings.Contains(screenText(m), "esc again gives this question up") {
		t.Fatalf("one key gives the question up:\n%s", screenText(m))
	}
	masked(t, m)
	tell(m, "x")
	if strings.Contains(screenText(m), "esc again") {
		t.Error("another key does not take it back")
	}
	tell(m, "esc", "esc")
	if m.staged() != nil || m.lesson == nil || m.lesson.Play.Phase != lessons.Reveal ||
		m.lesson.Play.Right != 0 {
		t.Fatal("esc does not leave the lesson waiting, given up")
	}
	tell(m, ")")
	played := m.state.Setup
	tell(m, "B")
	if m.overlays.ID() != overlay.LessonID || m.state.Setup != start ||
		!strings.Contains(screenText(m), "The answer: up") {
		t.Errorf("B does not bring the lesson back:\n%s", screenText(m))
	}
	tell(m, "esc", "u")
	if played != start && m.state.Setup != played {
		t.Error("one undo does not bring back what was played with")
	}
}

// TestLessonHolds: while a question is open the mouse and what is pasted open and turn nothing either; a
// click on an option answers.
func TestLessonHolds(t *testing.T) {
	m := taught(t, built(t, "second-step"), 80, 24)
	start := m.state.Setup
	share, _ := setupdoc.Share(presets.DefaultSetup(), presets.Default(), presets.Default())
	for y := range 20 {
		for _, x := range []int{1, 12, 40, 79} {
			_, cmd := m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			followed(m, cmd)
		}
	}
	for _, text := range []string{share, "{}", "17"} {
		_, cmd := m.Update(tea.PasteMsg{Content: text})
		followed(m, cmd)
	}
	if m.staged() == nil || m.state.Setup != start || m.lesson.Play.Phase != lessons.Predict {
		t.Fatalf("the question does not hold:\n%s", screenText(m))
	}
	for y, line := range strings.Split(screenText(m), "\n") {
		if at := strings.Index(line, "c down"); at >= 0 {
			_, cmd := m.Update(tea.MouseClickMsg{X: at + 2, Y: y, Button: tea.MouseLeft})
			followed(m, cmd)
		}
	}
	if m.lesson.Play.Given != "c" {
		t.Errorf("a click does not answer: %q", m.lesson.Play.Given)
	}
}

// TestLessonResumes: a lesson that is left in the middle goes on at its act, in this run and in the next.
func TestLessonResumes(t *testing.T) {
	l := built(t, "zero")
	m := taught(t, l, 80, 24)
	tell(m, "!", "space", "!", "space")
	if got := m.session().Act; got != "zero 3" {
		t.Errorf("kept %q", got)
	}
	last := session.None()
	last.Act = "zero 3"
	again := func(act int) *Model {
		return New(Options{Lesson: l, Act: act, Last: &last, Env: []string{"LANG=en_US.UTF-8"}})
	}
	m = again(0)
	if m.lesson.Play.At != 2 || m.state.Setup != l.Acts[2].Before.Setup {
		t.Errorf("at act %d", m.lesson.Play.At)
	}
	if m = again(1); m.lesson.Play.At != 0 {
		t.Error("an act that is asked for is not shown")
	}
	tell(m, "!", "space", "pgup")
	if m.lesson.Play.At != 0 || m.lesson.Play.Phase != lessons.Reveal ||
		m.state.Setup != l.Acts[0].After.Setup {
		t.Error("pgup does not go to the act before, with its answer")
	}
	tell(m, "r")
	if m.lesson.Play.Phase != lessons.Predict || m.state.Setup != l.Start() {
		t.Error("r does not ask again")
	}
	tell(m, "w")
	if !m.asking() || m.staged() != nil {
		t.Error("w does not open the glossary over the open question")
	}
	if tell(m, "esc"); m.staged() == nil || m.lesson.Play.Phase != lessons.Predict {
		t.Error("the glossary does not close down to the question")
	}
}

// TestLessonGoal: a goal is reached with the knobs of the screens and checked by B.
func TestLessonGoal(t *testing.T) {
	m := taught(t, built(t, "capstone"), 120, 36)
	tell(m, "space", "B")
	if m.lesson.Play.Phase != lessons.Predict {
		t.Fatal("nothing was turned, and it is judged")
	}
	tell(m, "space")
	m.state.Setup = m.lesson.Play.Act().After.Setup
	m.evaluate()
	tell(m, "B")
	if m.lesson.Play.Phase != lessons.Reveal || !m.lesson.Play.Verdict.Right {
		t.Errorf("a setup that fits is not taken: %+v", m.lesson.Play.Verdict)
	}
	if text := screenText(m); !strings.Contains(text, "Reached with TP 8, PP 2.") ||
		strings.Contains(text, "one way") {
		t.Errorf("the lesson's own way is told twice:\n%s", text)
	}
}

// TestQuiz: P asks before each change of any setup; the figure is hidden until the answer, and esc leaves
// the knob where it is.
func TestQuiz(t *testing.T) {
	m := sample(t, 80, 24, func(o *Options) { o.Evaluate = engine.Evaluate })
	start := m.state.Setup
	tell(m, "P", "right")
	if m.staged() == nil || m.state.Setup != start {
		t.Fatalf("nothing is asked before the turn:\n%s", screenText(m))
	}
	masked(t, m)
	tell(m, "esc")
	if m.lesson != nil || m.state.Setup != start {
		t.Fatal("esc turns, or the exercise waits")
	}
	tell(m, "right", "a", "space")
	if m.state.Setup == start || !strings.Contains(screenText(m), "moved") {
		t.Errorf("the turn is not made:\n%s", screenText(m))
	}
	tell(m, "space", "u")
	if m.lesson != nil || m.state.Setup != start {
		t.Error("one undo does not bring the setup back")
	}
	tell(m, "P", "P", "right")
	if m.staged() != nil || m.state.Setup == start {
		t.Error("P three times asks nothing")
	}
}

// TestLessonProgress: a lesson that was gone through is kept with the session.
func TestLessonProgress(t *testing.T) {
	m := taught(t, built(t, "capstone"), 80, 24)
	for range m.lesson.Play.Lesson.Acts {
		tell(m, "!", "space")
	}
	if got := m.session().Learned; got != "capstone" {
		t.Errorf("learned %q", got)
	}
	m = taughtAt(t, built(t, "capstone"), 2, 80, 24, nil)
	if tell(m, "!", "space"); !strings.Contains(screenText(m), "0 of 1 right") {
		t.Errorf("acts that were not asked count:\n%s", screenText(m))
	}
}

// TestLessonSmall: a window without room for a screen has the question alone, which can be answered.
func TestLessonSmall(t *testing.T) {
	m := taught(t, built(t, "second-step"), 40, 10)
	if text := screenText(m); !strings.Contains(text, "The first step peaks") ||
		!strings.Contains(text, "c down") {
		t.Errorf("the question:\n%s", text)
	}
	tell(m, "a")
	if text := screenText(m); !strings.Contains(text, "Right") || !strings.Contains(text, "rule") {
		t.Errorf("the answer:\n%s", text)
	}
}

// TestLessonAtEverySize: a lesson is drawn in every window, before the answer and after it.
func TestLessonAtEverySize(t *testing.T) {
	m := taught(t, built(t, "second-step"), 40, 10)
	for range 2 {
		for w := 0; w <= 64; w += 4 {
			for h := 0; h <= 22; h++ {
				send(m, tea.WindowSizeMsg{Width: w, Height: h})
				checkFrame(t, m)
			}
		}
		tell(m, "a")
	}
}

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
