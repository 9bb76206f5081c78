//go:build unix

package cli_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestServeWithoutLog: a server whose log nobody reads any more goes on.
func TestServeWithoutLog(t *testing.T) {
	t.Parallel()
	log, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), build(t), "serve", "--free", "--listen", "127.0.0.1:0", "--state", t.TempDir())
	cmd.Stderr = writer
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = writer.Close(), log.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(strings.TrimPrefix(line, "serving on "))
	for range 3 { // each writes a line of the log
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatalf("it has ended: %v", err)
		}
		_, _ = c.Write([]byte("no SSH at all\r\n"))
		_ = c.(*net.TCPConn).CloseWrite() // it would wait for a version line, up to the deadline of a handshake
		for b := make([]byte, 64); err == nil; {
			_, err = c.Read(b)
		}
		_ = c.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("at the end: %v", err)
	}
}
