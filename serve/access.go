package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"runtime"
	"sync"
	"time"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// Access says who may log in.
type Access struct {
	Keys          *Keys     // of guests
	Password      *Password // of the class
	PresenterKeys *Keys
	Token         string // in place of a password, for the presenter; empty: none
}

// Presenter is the user name of the presenter: it takes the token or a presenter's key, whatever guests need.
const Presenter = "presenter"

// Open reports whether everyone who reaches the server may log in as a guest.
func (a *Access) Open() bool { return a.Keys == nil && a.Password == nil }

// anybody lets a guest of an open server in.
func (a *Access) anybody(conn gossh.ConnMetadata) (*gossh.Permissions, error) {
	if a.reserved(conn.User()) {
		return nil, ssh.ErrPermissionDenied
	}
	return new(gossh.Permissions), nil
}

// reserved reports whether a user name is the presenter's, which no guest takes by mistake.
func (a *Access) reserved(user string) bool {
	return user == Presenter && (a.Token != "" || a.PresenterKeys != nil)
}

// What the permissions of a connection say of its login.
const (
	roleExtension = "meshscope-role"
	presenterRole = "presenter"
)

// guard checks logins. A wrong password costs the address that it comes from more time at each
// attempt, a right one nothing.
type guard struct {
	access *Access
	delay  time.Duration // of the first wrong one
	token  [sha256.Size]byte
	turns  chan struct{} // passwords that are checked at once: each takes 19 MiB

	mu      sync.Mutex
	wrong   map[string]*attempts // by address
	forgets time.Time            // when to look for what can be forgotten
}

// attempts are the wrong passwords of an address.
type attempts struct {
	count  int
	last   time.Time
	budget *bucket
}

// How wrong passwords are slowed.
const (
	longestDelay = 8 * time.Second // a right one after it is still in time
	forgetAfter  = 10 * time.Minute
	wrongBurst   = 100 // of an address, before its next attempts wait; a class shares one
	mostAddress  = 10_000
)

func newGuard(a *Access, delay time.Duration) *guard {
	return &guard{
		access: a, delay: delay, token: sha256.Sum256([]byte(a.Token)),
		turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), wrong: map[string]*attempts{},
	}
}

// key reports whether the owner of a public key may log in. A presenter's key is one.
func (g *guard) key(ctx ssh.Context, key ssh.PublicKey) bool {
	if g.access.PresenterKeys.Has(key) {
		allow(ctx, presenterRole)
		return true
	}
	return g.access.Keys.Has(key) && !g.access.reserved(ctx.User())
}

// password reports whether a password is that of the class or the presenter's token.
func (g *guard) password(ctx ssh.Context, given string) bool {
	l := linkOf(ctx)
	if l == nil || len(given) > mostPassword {
		return false
	}
	wait, ok := g.before(l.address)
	if !ok {
		_ = l.Close()
		return false
	}
	if l.sleep(wait); l.ended() {
		return false
	}
	select {
	case g.turns <- struct{}{}:
	case <-l.done:
		return false
	}
	right, presenter := g.check(given)
	<-g.turns
	right = right && !g.access.reserved(ctx.User())
	if presenter {
		allow(ctx, presenterRole)
	}
	if right || presenter {
		g.succeeded(l.address)
	} else {
		l.sleep(g.failed(l.address))
		if l.wrong++; l.wrong == maxPasswords {
			_ = l.Close()
		}
	}
	return right || presenter
}

// check compares a password in a time that does not tell how much of it is right.
func (g *guard) check(given string) (right, presenter bool) {
	sum := sha256.Sum256([]byte(given))
	presenter = g.access.Token != "" && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
	if g.access.Password != nil {
		right = g.access.Password.Matches(given)
	}
	return right, presenter
}

// before takes a place among the passwords of an address and returns how long to wait before it is
// looked at; false where so many wait already that it would be too late for its login.
func (g *guard) before(address string) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.of(address)
	if wait = a.budget.wait(); wait > longestDelay {
		return 0, false
	}
	a.budget.spend(1)
	return wait, true
}

// succeeded gives the place of a right password back.
func (g *guard) succeeded(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of(address).budget.spend(-1)
}

// of returns the attempts of an address.
func (g *guard) of(address string) *attempts {
	g.forget()
	a := g.wrong[address]
	if a == nil {
		if len(g.wrong) >= mostAddress {
			g.forgetOldest()
		}
		a = &attempts{budget: newBucket(1, wrongBurst), last: time.Now()}
		g.wrong[address] = a
	}
	return a
}

// failed notes a wrong password and returns how long its answer is held back.
func (g *guard) failed(address string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.of(address)
	a.count, a.last = a.count+1, time.Now()
	return min(g.delay<<min(a.count-1, 10), longestDelay)
}

// forgetOldest drops the address whose last wrong password is oldest.
func (g *guard) forgetOldest() {
	var oldest string
	for address, a := range g.wrong {
		if first := g.wrong[oldest]; first == nil || a.last.Before(first.last) {
			oldest = address
		}
	}
	delete(g.wrong, oldest)
}

// forget drops addresses without a wrong password for a while.
func (g *guard) forget() {
	now := time.Now()
	if now.Before(g.forgets) {
		return
	}
	g.forgets = now.Add(forgetAfter)
	for address, a := range g.wrong {
		if now.Sub(a.last) > forgetAfter {
			delete(g.wrong, address)
		}
	}
}

// ended reports whether the connection has ended.
func (l *link) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// allow notes the role of a login in the permissions that its connection gets.
func allow(ctx ssh.Context, role string) {
	ctx.Permissions().Permissions = &gossh.Permissions{Extensions: map[string]string{roleExtension: role}}
}
