package own_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meshscope/presets"
	"meshscope/presets/own"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// builtIn returns the text of a built-in file with one thing replaced.
func builtIn(t *testing.T, name, old, replacement string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", name, old)
	}
	return strings.Replace(string(text), old, replacement, 1)
}

func TestLoad(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "models", "mine.toml"),
		builtIn(t, "models/llama3.1-8b.toml", `"llama3.1-8b"`, `"mine"`))
	bad := filepath.Join(folder, "models", "bad.toml")
	write(t, bad, strings.Replace(builtIn(t, "models/llama3.1-8b.toml", `"llama3.1-8b"`, `"bad"`),
		"layers = 32", "layrs = 32", 1))
	lib, notices := own.Load(folder, presets.Default())
	if m, err := lib.Model("mine"); err != nil || m.Layers != 32 {
		t.Errorf("own model: %d layers, %v", m.Layers, err)
	}
	if _, err := lib.Model("llama3.1-70b"); err != nil {
		t.Errorf("built-in model: %v", err)
	}
	if len(notices) == 0 || !strings.Contains(notices[0], bad+":") ||
		!strings.Contains(notices[0], "layrs") || strings.Contains(notices[0], "\n") {
		t.Errorf("notices %q", notices)
	}
	if _, err := lib.Model("bad"); err == nil {
		t.Error("a refused model can be had")
	}
}

// TestReplaced: a preset of one's own with the id of a built-in one is said, unless it
// is the same or refused.
func TestReplaced(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "models", "llama3.1-8b.toml")
	for text, want := range map[string]bool{
		builtIn(t, "models/llama3.1-8b.toml", "layers = 32", "layers = 16"):           true,
		builtIn(t, "models/llama3.1-8b.toml", "layers = 32", "layers = 32"):           false,
		builtIn(t, "models/llama3.1-8b.toml", "layers = 32", "layers = -2"):           false,
		"\ufeff" + builtIn(t, "models/llama3.1-8b.toml", "layers = 32", "layers = 8"): true,
	} {
		write(t, file, text)
		lib, notices := own.Load(folder, presets.Default())
		if _, err := lib.Model("llama3.1-8b"); err != nil {
			t.Error(err)
		}
		said := strings.Contains(strings.Join(notices, "\n"), "replace built-in ones: models llama3.1-8b")
		if refused := strings.Contains(text, "= -2"); refused != strings.Contains(strings.Join(notices, "\n"),
			"in place of yours that are left out: models llama3.1-8b") {
			t.Errorf("refused %v: %q", refused, notices)
		}
		if said != want {
			t.Errorf("said %v: %q", said, notices)
		}
	}
}

// Two things wrong in a file are two notices.
func TestEveryFault(t *testing.T) {
	folder := t.TempDir()
	text := strings.Replace(builtIn(t, "models/llama3.1-8b.toml", `"llama3.1-8b"`, `"bad"`), "layers = 32",
		"layers = 0", 1)
	write(t, filepath.Join(folder, "models", "bad.toml"),
		strings.Replace(text, "hidden = 4096", "hidden = -1", 1))
	_, notices := own.Load(folder, presets.Default())
	all := strings.Join(notices, "\n")
	if len(notices) < 2 || !strings.Contains(all, "layers") || !strings.Contains(all, "hidden") {
		t.Errorf("notices %q", notices)
	}
}

func TestNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, folder := range []string{
		"", file, filepath.Join(file, "below"),
		filepath.Join(t.TempDir(), "none"),
	} {
		if lib, notices := own.Load(folder, presets.Default()); lib != presets.Default() || len(notices) > 0 {
			t.Errorf("%q: %q", folder, notices)
		}
	}
	if lib, notices := own.Load(t.TempDir(), presets.Default()); len(notices) > 0 || len(lib.Models()) == 0 {
		t.Errorf("an empty folder: %q", notices)
	}
}

func TestFolder(t *testing.T) {
	for _, c := range []struct{ config, home, want string }{
		{"/c", "/h", "/c/meshscope/presets"},
		{"", "/h", "/h/.config/meshscope/presets"},
		{"relative", "/h", "/h/.config/meshscope/presets"},
		{"", "", ""},
	} {
		got := own.Folder(func(key string) string {
			return map[string]string{"XDG_CONFIG_HOME": c.config, "HOME": c.home}[key]
		})
		if got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.config, c.home, got, c.want)
		}
	}
}

// TestManyFaults: of many files that are refused the first are named, the others counted.
func TestManyFaults(t *testing.T) {
	folder := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(folder, "models", strconv.Itoa(i)+".toml"), "x")
	}
	_, notices := own.Load(folder, presets.Default())
	if n := len(notices); n != 9 || !strings.HasPrefix(notices[8], "12 more errors of presets left out in ") {
		t.Errorf("%d notices: %q", n, notices)
	}
	for i := 9; i < 20; i++ {
		if err := os.Remove(filepath.Join(folder, "models", strconv.Itoa(i)+".toml")); err != nil {
			t.Fatal(err)
		}
	}
	_, notices = own.Load(folder, presets.Default())
	if n := len(notices); n != 9 || !strings.HasPrefix(notices[8], "1 more error of presets left out in ") {
		t.Errorf("%d notices: %q", n, notices)
	}
}

// TestBudget: hundreds of presets of which each is refused, or long, or small, take no more than the budget
// of a folder, and the first notice names it.
func TestBudget(t *testing.T) {
	var unknown strings.Builder
	for n := range 900 {
		unknown.WriteString("key" + strconv.Itoa(n) + " = 1\n")
	}
	long := builtIn(t, "models/llama3.1-8b.toml", `"llama3.1-8b"`,
		`"ID"`) + strings.Repeat("#"+strings.Repeat("x", 1000)+"\n", 60)
	for name, c := range map[string]struct {
		files      int
		text, want string
	}{
		"a long key":   {300, strings.Repeat("a", 65_000) + "=1", "24 files are refused"},
		"unknown keys": {300, unknown.String(), "24 files are refused"},
		"long":         {60, long, "more than 2 MiB"},
		"small": {
			2100, builtIn(t, "models/llama3.1-8b.toml", `"llama3.1-8b"`, `"ID"`),
			"more than 2000 files",
		},
	} {
		folder := t.TempDir()
		for n := range c.files {
			id := "m" + strconv.Itoa(n)
			write(t, filepath.Join(folder, "models", id+".toml"),
				strings.Replace(c.text, `"ID"`, `"`+id+`"`, 1))
		}
		_, notices := own.Load(folder, presets.Default())
		if len(notices) == 0 ||
			!strings.Contains(notices[0], c.want+"; this one and those after it are not read") {
			t.Errorf("%s: %.300q", name, notices)
		}
	}
}
