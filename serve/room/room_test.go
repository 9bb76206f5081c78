package room_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"meshscope/engine_test/draws"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/serve/room"
	"meshscope/ui/class"
)

// TestVotes lets many members vote, come and go at once while a presenter moves the class: nobody
// votes twice in a round, nobody sees a vote before it is shown, no one waits.
func TestVotes(t *testing.T) {
	t.Parallel()
	r := room.New(start(), built(t, "second-step"))
	presenter := r.Join(class.Presenter)
	rounds := 200
	if draws.Deep() {
		rounds = 20_000
	}
	var wait sync.WaitGroup
	done := make(chan struct{})
	for range 8 {
		wait.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				s := r.Join(class.Student)
				for range 3 {
					s.Answer(rand.IntN(room.MaxBallots+2) - 1)
					s.Follow(rand.IntN(2) == 0)
					if m := s.Now(); m.Step < class.Shown && (m.Votes[0] != nil || m.Votes[1] != nil) {
						t.Error("votes are seen before they are shown")
					}
				}
				s.Teach(nil)
				s.Move(class.Onward)
				if _, ok := s.Show(s.Now().Of, class.Place{}, 1); ok {
					t.Error("a student shows")
				}
				s.Leave()
				s.Leave()
			}
		})
	}
	l := presenter.Now().Lesson
	for range rounds {
		presenter.Move(class.Move(rand.IntN(int(class.Unstage) + 1)))
		if presenter.Now().Lesson == nil {
			presenter.Teach(l)
		}
		m := presenter.Now()
		presenter.Show(m.Of, m.Place, 1)
	}
	close(done)
	wait.Wait()
	if c := presenter.Now().Counts; c.Students != 0 {
		t.Errorf("%d students are left", c.Students)
	}
}

// TestOneVote: one vote in a round, of which the last answer counts, none for another step, and a vote that
// leaves takes its ballot.
func TestOneVote(t *testing.T) {
	t.Parallel()
	r := room.New(start(), built(t, "second-step"))
	presenter, a, b := r.Join(class.Presenter), r.Join(class.Student), r.Join(class.Student)
	show := func() { m := presenter.Now(); presenter.Show(m.Of, m.Place, 1) }
	show()
	if !a.Answer(2) || !a.Answer(1) || !b.Answer(2) || presenter.Answer(1) {
		t.Error("who may vote cannot, or who teaches can")
	}
	if m := a.Now(); !m.Voted || m.Closed || m.Counts.Answered != 2 {
		t.Errorf("after an answer that was changed: voted %t, closed %t, %d answers", m.Voted, m.Closed,
			m.Counts.Answered)
	}
	b.Leave()
	if n := presenter.Now().Counts.Answered; n != 1 {
		t.Errorf("%d answers after one has left", n)
	}
	presenter.Move(class.Onward)
	show()
	if a.Answer(1) {
		t.Error("a vote while nothing is open")
	}
	presenter.Move(class.Onward)
	presenter.Move(class.Onward)
	show()
	if v := a.Now().Votes; v[0][1] != 1 || v[1] != nil {
		t.Errorf("shown are %v", v)
	}
}

// TestRestart: the same command goes back to the lesson that was opened during the class; another lesson
// begins its own, and so does the same one once it is over.
func TestRestart(t *testing.T) {
	t.Parallel()
	first, second, other := built(t, "second-step"), built(t, "bubble"), built(t, "zero")
	file := filepath.Join(t.TempDir(), "class.json")
	r := room.New(start(), first)
	presenter := r.Join(class.Presenter)
	keep := func() {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		r.Keep(ctx, file, func(err error) { t.Error(err) })
	}
	back := func(with *lessons.Lesson) (bool, *lessons.Lesson) {
		again := room.New(start(), with)
		ok, err := again.Load(file, with, []*lessons.Lesson{first, second, other}, presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		return ok, again.Join(class.Presenter).Now().Lesson
	}
	presenter.Teach(second)
	keep()
	for _, c := range []struct {
		with, on *lessons.Lesson
		back     bool
	}{{first, second, true}, {nil, second, true}, {second, second, true}, {other, other, false}} {
		if ok, on := back(c.with); ok != c.back || on != c.on {
			t.Errorf("with %v: back %t, at %v", c.with, ok, on)
		}
	}
	presenter.Teach(nil)
	keep()
	if ok, on := back(first); ok || on != first {
		t.Errorf("a lesson that is over: back %t, at %v", ok, on)
	}
	if ok, on := back(nil); !ok || on != nil {
		t.Errorf("without a lesson: back %t, at %v", ok, on)
	}
}

// TestKeep: a class that is killed comes back to its act, with the votes that were closed.
func TestKeep(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "class.json")
	r := room.New(start(), built(t, "second-step"))
	presenter, a := r.Join(class.Presenter), r.Join(class.Student)
	show := func() { m := presenter.Now(); presenter.Show(m.Of, m.Place, 1) }
	show()
	a.Answer(2)
	for range 5 { // to the second act
		presenter.Move(class.Onward)
		show()
	}
	a.Answer(1)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r.Keep(ctx, file, func(err error) { t.Error(err) })
	again := room.New(class.Place{}, nil)
	if ok, err := again.Load(file, nil, []*lessons.Lesson{presenter.Now().Lesson}, presets.Default()); !ok ||
		err != nil {
		t.Fatal(ok, err)
	}
	was, is := presenter.Now(), again.Join(class.Presenter).Now()
	if is.Place != was.Place || is.At != 1 || is.Step != class.Vote || is.Lesson != was.Lesson || !is.Staged {
		t.Errorf("it comes back to act %d, step %d, %+v", is.At, is.Step, is.Place)
	}
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte(`"2": 1`)) {
		t.Errorf("the votes of the first act are lost: %v\n%s", err, text)
	}
	// Whatever the damage, it is one of the file, with its name.
	damaged := func(what string, ok bool, err error) {
		t.Helper()
		at, is := errors.AsType[*input.Error](err)
		if ok || !is || at.File != file || !strings.Contains(err.Error(), "the kept class cannot be read: ") {
			t.Errorf("%s: taken %v, %v", what, ok, err)
		}
	}
	for _, broken := range []string{
		"x", "{", "[]", "{}", "null", strings.Repeat("[", 100_000),
		`{"place":{},"lesson":"second-step"}`, `{"lesson":"none"}`, strings.Repeat(" ", 2<<20),
	} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		ok, err := again.Load(file, nil, nil, presets.Default())
		damaged(fmt.Sprintf("%.40q", broken), ok, err)
	}
	for _, empty := range []string{"", "\n"} {
		if err := os.WriteFile(file, []byte(empty), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := again.Load(file, nil, nil, presets.Default()); ok || err != nil {
			t.Errorf("an empty file is not as none: %v, %v", ok, err)
		}
	}
	all := []*lessons.Lesson{presenter.Now().Lesson}
	for _, change := range [][2]string{
		{`"2": 1`, `"2": -1`},
		{`"2": 1`, `"2": 100000`},
		{`"2": 1`, `"-2": 1`},
		{`"2": 1`, `"2000": 1`},
		{`"act": 1`, `"act": 99`},
		{`"act": 1`, `"act": -1`},
		{`"step": 0`, `"step": 9`},
		{`"lesson": "second-step"`, `"lesson": ""`},
	} {
		altered := bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(altered, text) {
			t.Fatalf("the file has no %s:\n%s", change[0], text)
		}
		if err := os.WriteFile(file, altered, 0o600); err != nil {
			t.Fatal(err)
		}
		ok, err := again.Load(file, nil, all, presets.Default())
		damaged("a class with "+change[1], ok, err)
	}
	if ok, err := again.Load(file+"x", nil, nil, presets.Default()); ok || err != nil {
		t.Errorf("a file that is not there: %v %v", ok, err)
	}
}
