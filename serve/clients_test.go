//go:build unix

package serve_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"meshscope/cli/terminal"
	"meshscope/serve"
)

// The password of the class under test.
const classPassword = "correct horse battery"

// client is a real SSH client with what it needs to log in.
type client struct {
	house   *house
	folder  string
	program string
}

// openSSH returns OpenSSH's client.
func openSSH(t *testing.T, h *house) *client { return realClient(t, h, "ssh") }

// realClient returns a client program; without it the test is skipped, but in CI.
func realClient(t *testing.T, h *house, program string) *client {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no %s in CI", program)
		}
		t.Skipf("no %s here: apt-get install openssh-client dropbear-bin", program)
	}
	return &client{h, t.TempDir(), program}
}

// writeKey writes a private key and returns its file.
func (c *client) writeKey(t *testing.T, name string, key any) string {
	t.Helper()
	block, err := gossh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.folder, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// port returns the port of the server.
func (h *house) port() string {
	_, port, _ := net.SplitHostPort(h.address)
	return port
}

// args returns the arguments of OpenSSH for a login, after the given ones.
func (c *client) args(more ...string) []string {
	return append(append([]string{
		"-F", "none", "-p", c.house.port(), "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
		"-o", "UserKnownHostsFile=" + filepath.Join(c.folder, "known"), "-o", "IdentitiesOnly=yes", "-o",
		"IdentityAgent=none", "-o", "ConnectTimeout=300",
	}, more...), "127.0.0.1")
}

// fails runs OpenSSH, which must fail without a word of the server's machine.
func (c *client) fails(t *testing.T, what string, env []string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.folder}, env...)
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil || strings.Contains(string(out), "uid=") {
		t.Errorf("%s: %v\n%s", what, err, out)
	}
}

// asking makes OpenSSH ask a program for its password.
func (c *client) asking(t *testing.T, password string) []string {
	t.Helper()
	file := filepath.Join(c.folder, "ask")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho '"+password+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{"SSH_ASKPASS=" + file, "SSH_ASKPASS_REQUIRE=force", "DISPLAY=:0"}
}

// locked is a house with a password.
func locked(t *testing.T, change func(*serve.Config)) *house {
	t.Helper()
	hash, err := serve.Hash(classPassword)
	if err != nil {
		t.Fatal(err)
	}
	password, err := serve.ParsePassword(hash)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, func(c *serve.Config) {
		c.Access.Password = password
		if change != nil {
			change(c)
		}
	})
}

// TestOpenSSH: a guest with a key or the password sees an explorer, in the size that the window gets,
// and leaves with q; one with another key or password does not get in.
func TestOpenSSH(t *testing.T) {
	t.Parallel()
	mine, public := newPair(t)
	stranger, _ := newPair(t)
	h := locked(t, func(c *serve.Config) {
		keys, err := serve.ParseKeys(gossh.MarshalAuthorizedKey(public))
		if err != nil {
			t.Fatal(err)
		}
		c.Access.Keys = keys
	})
	c := openSSH(t, h)
	key := c.writeKey(t, "mine", mine)
	for _, login := range []struct {
		env, args []string
	}{
		{nil, c.args("-tt", "-i", key)},
		{c.asking(t, classPassword), c.args("-tt", "-o", "PubkeyAuthentication=no")},
	} {
		visits(t, c.program, login.env, login.args)
	}
	c.fails(t, "another key", nil,
		c.args("-tt", "-o", "BatchMode=yes", "-i", c.writeKey(t, "stranger", stranger))...)
	c.fails(t, "another password", c.asking(t, "Correct horse battery"),
		c.args("-tt", "-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=1")...)
	if log := h.logged(); strings.Contains(log, classPassword) ||
		!strings.Contains(log, `"msg":"login refused"`) {
		t.Errorf("the log:\n%s", log)
	}
}

// visits runs a client in a terminal, resizes it and leaves.
func visits(t *testing.T, program string, env, args []string) {
	t.Helper()
	term, err := terminal.Start(t.Context(), terminal.Options{Columns: 100, Rows: 30, Env: env}, program,
		args...)
	if err != nil {
		t.Fatal(err)
	}
	shows := func(what string, wide int) {
		if err := term.WaitFor(what, func(screen string) bool {
			return strings.Contains(screen, "Explore") && longest(screen) > wide && longest(screen) <= wide+30
		}); err != nil {
			t.Fatal(err)
		}
	}
	shows("an explorer", 80)
	if err := term.Resize(140, 40); err != nil {
		t.Fatal(err)
	}
	shows("a wider one", 110)
	if err := term.Type("q"); err != nil {
		t.Fatal(err)
	}
	end, err := term.Wait()
	if err != nil || end.Code != 0 {
		t.Errorf("%+v, %v", end, err)
	}
}

func longest(screen string) (n int) {
	for line := range strings.SplitSeq(screen, "\n") {
		n = max(n, len([]rune(strings.TrimRight(line, " "))))
	}
	return n
}

// TestOpenSSHRefused: what else than an explorer a client may ask for.
func TestOpenSSHRefused(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	c := openSSH(t, h)
	for what, args := range map[string][]string{
		"a command":               append(c.args(), "id"),
		"a command on a terminal": append(c.args("-tt"), "id"),
		"no terminal":             c.args("-T"),
		"sftp":                    append(c.args("-s"), "sftp"),
		"forwarding of its input": c.args("-W", h.address),
		"remote forwarding": c.args("-N", "-o", "ExitOnForwardFailure=yes", "-R",
			"0:127.0.0.1:1"),
		"remote forwarding of a socket": c.args("-N", "-o", "ExitOnForwardFailure=yes", "-R",
			filepath.Join(c.folder, "s")+":127.0.0.1:1"),
		"algorithms that are not modern":  c.args("-tt", "-o", "KexAlgorithms=diffie-hellman-group14-sha256"),
		"a cipher that is not modern":     c.args("-tt", "-o", "Ciphers=aes128-ctr"),
		"a host key of another algorithm": c.args("-tt", "-o", "HostKeyAlgorithms=rsa-sha2-512"),
	} {
		c.fails(t, what, nil, args...)
	}
	if n := h.Guests(); n != 0 {
		t.Errorf("%d guests are left", n)
	}
}

// TestDropbear: Dropbear's client logs in with the password, and not with another.
func TestDropbear(t *testing.T) {
	t.Parallel()
	h := locked(t, nil)
	c := realClient(t, h, "dbclient")
	args := []string{"-y", "-y", "-t", "-p", h.port(), "someone@127.0.0.1"}
	visits(t, c.program, []string{"DROPBEAR_PASSWORD=" + classPassword, "HOME=" + c.folder}, args)
	c.fails(t, "another password", []string{"DROPBEAR_PASSWORD=wrong horse battery"}, args...)
	c.fails(t, "a command", []string{"DROPBEAR_PASSWORD=" + classPassword}, append(args, "id")...)
}

// TestEnormousWindow: a window of 65,535 times 65,535 cells costs no more than what is drawn.
func TestEnormousWindow(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	c, err := h.dial("someone")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	sink := &screen{Session: s}
	s.Stdout = sink
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestPty("xterm-256color", 1<<31-1, 1<<31-1, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	sink.waits(t, "Explore")
	for i := range 1000 {
		if err := s.WindowChange(1<<31-1-i, 1<<31-1); err != nil {
			t.Fatal(err)
		}
	}
	_, err = in.Write([]byte("q"))
	if err := errors.Join(err, s.Wait()); err != nil {
		t.Error(err)
	}
}
