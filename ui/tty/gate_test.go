package tty

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

// TestGate: a sequence is handed on when it is whole, or when no more of it comes; a part of a reply never is.
func TestGate(t *testing.T) {
	type part struct {
		after time.Duration
		text  string
	}
	for name, c := range map[string]struct {
		in   []part
		late bool // the terminal has answered all
		want string
		now  string // before anything is waited for; empty: the same
	}{
		"keys":                  {in: []part{{0, "a\x1b[A"}}, want: "a\x1b[A"},
		"an escape":             {in: []part{{0, "\x1b"}}, late: true, want: "\x1b", now: "-"},
		"an arrow":              {in: []part{{0, "\x1b["}, {300 * time.Millisecond, "A"}}, late: true, want: "\x1b[A"},
		"a colour":              {in: []part{{0, "\x1b]11;rgb:1e"}, {300 * time.Millisecond, "1e/1e1e/1e1e\x1b"}, {300 * time.Millisecond, "\\q"}}, late: true, want: "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\q"},
		"after its escape":      {in: []part{{0, "\x1b"}, {300 * time.Millisecond, "]11;rgb:0/0/0\a"}}, want: "\x1b]11;rgb:0/0/0\a"},
		"a mode":                {in: []part{{0, "\x1b[?20"}, {time.Second, "26;2$y"}}, late: true, want: "\x1b[?2026;2$y"},
		"a lost end":            {in: []part{{0, "\x1b]11;rgb:1e"}, {time.Minute, "q"}}, late: true, want: "q"},
		"alt and a bracket":     {in: []part{{0, "\x1b]"}, {time.Minute, "q"}}, late: true, want: "\x1b]q"},
		"two escapes":           {in: []part{{0, "\x1b\x1b"}, {time.Minute, "q"}}, late: true, want: "\x1b\x1bq", now: "\x1b"},
		"escape, then a key":    {in: []part{{0, "\x1b"}, {time.Second, "j"}}, late: true, want: "\x1bj"},
		"a broken sequence":     {in: []part{{0, "\x1b[1\x1b[A"}}, late: true, want: "\x1b[1\x1b[A"},
		"a click of X10":        {in: []part{{0, "\x1b[M !"}, {100 * time.Millisecond, "!"}}, late: true, want: "\x1b[M !!"},
		"F1 of the console":     {in: []part{{0, "\x1b[["}, {100 * time.Millisecond, "A"}}, late: true, want: "\x1b[[A"},
		"more than is held":     {in: []part{{0, "\x1bP" + strings.Repeat("x", longestSequence)}}, late: true, want: "\x1bP" + strings.Repeat("x", longestSequence)},
		"a string broken off":   {in: []part{{0, "\x1b]11;\x1b[A"}}, late: true, want: "\x1b]11;\x1b[A"},
		"a key of the keypad":   {in: []part{{0, "\x1bO"}, {100 * time.Millisecond, "P"}}, late: true, want: "\x1bOP"},
		"a letter beyond ASCII": {in: []part{{0, "\x1b[1ü"}}, late: true, want: "\x1b[1ü"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got shared
				g := newGate(&got)
				if c.late {
					g.answered()
				}
				for i, p := range c.in {
					time.Sleep(p.after)
					g.take([]byte(p.text))
					if i == 0 && c.now != "" && got.String() != strings.Trim(c.now, "-") {
						t.Errorf("at once %q", got.String())
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if got.String() != c.want {
					t.Errorf("%q, want %q", got.String(), c.want)
				}
			})
		})
	}
}

// shared is a buffer that a timer writes to while the test reads.
type shared struct {
	mu  sync.Mutex
	all []byte
}

func (s *shared) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, text...)
	return len(text), nil
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.all)
}

// parts notes what is written to it at a time.
type parts []string

func (p *parts) Write(text []byte) (int, error) {
	*p = append(*p, string(text))
	return len(text), nil
}

// TestGateKeepsSequences: what is more than the decoder reads at a time is cut between sequences.
func TestGateKeepsSequences(t *testing.T) {
	var got parts
	g := newGate(&got)
	const click = "\x1b[<0;120;36M"
	text := strings.Repeat(click, 1000)
	g.take([]byte(text[:5000]))
	g.take([]byte(text[5000:]))
	if strings.Join(got, "") != text {
		t.Error("something is lost")
	}
	for _, part := range got {
		if len(part) > longestPart || len(part)%len(click) != 0 {
			t.Errorf("a part of %d bytes", len(part))
		}
	}
}

// TestWhole: however input is cut, its whole part and the rest are what came.
func TestWhole(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"\x1b", "[", "]11;", "\a", "\\", "1;2", "A", "M", "P", "ü", "\x03"})).Draw(t, "parts")
		text := []byte(strings.Join(parts, ""))
		n := whole(text)
		if n < 0 || n > len(text) {
			t.Fatalf("%q: %d", text, n)
		}
		if n < len(text) && text[n] != escape {
			t.Fatalf("%q: the rest %q begins no sequence", text, text[n:])
		}
	})
}
