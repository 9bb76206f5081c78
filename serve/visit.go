package serve

import (
	"crypto/rand"
	"errors"
	"go/token"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"

	"meshscope/ui"
	"meshscope/ui/tty"
)

// Why a visit ends other than by its guest's wish. The guest reads it.
const (
	endStopping = "the server is stopping"
	endIdle     = "no key was pressed for a long time"
	endTotal    = "the time of a session is over"
)

// resizePause is the least time between two changes of the window.
func (l *Limits) resizePause() time.Duration { return time.Second / time.Duration(max(1, l.Resizes)) }

// visit is the explorer of a login.
type visit struct {
	server *Server
	link   *link
	guest  Guest
	sizes  <-chan size
	conn   gossh.Conn
	lost   <-chan struct{} // closed when the connection ends
	left   chan struct{}   // closed when the visit has ended

	begun time.Time
	last  atomic.Int64 // nanoseconds from begun to the last key
	keys  *bucket

	once sync.Once
	quit chan struct{} // closed when the visit is to end
	why  string        // set before
}

// handle runs the explorer of a session.
func (s *Server) handle(session ssh.Session) {
	ctx := session.Context()
	l := linkOf(ctx)
	defer time.AfterFunc(closeTime, func() { _ = l.Close() }) // unless the client does
	full := s.door.began(l)
	terminal, _, ok := session.Pty()
	sizes, _ := ctx.Value(sizesKey{}).(chan size)
	switch {
	case full != "":
		s.events.quietly("no room", "address", l.address, "why", full)
		refuse(session, l, full)
		return
	case !ok || terminal.Term == "" || terminal.Term == "dumb":
		s.events.quietly("no terminal", "address", l.address)
		refuse(session, l, "a terminal is needed: ssh -t, with TERM set")
		return
	}
	v := &visit{
		server: s, link: l, sizes: sizes, conn: ctx.Value(ssh.ContextKeyConn).(*gossh.ServerConn),
		lost: ctx.Done(), left: make(chan struct{}), begun: time.Now(),
		keys: newBucket(s.config.Limits.Keys, burstKeys), quit: make(chan struct{}),
		guest: Guest{
			ID: rand.Text()[:8], Presenter: presents(session),
			Width: terminal.Window.Width, Height: terminal.Window.Height,
			Env: append(session.Environ(), "TERM="+terminal.Term),
		},
	}
	if !s.admit(v) {
		refuse(session, l, endStopping)
		return
	}
	defer s.leave(v)
	go v.watch()
	if v.guest.Presenter {
		s.freeSeat(v)
	}
	s.events.visited("session", "session", v.guest.ID, "address", l.address, "user", name(session.User()),
		"presenter", v.guest.Presenter,
		"width", v.guest.Width, "height", v.guest.Height, "terminal", name(terminal.Term))
	err := v.run(session)
	switch crash := (*ui.CrashError)(nil); {
	case errors.As(err, &crash):
		s.events.crashed("session", v.guest.ID, "reason", name(crash.Reason), "stack", string(crash.Stack))
		v.end("internal error; log in again")
	case err != nil && !errors.Is(err, tea.ErrInterrupted) && !errors.Is(err, tea.ErrProgramKilled):
		s.events.visited("session failed", "session", v.guest.ID, "error", name(err.Error()))
	}
	v.end("") // the guest left, unless there is a reason already
	s.events.visited("session ended", "session", v.guest.ID, "why", v.why, "seconds",
		int(time.Since(v.begun).Seconds()))
	if v.why != "" {
		refuse(session, l, v.why)
	}
}

// presents reports whether a session is the presenter's.
func presents(session ssh.Session) bool {
	given := session.Permissions().Permissions // nil where nobody has to log in
	return given != nil && given.Extensions[roleExtension] == presenterRole
}

// refuse tells the client why its session ends, if it wants to know: it may take no bytes.
func refuse(session ssh.Session, l *link, why string) {
	time.AfterFunc(closeTime, func() { _ = l.Close() })
	_, _ = io.WriteString(session, "meshscope: "+why+"\n")
	_ = session.Exit(1)
}

// admit registers a visit; false once the server stops.
func (s *Server) admit(v *visit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.visits[v] = struct{}{}
	s.ended.Add(1)
	return true
}

func (s *Server) leave(v *visit) {
	s.mu.Lock()
	delete(s.visits, v)
	s.mu.Unlock()
	close(v.left)
	s.ended.Done()
}

// end ends the visit; the first reason counts.
func (v *visit) end(why string) {
	v.once.Do(func() {
		v.why = why
		close(v.quit)
	})
}

// run shows the explorer until its guest leaves or the visit is ended.
func (v *visit) run(session ssh.Session) error {
	shown := v.server.config.Enter(v.guest)
	if shown.Leave != nil {
		defer shown.Leave()
	}
	if shown.FPS == 0 {
		shown.FPS = DefaultFPS
	}
	o := shown.Options
	o.Env = v.guest.Env
	return ui.RunOn(o, tty.Remote{
		In: session, Out: &patient{session, v.server.config.Limits.Stall, v.link},
		Width: v.guest.Width, Height: v.guest.Height, Follow: v.follow,
	}, tea.WithFPS(shown.FPS), tea.WithFilter(v.filter()))
}

// patient is a client's screen. A client that does not take a frame in time is not there any more.
type patient struct {
	io.Writer
	stall time.Duration
	link  *link
}

// Write sends a frame.
func (p *patient) Write(frame []byte) (int, error) {
	late := time.AfterFunc(p.stall, func() { _ = p.link.Close() })
	defer late.Stop()
	return p.Writer.Write(frame)
}

// filter drops what comes from the terminal faster than anybody types, and what would stop the
// server's process. The size of the window is what the client's session says.
func (v *visit) filter() func(tea.Model, tea.Msg) tea.Msg {
	usual := tty.Filter(time.Now)
	window := size{v.guest.Width, v.guest.Height}
	return func(m tea.Model, msg tea.Msg) tea.Msg {
		switch sent := msg.(type) {
		case tea.SuspendMsg:
			return nil
		case size:
			window = sent
			return usual(m, tea.WindowSizeMsg{Width: sent.width, Height: sent.height})
		case tea.WindowSizeMsg: // of the start, or a report
			if (size{sent.Width, sent.Height}) != window {
				return nil
			}
		case tea.KeyPressMsg, tea.MouseMsg, tea.PasteMsg:
			v.last.Store(int64(time.Since(v.begun)))
		}
		if msg = usual(m, msg); msg == nil || decoded(msg) && !v.keys.allow() {
			return nil
		}
		return msg
	}
}

// decoded reports whether a message may have come from the terminal: the terminal library has a
// name for it, and does not send it itself.
func decoded(msg tea.Msg) bool {
	switch msg.(type) {
	case tea.QuitMsg, tea.InterruptMsg, tea.ResumeMsg, tea.BatchMsg, tea.RawMsg, tea.EnvMsg,
		tea.ColorProfileMsg:
		return false
	}
	kind := reflect.TypeOf(msg)
	if kind.PkgPath() == reflect.TypeFor[tea.QuitMsg]().PkgPath() {
		return token.IsExported(kind.Name())
	}
	return strings.HasPrefix(kind.PkgPath(), "github.com/charmbracelet/") // what only the decoder knows
}

// follow tells the program of a new window, and when to end.
func (v *visit) follow(p *tea.Program) (stop func()) {
	done := make(chan struct{})
	go func() {
		limits := &v.server.config.Limits
		total, idle := time.NewTimer(limits.Total), time.NewTimer(limits.Idle)
		defer total.Stop()
		defer idle.Stop()
		for {
			select {
			case <-done:
				return
			case <-v.lost:
				p.Kill()
				return
			case <-v.quit:
				p.Quit()
				return
			case <-total.C:
				v.end(endTotal)
			case <-idle.C:
				quiet := time.Since(v.begun) - time.Duration(v.last.Load())
				if quiet >= limits.Idle {
					v.end(endIdle)
				}
				idle.Reset(max(limits.Idle-quiet, 0))
			case s := <-v.sizes:
				p.Send(s)
				time.Sleep(limits.resizePause())
			}
		}
	}()
	return func() { close(done) }
}
