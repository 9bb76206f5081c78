//go:build unix

package room_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestClassSoaks teaches 50 real clients for as long as MESHSCOPE_SOAK says (1h): a key of the presenter
// every two seconds; each minute one student logs out and in again, and one explores and comes back. It
// prints memory and goroutines of the server each minute, writes them to the file that MESHSCOPE_SOAK_CURVE
// names (docs/soak -class), and fails where the last quarter needs a tenth more than the second one.
func TestClassSoaks(t *testing.T) {
	length, _ := time.ParseDuration(os.Getenv("MESHSCOPE_SOAK"))
	if length == 0 {
		t.Skip("takes an hour: MESHSCOPE_SOAK=1h go test ./serve/room -run ClassSoaks -v -timeout 2h")
	}
	const followers, pause = 50, 2 * time.Second
	h := serve(t, build(t, "-tags", "soak"), t.TempDir(), "127.0.0.1:0")
	presenter, clients := login(t, h, h.addr, true, 120, 36), make([]*client, followers)
	come := func(i int) {
		size := [][2]int{{80, 24}, {100, 30}, {120, 36}, {120, 40}, {160, 50}}[i%5]
		clients[i] = login(t, h, h.addr, false, size[0], size[1])
	}
	for i := range clients {
		come(i)
		time.Sleep(100 * time.Millisecond)
	}
	presenter.sees(t, "50 follow")
	w := newSamples(t)
	used, begin := h.cpu(), time.Now()
	for i := 0; time.Since(begin) < length; i++ {
		// up and down the screens, a knob there and back
		_, _ = presenter.tty.WriteString([]string{"l", "h", "j", "l", "h", "k", "\t", "l", "h"}[i%9])
		time.Sleep(pause)
		n := len(w.memory)
		if time.Since(begin) < time.Duration(n+1)*time.Minute {
			continue
		}
		now, received := h.cpu(), presenter.forget()
		for _, c := range clients {
			received += c.forget()
		}
		w.add(t, h.memory()/1e6, h.goroutines(t), 100*(now-used)/time.Minute.Seconds(), float64(received)/1e6)
		used = now
		clients[n%followers].leave()
		come(n % followers)
		explorer := clients[(n+followers/2)%followers]
		_, _ = explorer.tty.WriteString("l")
		time.AfterFunc(time.Minute/2, func() { _, _ = explorer.tty.WriteString("F") })
	}
	login(t, h, h.addr, true, 120, 36).sees(t, "50 follow") // the notes
	w.flat(t)
}

// samples are what the server has needed, each minute.
type samples struct {
	memory     []float64 // MB
	goroutines []float64
	curve      *csv.Writer // nil: none
}

func newSamples(t *testing.T) *samples {
	t.Helper()
	w := new(samples)
	name := os.Getenv("MESHSCOPE_SOAK_CURVE")
	if name == "" {
		return w
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	w.curve = csv.NewWriter(file)
	return w
}

// add notes a minute.
func (w *samples) add(t *testing.T, memory float64, goroutines int, cpu, received float64) {
	t.Helper()
	w.memory, w.goroutines = append(w.memory, memory), append(w.goroutines, float64(goroutines))
	t.Logf("%3d min  %6.1f MB  %4d goroutines  %4.1f %% of a core  %5.2f MB to the clients", len(w.memory),
		memory, goroutines, cpu, received)
	if w.curve == nil {
		return
	}
	_ = w.curve.Write([]string{
		fmt.Sprintf("%.1f", memory), strconv.Itoa(goroutines),
		fmt.Sprintf("%.1f", cpu), fmt.Sprintf("%.2f", received),
	})
	if w.curve.Flush(); w.curve.Error() != nil {
		t.Error(w.curve.Error())
	}
}

// flat fails where the last quarter needs a tenth more than the second one.
func (w *samples) flat(t *testing.T) {
	t.Helper()
	for what, values := range map[string][]float64{"MB": w.memory, "goroutines": w.goroutines} {
		quarter := func(k int) (sum float64) {
			n := len(values) / 4
			for _, v := range values[k*n : (k+1)*n] {
				sum += v / float64(n)
			}
			return sum
		}
		if len(values) >= 4 && quarter(3) > 1.1*quarter(1) {
			t.Errorf("the server grew from %.1f to %.1f %s", quarter(1), quarter(3), what)
		}
	}
}

// goroutines asks a server that was built with the tag soak how many it has.
func (h *host) goroutines(t *testing.T) int {
	t.Helper()
	file := filepath.Join(h.dir, "goroutines")
	_ = os.Remove(file)
	if err := h.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if n, err := strconv.Atoi(string(text)); err == nil {
			return n
		}
		if time.Now().After(end) {
			t.Fatal("the server does not tell its goroutines")
		}
	}
}

// forget drops what was received and says how much that was since it last did.
func (c *client) forget() (received int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, part := range c.chunks {
		received += len(part.data)
	}
	c.chunks = nil
	return received
}
