package serve

import (
	"sync"
	"time"
)

// Limits bound what clients can make the server do.
type Limits struct {
	Sessions   int           // explorers at once
	PerAddress int           // of these from one address
	Waiting    int           // connections in the key exchange, and as many that log in
	Exchange   time.Duration // for the key exchange
	Login      time.Duration // for the key exchange and the login
	Start      time.Duration // from the login until a session is open
	// of the answer to a wrong password, doubled for each one before it from the address
	Delay time.Duration
	Idle  time.Duration // without a key
	Total time.Duration // of a session
	Stall time.Duration // that a client may leave a frame unread
	Alive time.Duration // after which a client is asked whether it is there
	Bytes int           // received a second, after a burst
	// keys, movements of the mouse and all else that a terminal says a second, after a burst
	Keys    int
	Resizes int // changes of the window a second
}

// DefaultLimits are for a class: a lecture hall may share one address.
func DefaultLimits() Limits {
	return Limits{
		Sessions: 250, PerAddress: 100, Waiting: 256,
		Exchange: 10 * time.Second, Login: time.Minute, Start: 15 * time.Second,
		Delay: 500 * time.Millisecond, Idle: 2 * time.Hour, Total: 12 * time.Hour, Stall: 30 * time.Second,
		Alive: 15 * time.Second,
		Bytes: 32 << 10, Keys: 20, Resizes: 10,
	}
}

// Bounds that nobody needs to change.
const (
	maxTries     = 32  // logins of a connection; a client offers every key of its agent
	maxPasswords = 3   // wrong ones of a connection
	maxRequests  = 64  // of a session before its explorer opens, and refused ones
	maxWidth     = 240 // of a window, in cells; more is left blank: memory grows with it
	maxHeight    = 70
	maxVariables = 16        // taken over of a client's environment
	burstBytes   = 512 << 10 // a paste and what comes with it
	burstKeys    = 256       // typed ahead, or pasted by a terminal that does not say so
	leaveTime    = 10 * time.Second
	closeTime    = 2 * time.Second // for clients to close their connection at the end
)

// bounded returns the part of a window that is drawn on; zero where its size is unknown.
func bounded(width, height uint32) (int, int) {
	return int(min(width, maxWidth)), int(min(height, maxHeight))
}

// bucket allows a rate after a burst. It is safe for concurrent use.
type bucket struct {
	mu    sync.Mutex
	rate  float64 // a second
	burst float64
	level float64 // of what is spent
	last  time.Time
}

// newBucket makes a bucket of which nothing is spent.
func newBucket(rate, burst int) *bucket {
	return &bucket{rate: float64(rate), burst: float64(burst), last: time.Now()}
}

// spend takes n and returns how long to wait until the rate is kept.
func (b *bucket) spend(n int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leak()
	b.level += float64(n)
	if b.level <= b.burst {
		return 0
	}
	return time.Duration((b.level - b.burst) / b.rate * float64(time.Second))
}

// allow takes one if that keeps the rate.
func (b *bucket) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leak()
	if b.level+1 > b.burst {
		return false
	}
	b.level++
	return true
}

// wait returns how long until one can be taken.
func (b *bucket) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leak()
	return time.Duration(max(0, b.level+1-b.burst) / b.rate * float64(time.Second))
}

func (b *bucket) leak() {
	now := time.Now()
	b.level = max(0, b.level-now.Sub(b.last).Seconds()*b.rate)
	b.last = now
}
