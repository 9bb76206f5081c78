package launch_test

import (
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/presets/near"
)

// TestFlagsAreKnown: whoever types a flag of a launcher, or a key of its file, for a knob of this program is
// answered with that knob.
func TestFlagsAreKnown(t *testing.T) {
	var ids []string
	for _, k := range knob.All() {
		ids = append(ids, string(k.ID))
	}
	several := map[string]bool{ // that say more than one knob does
		"compile.enable": true, "distributed_type": true, "deepspeed": true, "finetuning_type": true,
		"fsdp_version": true,
	}
	seen := map[string]bool{}
	n := 0
	for _, l := range launch.Launchers() {
		for _, s := range samples(t) {
			d, refused := l.Export(&s, "")
			if len(refused) > 0 {
				continue
			}
			for _, e := range d.Entries {
				if len(e.From) != 1 || seen[e.Key] {
					continue
				}
				seen[e.Key] = true
				id := knob.ID(strings.ReplaceAll(e.From[0], "_", "-"))
				if _, ok := knob.Find(id); !ok {
					continue
				}
				n++
				parts := strings.Split(e.Key, ".")
				ok := several[parts[len(parts)-1]] || several[e.Key]
				var proposed []string
				for from := range parts {
					name := strings.Join(parts[from:], "_")
					ok = ok || name == string(id)
					for _, w := range near.Words(name, ids, 3) {
						w, _, _ = strings.Cut(w, "=")
						ok, proposed = ok || w == string(id), append(proposed, w)
					}
				}
				if !ok {
					t.Errorf("%s: %s is %s, proposed is %v", l.ID, e.Key, id, proposed)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d keys were looked at", n)
	}
}
