package room_test

import (
	"testing"
	"time"

	"meshscope/serve/room"
	"meshscope/ui/class"
)

// BenchmarkFollow: what a turn of the presenter costs with 50 followers in windows of five sizes, each of
// which draws every state.
func BenchmarkFollow(b *testing.B) {
	r := room.New(start(), nil)
	presenter := enter(b, r, class.Presenter, 120, 36)
	presenter.sees(b, "0 follow")
	followers := make([]*explorer, 50)
	for i := range followers {
		size := [][2]int{{80, 24}, {100, 30}, {120, 36}, {120, 40}, {160, 50}}[i%5]
		followers[i] = enter(b, r, class.Student, size[0], size[1])
	}
	presenter.sees(b, "50 follow")
	keys := []string{"l", "h"}
	n := 0
	for b.Loop() {
		of := presenter.seat.Now().Of
		presenter.press(keys[n%2])
		n++
		for presenter.seat.Now().Of == of {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(250 * time.Millisecond)
	}
}
