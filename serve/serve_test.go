//go:build unix

package serve_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"meshscope/serve"
	"meshscope/ui"
)

// patience bounds every wait for what comes without a doubt, on a machine that is busy with other tests.
const patience = 5 * time.Minute

// house is a server under test with what it logs.
type house struct {
	*serve.Server
	address string
	mu      sync.Mutex
	log     bytes.Buffer
}

// Write takes a line of the log.
func (h *house) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *house) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// open starts a server that stops with the test.
func open(t *testing.T, change func(*serve.Config)) *house {
	t.Helper()
	h := new(house)
	c := serve.Config{
		HostKey: newKey(t), Limits: serve.DefaultLimits(), Log: slog.New(slog.NewJSONHandler(h, nil)),
		Enter: func(serve.Guest) serve.Visit { return serve.Visit{Options: ui.Options{Calm: true}} },
	}
	c.Limits.Delay = 10 * time.Millisecond
	if change != nil {
		change(&c)
	}
	s, err := serve.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.Server, h.address = s, l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Stop(ctx)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h
}

// newPair returns a new key and its public half.
func newPair(t *testing.T) (ed25519.PrivateKey, gossh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := gossh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

func newKey(t *testing.T) gossh.Signer {
	t.Helper()
	key, _ := newPair(t)
	signer, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// dial logs in.
func (h *house) dial(user string, methods ...gossh.AuthMethod) (*gossh.Client, error) {
	return gossh.Dial("tcp", h.address, &gossh.ClientConfig{
		User: user, Auth: methods, HostKeyCallback: gossh.InsecureIgnoreHostKey(), Timeout: patience,
	})
}

// screen is what a client was sent.
type screen struct {
	*gossh.Session
	stdin io.Writer
	mu    sync.Mutex
	text  bytes.Buffer
}

// Write takes a part of a frame.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// waits waits until a text was sent.
func (s *screen) waits(t *testing.T, want string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		s.mu.Lock()
		found := strings.Contains(s.text.String(), want)
		s.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %q", want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// enter opens an explorer.
func enter(t *testing.T, c *gossh.Client) *screen {
	t.Helper()
	session, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{Session: session}
	session.Stdout = s
	if s.stdin, err = session.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := session.RequestPty("xterm-256color", 30, 100, nil); err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestVisit: a login is an explorer that ends with q.
func TestVisit(t *testing.T) {
	h := open(t, nil)
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	s := enter(t, c)
	s.waits(t, "Explore")
	if n := h.Guests(); n != 1 {
		t.Errorf("%d guests", n)
	}
	_, _ = s.stdin.Write([]byte("q"))
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if log := h.logged(); !strings.Contains(log, `"msg":"session ended"`) {
		t.Error(log)
	}
}

// TestStop: guests read that the server stops.
func TestStop(t *testing.T) {
	h := open(t, nil)
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	s := enter(t, c)
	s.waits(t, "Explore")
	h.Stop(t.Context())
	s.waits(t, "the server is stopping")
	if n := h.Guests(); n != 0 {
		t.Errorf("%d guests are left", n)
	}
}

// TestRefused: a client gets no command, no subsystem, no forwarding and no second session.
func TestRefused(t *testing.T) {
	h := open(t, nil)
	for _, try := range []struct {
		name string
		ask  func(*gossh.Client) error
	}{
		{
			"exec",
			func(c *gossh.Client) error {
				return with(c, func(s *gossh.Session) error { return s.Run("id") })
			},
		},
		{"sftp", func(c *gossh.Client) error {
			return with(c, func(s *gossh.Session) error { return s.RequestSubsystem("sftp") })
		}},
		{"agent", func(c *gossh.Client) error { return with(c, asks("auth-agent-req@openssh.com", nil)) }},
		{"x11", func(c *gossh.Client) error { return with(c, asks("x11-req", nil)) }},
		{"environment", func(c *gossh.Client) error {
			return with(c, func(s *gossh.Session) error { return s.Setenv("TMUX", "x") })
		}},
		{"terminal", func(c *gossh.Client) error {
			return with(c, func(s *gossh.Session) error { return s.RequestPty("\x1b[2J", 24, 80, nil) })
		}},
		{"local forwarding", func(c *gossh.Client) error { _, err := c.Dial("tcp", h.address); return err }},
		{
			"local forwarding of a socket",
			func(c *gossh.Client) error { _, err := c.Dial("unix", "/tmp/none"); return err },
		},
		{
			"remote forwarding",
			func(c *gossh.Client) error { _, err := c.Listen("tcp", "127.0.0.1:0"); return err },
		},
		{"tunnel", func(c *gossh.Client) error {
			_, _, err := c.OpenChannel("tun@openssh.com", nil)
			return err
		}},
		{"second session", func(c *gossh.Client) error {
			return with(c,
				func(*gossh.Session) error { return with(c, func(*gossh.Session) error { return nil }) })
		}},
	} {
		c, err := h.dial("someone")
		if err != nil {
			t.Fatal(err)
		}
		if err := try.ask(c); err == nil {
			t.Errorf("%s is not refused", try.name)
		}
		_ = c.Close()
	}
}

func with(c *gossh.Client, ask func(*gossh.Session) error) error {
	s, err := c.NewSession()
	if err != nil {
		return err
	}
	return ask(s)
}

func asks(request string, payload []byte) func(*gossh.Session) error {
	return func(s *gossh.Session) error {
		ok, err := s.SendRequest(request, true, payload)
		if err == nil && !ok {
			return io.ErrClosedPipe
		}
		return err
	}
}

// TestPresenterName: the presenter's name with the password or a key of the class is no login, not a
// student's.
func TestPresenterName(t *testing.T) {
	mine, public := newPair(t)
	keys, err := serve.ParseKeys(gossh.MarshalAuthorizedKey(public))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := gossh.NewSignerFromKey(mine)
	if err != nil {
		t.Fatal(err)
	}
	h := locked(t, func(c *serve.Config) { c.Access.Token, c.Access.Keys = "the token", keys })
	for _, method := range []gossh.AuthMethod{gossh.Password(classPassword), gossh.PublicKeys(signer)} {
		if _, err := h.dial(serve.Presenter, method); err == nil {
			t.Error("a presenter without the token")
		}
		comes(t, h, method)
	}
}

// TestPresenter: guests of an open server need nothing; who says to be the presenter needs the token.
func TestPresenter(t *testing.T) {
	entered := make(chan bool, 4)
	h := open(t, func(c *serve.Config) {
		c.Access.Token = "the token"
		show := c.Enter
		c.Enter = func(g serve.Guest) serve.Visit { entered <- g.Presenter; return show(g) }
	})
	if _, err := h.dial(serve.Presenter); err == nil {
		t.Error("a presenter without a token")
	}
	for _, test := range []struct {
		user      string
		methods   []gossh.AuthMethod
		presenter bool
	}{
		{"someone", nil, false},
		{serve.Presenter, []gossh.AuthMethod{gossh.Password("the token")}, true},
	} {
		c, err := h.dial(test.user, test.methods...)
		if err != nil {
			t.Fatal(err)
		}
		enter(t, c).waits(t, "Explore")
		if got := <-entered; got != test.presenter {
			t.Errorf("%s: presenter %v", test.user, got)
		}
		_ = c.Close()
	}
}
