package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/serve"
)

// serveFlags are the flags of 'meshscope serve'.
type serveFlags struct {
	listen, state, keys, password string
	presenter, lesson, log        string
	free, fresh                   bool
	limits                        serve.Limits
}

func (a *app) serveCommand() *cobra.Command {
	var setup setupFlags
	flags := serveFlags{limits: serve.DefaultLimits()}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Teach a class over SSH, or share an install",
		Long: "Serve the explorer to everyone who has ssh: each login is an explorer of its own, in its " +
			"own size, colours and characters. " +
			"In a class they show what the presenter's shows, until a student turns a knob. The presenter " +
			"logs in as 'presenter' with the token that is printed at the start, or a key of " +
			"--presenter-keys; a second login has the notes. " +
			"--free is without a class.\n\n" +
			"Guests get no shell, command, file or forwarding, and nothing that they do is written; " +
			"setups, presets and lessons of the host are theirs to read.\n\n" +
			"On the loopback address everyone who has a login on this machine may come in, unless " +
			"--authorized-keys or --password-file is given. Any other address needs one of them. " +
			"'serve password' makes the file. The host key is made at the first start and stays in " +
			"--state. The log is JSON, a line per event, on standard error, or in serve.log of --state " +
			"where that is a terminal. " +
			"SIGINT or SIGTERM tells the guests and stops.\n\n" +
			"The flags of 'eval' choose the setup that explorers start with. docs/serve.md has a unit for " +
			"systemd.\n\n" +
			"Exit code: 0 after a signal, 1 after an error, 2 usage error.",
		Example: "meshscope serve\nmeshscope serve --lesson second-step\nmeshscope serve --free\nmeshscope " +
			"serve password\nmeshscope serve --free --listen :2222 --password-file " +
			"~/.local/state/meshscope/serve/password",
		Args: cobra.ArbitraryArgs,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.listen, "listen", "127.0.0.1:2222",
		"address and port; any but loopback needs keys or a password")
	f.BoolVar(&flags.free, "free", false, "an explorer for everyone, without a class")
	f.StringVar(&flags.lesson, "lesson", "", "lesson that the class begins with; see 'meshscope lesson'")
	f.BoolVar(&flags.fresh, "fresh", false, "do not go back to the class of the last run; one that began "+
		"with another --lesson is not gone back to")
	f.StringVar(&flags.presenter, "presenter-keys", "",
		"file of public keys of presenters, in place of a token")
	f.StringVar(&flags.keys, "authorized-keys", "", "file of public keys that may log in, as OpenSSH has it")
	f.StringVar(&flags.password, "password-file", "",
		"file that 'serve password' made; whoever knows the password may log in")
	f.StringVar(&flags.state, "state", "",
		"folder of the host key and of the kept class (default ~/.local/state/meshscope/serve)")
	f.IntVar(&flags.limits.Sessions, "sessions", flags.limits.Sessions, "explorers at once")
	f.IntVar(&flags.limits.PerAddress, "per-address", flags.limits.PerAddress,
		"explorers at once from one address")
	f.DurationVar(&flags.limits.Idle, "idle", flags.limits.Idle,
		"end a session after this time without a key")
	f.DurationVar(&flags.limits.Total, "total", flags.limits.Total, "end a session after this time")
	f.StringVar(&flags.log, "log", "", "file of the log, which is appended to; - is standard error "+
		"(default: standard error, or serve.log in --state where that is a terminal)")
	setup.register(a, cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := noArgs(cmd, setup.rest(args)); err != nil {
			return err
		}
		if err := flags.check(); err != nil {
			return err
		}
		flags.state = cmp.Or(flags.state, serveState())
		s, err := a.opening(cmd.Context(), &setup)
		if err != nil {
			return err
		}
		return a.serve(cmd.Context(), s, &flags)
	})
	cmd.AddCommand(a.servePasswordCommand())
	return cmd
}

// check refuses flags that make no server.
func (f *serveFlags) check() error {
	l := &f.limits
	switch {
	case f.free && (f.lesson != "" || f.presenter != ""):
		return &usageError{"--free is without a class: it has no --lesson and no --presenter-keys"}
	case l.Sessions < 1 || l.PerAddress < 1:
		return &usageError{fmt.Sprintf("--sessions %d and --per-address %d: both are at least 1", l.Sessions,
			l.PerAddress)}
	case l.Idle < time.Second || l.Total < time.Second:
		return &usageError{fmt.Sprintf("--idle %v and --total %v: both are at least 1s", l.Idle, l.Total)}
	}
	return checkListen(f.listen)
}

// checkListen refuses what is no address and port.
func checkListen(address string) error {
	const port = "2222"
	refuse := func(nearest string) error {
		return &usageError{fmt.Sprintf("--listen: given %s, allowed is an address and a port from 0 (any "+
			"that is free) to 65535, such as 127.0.0.1:2222; nearest is %s", escape.Quote(address),
			escape.Name(nearest))}
	}
	host, given, err := net.SplitHostPort(address)
	switch n, _ := strconv.ParseUint(given, 10, 64); { // the largest where it is out of range
	case err != nil && isPort(address):
		return refuse("127.0.0.1:" + address)
	case err != nil:
		return refuse(net.JoinHostPort(strings.Trim(address, "[]"), port))
	case isPort(given):
		return nil
	case n > math.MaxUint16:
		return refuse(net.JoinHostPort(host, strconv.Itoa(math.MaxUint16)))
	}
	return refuse(net.JoinHostPort(host, port))
}

// isPort reports whether a text is a port: a number, or the name of a service.
func isPort(text string) bool {
	_, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", text)
	return err == nil && text != ""
}

// tokenLength makes a token of 80 bits.
const tokenLength = 16

// serveState returns the folder of the server's state.
func serveState() string { return filepath.Join(crashDir(), "serve") }

// access reads who may log in.
func (f *serveFlags) access() (access serve.Access, err error) {
	if f.keys != "" {
		if access.Keys, err = serve.ReadKeys(f.keys); err != nil {
			return access, err
		}
	}
	if f.password != "" {
		if access.Password, err = serve.ReadPassword(f.password); err != nil {
			return access, err
		}
	}
	switch {
	case f.free:
	case f.presenter != "":
		access.PresenterKeys, err = serve.ReadKeys(f.presenter)
	default:
		access.Token = rand.Text()[:tokenLength]
	}
	return access, err
}

// serve serves explorers that start with a setup, until a signal.
func (a *app) serve(ctx context.Context, s engine.Setup, f *serveFlags) error {
	signal.Ignore(syscall.SIGPIPE) // who reads the log may go: the class goes on
	access, err := f.access()
	if err != nil {
		return &usageError{err.Error()}
	}
	if folder := ownLessons(); folder != "" {
		if err := serve.UnchangeableFolder(folder); err != nil {
			return &usageError{"lessons: " + err.Error()}
		}
	}
	key, err := serve.HostKey(filepath.Join(f.state, "host_ed25519"))
	if err != nil {
		return &usageError{err.Error()}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return &usageError{"--listen: " + escape.Line(err.Error())}
	}
	defer func() { _ = listener.Close() }()
	if at, ok := listener.Addr().(*net.TCPAddr); access.Open() && (!ok || !at.IP.IsLoopback()) {
		return &usageError{fmt.Sprintf("--listen %s is open to other machines: give --authorized-keys or "+
			"--password-file ('meshscope serve password' makes one)", escape.Name(f.listen))}
	}
	if os.Geteuid() == 0 {
		a.sayf("meshscope: serving as root is not needed for anything; use another user\n")
	}
	to, logged, err := a.serveLog(f)
	if err != nil {
		return err
	}
	defer logged()
	log := slog.New(slog.NewJSONHandler(to, nil))
	slog.SetDefault(log) // of the SSH library
	ctx, _, stop := onSignalOnce(ctx)
	enter, closed, err := a.enter(ctx, s, f)
	if err != nil {
		stop()
		return err
	}
	defer closed()
	defer stop()
	server, err := serve.New(serve.Config{
		HostKey: key, Access: access, Limits: f.limits, Log: log,
		Enter: enter,
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(a.stdout, invitation(listener.Addr(), &access, f)); err != nil {
		return err
	}
	return a.untilSignal(ctx, server, listener)
}

// untilSignal serves until a signal, which ends the context, and stops so that guests are told.
func (a *app) untilSignal(ctx context.Context, server *serve.Server, l net.Listener) error {
	rested := make(chan struct{})
	defer close(rested)
	go returnMemory(rested)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	const patience = 5 * time.Second
	last, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server.Stop(last)
	return <-served
}
