//go:build unix

package serve_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
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

// silent logs in as a client that answers nothing.
func (h *house) silent(t *testing.T, user string, methods ...gossh.AuthMethod) *gossh.Client {
	t.Helper()
	c := h.raw(t)
	conn, channels, _, err := gossh.NewClientConn(c, h.address,
		&gossh.ClientConfig{User: user, Auth: methods, HostKeyCallback: gossh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	return gossh.NewClient(conn, channels, make(chan *gossh.Request))
}

// TestSilent: the session of a client whose network has gone ends; one that answers stays.
func TestSilent(t *testing.T) {
	// who is there answers in three times that
	h := open(t, func(c *serve.Config) { c.Limits.Alive = time.Second / 2 })
	gone := h.silent(t, "gone")
	there, err := h.dial("there")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	enter(t, gone)
	enter(t, there).waits(t, "Explore")
	_ = gone.Wait()
	if err := with(there, func(*gossh.Session) error { return nil }); err == nil ||
		errors.Is(err, net.ErrClosed) || h.Guests() == 0 {
		t.Errorf("who answers has gone too: %v", err)
	}
	if !strings.Contains(h.logged(), "no answer") {
		t.Error(h.logged())
	}
}

// TestSeat: a presenter whose network has gone gives the seat to the next one, one who is there does not.
func TestSeat(t *testing.T) {
	events := make(chan string, 10)
	h := open(t, func(c *serve.Config) {
		c.Access.Token, c.Limits.Alive = "the token", 5*time.Second // who is there answers in a third
		show := c.Enter
		c.Enter = func(g serve.Guest) serve.Visit {
			events <- "comes"
			v := show(g)
			v.Leave = func() { events <- "leaves" }
			return v
		}
	})
	token := gossh.Password("the token")
	enter(t, h.silent(t, serve.Presenter, token)).waits(t, "Explore")
	for range 2 {
		c, err := h.dial(serve.Presenter, token)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		enter(t, c).waits(t, "Explore")
	}
	for i, want := range []string{"comes", "leaves", "comes", "comes"} {
		if got := <-events; got != want {
			t.Errorf("event %d: somebody %s, want %s", i, got, want)
		}
	}
}

// TestStopFirst: a server that is stopped before it serves does not begin.
func TestStopFirst(t *testing.T) {
	s, err := serve.New(serve.Config{
		HostKey: newKey(t), Limits: serve.DefaultLimits(),
		Enter: func(serve.Guest) serve.Visit { return serve.Visit{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Stop(t.Context())
	if err := s.Serve(l); err != nil {
		t.Error(err)
	}
}

// TestManyKeys: a client with many keys in its agent can still give the password.
func TestManyKeys(t *testing.T) {
	_, public := newPair(t)
	h := locked(t, func(c *serve.Config) {
		keys, err := serve.ParseKeys(gossh.MarshalAuthorizedKey(public))
		if err != nil {
			t.Fatal(err)
		}
		c.Access.Keys = keys
	})
	var agent []gossh.Signer
	for range 20 {
		agent = append(agent, newKey(t))
	}
	comes(t, h, gossh.PublicKeys(agent...), gossh.Password(classPassword))
}

// TestUnchangeableFolder: a folder in which others can change a file is refused with what mends it.
func TestUnchangeableFolder(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "lesson.toml")
	if err := errors.Join(os.Chmod(folder, 0o700), os.WriteFile(file, nil, 0o600),
		os.Symlink("nowhere", filepath.Join(folder, "link"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(serve.UnchangeableFolder(folder),
		serve.UnchangeableFolder(filepath.Join(folder, "none"))); err != nil {
		t.Error(err)
	}
	for name, mode := range map[string]os.FileMode{file: 0o622, folder: 0o722} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		var mend *serve.MendError
		if err := serve.UnchangeableFolder(folder); !errors.As(err, &mend) || mend.File != name ||
			mend.Mend != "chmod go-w "+name {
			t.Errorf("%s: %v", name, err)
		}
		_ = os.Chmod(name, 0o700)
	}
}
