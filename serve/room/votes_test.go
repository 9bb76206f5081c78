package room_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"meshscope/serve/room"
	"meshscope/ui/class"
	"meshscope/ui/desk"
)

// taught is a class of two students at the first act of a lesson, and what puts the presenter's screen
// before it.
func taught(t *testing.T) (r *room.Room, presenter, a, b *room.Seat, show func()) {
	t.Helper()
	r = room.New(start(), built(t, "second-step"))
	presenter, a, b = r.Join(class.Presenter), r.Join(class.Student), r.Join(class.Student)
	show = func() { m := presenter.Now(); presenter.Show(m.Of, m.Place, 1) }
	show()
	return r, presenter, a, b, show
}

// TestAnswered: the answers that are counted are those of the open vote, else of the last one that had any,
// and never more than there were members to give them.
func TestAnswered(t *testing.T) {
	t.Parallel()
	_, presenter, a, b, show := taught(t)
	says := func(want string) {
		t.Helper()
		d := desk.New(presenter)
		if d.Take(); d.Says() != want {
			t.Errorf("%q, want %q", d.Says(), want)
		}
	}
	a.Answer(1)
	b.Answer(2)
	presenter.Move(class.Reveal)
	show()
	says("2 follow, 0 explore, 2 of 2 answered")
	presenter.Move(class.Back)
	says("2 follow, 0 explore, 0 of 2 answered")
	presenter.Move(class.Back)
	b.Leave()
	says("1 follow, 0 explore, 2 of 2 answered")
}

// TestReopened: a vote to which the presenter goes back takes a first answer, or another one in place of it;
// once its act was left it stays closed, and what was voted is not lost.
func TestReopened(t *testing.T) {
	t.Parallel()
	r, presenter, a, b, show := taught(t)
	asked := func(s *room.Seat) bool {
		d := desk.New(s)
		d.Take()
		return !d.Closed
	}
	a.Answer(1)
	presenter.Move(class.Onward)
	presenter.Move(class.Back)
	show()
	if !asked(a) || !asked(b) || !a.Answer(2) || !b.Answer(2) || presenter.Now().Votes[0] != nil {
		t.Error("a vote that is open again refuses an answer, or shows")
	}
	for range 5 {
		presenter.Move(class.Onward)
		show()
	}
	if presenter.Now().At != 1 || !asked(a) {
		t.Fatalf("at act %d, asked %t", presenter.Now().At, asked(a))
	}
	for range 5 {
		presenter.Move(class.Back)
		show()
	}
	late := r.Join(class.Student)
	if m := presenter.Now(); m.At != 0 || m.Step != class.Vote {
		t.Fatalf("back at act %d, step %d", m.At, m.Step)
	}
	for _, s := range []*room.Seat{a, b, late} {
		if asked(s) || s.Answer(3) {
			t.Error("a vote that was closed takes another answer")
		}
	}
	presenter.Move(class.Reveal)
	if v := presenter.Now().Votes[0]; v[1] != 0 || v[2] != 2 || v[3] != 0 {
		t.Errorf("the votes are %v", v)
	}
}

// TestVotesOfTheAct: the votes that a student has are those of the act that the student sees, also while the
// presenter's next one is not computed yet.
func TestVotesOfTheAct(t *testing.T) {
	t.Parallel()
	_, presenter, a, _, show := taught(t)
	a.Answer(1)
	presenter.Move(class.Reveal)
	presenter.Move(class.Onward)
	show()
	m := presenter.Now()
	m.Place.Screen = "Evidence" // which no act shows
	presenter.Show(m.Of, m.Place, 1)
	presenter.Move(class.Onward)
	m = a.Now()
	if presenter.Now().At != 1 || m.At != 0 || m.Votes[0][1] != 1 {
		t.Errorf("the presenter is at act %d; a student at %d has %v", presenter.Now().At, m.At, m.Votes)
	}
}

// TestKeepTriesAgain: a class that cannot be kept is told of once, and is kept when it can be again.
func TestKeepTriesAgain(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(folder, "class.json")
	r, presenter, _, _, _ := taught(t)
	ctx, stop := context.WithCancel(t.Context())
	told, ended := make(chan error, 10), make(chan struct{})
	go func() {
		defer close(ended)
		r.Keep(ctx, file, func(err error) { told <- err })
	}()
	if err := <-told; !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	presenter.Move(class.Onward)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is never kept")
		}
	}
	stop()
	<-ended
	if len(told) > 0 {
		t.Errorf("told again: %v", <-told)
	}
}
