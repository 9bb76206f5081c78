package serve

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// stage is how far the login of a connection is.
type stage int

const (
	exchanging stage = iota // of keys; anybody can come here for nothing
	loggingIn               // the client has done its part of a key exchange
	inside                  // logged in
	gone
)

// link is a connection of a client. What it sends is slowed to the rate of the limits.
type link struct {
	net.Conn
	door    *door
	address string // without port
	meter   *bucket
	done    chan struct{} // closed with the connection
	wrong   int           // passwords

	// Under door.mu.
	stage stage
	timer *time.Timer // closes the connection unless it gets further
	full  string      // why there is no room for a session; empty: there is
	open  bool        // its session is
}

// Read receives, no faster than the limits allow.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if wait := l.meter.spend(n); wait > 0 && err == nil {
		l.sleep(wait)
	}
	return n, err
}

// Close ends the connection.
func (l *link) Close() error {
	l.door.left(l)
	return l.Conn.Close()
}

// sleep waits, or until the connection ends.
func (l *link) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.done:
	}
}

// linkKey finds the link of a connection in its context.
type linkKey struct{}

func linkOf(ctx context.Context) *link {
	l, _ := ctx.Value(linkKey{}).(*link)
	return l
}

// door is a listener that bounds the connections that have not logged in. Where there are too
// many, the oldest of the address with the most of them goes.
type door struct {
	net.Listener
	limits *Limits
	events *events

	mu     sync.Mutex
	links  map[stage][]*link // by age
	closed bool
}

func newDoor(limits *Limits, e *events) *door {
	return &door{limits: limits, events: e, links: map[stage][]*link{}}
}

// opens takes a listener; false once the door is shut.
func (d *door) opens(l net.Listener) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Listener = l
	return !d.closed
}

// Accept waits for the next connection.
func (d *door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l := &link{
		Conn: c, door: d, address: addressOf(c.RemoteAddr()),
		meter: newBucket(d.limits.Bytes, burstBytes), done: make(chan struct{}),
	}
	l.timer = time.AfterFunc(d.limits.Exchange, func() { d.late(l) })
	d.move(l, exchanging)
	return l, nil
}

// exchanged notes that the key exchange of a connection is done.
func (d *door) exchanged(l *link) { d.move(l, loggingIn) }

// entered notes that a client has logged in. It may open a session if there is room.
func (d *door) entered(l *link) { d.move(l, inside) }

// room returns why there is none for one more session from an address; empty: there is.
func (d *door) room(address string) string {
	all, here := 0, 0
	for _, other := range d.links[inside] {
		if other.full != "" {
			continue
		}
		all++
		if other.address == address {
			here++
		}
	}
	switch {
	case here >= d.limits.PerAddress:
		return "too many sessions from your address"
	case all >= d.limits.Sessions:
		return "the server is full; try again later"
	}
	return ""
}

// opened notes that a client opens its session. It returns false for a second one.
func (d *door) opened(l *link) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.open || l.stage != inside {
		return false
	}
	l.open = true
	return true
}

// began notes that a client's explorer opens, and returns why there is no room for it.
func (d *door) began(l *link) (full string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.timer.Stop()
	return l.full
}

// move puts a connection into a later stage, and ends another one where there are too many.
func (d *door) move(l *link, to stage) {
	d.mu.Lock()
	if l.stage == gone || d.closed || l.stage >= to && to != exchanging {
		closed := d.closed
		d.mu.Unlock()
		if closed {
			_ = l.Close()
		}
		return
	}
	d.remove(l)
	l.stage = to
	switch to {
	case loggingIn:
		l.timer.Reset(d.limits.Login)
	case inside:
		l.full = d.room(l.address)
		l.timer.Reset(d.limits.Start)
	default: // a link begins as exchanging; left ends it
	}
	d.links[to] = append(d.links[to], l)
	waiting := d.links[to]
	if to == inside { // those without room are told so
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(l *link) bool { return l.full == "" })
	}
	var out *link
	if len(waiting) > d.limits.Waiting {
		out = oldestOfMost(waiting)
		d.forget(out)
	}
	d.mu.Unlock()
	if out != nil {
		d.events.quietly("connection dropped", "address", out.address, "why", "too many")
		_ = out.Close()
	}
}

// remove takes a connection out of its stage.
func (d *door) remove(l *link) {
	d.links[l.stage] = slices.DeleteFunc(d.links[l.stage], func(other *link) bool { return other == l })
}

// oldestOfMost returns the oldest connection of the address that has the most.
func oldestOfMost(links []*link) *link {
	count := map[string]int{}
	most := ""
	for _, l := range links {
		count[l.address]++
		if count[l.address] > count[most] {
			most = l.address
		}
	}
	return links[slices.IndexFunc(links, func(l *link) bool { return l.address == most })]
}

// late ends a connection whose time is over.
func (d *door) late(l *link) {
	d.events.quietly("connection dropped", "address", l.address, "why", "time is over")
	_ = l.Close()
}

// left notes that a connection has ended.
func (d *door) left(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.stage != gone {
		d.forget(l)
	}
}

// forget gives the place of a connection back.
func (d *door) forget(l *link) {
	l.timer.Stop()
	d.remove(l)
	l.stage = gone
	close(l.done)
}

// shut ends all connections that have not logged in, and takes no more.
func (d *door) shut() {
	d.mu.Lock()
	d.closed = true
	if d.Listener != nil {
		_ = d.Close()
	}
	waiting := append(slices.Clone(d.links[exchanging]), d.links[loggingIn]...)
	d.mu.Unlock()
	for _, l := range waiting {
		_ = l.Close()
	}
}

// addressOf returns the address of a client without its port, of IPv6 the network that one
// subscriber has.
func addressOf(a net.Addr) string {
	const subscriber = 64
	if a == nil {
		return ""
	}
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.IsLoopback() { // this machine has 2^24 of them
		return "127.0.0.1"
	}
	if ip.Is6() {
		if network, err := ip.Prefix(subscriber); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
