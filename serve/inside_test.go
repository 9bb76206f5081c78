package serve

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/ssh"
	uv "github.com/charmbracelet/ultraviolet"
	gossh "golang.org/x/crypto/ssh"
)

// newLink returns a connection from an address.
func newLink(d *door, address string) *link {
	_, c := net.Pipe()
	l := &link{Conn: c, door: d, address: address, meter: newBucket(1, 1), done: make(chan struct{})}
	l.timer = time.AfterFunc(d.limits.Exchange, func() { d.late(l) })
	d.move(l, exchanging)
	return l
}

func newTestDoor(change func(*Limits)) *door {
	limits := DefaultLimits()
	change(&limits)
	return newDoor(&limits, newEvents(slog.New(slog.DiscardHandler)))
}

// TestLogIsBounded: guests who log in and out again for ever fill no disk, and what is left out is
// counted.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		e := newEvents(slog.New(slog.NewJSONHandler(&log, nil)))
		const hours, each = 24, 100_000
		for range hours {
			for range each {
				e.visited("session", "address", "192.0.2.1")
			}
			time.Sleep(time.Hour)
		}
		e.flush()
		lines, left := 0, 0
		for line := range strings.Lines(log.String()) {
			var said struct {
				Msg   string `json:"msg"`
				Count int    `json:"count"`
			}
			if err := json.Unmarshal([]byte(line), &said); err != nil {
				t.Fatal(err)
			}
			if left += said.Count; said.Msg == "session" {
				lines++
			}
		}
		if lines+left != hours*each || lines < hours*visitBurst || lines > hours*(visitBurst+1) {
			t.Errorf("%d lines, %d left out of %d", lines, left, hours*each)
		}
	})
}

// deaf is a session whose client takes no byte.
type deaf struct {
	ssh.Session
	l *link
}

func (d deaf) Write([]byte) (int, error) { <-d.l.done; return 0, io.ErrClosedPipe }
func (deaf) Exit(int) error              { return nil }

// TestRefuseDeaf: a client that does not even take why there is no explorer gives its place back.
func TestRefuseDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDoor(func(*Limits) {})
		l := newLink(d, "a")
		d.exchanged(l)
		d.entered(l)
		d.opened(l)
		d.began(l)
		begin := time.Now()
		refuse(deaf{l: l}, l, "why")
		if took := time.Since(begin); took > closeTime || len(d.links[inside]) > 0 {
			t.Errorf("%d connections are left after %v", len(d.links[inside]), took)
		}
	})
}

// TestRoom: an address has its places and no more, whatever else it opens, and others have theirs.
func TestRoom(t *testing.T) {
	d := newTestDoor(func(l *Limits) { l.Sessions, l.PerAddress, l.Waiting = 6, 2, 5 })
	come := func(address string, n int) (in []*link) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				l := newLink(d, address)
				d.exchanged(l)
				d.entered(l)
				mu.Lock()
				defer mu.Unlock()
				if d.began(l) == "" && !l.ended() {
					in = append(in, l)
				}
			})
		}
		all.Wait()
		return in
	}
	for i := range 3 {
		if n := len(come(fmt.Sprint("address ", i), 5)); n != 2 {
			t.Errorf("address %d has %d places", i, n)
		}
	}
	if n := len(come("one more", 3)); n != 0 {
		t.Errorf("%d places more than there are", n)
	}
	rooms := 0
	for _, l := range d.links[inside] {
		if l.full == "" {
			rooms++
		}
	}
	if n := len(d.links[inside]); rooms != 6 || n > 6+5 {
		t.Errorf("%d guests, %d connections", rooms, n)
	}
}

// TestGoneStaysGone: what comes late of a connection that has ended starts no timer.
func TestGoneStaysGone(t *testing.T) {
	d := newTestDoor(func(*Limits) {})
	l := newLink(d, "a")
	d.left(l)
	d.exchanged(l)
	d.entered(l)
	if l.timer.Stop() {
		t.Error("a timer runs for a connection that has ended")
	}
}

// TestDecoded: whatever a terminal says is limited; what the program tells itself is not.
func TestDecoded(t *testing.T) {
	type own struct{}
	const many = 2000
	said := []tea.Msg{
		tea.KeyPressMsg{Code: 'x'},
		tea.KeyReleaseMsg{Code: 'x'},
		tea.MouseMotionMsg{},
		tea.PasteMsg{},
		tea.PasteStartMsg{},
		tea.PasteEndMsg{},
		tea.FocusMsg{},
		tea.BlurMsg{},
		tea.BackgroundColorMsg{Color: color.Black},
		tea.ForegroundColorMsg{},
		tea.CursorColorMsg{},
		tea.CursorPositionMsg{},
		tea.ClipboardMsg{},
		tea.CapabilityMsg{},
		tea.ModeReportMsg{},
		tea.TerminalVersionMsg{},
		tea.KeyboardEnhancementsMsg{},
		tea.WindowSizeMsg{Width: 100, Height: 30},
	}
	var decoder uv.EventDecoder
	for _, text := range []string{
		"\x1b[?62c", "\x1b[>1;2c", "\x1b[?997;1n", "\x1b[4;1;1t", "\x1b[6;1;1t",
		"\x1b[8;1;1t", "\x1b[1;1:9z", "\x1b]99;x\a", "\x1bPx\x1b\\", "\x1b_Gi=1;x\x1b\\", "\x1b^x\x1b\\",
		"\x1bXx\x1b\\", "\x1b[>4;1m",
	} {
		if _, event := decoder.Decode([]byte(text)); event != nil {
			said = append(said, event)
		}
	}
	passes := func(msg tea.Msg) (n int) {
		limits := DefaultLimits()
		v := &visit{keys: newBucket(limits.Keys, burstKeys), guest: Guest{Width: 100, Height: 30}}
		filter := v.filter()
		for range many {
			if filter(nil, msg) != nil {
				n++
			}
		}
		return n
	}
	for _, msg := range said {
		if n := passes(msg); n > burstKeys+20 {
			t.Errorf("%T: %d of %d pass", msg, n, many)
		}
	}
	for _, msg := range []tea.Msg{own{}, tea.QuitMsg{}, tea.BatchMsg{}, tea.ClearScreen(), size{80, 24}} {
		if n := passes(msg); n != many {
			t.Errorf("%T: %d of %d pass", msg, n, many)
		}
	}
	if n := passes(tea.WindowSizeMsg{Width: 500, Height: 200}); n != 0 {
		t.Error("a report changes the size")
	}
}

// TestTimeOfConnection: the protocol library leaves a session all of its time, however slow its login was.
func TestTimeOfConnection(t *testing.T) {
	s, err := New(Config{
		HostKey: testKey(t), Limits: DefaultLimits(),
		Enter: func(Guest) Visit { return Visit{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	l := DefaultLimits()
	if s.ssh.MaxTimeout <= l.Exchange+l.Login+l.Start+l.Total {
		t.Error(s.ssh.MaxTimeout)
	}
}

func testKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// TestDelays: each wrong password of an address costs more, up to a bound, and those of others nothing.
// An attacker with many addresses does not make the server forget the last ones.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(new(Access), time.Second)
		last := time.Duration(0)
		for i := range wrongBurst {
			if wait, ok := g.before("a"); wait > 0 || !ok {
				t.Errorf("password %d waits %v", i+1, wait)
			}
			delay := g.failed("a")
			if delay < last || delay == last && delay < longestDelay || delay > longestDelay {
				t.Errorf("wrong password %d: %v after %v", i+1, delay, last)
			}
			last = delay
		}
		waits := 0
		for ; ; waits++ { // many at once: each waits longer, and no more than are still in time
			wait, ok := g.before("a")
			if !ok {
				break
			}
			if wait <= 0 || wait > longestDelay {
				t.Errorf("password %d of many waits %v", waits, wait)
			}
		}
		if waits < 3 || waits > int(longestDelay.Seconds()) {
			t.Errorf("%d passwords wait", waits)
		}
		time.Sleep(2 * time.Second)
		if _, ok := g.before("a"); !ok {
			t.Error("a right password is refused after the burst")
		}
		g.succeeded("a")
		if wait, ok := g.before("b"); wait != 0 || !ok || g.failed("b") != time.Second {
			t.Error("an address pays for another one")
		}
		for i := range mostAddress + 300 {
			time.Sleep(time.Microsecond)
			g.failed(fmt.Sprint("many ", i))
			if i%100 == 0 {
				g.failed("a")
			}
		}
		if len(g.wrong) > mostAddress || g.wrong["a"] == nil || g.wrong["a"].count < wrongBurst {
			t.Errorf("%d addresses, %+v", len(g.wrong), g.wrong["a"])
		}
	})
}

// TestAddressOf: an address of a subscriber is one, and so are those of this machine.
func TestAddressOf(t *testing.T) {
	for at, want := range map[string]string{
		"127.0.0.1:1": "127.0.0.1", "127.9.8.7:1": "127.0.0.1", "[::1]:1": "127.0.0.1",
		"[::ffff:127.0.0.2]:1": "127.0.0.1",
		"192.0.2.1:1":          "192.0.2.1", "[2001:db8::1]:1": "2001:db8::/64",
		"[2001:db8::2]:1": "2001:db8::/64",
	} {
		if got := addressOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(at))); got != want {
			t.Errorf("%s: %s", at, got)
		}
	}
	var mend *MendError
	if _, err := ReadKeys(os.DevNull); err == nil || errors.As(err, &mend) {
		t.Errorf("a device of keys: %v", err)
	}
}
