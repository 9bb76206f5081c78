package launch_test

import (
	_ "embed"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
)

// known are the flags and keys that launchers take, typed from the tag that stands above each list.
//
//go:embed testdata/names.txt
var known string

// TestExportedNames: every flag and key that is written stands in the table of the launcher's newest tag.
func TestExportedNames(t *testing.T) {
	names, tag := map[string][]string{}, ""
	for line := range strings.Lines(known) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "#" {
			tag = words[1]
			continue
		}
		names[tag] = append(names[tag], words...)
	}
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	most := 4
	if draws.Deep() {
		most = 60
	}
	for _, l := range launch.Launchers() {
		if len(names[l.ID]) == 0 {
			t.Fatalf("no names of %s", l.ID)
		}
		random, seen := rand.New(rand.NewPCG(3, 0)), map[string]bool{}
		file := func(s *engine.Setup) {
			if d, refused := l.Export(s, ""); len(refused) == 0 {
				for _, e := range d.Entries {
					seen[e.Key] = true
				}
			}
		}
		for _, s := range samples(t) {
			file(&s)
		}
		models := modelsOf(&l)
		for range most {
			if s, ok := draw(random, models, cluster, flat(l.ID) && l.ID != "megatron" &&
				l.ID != "bridge"); ok {
				file(&s)
			}
			if s, ok := drawn(random, presets.Default().Models()); ok {
				file(&s)
			}
		}
		for key := range seen {
			if !slices.Contains(names[l.ID], key) {
				t.Errorf("%s: %s is in no table", l.ID, key)
			}
		}
		t.Logf("%s: %d names", l.ID, len(seen))
	}
}
