package launch_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/launch"
)

// TestWholeModulesRecomputed: what each launcher makes of whole modules that run again. It writes them by
// name, refuses them, or has no place for them in its file, which then says so.
func TestWholeModulesRecomputed(t *testing.T) {
	writes := map[string]string{
		"megatron": "--recompute-modules MODULE",
		"bridge":   "model.recompute_modules='[MODULE]'",
	}
	elsewhere := []string{"deepspeed", "accelerate-deepspeed"}
	for module, flags := range map[string]map[string]string{
		"mlp": {
			"model": "llama3.1-8b", "gpus": "8", "tp": "1", "pp": "1", "sp": "off", "gbs": "64",
			"recompute": "modules:mlp",
		},
		"moe": {
			"model": "mixtral-8x7b", "gpus": "32", "tp": "1", "pp": "1", "ep": "8", "sp": "off",
			"gbs": "64", "recompute": "modules:moe",
		},
	} {
		s := setupOf(t, flags)
		for _, l := range launch.Launchers() {
			d, refused := l.Export(&s, "")
			line, written := writes[l.ID]
			accepts := written || slices.Contains(elsewhere, l.ID)
			if got := !slices.ContainsFunc(refused,
				func(r launch.Refusal) bool { return r.Field == "recompute" }); got != accepts {
				t.Errorf("%s accepts modules:%s: %t, want %t (%v)", l.ID, module, got, accepts, refused)
			}
			if d == nil { // refused, for this or another knob
				continue
			}
			if text := strings.ReplaceAll(line, "MODULE", module); written &&
				!strings.Contains(string(d.Text()), text) {
				t.Errorf("%s does not write %q", l.ID, text)
			}
			if got := slices.ContainsFunc(d.NotCarried, func(n launch.NotCarried) bool {
				return n.Key == "recompute"
			}); got == written {
				t.Errorf("%s says that modules:%s are not in its file: %t", l.ID, module, got)
			}
		}
	}
}
