//go:build unix

package cli_test

import "testing"

// TestTerminalPastes: the explorer takes the command line that it copies, a list of knobs and the name
// of a file, and gives a file's own error.
func TestTerminalPastes(t *testing.T) {
	t.Parallel()
	screen := open(t, build(t), 120, 36)
	paste := func(text string) { press(t, screen, "\x1b[200~"+text+"\x1b[201~") }
	paste("meshscope --model llama3.1-8b --cluster dgx-h100 --gpus 16 --tp 2 --pp 1 --gbs 64")
	see(t, screen, "pasted command")
	paste("tp=4,pp=2")
	see(t, screen, "tp=4,pp=2")
	paste("/nowhere/config.json")
	see(t, screen, "not taken: there is no file /nowhere/config.json")
	paste("meshscope --tp 4 --nonsense 3")
	see(t, screen, "not taken: unknown flag --nonsense")
	paste("rm -rf --tp 4")
	see(t, screen, `"rm -rf --tp 4" is not`)
	press(t, screen, "q")
	restored(t, screen, 0)
}
