package ui

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"

	"meshscope/ui/keyfile"
	"meshscope/ui/state"
)

// TestEveryKeyHasAName: a file can change every binding but those that always do
// the same, names are used once, and no two actions share a built-in key.
func TestEveryKeyHasAName(t *testing.T) {
	k := newKeyMap(nil)
	names, owner, inTable := map[string]bool{}, map[string]string{}, map[*key.Binding]bool{}
	for _, n := range k.changeable() {
		if names[n.name] || n.name == "" {
			t.Errorf("%q is there twice", n.name)
		}
		names[n.name], inTable[n.binding] = true, true
		for _, one := range n.binding.Keys() {
			if canonical, why := keyfile.Canonical(one); canonical != one || why != "" {
				t.Errorf("%s: %q is %q for a file: %s", n.name, one, canonical, why)
			}
			if owner[one] != "" {
				t.Errorf("%s is that of %s and %s", one, owner[one], n.name)
			}
			owner[one] = n.name
		}
	}
	fixed := map[string]bool{"Type": true, "Fix": true, "Dismiss": true, "Force": true}
	v := reflect.ValueOf(&k).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		b, ok := v.Field(i).Addr().Interface().(*key.Binding)
		if !ok {
			t.Fatalf("%s is no binding", field.Name)
		}
		if inTable[b] == fixed[field.Name] {
			t.Errorf("%s has a name: %v", field.Name, inTable[b])
		}
	}
}

// TestOwnKeys: a changed key does what it says and the old one nothing; help and
// lines of keys show it, on every screen.
func TestOwnKeys(t *testing.T) {
	own := map[string][]string{"undo": {"z"}, "help": {"f2", "!"}, "turn-up": {">"}, "next-screen": {"n"}, "note": {"N"}}
	m := sample(t, 120, 36, func(o *Options) { o.Keys = own })
	before := m.state.Setup
	if keys(m, ">"); m.state.Setup == before {
		t.Fatal("> does not turn")
	}
	keys(m, "u", "right")
	if m.state.Setup == before {
		t.Error("u undoes still")
	}
	if text := screenText(m); !strings.Contains(text, "f2 help") || !strings.Contains(text, "z undo") || !strings.Contains(text, "left > turn") || !strings.Contains(text, "n Memory") {
		t.Errorf("the line of keys does not show them:\n%s", text)
	}
	if keys(m, "z"); m.state.Setup != before {
		t.Error("z does not undo")
	}
	keys(m, "N")
	if text := screenText(m); !strings.Contains(text, "N or esc closes") {
		t.Errorf("the note:\n%s", text)
	}
	if keys(m, "N"); !m.overlays.Empty() {
		t.Error("N does not close what it opens")
	}
	if keys(m, "?"); !m.overlays.Empty() {
		t.Error("? lists the keys still")
	}
	for _, to := range []string{"", "n"} {
		if to != "" {
			keys(m, to)
		}
		keys(m, "!", "u", "n", "d", "o")
		line := ""
		for l := range strings.Lines(screenText(m)) {
			if strings.Contains(l, "undo the last change") {
				line = l
			}
		}
		if !strings.Contains(line, "(your key)") || !strings.Contains(line, " z ") {
			t.Errorf("%s: the help does not show the key: %s", m.state.Tab, line)
		}
		keys(m, "esc", "esc")
	}
	if m.state.Tab != state.MemoryTab || !strings.Contains(screenText(m), "f2 help") {
		t.Errorf("on %s:\n%s", m.state.Tab, screenText(m))
	}
}

// TestKeysDocument: docs/keys.md lists the names of all actions with their
// built-in keys. UPDATE_KEYS=1 writes the table anew.
func TestKeysDocument(t *testing.T) {
	path := filepath.Join("..", "docs", "keys.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	k := newKeyMap(nil)
	var table strings.Builder
	table.WriteString("| name | built-in keys | does |\n| --- | --- | --- |\n")
	for _, n := range k.changeable() {
		table.WriteString("| `" + n.name + "` | `" + strings.Join(n.binding.Keys(), "` `") + "` | " + n.binding.Help().Desc + " |\n")
	}
	head, rest, found := strings.Cut(string(text), "| name |")
	_, tail, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("docs/keys.md has no table")
	}
	want := head + table.String() + "\n" + tail
	if want == string(text) {
		return
	}
	if os.Getenv("UPDATE_KEYS") == "" {
		t.Fatal("docs/keys.md is not what the program has; UPDATE_KEYS=1 go test ./ui -run KeysDocument writes it anew")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestActions: what a file may change is what the program has.
func TestActions(t *testing.T) {
	actions := Actions()
	if i := slices.IndexFunc(actions, func(a keyfile.Action) bool { return a.Name == "undo" }); i < 0 || !slices.Equal(actions[i].Keys, []string{"u"}) {
		t.Errorf("%v", actions)
	}
}
