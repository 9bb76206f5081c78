package serve

import (
	"slices"
	"strings"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// size is a window of a client, in cells; 0: it says none.
type size struct{ width, height int }

// sizesKey finds the sizes of a connection's window in its context.
type sizesKey struct{}

// session opens the session of a connection: one, of which the library gets to see no more than a
// terminal, variables of the environment that are taken over, and that it begins.
func (s *Server) session(srv *ssh.Server, conn *gossh.ServerConn, asked gossh.NewChannel, ctx ssh.Context) {
	l := linkOf(ctx)
	if !s.door.opened(l) {
		_ = asked.Reject(gossh.Prohibited, "one session is allowed")
		return
	}
	sizes := make(chan size, 1)
	ctx.SetValue(sizesKey{}, sizes)
	ssh.DefaultSessionHandler(srv, conn, &channel{NewChannel: asked, server: s, link: l, sizes: sizes}, ctx)
	_ = conn.Close() // the session was all there is
}

// channel hides from the library what a client must not ask.
type channel struct {
	gossh.NewChannel
	server *Server
	link   *link
	sizes  chan size

	terminal, begun bool
	variables       int
	count           int // of requests before the explorer opens, and of refused ones
}

// Accept opens the channel.
func (c *channel) Accept() (gossh.Channel, <-chan *gossh.Request, error) {
	opened, all, err := c.NewChannel.Accept()
	if err != nil {
		return nil, nil, err
	}
	passed := make(chan *gossh.Request)
	go func() {
		defer close(passed)
		for r := range all {
			if !c.begun {
				c.count++
			}
			switch {
			case c.count > maxRequests:
				c.server.events.quietly("connection dropped", "address", c.link.address, "why",
					"too many requests")
				_ = c.link.Close()
				gossh.DiscardRequests(all)
			case c.passes(r):
				passed <- r
			}
		}
	}()
	return opened, passed, nil
}

// passes reports whether the library gets to see a request. It answers the others.
func (c *channel) passes(r *gossh.Request) bool {
	ok := false
	switch r.Type {
	case "pty-req":
		if ok = !c.terminal && !c.begun && narrow(r); ok {
			c.terminal = true
			return true
		}
	case "env":
		if ok = !c.begun && c.variables < maxVariables && wanted(r); ok {
			c.variables++
			return true
		}
	case "shell":
		if ok = !c.begun; ok {
			c.begun = true
			return true
		}
	case "window-change":
		ok = c.resized(r.Payload)
	case keepalive: // of Dropbear
	default:
		c.server.events.quietly("request refused", "address", c.link.address, "request", name(r.Type))
		_ = r.Reply(false, nil)
		c.refused()
		if r.Type == "exec" || r.Type == "subsystem" {
			_ = c.link.Close() // there is nothing else that such a client wants
		}
		return false
	}
	_ = r.Reply(ok, nil)
	if !ok && r.Type != keepalive {
		c.refused()
	}
	return false
}

// refused counts a refused request; those before the explorer opens are counted already.
func (c *channel) refused() {
	if c.begun {
		c.count++
	}
}

// resized notes the size of a window; only the last one counts.
func (c *channel) resized(payload []byte) bool {
	var w struct{ Columns, Rows, Width, Height uint32 }
	if !c.terminal || gossh.Unmarshal(payload, &w) != nil {
		return false
	}
	select {
	case <-c.sizes:
	default:
	}
	width, height := bounded(w.Columns, w.Rows)
	c.sizes <- size{width, height} // there is room: nobody else sends
	return true
}

// terminalRequest is the payload of pty-req (RFC 4254, section 6.2).
type terminalRequest struct {
	Term                         string
	Columns, Rows, Width, Height uint32
	Modes                        string
}

// narrow leaves of a request for a terminal its type and a size that can be drawn. It returns
// false where the type is no name.
func narrow(r *gossh.Request) bool {
	var t terminalRequest
	if gossh.Unmarshal(r.Payload, &t) != nil || !isName(t.Term) {
		return false
	}
	t.Columns, t.Rows = min(t.Columns, maxWidth), min(t.Rows, maxHeight)
	t.Width, t.Height, t.Modes = 0, 0, ""
	r.Payload = gossh.Marshal(&t)
	return true
}

// isName reports whether a text can be the name of a terminal or of a locale.
func isName(text string) bool {
	const longest = 64
	const signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+@:"
	return len(text) <= longest && strings.Trim(text, signs) == ""
}

// wanted reports whether a variable of a client's environment is taken over: what it says of the
// terminal's colours and characters.
func wanted(r *gossh.Request) bool {
	var v struct{ Name, Value string }
	if gossh.Unmarshal(r.Payload, &v) != nil || !isName(v.Value) {
		return false
	}
	return slices.Contains([]string{"COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE"}, v.Name)
}
