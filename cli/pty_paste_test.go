//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"meshscope/cli/terminal"
)

// TestTerminalPastes: the explorer takes the command line that it copies, a list of knobs and the name
// of a file, and gives a file's own error.
func TestTerminalPastes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: 120, Rows: 36, Folder: folder, Env: []string{
			"HOME=" + folder, "XDG_STATE_HOME=" + folder,
			"XDG_CONFIG_HOME=" + folder,
		},
	}, build(t))
	if err != nil {
		t.Fatal(err)
	}
	see(t, screen, "Llama")
	screen.AwaitQuiet(frameGap)
	paste := func(text string) { press(t, screen, "\x1b[200~"+text+"\x1b[201~") }
	paste("meshscope --model llama3.1-8b --cluster dgx-h100 --gpus 16 --tp 2 --pp 1 --gbs 64")
	see(t, screen, "pasted command")
	paste("tp=4,pp=2")
	see(t, screen, "tp=4,pp=2")
	paste("/nowhere/config.json")
	see(t, screen, "not taken: there is no file /nowhere/config.json")
	for _, file := range []struct{ name, pasted, model, seen string }{
		{"tp=4.toml", "tp=4.toml", "gpt2-124m", "GPT-2 small"},
		{"my setup.toml", folder + `/my\ setup.toml`, "gpt2-xl", "GPT-2 XL"},
	} {
		if err := os.WriteFile(filepath.Join(folder, file.name), []byte("model = \""+file.model+"\"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		paste(file.pasted)
		see(t, screen, file.seen)
	}
	paste("meshscope --tp 4 --nonsense 3")
	see(t, screen, "not taken: unknown flag --nonsense")
	paste("rm -rf --tp 4")
	see(t, screen, `"rm -rf --tp 4" is not`)
	press(t, screen, "q")
	restored(t, screen, 0)
}
