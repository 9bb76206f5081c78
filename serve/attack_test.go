//go:build unix

package serve_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	gossh "golang.org/x/crypto/ssh"

	"meshscope/serve"
)

// calm is how a process stands before an attack.
type calm struct {
	goroutines goleak.Option
	heap       float64 // MB
}

// now returns how the process stands; a guest was there, so that what all share is.
func now(t *testing.T, h *house, methods ...gossh.AuthMethod) calm {
	t.Helper()
	comes(t, h, methods...)
	for deadline := time.Now().Add(patience); h.Guests() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	return calm{goleak.IgnoreCurrent(), heap()}
}

// heap returns the memory in use, in MB.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse) / 1e6
}

// returns waits until neither goroutines nor memory are left of an attack.
func returns(t *testing.T, before calm) {
	t.Helper()
	const most = 8 // MB, of what the runtime and the explorer keep
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err, left := goleak.Find(before.goroutines), heap()-before.heap
		if err == nil && left <= most {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("of an attack are left: %.1f MB, %v", left, err)
		}
	}
}

// long skips a test that takes seconds.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("MESHSCOPE_DEEP") == "" {
		t.Skip("takes seconds: with MESHSCOPE_DEEP=1")
	}
}

// exchange is short for who says nothing, and long for who does on a busy machine.
const exchange = 3 * time.Second

// raw opens a connection that speaks no SSH.
func (h *house) raw(t *testing.T) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// comes opens an explorer and leaves it: others notice nothing.
func comes(t *testing.T, h *house, methods ...gossh.AuthMethod) {
	t.Helper()
	c, err := h.dial("someone", methods...)
	if err != nil {
		t.Fatal(err)
	}
	enter(t, c).waits(t, "Explore")
	_ = c.Close()
}

// TestHalfOpen: connections that say nothing take the places of each other, not of guests, and go.
func TestHalfOpen(t *testing.T) {
	h := open(t, func(c *serve.Config) { c.Limits.Waiting, c.Limits.Exchange = 20, exchange })
	before := now(t, h)
	var all []net.Conn
	for range 200 {
		all = append(all, h.raw(t))
	}
	comes(t, h)
	_ = all[len(all)-1].SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, all[len(all)-1]); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a silent connection stays")
	}
	for _, c := range all {
		_ = c.Close()
	}
	returns(t, before)
}

// TestGarbage: what is no SSH ends, whatever it is.
func TestGarbage(t *testing.T) {
	h := open(t, func(c *serve.Config) { c.Limits.Exchange = exchange })
	before := now(t, h)
	var ended sync.WaitGroup
	for _, text := range []string{
		strings.Repeat("x", 1<<20), strings.Repeat("garbage\r\n", 1<<14), "\x00\x00\x00\x0c\x0a\x15",
		"GET / HTTP/1.1\r\n\r\n",
		"SSH-2.0-\x1b[2J\x1b]0;title\x07\r\n", "SSH-1.99-old\r\n", "SSH-2.0-x\r\n\xff\xff\xff\xff",
		"SSH-2.0-x\r\n" + strings.Repeat("\x00\x00\x01\x00\x04", 1<<12),
	} {
		c := h.raw(t)
		ended.Go(func() {
			_, _ = io.WriteString(c, text)
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%.20q stays", text)
			}
			_ = c.Close()
		})
	}
	ended.Wait()
	comes(t, h)
	returns(t, before)
}

// TestGuessing: wrong passwords are slower each time, a right one is not.
func TestGuessing(t *testing.T) {
	h := locked(t, func(c *serve.Config) { c.Limits.Delay = 50 * time.Millisecond })
	asked := 0
	guess := gossh.RetryableAuthMethod(gossh.PasswordCallback(func() (string, error) {
		asked++
		return "12345678", nil
	}), 10)
	begin := time.Now()
	if _, err := h.dial("someone", guess); err == nil {
		t.Fatal("a wrong password")
	}
	if took := time.Since(begin); took < (50+100+200)*time.Millisecond || asked > 3 {
		t.Errorf("%d passwords in %v", asked, took)
	}
	if _, err := h.dial("someone", gossh.Password(strings.Repeat("x", 1<<16))); err == nil {
		t.Error("an enormous password")
	}
	begin = time.Now()
	comes(t, h, gossh.Password(classPassword))
	t.Logf("a right one took %v", time.Since(begin))
	if _, err := h.dial("someone"); err == nil {
		t.Error("no password")
	}
}

// TestNames: escape sequences in a name reach neither the log nor another guest.
func TestNames(t *testing.T) {
	h := open(t, nil)
	c, err := h.dial("\x1b]0;owned\x07\x1b[2J\u202e" + strings.Repeat("n", 10_000))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	enter(t, c).waits(t, "Explore")
	other, err := h.dial("other")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	screen := enter(t, other)
	screen.waits(t, "Explore")
	screen.mu.Lock()
	shown := screen.text.String()
	screen.mu.Unlock()
	if strings.Contains(shown, "owned") || strings.Contains(shown, "nnnn") ||
		strings.Contains(shown, "\u202e") {
		t.Errorf("another guest's screen: %q", shown)
	}
	log := h.logged()
	if strings.ContainsAny(log, "\x1b\x07\u202e") || strings.Contains(log, strings.Repeat("n", 100)) {
		t.Errorf("the log:\n%s", log)
	}
}

// TestFlood: keys without end cost their sender, and resizes too; the others notice nothing.
func TestFlood(t *testing.T) {
	long(t)
	h := open(t, func(c *serve.Config) { c.Limits.Idle, c.Limits.Total = time.Hour, time.Hour })
	before := now(t, h)
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	s := enter(t, c)
	s.waits(t, "Explore")
	var ended atomic.Bool
	var floods sync.WaitGroup
	floods.Go(func() {
		keys := bytes.Repeat([]byte("\x1b[C\x1b[D?x:\x1b"), 1000)
		for !ended.Load() {
			if _, err := s.stdin.Write(keys); err != nil {
				return
			}
		}
	})
	floods.Go(func() {
		for i := 0; !ended.Load(); i++ {
			if err := s.WindowChange(20+i%50, 60+i%90); err != nil {
				return
			}
		}
	})
	for range 3 {
		comes(t, h)
	}
	ended.Store(true)
	_ = c.Close()
	floods.Wait()
	returns(t, before)
}

// TestRequests: a client that asks for everything again and again, without an explorer, goes.
func TestRequests(t *testing.T) {
	h := open(t, func(c *serve.Config) { c.Limits.Start = time.Second })
	before := now(t, open(t, nil)) // a guest who is no attack, and may take longer
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil; i++ {
		if i > 1000 {
			t.Fatal("any number of variables")
		}
		err = s.Setenv("LC_ALL", "C.UTF-8")
		if err != nil && strings.Contains(err.Error(), "setenv failed") {
			err = nil
		}
	}
	idle, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	if err := idle.Wait(); err == nil {
		t.Error("a login without a session stays")
	}
	returns(t, before)
}

// TestFull: where there is no room the client is told.
func TestFull(t *testing.T) {
	h := open(t, func(c *serve.Config) { c.Limits.Sessions, c.Limits.PerAddress = 2, 1 })
	c, err := h.dial("first")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	enter(t, c).waits(t, "Explore")
	second, err := h.dial("second")
	if err != nil {
		t.Fatal(err)
	}
	enter(t, second).waits(t, "too many sessions from your address")
}

// TestIdle: a guest who does nothing leaves, and is told why.
func TestIdle(t *testing.T) {
	h := open(t, func(c *serve.Config) { c.Limits.Idle = 300 * time.Millisecond })
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	enter(t, c).waits(t, "no key was pressed")
	total := open(t, func(c *serve.Config) { c.Limits.Total = 300 * time.Millisecond })
	if c, err = total.dial("someone"); err != nil {
		t.Fatal(err)
	}
	enter(t, c).waits(t, "the time of a session is over")
}

// TestNoReader: a client that takes no frames loses its session.
func TestNoReader(t *testing.T) {
	long(t)
	h := open(t, func(c *serve.Config) {
		c.Limits.Stall = 100 * time.Millisecond
		c.Limits.Resizes = 1000
	})
	before := now(t, h)
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.StdoutPipe(); err != nil { // which nobody reads
		t.Fatal(err)
	}
	if err := s.RequestPty("xterm-256color", 69, 239, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for i := 0; s.WindowChange(69+i%2, 239+i%2) == nil; i++ { // each is a whole new frame
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatal("a client that does not read stays")
		}
	}
	returns(t, before)
}

// TestTenThousand: of 10,000 connections 300 log in; they all get in, and memory comes back.
func TestTenThousand(t *testing.T) {
	long(t)
	const silent, guests = 9700, 300
	h := locked(t, func(c *serve.Config) { c.Limits.Sessions, c.Limits.PerAddress = 400, 400 })
	before := now(t, h, gossh.Password(classPassword))
	var all sync.WaitGroup
	var most atomic.Int64
	all.Go(func() {
		for range silent {
			c := h.raw(t)
			_, _ = io.WriteString(c, "SSH-2.0-half\r\n")
			time.AfterFunc(10*time.Second, func() { _ = c.Close() })
			most.Store(max(most.Load(), int64(runtime.NumGoroutine())))
			time.Sleep(time.Millisecond)
		}
	})
	var in atomic.Int64
	turns := make(chan struct{}, 8)
	for range guests {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			c, err := h.dial("someone", gossh.Password(classPassword))
			if err != nil {
				t.Error(err)
				return
			}
			in.Add(1)
			_ = c.Close()
		})
	}
	all.Wait()
	t.Logf("%d guests logged in; at most %d goroutines of server and clients", in.Load(), most.Load())
	returns(t, before)
}
