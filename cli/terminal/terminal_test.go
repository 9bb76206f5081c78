//go:build unix

package terminal_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"meshscope/cli/terminal"
)

// TestLateMargins: a scrolling region for a larger screen, followed by scrolling,
// is cut to the screen that there is.
func TestLateMargins(t *testing.T) {
	for _, scroll := range []string{`\033[3S`, `\033[3T`, `\033[5;1H\033[2M`, `\033[5;1H\033[2L`} {
		screen, err := terminal.Start(t.Context(), terminal.Options{Columns: 40, Rows: 10}, "printf",
			`\033[2;30r`+scroll+`\033[r\033[1;1Hdone`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := screen.Wait(); err != nil {
			t.Fatal(err)
		}
		screen.AwaitQuiet(time.Millisecond)
		if text := screen.Text(); text[:4] != "done" {
			t.Errorf("after %s: %q", scroll, text)
		}
	}
}

// TestTypeAfterTheEnd: what a program that has ended does not read is refused after a while, and nothing goes
// on writing it.
func TestTypeAfterTheEnd(t *testing.T) {
	before := goleak.IgnoreCurrent()
	screen, err := terminal.Start(t.Context(), terminal.Options{Columns: 40, Rows: 10}, "sh", "-c",
		"stty raw -echo")
	if err != nil {
		t.Fatal(err)
	}
	<-screen.Exited()
	const more = 1 << 17 // than any terminal keeps
	if err := screen.Type(strings.Repeat("x", more)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("%v", err)
	}
	if _, err := screen.Wait(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}
