package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"
)

// guarded runs a command so that its panic becomes a message: a panic in a
// batch of commands would print its stack into the alternate screen, where it
// is lost.
func guarded(crashDir string, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = crashedMsg{what: fmt.Sprint(r), file: writeCrash(crashDir, r, debug.Stack())}
			}
		}()
		return cmd()
	}
}

// writeCrash writes what is needed to find the mistake and returns the file's
// name; empty when nothing could be written, which must not be a second crash.
func writeCrash(dir string, reason any, stack []byte) string {
	if dir == "" {
		return ""
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	name := filepath.Join(dir, "crash-"+time.Now().UTC().Format("20060102-150405.000")+".txt")
	text := fmt.Sprintf("%v\n\n%s", reason, stack)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return ""
	}
	return name
}
