package ui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meshscope/ui/keyfile"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// TestEveryKeyHasAName: a file can change every key but those that always do the same,
// names are used once, and no two actions that wait at the same time share a key.
func TestEveryKeyHasAName(t *testing.T) {
	names, owner := map[string]bool{}, map[string]string{}
	for i, table := range Tables() {
		for _, a := range table.Actions {
			if names[a.ID] || a.ID == "" {
				t.Errorf("%q is there twice", a.ID)
			}
			names[a.ID] = true
			for _, one := range a.Keys {
				// a digit is a key there
				digit := table.Name == "Search" || table.Name == "Pipeline" || table.Name == "Memory"
				if canonical, why := keyfile.Canonical(one); (canonical != one || why != "") &&
					(!digit || why != "types a value") && one != "esc" {
					t.Errorf("%s: %q is %q for a file: %s", a.ID, one, canonical, why)
				}
				if owner[one] != "" && i < 2 {
					t.Errorf("%s is that of %s and %s", one, owner[one], a.ID)
				}
				if i < 2 {
					owner[one] = a.ID
				}
			}
		}
	}
	m := New(Options{})
	fixed := []string{"enter", "esc", "ctrl+c", "0 1 2 3 4 5 6 7 8 9"}
	for _, k := range append(m.programKeys(), m.screens.all[state.ExploreTab].Keys(nil)...) {
		if (k.ID == "") != slices.Contains(fixed, k.Keys) {
			t.Errorf("%q is called %q", k.Keys, k.ID)
		}
	}
}

// TestKeyTables: a screen takes exactly the keys that the rows of the moment list, and no
// key is in two of them.
func TestKeyTables(t *testing.T) {
	for _, to := range [][]string{
		{},
		{"tab"},
		{"tab", "s"},
		{"tab", "i"},
		{"tab", "tab"},
		{"tab", "tab", "t"},
		{"tab", "tab", "tab"},
		{"s", "esc"},
		{"s", "esc", "f"},
		{"p", "c"},
		{"c", "tab"},
		{"c", "tab", "f"},
		{"shift+tab"},
	} {
		m := live(t, 120, 36)
		keys(m, to...)
		listed := map[string]string{}
		for _, k := range screen.Listed(m.screen().Keys(m.context())) {
			for _, name := range k.Names(nil) {
				if listed[name] != "" {
					t.Errorf("%v: %s is in %q and %q", to, name, listed[name], k.Help)
				}
				listed[name] = k.Help
			}
		}
		m.palette()
		checkFrame(t, m)
	}
}

// TestOwnKeyOfAScreen: a key of a screen that a file changes does it, the built-in one
// nothing, and footer and list of keys show it.
func TestOwnKeyOfAScreen(t *testing.T) {
	m := sample(t, 120, 36,
		func(o *Options) { o.Keys = map[string][]string{"network.other-link": {"z"}, "undo": {"B"}} })
	m.do(state.Action{Verb: state.GoTab, N: int(NetworkTab)})
	c := m.context()
	if k, _ := screen.Find(m.screen().Keys(c), c.Own, "z"); k == nil || k.ID != "other-link" {
		t.Error("z does nothing")
	}
	if k, _ := screen.Find(m.screen().Keys(c), c.Own, "b"); k != nil {
		t.Errorf("b does %q still", k.Help)
	}
	for _, e := range m.keyEntries() {
		if e.custom != slices.Contains([]string{"other-link", "undo"}, e.ID) {
			t.Errorf("%s is the user's own: %t", e.ID, e.custom)
		}
	}
}

// TestOwnKeys: a changed key does what it says and the old one nothing; help and
// lines of keys show it, on every screen.
func TestOwnKeys(t *testing.T) {
	own := map[string][]string{
		"undo": {"z"}, "help": {"f2", "!"}, "turn-up": {">"}, "next-screen": {"n"},
		"note": {"N"},
	}
	m := sample(t, 120, 36, func(o *Options) { o.Keys = own })
	before := m.state.Setup
	if keys(m, ">"); m.state.Setup == before {
		t.Fatal("> does not turn")
	}
	keys(m, "u", "right")
	if m.state.Setup == before {
		t.Error("u undoes still")
	}
	if text := screenText(m); !strings.Contains(text, "f2 help") || !strings.Contains(text, "z undo") ||
		!strings.Contains(text, "left > turn") || !strings.Contains(text, "n Memory") {
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
			t.Errorf("%s: the help does not show the key: %s", tabName(m.state.Tab), line)
		}
		keys(m, "esc", "esc")
	}
	if m.state.Tab != MemoryTab || !strings.Contains(screenText(m), "f2 help") {
		t.Errorf("on %s:\n%s", tabName(m.state.Tab), screenText(m))
	}
}

// TestKeysDocument: docs/keys.md lists the names of all actions with their built-in
// keys. MESHSCOPE_UPDATE=1 writes the tables anew.
func TestKeysDocument(t *testing.T) {
	path := filepath.Join("..", "docs", "keys.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), "## ")
	if !found {
		t.Fatal("docs/keys.md has no tables")
	}
	var want strings.Builder
	want.WriteString(head)
	for i, table := range Tables() {
		if i > 0 {
			want.WriteString("\n")
		}
		want.WriteString("## " + strings.ToUpper(table.Name[:1]) + table.Name[1:] +
			"\n\n| name | built-in keys | does |\n| --- | --- | --- |\n")
		for _, a := range table.Actions {
			want.WriteString("| `" + a.ID + "` | `" + strings.Join(a.Keys, "` `") + "` | " + a.Help + " |\n")
		}
	}
	if want.String() == string(text) {
		return
	}
	if os.Getenv("MESHSCOPE_UPDATE") == "" {
		t.Fatal("docs/keys.md is not what the program has; MESHSCOPE_UPDATE=1 go test ./ui -run " +
			"KeysDocument writes it anew")
	}
	if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestActions: what a file may change is what the program has.
func TestActions(t *testing.T) {
	actions := Actions()
	if i := slices.IndexFunc(actions, func(a keyfile.Action) bool { return a.Name == "undo" }); i < 0 ||
		!slices.Equal(actions[i].Keys, []string{"u"}) {
		t.Errorf("%v", actions)
	}
}
