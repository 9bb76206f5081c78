package tty

import (
	"encoding/base64"
	"strings"
	"testing"
)

// TestClipboard: a text gets through screen and tmux to the terminal around them.
func TestClipboard(t *testing.T) {
	text := strings.Repeat("meshscope --tp 4 ", 100)
	want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if got := Clipboard(nil, text); got != want {
		t.Errorf("alone: %.60q", got)
	}
	for _, env := range []string{"STY=1234.pts-0", "TERM=screen-256color"} {
		got, through := Clipboard([]string{env}, text), ""
		for part := range strings.SplitSeq(strings.TrimSuffix(got, "\x1b\\"), "\x1b\\") {
			inside, wrapped := strings.CutPrefix(part, "\x1bP")
			if !wrapped || len(inside) > screenString {
				t.Errorf("%s: a part of %d bytes, wrapped %v", env, len(inside), wrapped)
			}
			through += inside
		}
		if through != want {
			t.Errorf("%s: %.60q comes through", env, through)
		}
	}
	plain, wrapped, _ := strings.Cut(Clipboard([]string{"TMUX=/tmp/tmux,1,0", "TERM=screen"}, text),
		"\x1bPtmux;")
	if plain != want || strings.ReplaceAll(strings.TrimSuffix(wrapped, "\x1b\\"), "\x1b\x1b",
		"\x1b") != want {
		t.Errorf("tmux: %.60q and %.60q", plain, wrapped)
	}
}
