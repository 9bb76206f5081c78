package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
)

func some() Session {
	other := presets.DefaultSetup()
	other.PP, other.DP, other.MicroBatches = 4, 2, other.GBS/2
	return Session{
		Pins:  [MaxPins]engine.Setup{presets.DefaultSetup(), other},
		Setup: presets.DefaultSetup(), Locks: engine.Locks{GPUs: true}, Focus: "pp",
		Screen: "memory", Theme: "light", Mouse: true, Hinted: true, Unmarked: true,
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "meshscope", "session.json")
	want := some()
	for range 2 { // the second time it replaces the first
		if err := Save(path, want); err != nil {
			t.Fatal(err)
		}
	}
	got, found, notice := Load(path, presets.Default())
	if !found || notice != "" || got != want {
		t.Errorf("found %v, notice %q, setup the same: %v\n%+v", found, notice, got.Setup == want.Setup, got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestFirstRun(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "none", "session.json")} {
		if _, found, notice := Load(path, presets.Default()); found || notice != "" {
			t.Errorf("%q: found %v, %q", path, found, notice)
		}
	}
}

// What cannot be used is set aside and said, and does not come back.
func TestBroken(t *testing.T) {
	good := filepath.Join(t.TempDir(), "session.json")
	if err := Save(good, some()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, broken := range map[string]string{
		"empty":        "",
		"cut":          text[:len(text)/2],
		"not JSON":     "setup = 1",
		"other":        "[1, 2]",
		"version":      strings.Replace(text, `"schema_version": 1`, `"schema_version": 2`, 1),
		"no setup":     `{"schema_version": 1}`,
		"wrong type":   strings.Replace(text, `"mouse": true`, `"mouse": "yes"`, 1),
		"huge number":  strings.Replace(text, `"tp": 8`, `"tp": 800000000000000000000`, 1),
		"unknown key":  strings.Replace(text, `"tp": 8`, `"tpp": 8`, 1),
		"control":      "\x1b]0;title\x07",
		"deep":         strings.Repeat("[", 100_000),
		"long":         strings.Repeat(" ", maxBytes+2),
		"not a number": strings.Replace(text, `"tp": 8`, `"tp": NaN`, 1),
	} {
		path := filepath.Join(t.TempDir(), "session.json")
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		_, found, notice := Load(path, presets.Default())
		if found || !strings.Contains(notice, "set aside") || strings.ContainsAny(notice, "\x1b\n\x07") {
			t.Errorf("%s: found %v, %q", name, found, notice)
		}
		if kept, err := os.ReadFile(path + ".broken"); err != nil || string(kept) != broken {
			t.Errorf("%s: not kept as it was: %v", name, err)
		}
		if _, found, notice = Load(path, presets.Default()); found || notice != "" {
			t.Errorf("%s: said twice: %q", name, notice)
		}
	}
}

// What this version does not know is left out, the rest restored.
func TestUnknownWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.json")
	s := some()
	s.Focus, s.Theme, s.Screen = "warp", "neon", strings.Repeat("x", 99)
	if err := Save(path, s); err != nil {
		t.Fatal(err)
	}
	got, found, notice := Load(path, presets.Default())
	if !found || notice != "" || got.Focus != "" || got.Theme != "" || got.Screen != "" || got.Setup != s.Setup {
		t.Errorf("found %v, %q: %q %q %q", found, notice, got.Focus, got.Theme, got.Screen)
	}
}

// An illegal setup is not restored, but its file stays.
func TestIllegal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.json")
	s := some()
	s.Setup.TP = 7
	if err := Save(path, s); err != nil {
		t.Fatal(err)
	}
	if _, found, notice := Load(path, presets.Default()); found || !strings.Contains(notice, "not legal") {
		t.Errorf("found %v, %q", found, notice)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A home that cannot be written is fine; a pipe is not waited for.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Save(filepath.Join(file, "meshscope", "session.json"), some()); err == nil || !Unwritable(err) {
		t.Errorf("below a file: %v", err)
	}
	if _, found, notice := Load(filepath.Join(file, "session.json"), presets.Default()); found || notice != "" {
		t.Errorf("below a file: %v, %q", found, notice)
	}
	for _, err := range []error{fs.ErrPermission, syscall.EROFS, &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}} {
		if !Unwritable(err) {
			t.Errorf("%v is said", err)
		}
	}
	if Unwritable(syscall.EINVAL) {
		t.Error("everything is forgiven")
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, found, notice := Load(pipe, presets.Default()); found || !strings.Contains(notice, "plain file") {
		t.Errorf("a pipe: %v, %q", found, notice)
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ state, home, want string }{
		{"/s", "/h", "/s/meshscope/session.json"},
		{"", "/h", "/h/.local/state/meshscope/session.json"},
		{"relative", "/h", "/h/.local/state/meshscope/session.json"},
		{"", "", ""},
		{"", "relative", ""},
	} {
		got := Path(func(key string) string {
			return map[string]string{"XDG_STATE_HOME": c.state, "HOME": c.home}[key]
		})
		if got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.state, c.home, got, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"schema_version":1,"setup":{"model":"llama3.1-8b"}}`)
	f.Add(`{"schema_version":1,"setup":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse([]byte(text), presets.Default())
		if err == nil && engine.Legal(s.Setup) {
			if _, err := parse([]byte(text), presets.Default()); err != nil {
				t.Fatal("read once, not twice")
			}
		}
	})
}
