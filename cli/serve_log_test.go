//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"meshscope/cli/terminal"
)

// TestServeWithoutLog: a server whose log nobody reads any more goes on.
func TestServeWithoutLog(t *testing.T) {
	t.Parallel()
	log, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), build(t), "serve", "--free", "--listen", "127.0.0.1:0", "--state",
		t.TempDir())
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
		// it would wait for a version line, up to the deadline of a handshake
		_ = c.(*net.TCPConn).CloseWrite()
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

// TestServeLog: on a terminal the log goes to a file of the state, so that the token stays in sight; --log
// names another, and - is standard error again.
func TestServeLog(t *testing.T) {
	t.Parallel()
	program := build(t)
	for name, file := range map[string]string{"default": "", "named": "own.log", "standard error": "-"} {
		state := t.TempDir()
		args := []string{"serve", "--listen", "127.0.0.1:0", "--state", state, "--gpus", "8", "--tp", "8"}
		want := filepath.Join(state, "serve.log")
		switch file {
		case "":
		case "-":
			args, want = append(args, "--log", file), ""
		default:
			want = filepath.Join(state, file)
			args = append(args, "--log", want)
		}
		// standard error is the terminal
		args = append([]string{"-c", `exec "$0" "$@" 2>&1`, program}, args...)
		screen := start(t, "sh", 100, 30, args)
		see(t, screen, "serving on 127.0.0.1:")
		if want == "" {
			see(t, screen, `"msg":`)
		} else {
			err := screen.WaitFor("a line in "+want, func(string) bool {
				text, err := os.ReadFile(want)
				return err == nil && strings.Contains(string(text), `"msg":`)
			})
			if err != nil {
				t.Error(err)
			}
		}
		text := screen.Text()
		if strings.Contains(text, `"msg":`) != (want == "") ||
			!strings.Contains(text, "the token of this run") {
			t.Errorf("%s: on the screen is\n%s", name, text)
		}
		press(t, screen, "\x03")
		if end, err := screen.Wait(); err != nil || end.Code != 0 {
			t.Errorf("%s: exit code %d, %v", name, end.Code, err)
		}
	}
}

// TestServeLogKind: what is no regular file takes no log, and is refused at once.
func TestServeLogKind(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := os.Symlink(filepath.Join(state, "elsewhere"), filepath.Join(state, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(state, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "pipe", "."} {
		ctx, cancel := context.WithTimeout(t.Context(), terminal.Patience)
		cmd := exec.CommandContext(ctx, build(t), "serve", "--free", "--listen", "127.0.0.1:0", "--state",
			state, "--log", filepath.Join(state, name))
		out, err := cmd.CombinedOutput()
		cancel()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "is no regular file") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(state, "elsewhere")); err == nil {
		t.Error("a link was followed")
	}
}
