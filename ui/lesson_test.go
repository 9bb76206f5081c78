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
	"meshscope/ui/session"
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
