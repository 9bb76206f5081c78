package launch_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// TestArray: of every launcher an array of two tasks is a script that bash parses, runs so many
// iterations as asked where the launcher can be told, and starts its own file.
func TestArray(t *testing.T) {
	for _, l := range launch.Launchers() {
		s := presets.DefaultSetup()
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			near, ok := l.Nearest(s)
			if !ok {
				t.Errorf("%s: nothing near the default setup", l.ID)
				continue
			}
			if d, refused = l.Export(&near, "test"); len(refused) > 0 {
				t.Fatal(l.ID, refused)
			}
		}
		d.SetIterations(37)
		text := launch.Array([]launch.Task{{
			Document: d, About: []string{"one"},
			Echo: `meshscope-setup: {"a":"it's"}`,
		}, {Document: d}}, []string{"a stamp"})
		cmd := exec.CommandContext(t.Context(), "bash", "-n")
		cmd.Stdin = strings.NewReader(string(text))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", l.ID, err, out)
		}
		want := []string{
			"--array=1-2%1", "# a stamp", `echo 'meshscope-setup: {"a":"it'\''s"}'`, "\n2)\n",
			"START=",
		}
		// their length is the user's
		if !slices.Contains([]string{
			"deepspeed", "accelerate", "accelerate-deepspeed", "trl",
			"llama-factory", "axolotl",
		}, l.ID) {
			want = append(want, "37")
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s: no %q in\n%.3000s", l.ID, w, text)
			}
		}
	}
}
