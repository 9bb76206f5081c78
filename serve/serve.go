// Package serve is the SSH server: every login is an explorer of its own, in its own size,
// colours and characters. A guest gets no shell, no command, no file and no forwarding, and
// nothing that a guest does is written.
//
//	door     connections that have not logged in: few, and not for long
//	access   keys and passwords
//	channel  what a client may ask of its session
//	visit    the explorer of a login, until it ends
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"charm.land/ssh"
	"charm.land/wish/v2"
	gossh "golang.org/x/crypto/ssh"

	"meshscope/ui"
)

// Config is what a server is made of.
type Config struct {
	HostKey gossh.Signer
	Access  Access
	Limits  Limits       // none set: DefaultLimits
	Log     *slog.Logger // nil: nothing is logged
	// Enter returns what a guest gets to see. It is called once for each login.
	Enter func(Guest) Visit
}

// Guest is a login.
type Guest struct {
	ID            string // random; the log has the same
	Presenter     bool   // logged in with a key or the token of the presenter
	Width, Height int
	Env           []string // what is taken over of the client's, and TERM
}

// Visit is what a guest gets to see.
type Visit struct {
	Options ui.Options
	FPS     int    // frames a second at most; 0: DefaultFPS
	Leave   func() // called at the end; nil: nothing is
}

// DefaultFPS is how often a guest's screen is drawn at most, a second.
const DefaultFPS = 20

// Server serves explorers. Make one with New.
type Server struct {
	config Config
	ssh    *ssh.Server
	door   *door
	events *events
	guard  *guard

	mu      sync.Mutex
	visits  map[*visit]struct{}
	stopped bool
	ended   sync.WaitGroup // of visits
}

// New makes a server. It listens to nothing yet.
func New(c Config) (*Server, error) {
	if c.HostKey == nil || c.Enter == nil {
		return nil, errors.New("serve: a host key and what guests see are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Limits == (Limits{}) {
		c.Limits = DefaultLimits()
	}
	s := &Server{config: c, events: newEvents(c.Log), visits: map[*visit]struct{}{}}
	s.door = newDoor(&s.config.Limits, s.events)
	s.guard = newGuard(&s.config.Access, c.Limits.Delay)
	options := []ssh.Option{
		wish.WithVersion("meshscope"),
		wish.WithMaxTimeout(c.Limits.Exchange + c.Limits.Login + c.Limits.Start + c.Limits.Total + leaveTime),
		wish.WithMiddleware(func(ssh.Handler) ssh.Handler { return s.handle }),
		s.secure,
	}
	if c.Access.Keys != nil || c.Access.PresenterKeys != nil {
		options = append(options, wish.WithPublicKeyAuth(s.guard.key))
	}
	if c.Access.Password != nil || c.Access.Token != "" {
		options = append(options, wish.WithPasswordAuth(s.guard.password))
	}
	var err error
	s.ssh, err = wish.NewServer(options...)
	return s, err
}

// secure leaves of the protocol what an explorer needs.
func (s *Server) secure(server *ssh.Server) error {
	server.HostSigners = []ssh.Signer{s.config.HostKey}
	server.HandshakeTimeout = s.config.Limits.Login
	server.ConnCallback = func(ctx ssh.Context, c net.Conn) net.Conn {
		if l, ok := c.(*link); ok {
			ctx.SetValue(linkKey{}, l)
			return l
		}
		return nil
	}
	server.ServerConfigCallback = s.protocol
	server.ConnectionFailedCallback = s.failed
	server.ChannelHandlers = map[string]ssh.ChannelHandler{"session": s.session}
	server.RequestHandlers = map[string]ssh.RequestHandler{}
	server.SubsystemHandlers = map[string]ssh.SubsystemHandler{}
	return nil
}

// protocol returns the algorithms of a connection, all of them without known weakness, and
// follows how far its login is.
func (s *Server) protocol(ctx ssh.Context) *gossh.ServerConfig {
	l := linkOf(ctx)
	return &gossh.ServerConfig{
		NoClientAuth:         s.config.Access.Open(),
		NoClientAuthCallback: s.config.Access.anybody,
		Config: gossh.Config{
			KeyExchanges: []string{gossh.KeyExchangeMLKEM768X25519, gossh.KeyExchangeCurve25519},
			Ciphers: []string{
				gossh.CipherChaCha20Poly1305, gossh.CipherAES256GCM, gossh.CipherAES128GCM,
				gossh.CipherAES256CTR,
			},
			MACs: []string{gossh.HMACSHA256ETM, gossh.HMACSHA512ETM},
		},
		PublicKeyAuthAlgorithms: keyAlgorithms(),
		MaxAuthTries:            maxTries,
		BannerCallback: func(gossh.ConnMetadata) string { // the first thing after the key exchange
			s.door.exchanged(l)
			return ""
		},
		AuthLogCallback: func(conn gossh.ConnMetadata, method string, err error) {
			if err == nil {
				s.door.entered(l)
				return
			}
			if method != "none" {
				s.events.quietly("login refused", "address", l.address, "user", name(conn.User()), "method",
					method)
			}
		},
	}
}

// failed logs a connection that ended before the login.
func (s *Server) failed(c net.Conn, err error) {
	s.events.quietly("connection failed", "address", addressOf(c.RemoteAddr()), "error", name(err.Error()))
}

// Serve serves guests until Stop. It returns nil then.
func (s *Server) Serve(l net.Listener) error {
	if !s.door.opens(l) {
		return l.Close()
	}
	s.config.Log.Info("listening", "address", l.Addr().String(), "key",
		gossh.FingerprintSHA256(s.config.HostKey.PublicKey()))
	err := s.ssh.Serve(s.door)
	if s.stopping() {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// Stop takes no more logins, tells every guest that the server stops, restores their terminals
// and closes what is left when the context ends.
func (s *Server) Stop(ctx context.Context) {
	s.mu.Lock()
	s.stopped = true
	for v := range s.visits {
		v.end(endStopping)
	}
	s.mu.Unlock()
	s.door.shut()
	s.config.Log.Info("stopping")
	left := make(chan struct{})
	go func() {
		s.ended.Wait()
		close(left)
	}()
	select {
	case <-left:
		short, done := context.WithTimeout(ctx, closeTime)
		defer done()
		_ = s.ssh.Shutdown(short)
	case <-ctx.Done():
	}
	_ = s.ssh.Close()
	s.events.flush()
	s.config.Log.Info("stopped")
}

// stopping reports whether Stop was called.
func (s *Server) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// Guests returns how many explorers are open.
func (s *Server) Guests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.visits)
}
