package tty

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// waiting takes everything from a queue.
func waiting(q *Queue) (all []tea.Msg) {
	for {
		msg, ok := q.Next()
		if !ok {
			return all
		}
		all = append(all, msg)
	}
}

// TestQueue: input comes out in the order in which it went in, without what nobody misses.
func TestQueue(t *testing.T) {
	tab, x := tea.KeyPressMsg{Code: tea.KeyTab}, tea.KeyPressMsg{Code: 'x', Text: "x"}
	ctrlC := tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	click := func(n int) tea.Msg { return tea.MouseClickMsg{X: n, Button: tea.MouseLeft} }
	move := func(n int) tea.Msg { return tea.MouseMotionMsg{X: n, Button: tea.MouseLeft} }
	times := func(n int, msg tea.Msg) (all []tea.Msg) {
		for range n {
			all = append(all, msg)
		}
		return all
	}
	for name, c := range map[string]struct {
		in   []tea.Msg
		want []tea.Msg
	}{
		"keys":                      {[]tea.Msg{tab, x, tab}, []tea.Msg{tab, x, tab}},
		"a held key":                {times(20_000, tab), times(manyKeys+1, tab)},
		"text":                      {times(100, x), times(100, x)},
		"ctrl+c in order":           {[]tea.Msg{x, x, ctrlC}, []tea.Msg{x, x, ctrlC}},
		"ctrl+c overtakes":          {append(times(100, x), ctrlC), []tea.Msg{ctrlC}},
		"a movement":                {[]tea.Msg{click(1), move(1), move(2), move(3), x, move(4)}, []tea.Msg{click(1), move(3), x, move(4)}},
		"more clicks than a hand's": {[]tea.Msg{x, click(0), click(1), tab, click(2), click(3), click(4), click(5), click(6), click(7), click(8), click(9), click(10), click(11), click(12), click(13), click(14), click(15), click(16)}, []tea.Msg{x, click(1), tab, click(2), click(3), click(4), click(5), click(6), click(7), click(8), click(9), click(10), click(11), click(12), click(13), click(14), click(15), click(16)}},
	} {
		q := NewQueue(time.Now)
		for _, msg := range c.in {
			q.Put(msg)
		}
		got := waiting(q)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d of %d messages, want %d", name, len(got), len(c.in), len(c.want))
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: message %d is %v, want %v", name, i, got[i], c.want[i])
			}
		}
	}
}

// TestQueueIsBounded: nothing waits without end, and one signal is enough to take all of it.
func TestQueueIsBounded(t *testing.T) {
	q := NewQueue(time.Now)
	for i := range 3 * mostInput {
		q.Put(tea.KeyPressMsg{Code: rune('a' + i%2), Text: string(rune('a' + i%2))})
	}
	taken := 0
	for {
		select {
		case <-q.Ready():
			q.Next()
			taken++
			continue
		default:
		}
		break
	}
	if taken != mostInput {
		t.Errorf("%d taken, want %d", taken, mostInput)
	}
}

// TestWheel: the wheel turns no faster than frames are drawn.
func TestWheel(t *testing.T) {
	now := time.Time{}
	q := NewQueue(func() time.Time { now = now.Add(wheelPause / 2); return now })
	for range 10 {
		q.Put(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	}
	if n := len(waiting(q)); n != 5 {
		t.Errorf("%d of 10 turns of the wheel pass", n)
	}
}

// TestApart: a key with alt is an escape and the key, with the text that it has alone.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		key  tea.KeyPressMsg
		want string
	}{
		{tea.KeyPressMsg{Code: 'p', Mod: tea.ModAlt}, "p"},
		{tea.KeyPressMsg{Code: 'g', ShiftedCode: 'G', Mod: tea.ModAlt | tea.ModShift}, "G"},
		{tea.KeyPressMsg{Code: 'o', Mod: tea.ModAlt | tea.ModShift}, "O"},
		{tea.KeyPressMsg{Code: tea.KeySpace, Mod: tea.ModAlt}, "space"},
		{tea.KeyPressMsg{Code: tea.KeyUp, Mod: tea.ModAlt}, "up"},
		{tea.KeyPressMsg{Code: tea.KeyBackspace, Mod: tea.ModAlt}, "backspace"},
		{tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt}, "esc"},
		{tea.KeyPressMsg{Code: 'r', Mod: tea.ModAlt | tea.ModCtrl}, "ctrl+r"},
	} {
		if got := Apart(c.key); len(got) != 2 || got[0].String() != "esc" || got[1].String() != c.want {
			t.Errorf("%s: %v, want esc and %s", c.key, got, c.want)
		}
	}
}
