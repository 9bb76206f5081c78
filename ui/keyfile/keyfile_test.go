package keyfile

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
	"meshscope/presets/input"
)

func actions() []Action {
	return []Action{
		{"undo", []string{"u"}, ""},
		{"redo", []string{"U", "ctrl+r"}, ""},
		{"model", []string{"m"}, ""},
		{"help", []string{"?", ":"}, ""},
		{"quit", []string{"q"}, ""},
	}
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want map[string][]string
		errs []string
	}{
		"nothing":      {"# only a remark\n", nil, nil},
		"one key":      {"undo = 'z'\n", map[string][]string{"undo": {"z"}}, nil},
		"a mark first": {"\ufeffundo = 'z'\n", map[string][]string{"undo": {"z"}}, nil},
		"several keys": {
			"undo = ['z', 'alt+ctrl+f5', 'z']\n",
			map[string][]string{"undo": {"z", "ctrl+alt+f5"}},
			nil,
		},
		"exchanged": {
			"undo = 'm'\nmodel = 'u'\n",
			map[string][]string{"undo": {"m"}, "model": {"u"}},
			nil,
		},
		"its own": {"redo = ['U', 'R']\n", map[string][]string{"redo": {"U", "R"}}, nil},
		"taken": {
			"model = 'M'\nundo = 'q'\n",
			map[string][]string{"model": {"M"}},
			[]string{`keys.toml:2:1: undo: "q" is the key of quit; give that another one too`},
		},
		"where it stands": {
			"model = [\n'M',\n]\n  undo = 'q'\nno = { such = 'z' }\n",
			map[string][]string{"model": {"M"}},
			[]string{`keys.toml:4:3: undo: "q" is the key of quit`, "keys.toml:5:8: no.such: is no action"},
		},
		"twice": {
			"undo = 'z'\nredo = 'z'\n",
			map[string][]string{"undo": {"z"}},
			[]string{`keys.toml:2:1: redo: "z" is the key of undo`},
		},
		"a chain": {
			"undo = 'm'\nmodel = 'q'\n", nil,
			[]string{`model: "q" is the key of quit`, `undo: "m" is the key of model`},
		},
		"no action": {
			"undp = 'z'\nquit = 'Q'\n",
			map[string][]string{"quit": {"Q"}},
			[]string{"keys.toml:1:1: undp: is no action: did you mean undo"},
		},
		"no key": {
			"undo = 'hyper+x'\n", nil,
			[]string{`undo: "hyper+x" is no key; allowed: a sign, or one of up, down`},
		},
		"a digit": {"undo = '7'\n", nil, []string{`"7" types a value`}},
		"fixed": {
			"undo = 'esc'\nmodel = 'ctrl+c'\nquit = 'ctrl+m'\n", nil,
			[]string{`"esc" always does the same`, `"ctrl+c" always quits`, `"ctrl+m" cannot be told`},
		},
		"shifted": {"undo = 'shift+z'\n", nil, []string{"is written as the sign that it gives"}},
		"empty": {
			"undo = ''\nmodel = []\n", nil,
			[]string{`undo: "" is no key`, "model: has 0 keys; allowed: 1 to 8"},
		},
		"numbers": {
			"undo = 5\nmodel = ['a', 5]\n[quit]\n", nil,
			[]string{"undo: allowed: a key in quotes", "model: allowed: a key in quotes", "quit: allowed"},
		},
		"not TOML":      {"undo = \n", nil, []string{"keys.toml:1:"}},
		"steers nobody": {"undo = \"\\u001b[31m\"\n", nil, []string{`undo: "\x1b[31m" is no key`}},
	} {
		got, errs := Parse("keys.toml", []byte(test.text), actions())
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		all := ""
		for _, err := range errs {
			all += err.Error() + "\n"
		}
		if len(errs) != len(test.errs) {
			t.Errorf("%s: %d errors: %s", name, len(errs), all)
		}
		for _, want := range test.errs {
			if !strings.Contains(all, want) {
				t.Errorf("%s: no %q in %s", name, want, all)
			}
		}
		if strings.ContainsFunc(all, func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("%s: %q", name, all)
		}
	}
}

func TestLoad(t *testing.T) {
	folder := t.TempDir()
	path := Path(func(name string) string { return map[string]string{"XDG_CONFIG_HOME": folder}[name] })
	if path != filepath.Join(folder, "meshscope", "keys.toml") ||
		Path(func(string) string { return "" }) != "" {
		t.Fatalf("%q", path)
	}
	if keys, notices := Load(path, actions()); keys != nil || notices != nil {
		t.Errorf("no file: %v, %v", keys, notices)
	}
	if err := os.MkdirAll(path, 0o700); err != nil { // a folder in its place
		t.Fatal(err)
	}
	if keys, notices := Load(path, actions()); keys != nil || len(notices) != 1 ||
		!strings.Contains(notices[0], "not a regular file") {
		t.Errorf("a folder: %v, %v", keys, notices)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("undo = 'z'\nbogus = 'y'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, notices := Load(path, actions())
	if !reflect.DeepEqual(keys, map[string][]string{"undo": {"z"}}) || len(notices) != 1 ||
		!strings.Contains(notices[0], "keys.toml:2:1: bogus: is no action") {
		t.Errorf("%v, %v", keys, notices)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("#", input.MaxPreset+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, notices := Load(path, actions()); len(notices) != 1 ||
		!strings.Contains(notices[0], "longer than") {
		t.Errorf("%v", notices)
	}
}

// TestNoKeyTwice: whatever is asked for, no key has two actions afterwards.
func TestNoKeyTwice(t *testing.T) {
	keys := []string{"u", "U", "m", "?", ":", "q", "z", "Z", "tab", "ctrl+r", "f1"}
	draws.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for _, a := range actions() {
			if rapid.Bool().Draw(t, "changed") {
				text.WriteString(a.Name + " = ['" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(keys), 1,
					3).Draw(t, "keys"), "', '") + "']\n")
			}
		}
		got, _ := Parse("keys.toml", []byte(text.String()), actions())
		owner := map[string]string{}
		for _, a := range actions() {
			has := a.Keys
			if own, ok := got[a.Name]; ok {
				has = own
			}
			if len(has) == 0 {
				t.Fatalf("%s has no key", a.Name)
			}
			for _, key := range has {
				if owner[key] != "" {
					t.Fatalf("%s is that of %s and %s:\n%s", key, owner[key], a.Name, text.String())
				}
				owner[key] = a.Name
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("undo = 'z'\nhelp = ['?', 'f1']\n"))
	f.Add([]byte("[undo]\nx = 1\n\"model\" = '\\\\'\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, errs := Parse("keys.toml", text, actions())
		for name := range maps.Keys(got) {
			if !slices.ContainsFunc(actions(), func(a Action) bool { return a.Name == name }) {
				t.Errorf("%q", name)
			}
		}
		for _, err := range errs {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%q", err)
			}
		}
	})
}

// TestKeysOfScreens: the actions of a screen stand in a table of their own or behind a
// dot, two that have a key in common from the start may share another, and others of the
// same screen may not.
func TestKeysOfScreens(t *testing.T) {
	all := append(actions(), Action{"memory.term", []string{"left"}, "Memory"},
		Action{"memory.time", []string{"left", "H"}, "Memory"},
		Action{"memory.zoom", []string{"+"}, "Memory"})
	got, errs := Parse("k", []byte("[memory]\nterm = \"z\"\ntime = [\"z\", \"q\"]\nzoom = \"z\"\n"), all)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "k:4") ||
		!strings.Contains(errs[0].Error(), `"z" is the key of memory.term`) {
		t.Errorf("%v", errs)
	}
	if want := map[string][]string{"memory.term": {"z"}, "memory.time": {"z", "q"}}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("%v", got)
	}
}
