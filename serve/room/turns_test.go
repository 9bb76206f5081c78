package room_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meshscope/serve/room"
	"meshscope/ui/class"
)

// waits sleeps until a seat may draw, as an explorer does, and returns how long that took.
func waits(s *room.Seat) time.Duration {
	begun := time.Now()
	for wait := s.Turn(); wait > 0; wait = s.Turn() {
		time.Sleep(wait)
	}
	return time.Since(begun)
}

// TestPresenterIsFirst: followers wait while a key of the presenter is answered and what is done then takes
// its time; one that comes soon after does not stop them again, and none of a student does.
func TestPresenterIsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := room.New(start(), nil)
		const answered, tidies = 30 * time.Millisecond, 70 * time.Millisecond
		calls := 0
		r.Between = func() {
			calls++
			time.Sleep(tidies)
		}
		presenter, student := r.Join(class.Presenter), r.Join(class.Student)
		if student.First(); waits(student) != 0 {
			t.Error("a student lets others wait")
		}
		time.Sleep(time.Second)
		presenter.First()
		if waits(presenter) != 0 {
			t.Error("the presenter waits")
		}
		took := waits(student)
		if took < answered-5*time.Millisecond+tidies || took > answered+tidies+10*time.Millisecond ||
			calls != 1 {
			t.Errorf("a follower waits %s, what is done meanwhile took %s and was called %d times", took,
				tidies, calls)
		}
		time.Sleep(5 * time.Millisecond)
		if presenter.First(); waits(student) != 0 || calls != 1 {
			t.Error("a key that is held down stops followers")
		}
		time.Sleep(time.Second)
		if presenter.First(); waits(student) < answered || calls != 2 {
			t.Errorf("a later key does not let followers wait (%d calls)", calls)
		}
		time.Sleep(time.Second) // that call has ended, too
	})
}

// TestTurnsKeepTheirDistance: who has a turn already keeps its place behind others when the presenter comes
// first.
func TestTurnsKeepTheirDistance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := room.New(start(), nil)
		presenter := r.Join(class.Presenter)
		began := time.Now()
		r.Join(class.Student).Turn() // draws at once
		var at [20]time.Duration
		var all sync.WaitGroup
		for i := range at {
			student := r.Join(class.Student)
			student.Turn()
			all.Go(func() {
				waits(student)
				at[i] = time.Since(began)
			})
		}
		time.Sleep(time.Millisecond)
		presenter.First()
		all.Wait()
		for i := 1; i < len(at); i++ {
			if at[i]-at[i-1] != at[1]-at[0] || at[i] <= at[i-1] {
				t.Fatalf("followers draw at %v", at)
			}
		}
	})
}
