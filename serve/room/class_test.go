package room_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/serve/room"
	"meshscope/ui"
	"meshscope/ui/class"
	"meshscope/ui/state"
)

// explorer is a running program in a class, without a terminal.
type explorer struct {
	model   *ui.Model
	program *tea.Program
	seat    *room.Seat
	frame   atomic.Pointer[string]
	ended   chan struct{}
}

func (x *explorer) Init() tea.Cmd { return x.model.Init() }

func (x *explorer) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if done, ok := msg.(chan struct{}); ok {
		close(done)
		return x, nil
	}
	_, cmd := x.model.Update(msg)
	return x, cmd
}

func (x *explorer) View() tea.View {
	v := x.model.View()
	x.frame.Store(&v.Content)
	return v
}

// enter starts an explorer of w x h cells in a class.
func enter(t testing.TB, r *room.Room, role class.Role, w, h int) *explorer {
	t.Helper()
	x := &explorer{seat: r.Join(role), ended: make(chan struct{})}
	env := []string{"LANG=en_US.UTF-8", "TERM=xterm-256color", "SSH_TTY=/dev/null"}
	x.model = ui.New(ui.Options{Setup: r.Start(), Class: x.seat, Env: env, Theme: "dark"})
	x.program = tea.NewProgram(x, tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithEnvironment(env),
		tea.WithWindowSize(w, h),
		tea.WithColorProfile(colorprofile.ANSI256), tea.WithoutSignals(), tea.WithFPS(120))
	go func() {
		defer close(x.ended)
		if _, err := x.program.Run(); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		x.program.Quit()
		<-x.ended
		x.seat.Leave()
	})
	return x
}

// text returns the newest frame without colours.
func (x *explorer) text() string {
	if f := x.frame.Load(); f != nil {
		return ansi.Strip(*f)
	}
	return ""
}

// press sends keys and waits until they are answered.
func (x *explorer) press(names ...string) {
	codes := map[string]rune{
		"esc": tea.KeyEscape, "space": tea.KeySpace, "pgup": tea.KeyPgUp,
		"pgdown": tea.KeyPgDown, "tab": tea.KeyTab, "down": tea.KeyDown, "right": tea.KeyRight,
		"enter": tea.KeyEnter,
	}
	for _, name := range names {
		if code, ok := codes[name]; ok {
			x.program.Send(tea.KeyPressMsg{Code: code})
			continue
		}
		x.program.Send(tea.KeyPressMsg{Code: []rune(name)[0], Text: name})
	}
	done := make(chan struct{})
	x.program.Send(done)
	select {
	case <-done:
	case <-x.ended:
	}
}

// patience bounds what takes a search at most, on a machine that is busy with other tests.
const patience = 5 * time.Minute

// sees waits until the frame has every text, and none of those that begin with a minus.
func (x *explorer) sees(t testing.TB, texts ...string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		frame := x.text()
		missing := ""
		for _, text := range texts {
			if none, no := strings.CutPrefix(text, "-"); no && strings.Contains(frame, none) ||
				!no && !strings.Contains(frame, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no frame with %q:\n%s", missing, frame)
		}
	}
}

// start is where the classes of the tests begin.
func start() class.Place {
	return class.Place{
		Setup: presets.DefaultSetup(), Locks: lessons.Locks(), Screen: "Explore",
		Focus: knob.TP,
	}
}

// TestFollow: a follower shows what the presenter turns, in its own size; the first knob key forks
// and F comes back.
func TestFollow(t *testing.T) {
	t.Parallel()
	r := room.New(start(), nil)
	presenter, student := enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 80, 24)
	presenter.sees(t, "1 follow, 0 explore")
	student.sees(t, "following")
	presenter.press(")")
	presenter.sees(t, "TP 8 →")
	presenter.press("tab")
	student.sees(t, "[Memory]", "following")
	student.sees(t, "step 9", "sequence up to") // what the presenter's explorer has computed
	student.press("(")
	student.sees(t, "yours; F rejoins")
	presenter.sees(t, "0 follow, 1 explore")
	presenter.press("tab")
	presenter.sees(t, "[Pipeline]")
	student.sees(t, "[Memory]")
	student.press("F")
	student.sees(t, "[Pipeline]", "following")
	presenter.sees(t, "1 follow, 0 explore")
}

// TestKeyIsFirst: a key of the presenter lets followers wait, one of a student does not.
func TestKeyIsFirst(t *testing.T) {
	t.Parallel()
	r := room.New(start(), nil)
	first := make(chan struct{}, 10)
	r.Between = func() { first <- struct{}{} }
	presenter, student := enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 80, 24)
	student.sees(t, "following")
	student.press(")")
	student.sees(t, "yours; F rejoins")
	select {
	case <-first:
		t.Error("a key of a student lets others wait")
	default:
	}
	presenter.press(")")
	<-first
}

// TestSameScreen: who follows in a window of the same size sees on every screen what the presenter
// does, and what was computed for it, but for the line that says who one is.
func TestSameScreen(t *testing.T) {
	t.Parallel()
	r := room.New(start(), nil)
	presenter, student := enter(t, r, class.Presenter, 100, 30), enter(t, r, class.Student, 100, 30)
	for _, name := range []string{
		"Explore", "Memory", "Pipeline", "Network", "Search", "Compare", "Scan",
		"Evidence",
	} {
		presenter.sees(t, "["+name+"]")
		if name == "Search" || name == "Evidence" && !draws.Deep() {
			presenter.press("tab")
			continue
		}
		presenter.press("down", "right")
		presenter.sees(t, "-evaluating", "-working", "-computing", "-n/a")
		student.sees(t, "["+name+"]")
		was, is := body(presenter), body(student)
		for end := time.Now().Add(patience); was != is &&
			time.Now().Before(end); was, is = body(presenter), body(student) {
			time.Sleep(5 * time.Millisecond)
		}
		if was != is {
			t.Errorf("%s: the presenter has\n%s\nthe student\n%s", name, was, is)
		}
		presenter.press("tab")
	}
}

// body returns the rows of a frame between the first and the last.
func body(x *explorer) string {
	rows := strings.Split(x.text(), "\n")
	if len(rows) < 4 {
		return ""
	}
	return strings.Join(rows[1:len(rows)-2], "\n")
}

// built returns a lesson of the program.
func built(t testing.TB, id string) *lessons.Lesson {
	t.Helper()
	all, errs := lessons.All("", presets.Default())
	l, err := lessons.Find(all, id)
	if err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	return l
}

// TestLessonInClass: votes are hidden until the presenter shows them, can be changed while one of the two
// rounds is open, and stand beside each other before the turn. A clicker is enough, the notes show all.
func TestLessonInClass(t *testing.T) {
	t.Parallel()
	lesson := built(t, "second-step")
	first := &lesson.Acts[0]
	r := room.New(start(), lesson)
	presenter := enter(t, r, class.Presenter, 120, 36)
	presenter.sees(t, "LESSON", "first vote: 0 follow, 0 explore, 0 of 0 answered")
	notes := enter(t, r, class.Presenter, 100, 30)
	notes.sees(t, "NOTES", "0 follow", "answer", "next")
	a, b, late := enter(t, r, class.Student, 80, 24), enter(t, r, class.Student, 120, 36), (*explorer)(nil)
	a.sees(t, "LESSON", "act 1 of", "a up")
	a.press("c", "b", "a") // the last one counts
	b.press("c")
	b.sees(t, "▸ c", "wait for the class", "-"+first.Options[2].No[:12])
	presenter.sees(t, "2 of 2 answered", "-█ 1")
	notes.sees(t, "2 of 2 answered", "█ 1")
	a.sees(t, "wait for the class", "-█ 1")
	notes.press("pgdown")
	a.sees(t, "talk it over")
	late = enter(t, r, class.Student, 100, 30)
	late.sees(t, "talk it over", "act 1 of")
	notes.press("pgdown")
	for _, x := range []*explorer{a, b, late} {
		x.sees(t, "second vote")
		x.press("b")
	}
	presenter.sees(t, "3 of 3 answered")
	presenter.press("v")
	a.sees(t, "the votes", "1 → 0", "0 → 3")
	presenter.sees(t, "1 → 0", "0 → 3")
	presenter.press("b")
	a.sees(t, "dark", "-the votes")
	presenter.press(".")
	a.sees(t, "the votes")
	presenter.press("pgdown")
	a.sees(t, "rule", "You said: the same")
	presenter.press("space")
	late.sees(t, "act 2 of", "first vote")
	presenter.press("pgup")
	late.sees(t, "act 1 of", "rule")
	a.sees(t, "act 1 of", "rule")
	a.press("esc")
	a.sees(t, "yours; F rejoins")
	a.press("B") // a wrong answer does not keep a student away
	a.sees(t, "LESSON", "-yours")
	for _, back := range []string{"B", "pgup"} { // neither moves the act
		presenter.press("esc")
		late.sees(t, "-LESSON", "following")
		presenter.sees(t, "-evaluating")
		late.sees(t, "-evaluating")
		presenter.press(back)
		late.sees(t, "LESSON", "act 1 of", "rule")
	}
	late.press("esc")
	late.sees(t, "yours; F rejoins", "-LESSON")
	late.press("F")
	late.sees(t, "LESSON", "-yours")
}

// TestPresenterLeaves: one esc at an open question shows nothing to anybody; the second puts it aside.
func TestPresenterLeaves(t *testing.T) {
	t.Parallel()
	r := room.New(start(), built(t, "second-step"))
	presenter, a := enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 100, 30)
	a.sees(t, "LESSON", "a up")
	presenter.press("esc")
	presenter.sees(t, "esc again shows every figure to the class", "LESSON")
	a.press("b") // news of a vote does not take the first esc back
	presenter.sees(t, "1 of 1 answered", "esc again shows every figure")
	a.sees(t, "LESSON", "first vote")
	presenter.press("esc")
	presenter.sees(t, "-LESSON")
	a.sees(t, "-LESSON", "following")
	presenter.press("B")
	a.sees(t, "LESSON", "first vote")
}

// TestClassEnds: after the last act who teaches has the totals of each act with its rule, on both screens,
// and n begins the next lesson.
func TestClassEnds(t *testing.T) {
	t.Parallel()
	lesson := built(t, "second-step")
	r := room.New(start(), lesson)
	presenter, a := enter(t, r, class.Presenter, 120, 50), enter(t, r, class.Student, 100, 30)
	notes := enter(t, r, class.Presenter, 100, 30)
	a.sees(t, "LESSON", "a up")
	right := slices.IndexFunc(lesson.Acts[0].Options, func(o lessons.Option) bool { return o.Right })
	a.press(lessons.Letter(right))
	presenter.sees(t, "1 of 1 answered")
	for at := range lesson.Acts {
		presenter.sees(t, fmt.Sprintf("act %d of", at+1))
		presenter.press("v", "space", "space")
	}
	presenter.sees(t, "END OF LESSON 1", "first vote 1 of 1 right", "n next lesson: recomputation")
	notes.sees(t, "is over", "first vote 1 of 1 right")
	a.sees(t, "-END OF LESSON", "following")
	presenter.press("n")
	a.sees(t, "LESSON", "act 1 of", "first vote")
	if got := presenterLesson(r); got != "recomputation" {
		t.Errorf("n begins %s", got)
	}
}

// presenterLesson is the id of the lesson that is on.
func presenterLesson(r *room.Room) string {
	s := r.Join(class.Student)
	defer s.Leave()
	if l := s.Now().Lesson; l != nil {
		return l.ID
	}
	return ""
}

// TestNothingOfAGuest: whatever a student turns, types, pastes or answers, the others' terminals receive
// nothing of it but counts.
func TestNothingOfAGuest(t *testing.T) {
	t.Parallel()
	r := room.New(start(), built(t, "second-step"))
	presenter, guest, other := enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 120, 36),
		enter(t, r, class.Student, 100, 30)
	presenter.sees(t, "2 follow")
	other.sees(t, "LESSON", "a up", "step 1 ─") // with what the presenter's explorer computes last
	const evil = "\x1b]0;owned\a\x1b[31mEVIL\x9b2J\u202eLIVE"
	paste := func(text string) { guest.program.Send(tea.PasteMsg{Content: text}) }
	config := `{"architectures":["LlamaForCausalLM"],"model_type":"llama","_name_or_path":"EVIL","hidden_size":4096,"num_hidden_layers":7,"num_attention_heads":32,"vocab_size":777}`
	paste(evil)
	paste(config)
	guest.press("c", "a", "9")
	presenter.sees(t, "1 of 2 answered")
	guest.press("esc")
	guest.sees(t, "yours")
	presenter.sees(t, "1 follow, 1 explore")
	before := *other.frame.Load()
	paste(config + "\n")
	paste(evil)
	paste("model = \"EVIL\"\n[[act]]\n")
	guest.press("tab", ")", "p", "R", "esc", "x", "esc", "#", "9", "enter", "F", "B")
	time.Sleep(300 * time.Millisecond)
	for who, x := range map[string]*explorer{"the presenter": presenter, "another student": other} {
		frame := *x.frame.Load()
		for _, text := range []string{"EVIL", "owned", "\u202e", "\x9b", "777", "LIVE"} {
			if strings.Contains(frame, text) {
				t.Errorf("%s receives %q:\n%s", who, text, x.text())
			}
		}
	}
	if after := *other.frame.Load(); after != before {
		t.Errorf("a follower's frame has changed to\n%s", other.text())
	}
	if p := other.seat.Now().Place; p.Setup != built(t, "second-step").Start() {
		t.Error("a student has turned a knob of the class")
	}
}

// TestSmallWindow: a student whose window has no room for a screen has the question alone, and answers.
func TestSmallWindow(t *testing.T) {
	t.Parallel()
	r := room.New(start(), built(t, "second-step"))
	presenter, small := enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 60, 12)
	small.sees(t, "a up", "-MEMORY")
	small.press("a")
	presenter.sees(t, "1 of 1 answered")
}

// TestPresenterComesBack: the class stays as it is while the presenter is away.
func TestPresenterComesBack(t *testing.T) {
	t.Parallel()
	r := room.New(start(), nil)
	presenter, student := enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 100, 30)
	presenter.sees(t, "1 follow")
	presenter.press("tab", "s", "}")
	student.sees(t, "[Memory]", "[over a step]")
	presenter.program.Quit()
	<-presenter.ended
	presenter.seat.Leave()
	late := enter(t, r, class.Student, 80, 24)
	late.sees(t, "[Memory]", "[over a step]", "following")
	again := enter(t, r, class.Presenter, 100, 30)
	again.sees(t, "[Memory]", "[over a step]", "2 follow")
	again.press("tab")
	late.sees(t, "[Pipeline]")
}

// TestGoalInClass: a student leaves to reach a goal and hands in what was found; a number is voted on as
// the step of a ladder.
func TestGoalInClass(t *testing.T) {
	if !draws.Deep() {
		t.Skip("one lesson is enough by default")
	}
	goal := built(t, "capstone")
	r := room.New(start(), goal)
	presenter, a := enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 120, 36)
	a.sees(t, "to be reached")
	presenter.sees(t, "0 of 1 answered")
	a.press("space")
	a.sees(t, "yours; F rejoins")
	a.press(")", "B") // TP 2 is not enough
	a.sees(t, "yours; F rejoins", goal.Acts[0].Options[0].No[:20])
	found := goal.Acts[0].After.Setup
	a.program.Send(state.Action{Verb: state.UseSetup, Setup: &found})
	a.press("B")
	presenter.sees(t, "1 of 1 answered")
	presenter.press("space")
	a.sees(t, "rule", "Reached with", "-one way")
	presenter.press("space")
	a.sees(t, "act 2 of")
	number := built(t, "second-step")
	asked := slices.IndexFunc(number.Acts, func(act lessons.Act) bool { return act.Kind == lessons.Number })
	r = room.New(start(), number)
	presenter, a = enter(t, r, class.Presenter, 120, 36), enter(t, r, class.Student, 80, 24)
	for at := presenter.seat.Now(); at.At < asked; {
		presenter.press("pgdown")
		for was, end := at, time.Now().Add(patience); at.At == was.At &&
			at.Step == was.Step; at = presenter.seat.Now() {
			if time.Now().After(end) {
				t.Fatalf("act %d, step %d stays", at.At, at.Step)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	counted := fmt.Sprintf("act %d of %d", asked+1, len(number.Acts))
	a.sees(t, counted, "first vote")
	late := enter(t, r, class.Student, 80, 24)
	late.sees(t, counted)
	late.press("q") // by mistake
	late.sees(t, "gives up your vote")
	late.press("9", "9")
	late.sees(t, ": 99")
	a.press("7", "0", "enter")
	a.sees(t, "70 is your answer")
	presenter.press("pgdown")
	late.sees(t, "talk it over", "-99") // what was not handed in went with the vote
	presenter.press("v")
	a.sees(t, "50 to 100 GiB", "█ 1")
}
