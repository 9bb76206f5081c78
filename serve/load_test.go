//go:build unix

package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	gossh "golang.org/x/crypto/ssh"

	"meshscope/serve"
)

// program is the real server in a process of its own.
type program struct {
	house
	token string
	pid   int
}

// run builds and starts the real server; it ends with the test.
func run(t *testing.T, home string, flags ...string) *program {
	t.Helper()
	if os.Getenv("MESHSCOPE_DEEP") == "" {
		t.Skip("runs the real server for up to a minute: with MESHSCOPE_DEEP=1")
	}
	binary := filepath.Join(t.TempDir(), "meshscope")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(context.Background(), binary,
		append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	p := new(program)
	cmd.Stderr = p
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, p.logged())
		}
	})
	p.pid = cmd.Process.Pid
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "serving on "); ok {
			p.address = at
		}
		if m := regexp.MustCompile(`password (\w+)`).FindStringSubmatch(lines.Text()); m != nil {
			p.token = m[1]
			break
		}
		if strings.HasPrefix(lines.Text(), "guests") && slices.Contains(flags, "--free") {
			break
		}
	}
	if p.address == "" {
		t.Fatal(p.logged())
	}
	return p
}

// resident returns the memory of the server's process, in MB.
func (p *program) resident(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Skip("no /proc here")
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindStringSubmatch(string(text))
	kb, _ := strconv.ParseFloat(m[1], 64)
	return kb * 1024 / 1e6
}

// cpu returns how long the server's process has computed.
func (p *program) cpu(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		t.Skip("no /proc here")
	}
	const tick = 10 * time.Millisecond
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// eye watches a screen as a person does: what stands on it, and since when.
type eye struct {
	screen *vt.SafeEmulator // nil: nobody looks
	slow   time.Duration    // for each KB; 0: a fast link
	look   *regexp.Regexp

	mu   sync.Mutex
	seen []sight
}

// sight is what a screen began to show.
type sight struct {
	text string
	at   time.Time
}

// Write takes a part of a frame.
func (e *eye) Write(p []byte) (int, error) {
	if e.slow > 0 {
		time.Sleep(e.slow * time.Duration(len(p)) / 1000)
	}
	if e.screen == nil {
		return len(p), nil
	}
	n, err := e.screen.Write(p)
	if text := e.look.FindString(ansi.Strip(e.screen.Render())); text != e.now().text {
		e.mu.Lock()
		e.seen = append(e.seen, sight{text, time.Now()})
		e.mu.Unlock()
	}
	return n, err
}

// now returns the last sight.
func (e *eye) now() sight {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.seen) == 0 {
		return sight{}
	}
	return e.seen[len(e.seen)-1]
}

// ages returns how old each sight was, of texts that a turn caused.
func (e *eye) ages(caused map[string]time.Time) (ages []time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.seen {
		if at, ok := caused[s.text]; ok {
			ages = append(ages, s.at.Sub(at))
		}
	}
	slices.Sort(ages)
	return ages
}

const wide, high = 120, 36

// watch opens an explorer whose frames go to an eye.
func (h *house) watch(e *eye, user string, methods ...gossh.AuthMethod) (*screen, error) {
	c, err := h.dial(user, methods...)
	if err != nil {
		return nil, err
	}
	s, err := c.NewSession()
	if err != nil {
		return nil, err
	}
	s.Stdout = e
	out := &screen{Session: s}
	if out.stdin, err = s.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.RequestPty("xterm-256color", high, wide, nil); err != nil {
		return nil, err
	}
	return out, s.Shell()
}

func newEye(pattern string) *eye {
	em := vt.NewSafeEmulator(wide, high)
	go func() { _, _ = io.Copy(io.Discard, em) }()
	return &eye{screen: em, look: regexp.MustCompile(pattern)}
}

// stuck is how old a frame never is, whatever else the machine does.
const stuck = 2 * time.Minute

// TestLoad has 200 followers, 50 of them on slow links, of a presenter who turns a knob every 200 ms.
func TestLoad(t *testing.T) {
	const followers, slow, watched, turns = 200, 50, 10, 50
	p := run(t, t.TempDir(), "--sessions", "300", "--per-address", "300")
	start := p.resident(t)
	eyes := make([]*eye, followers)
	var ready sync.WaitGroup
	gate := make(chan struct{}, 8)
	begin := time.Now()
	for i := range eyes {
		eyes[i] = new(eye)
		switch {
		case i < slow:
			eyes[i].slow = time.Second / 20 // 20 KB/s
		case i < slow+watched:
			eyes[i] = newEye(takes)
		}
		ready.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			if _, err := p.watch(eyes[i], "someone"); err != nil {
				t.Error(err)
			}
		})
	}
	ready.Wait()
	time.Sleep(5 * time.Second) // the server tidies up when its sessions rest
	idle := p.resident(t)
	t.Logf("%d logins in %v; resident %.0f MB before, %.0f MB after: %.2f MB a session", followers,
		time.Since(begin).Round(time.Millisecond), start, idle, (idle-start)/followers)

	own := newEye(takes)
	presenter, err := p.watch(own, serve.Presenter, gossh.Password(p.token))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	press := func(key string) { _, _ = presenter.stdin.Write([]byte(key)) }
	// The cursor goes down one knob at a time: where it stands is read when the screen rests, for a
	// frame of which a part has come shows another knob.
	focus := func() (at string) {
		for rests := 0; rests < 5; time.Sleep(20 * time.Millisecond) {
			now := regexp.MustCompile(`▸ *\S+( \S+)?`).FindString(ansi.Strip(own.screen.Render()))
			if rests++; now != at {
				at, rests = now, 0
			}
		}
		return at
	}
	const knob = "global batch"
	for at, begin := "", time.Now(); ; {
		now := focus()
		if strings.HasSuffix(now, knob) {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("the cursor does not come to %s:\n%s", knob, ansi.Strip(own.screen.Render()))
		}
		if now != at {
			at = now
			press("\x1b[B")
		}
	}
	time.Sleep(time.Second)
	cpu, began := p.cpu(t), time.Now()
	caused := map[string]time.Time{}
	var peak float64
	for i := range turns {
		batch := 1000 + 8*i
		caused[fmt.Sprintf("1,%03d × 8,192", batch-1000)] = time.Now()
		press(fmt.Sprintf("%d\r", batch))
		time.Sleep(200 * time.Millisecond)
		peak = max(peak, p.resident(t))
	}
	busy, used := time.Since(began), p.cpu(t)-cpu
	last := fmt.Sprintf("1,%03d × 8,192", 8*(turns-1))
	var theirs []time.Duration
	for _, e := range append(eyes[slow:slow+watched], own) {
		for begin := time.Now(); e.now().text != last; time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > stuck {
				t.Fatalf("a screen is left with %q, not %q:\n%s\n%s", e.now().text, last,
					ansi.Strip(e.screen.Render()), p.logged())
			}
		}
		if e != own {
			theirs = append(theirs, e.ages(caused)...)
		}
	}
	slices.Sort(theirs)
	mine := own.ages(caused)
	if len(mine) == 0 || len(theirs) == 0 {
		t.Fatalf("nothing was seen of the turns:\n%s", ansi.Strip(own.screen.Render()))
	}
	p99 := func(ages []time.Duration) time.Duration { return ages[len(ages)*99/100] }
	t.Logf("presenter's own: %d frames, p50 %v, p99 %v", len(mine), mine[len(mine)/2], p99(mine))
	t.Logf("followers': %d frames, p50 %v, p99 %v, max %v", len(theirs), theirs[len(theirs)/2], p99(theirs),
		theirs[len(theirs)-1])
	const mostIdle, mostBusy = 3, 5 // MB a session
	if mean := (idle - start) / followers; mean > mostIdle {
		t.Errorf("%.2f MB an idle session, more than %d", mean, mostIdle)
	}
	if mean := (peak - start) / followers; mean > mostBusy {
		t.Errorf("%.2f MB a session under load, more than %d", mean, mostBusy)
	}
	if oldest := theirs[len(theirs)-1]; oldest > stuck { // a machine that does something else too is slower
		t.Errorf("a follower's frame is %v old", oldest)
	}
	t.Logf("under load %.0f MB: %.2f MB a session; CPU %.2f cores of %d", peak, (peak-start)/followers,
		used.Seconds()/busy.Seconds(), runtime.GOMAXPROCS(0))
}

// takes finds the global batch in the title.
const takes = `[0-9,]+ × 8,192`
