//go:build unix

package room_test

import (
	"os"
	"testing"
	"time"
)

// TestClassSoaks teaches 50 real clients for as long as MESHSCOPE_SOAK says (1h) and prints the memory of
// the server each minute. It fails where the last quarter needs a tenth more than the second one.
func TestClassSoaks(t *testing.T) {
	length, _ := time.ParseDuration(os.Getenv("MESHSCOPE_SOAK"))
	if length == 0 {
		t.Skip("takes an hour: MESHSCOPE_SOAK=1h go test ./serve/room -run ClassSoaks -v -timeout 2h")
	}
	const followers, pause = 50, 2 * time.Second
	sizes := [][2]int{{80, 24}, {100, 30}, {120, 36}, {120, 40}, {160, 50}}
	h := serve(t, build(t), t.TempDir(), "127.0.0.1:0")
	clients := []*client{login(t, h, h.addr, true, 120, 36)}
	for i := range followers {
		clients = append(clients, login(t, h, h.addr, false, sizes[i%len(sizes)][0], sizes[i%len(sizes)][1]))
		time.Sleep(100 * time.Millisecond)
	}
	clients[0].sees(t, "50 follow")
	var samples []float64
	used, minute := h.cpu(), time.Minute
	begin := time.Now()
	for i := 0; time.Since(begin) < length; i++ {
		// up and down the screens, a knob there and back
		_, _ = clients[0].tty.WriteString([]string{"l", "h", "j", "l", "h", "k", "\t", "l", "h"}[i%9])
		time.Sleep(pause)
		if n := len(samples); time.Since(begin) < time.Duration(n+1)*minute {
			continue
		}
		samples = append(samples, h.memory()/1e6)
		now, received := h.cpu(), 0
		for _, c := range clients {
			received += c.forget()
		}
		t.Logf("%3d min  %6.1f MB  %4.1f %% of a core  %5.2f MB to the clients", len(samples), samples[len(samples)-1], 100*(now-used)/minute.Seconds(), float64(received)/1e6)
		used = now
	}
	quarter := func(k int) (sum float64) {
		n := len(samples) / 4
		for _, mb := range samples[k*n : (k+1)*n] {
			sum += mb / float64(n)
		}
		return sum
	}
	if len(samples) >= 4 && quarter(3) > 1.1*quarter(1) {
		t.Errorf("the server grew from %.1f to %.1f MB", quarter(1), quarter(3))
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
