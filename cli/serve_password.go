package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"meshscope/engine/escape"
	"meshscope/serve"
)

// servePasswordCommand returns the command that makes a password file.
func (a *app) servePasswordCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "password [FILE]",
		Short: "Make a password file",
		Long: "Ask for a password twice, or read it from a pipe, and write its argon2id hash to a new file " +
			"that nobody else can read: " +
			"the one of the server's state, or the one given. The password itself is written nowhere.\n\n" +
			"Exit code: 0, 1 where nothing can be written, 2 usage error.",
		Example: "meshscope serve password\nmeshscope serve --free --password-file " +
			"~/.local/state/meshscope/serve/password",
		Args: cobra.ArbitraryArgs,
	}
	cmd.RunE = a.wrap(func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{fmt.Sprintf("serve password takes one file, given %d", len(args))}
		}
		file := filepath.Join(serveState(), "password")
		if len(args) == 1 {
			file = args[0]
		}
		there := &usageError{escape.Name(file) + " is there already; remove it to make another password"}
		if _, err := os.Lstat(file); err == nil {
			return there
		}
		password, err := a.askPassword()
		if err != nil {
			return err
		}
		hash, err := serve.Hash(password)
		if err != nil {
			return &usageError{err.Error()}
		}
		switch err := serve.WriteNew(file, []byte(hash+"\n")); {
		case errors.Is(err, fs.ErrExist):
			return there
		case err != nil:
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s\n", file)
		return err
	})
	return cmd
}

// askPassword asks for a password twice without showing it, or reads a line of a pipe.
func (a *app) askPassword() (string, error) {
	const longest = 4 << 10
	in := terminalOf(a.stdin)
	if in == nil {
		line, err := bufio.NewReader(io.LimitReader(a.stdin, longest)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var given [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		a.sayf("%s", prompt)
		text, err := term.ReadPassword(in.Fd())
		a.sayf("\n")
		if err != nil {
			return "", err
		}
		given[i] = string(text)
	}
	if given[0] != given[1] {
		return "", &usageError{"the passwords differ"}
	}
	return given[0], nil
}
