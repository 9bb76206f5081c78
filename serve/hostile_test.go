package serve_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"meshscope/serve"
)

// TestRequestFlood: a guest who asks for what is refused, again and again, goes and fills no log;
// one whose client asks whether the server is there stays.
func TestRequestFlood(t *testing.T) {
	h := open(t, nil)
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	s := enter(t, c)
	s.waits(t, "Explore")
	for range 200 {
		if _, err := s.SendRequest("keepalive@openssh.com", true, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; err == nil; i++ {
		if i > 100_000 {
			t.Fatal("any number of requests")
		}
		_, err = s.SendRequest("signal", true, nil)
	}
	if n := strings.Count(h.logged(), "\n"); n > 70 {
		t.Errorf("%d lines in the log", n)
	}
}

// TestLargeWindow: the largest windows cost little memory.
func TestLargeWindow(t *testing.T) {
	const guests, most = 8, 6 // MB a session and its client
	h := open(t, func(c *serve.Config) { c.Limits.Idle, c.Limits.Total = time.Hour, time.Hour })
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse) / 1e6
	}
	comes(t, h) // what all share
	before := heap()
	for range guests {
		c, err := h.dial("someone")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		wideOpen(t, c).waits(t, "Explore")
	}
	if mean := (heap() - before) / guests; mean > most {
		t.Errorf("%.1f MB a session", mean)
	} else {
		t.Logf("%.1f MB a session", mean)
	}
}

// wideOpen opens an explorer in an enormous window.
func wideOpen(t *testing.T, c *gossh.Client) *screen {
	t.Helper()
	session, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{Session: session}
	session.Stdout = s
	if err := session.RequestPty("xterm-256color", 200, 500, nil); err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	return s
}
