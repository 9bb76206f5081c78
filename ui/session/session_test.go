//go:build unix

package session

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
)

func some() Session {
	other := presets.DefaultSetup()
	other.PP, other.DP, other.MicroBatches = 4, 2, other.GBS/2
	return Session{
		Pins:  [MaxPins]engine.Setup{presets.DefaultSetup(), other},
		Setup: presets.DefaultSetup(), Locks: knob.Locks{GPUs: true}, Focus: "pp",
		Screen: "memory", Theme: "light", Mouse: false, Hinted: true, Unmarked: true,
	}
}

// keep writes a session into the file of a run that began with nothing.
func keep(t *testing.T, path string, s Session) {
	t.Helper()
	store, start, _ := Open(path, presets.Default())
	if err := store.Save(start, s); err != nil {
		t.Fatal(err)
	}
}

// open starts a run.
func open(t *testing.T, path string) (*Store, Session) {
	t.Helper()
	store, s, notices := Open(path, presets.Default())
	if len(notices) > 0 {
		t.Fatalf("notices %q", notices)
	}
	return store, s
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "meshscope", "session.json")
	want := some()
	keep(t, path, want)
	want.Screen = "network"
	keep(t, path, want) // it replaces the first
	if _, got := open(t, path); got != want {
		t.Errorf("setup the same: %v\n%+v", got.Setup == want.Setup, got)
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
		store, s := open(t, path)
		if s != None() {
			t.Errorf("%q: %+v", path, s)
		}
		if err := store.Save(s, s); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: written, though nothing was changed", path)
		}
	}
}

// What cannot be read at all is set aside and said, does not come back, and never
// takes the place of what was set aside before.
func TestBroken(t *testing.T) {
	good := filepath.Join(t.TempDir(), "session.json")
	keep(t, good, some())
	text := content(t, good)
	for name, broken := range map[string]string{
		"empty":     "",
		"cut":       text[:len(text)/2],
		"not JSON":  "setup = 1",
		"other":     "[1, 2]",
		"null":      "null",
		"version":   strings.Replace(text, `"schema_version": 1`, `"schema_version": 2`, 1),
		"control":   "\x1b]0;title\x07",
		"deep":      strings.Repeat("[", 100_000),
		"long":      strings.Repeat(" ", input.MaxDocument+2),
		"not a one": strings.Replace(text, `"tp": 8`, `"tp": NaN`, 1),
	} {
		path := filepath.Join(t.TempDir(), "session.json")
		for n, aside := range []string{".broken", ".broken.2", ".broken.3"} {
			was := broken + strings.Repeat(" ", n)
			if err := os.WriteFile(path, []byte(was), 0o600); err != nil {
				t.Fatal(err)
			}
			_, s, notices := Open(path, presets.Default())
			said := strings.Join(notices, "\n")
			if s != None() || len(notices) != 1 || !strings.Contains(said, "set aside") ||
				strings.ContainsAny(said, "\x1b\n\x07") {
				t.Errorf("%s: %q", name, notices)
			}
			if content(t, path+aside) != was {
				t.Errorf("%s: not kept as it was", name)
			}
			open(t, path) // it is said once
		}
		if content(t, path+".broken") != broken {
			t.Errorf("%s: the first one is lost", name)
		}
	}
}

// A file with unusable parts is moved aside; the usable rest, the pins above all, is read.
func TestRefused(t *testing.T) {
	good := filepath.Join(t.TempDir(), "session.json")
	keep(t, good, some())
	text := content(t, good)
	var setup struct {
		Setup json.RawMessage `json:"setup"`
	}
	if err := json.Unmarshal([]byte(text), &setup); err != nil {
		t.Fatal(err)
	}
	other := func(old, replacement string) string {
		bad := strings.Replace(string(setup.Setup), old, replacement, 1)
		if bad == string(setup.Setup) {
			t.Fatalf("the setup has no %s", old)
		}
		return strings.Replace(text, `"setup": `+string(setup.Setup), `"setup": `+bad, 1)
	}
	for name, refused := range map[string]string{
		"illegal":     other(`"tp": 8`, `"tp": 7`),
		"huge number": other(`"tp": 8`, `"tp": 800000000000000000000`),
		"unknown key": other(`"tp": 8`, `"tpp": 8`),
		"wrong type":  strings.Replace(text, `"mouse": false`, `"mouse": "yes"`, 1),
	} {
		if refused == text {
			t.Fatalf("%s: nothing is wrong", name)
		}
		path := filepath.Join(t.TempDir(), "session.json")
		if err := os.WriteFile(path, []byte(refused), 0o600); err != nil {
			t.Fatal(err)
		}
		_, s, notices := Open(path, presets.Default())
		if len(notices) != 1 || !strings.Contains(notices[0], "set aside as") {
			t.Errorf("%s: %q", name, notices)
		}
		if s.Pins != some().Pins || s.Theme != some().Theme {
			t.Errorf("%s: the rest is lost: %+v", name, s)
		}
		if content(t, path+".broken") != refused {
			t.Errorf("%s: not set aside as it was", name)
		}
		if _, again := open(t, path); again != s {
			t.Errorf("%s: another session at the second start", name)
		}
	}
}

// Pins that this program does not understand, keys it does not know and words that
// it does not have stay in the file through a run that changes all it can.
func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.json")
	keep(t, path, some())
	text := strings.Replace(content(t, path), `"pins": [`, `"pins": [{"warp": 9}, {"tp": 3, "gpus": 64},`, 1)
	text = strings.Replace(text, `"theme": "light"`, `"theme": "neon", "tour": {"step": 4}`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store, s, notices := Open(path, presets.Default())
	if len(notices) != 1 || !strings.Contains(notices[0], "2 pins") || s.Theme != "" ||
		s.Pins != some().Pins {
		t.Errorf("%q, %+v", notices, s)
	}
	end := s
	end.Setup.MBS, end.Focus, end.Screen, end.Mouse, end.Pins = 2, "tp", "network", !s.Mouse,
		[MaxPins]engine.Setup{s.Pins[1]}
	end.Setup.MicroBatches /= 2
	if err := store.Save(s, end); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"warp": 9`, `"tp": 3`, `"neon"`, `"step": 4`} {
		if !strings.Contains(content(t, path), want) {
			t.Errorf("%s is lost:\n%s", want, content(t, path))
		}
	}
	if _, again, _ := Open(path, presets.Default()); again != end {
		t.Errorf("%+v", again)
	}
}

// Words that this version does not have are left out, the rest restored.
func TestUnknownWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.json")
	s := some()
	s.Focus, s.Theme, s.Screen = "warp", "neon", strings.Repeat("x", 99)
	keep(t, path, s)
	if _, got := open(t, path); got.Focus != "" || got.Theme != "" || got.Screen != "" ||
		got.Setup != s.Setup {
		t.Errorf("%q %q %q", got.Focus, got.Theme, got.Screen)
	}
}

// A file that is spoilt or taken away while a run lasts: nothing that the run knows
// of is lost, and what spoilt it is set aside.
func TestSpoiltMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.json")
	keep(t, path, some())
	for _, spoil := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		store, start := open(t, path)
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		end := start
		end.Screen += "x"
		err := store.Save(start, end)
		if err != nil && !strings.Contains(err.Error(), "set aside as") {
			t.Fatal(err)
		}
		if _, got := open(t, path); got != end {
			t.Errorf("%+v", got)
		}
	}
	if content(t, path+".broken") != "{" {
		t.Error("not set aside")
	}
}

// A link stays one; a folder is neither read nor written over.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "session.json"), filepath.Join(dir, "elsewhere")
	keep(t, target, some())
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	s := some()
	s.Theme = "mono"
	keep(t, path, s)
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("no link any more: %v, %v", info.Mode(), err)
	}
	if _, got := open(t, target); got != s {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(target, []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	store, start, notices := Open(path, presets.Default())
	if len(notices) != 1 || !strings.Contains(notices[0], "leads to "+target+", which is no session") {
		t.Errorf("a link to something else: %q", notices)
	}
	if err := store.Save(start, some()); err != nil || content(t, target) != "a letter" {
		t.Errorf("what a link leads to is now %q, %v", content(t, target), err)
	}
	store, start, notices = Open(dir, presets.Default())
	if len(notices) != 1 || !strings.Contains(notices[0], "regular file") ||
		!strings.Contains(notices[0], "not be kept") {
		t.Errorf("a folder: %q", notices)
	}
	if err := store.Save(start, some()); err != nil {
		t.Errorf("a folder: %v", err)
	}
}

// A home that cannot be written is told of once, at the start; a pipe is not waited for. A home that
// can is left as it was.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store, start, notices := Open(filepath.Join(file, "meshscope", "session.json"), presets.Default())
	if len(notices) != 1 ||
		!strings.Contains(notices[0], "will not be kept in "+filepath.Join(file, "meshscope")+": ") {
		t.Errorf("below a file: %q", notices)
	}
	empty := filepath.Join(dir, "empty")
	open(t, filepath.Join(empty, "session.json"))
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("%v lies there after the start: %v", left, err)
	}
	if err := store.Save(start, some()); err == nil || !Unwritable(err) {
		t.Errorf("below a file: %v", err)
	}
	for _, err := range []error{
		fs.ErrPermission, syscall.EROFS,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES},
	} {
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
	if _, _, notices := Open(pipe, presets.Default()); len(notices) != 1 ||
		!strings.Contains(notices[0], "regular file") {
		t.Errorf("a pipe: %q", notices)
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

// FuzzLoad: whatever is in the file, what is read of it is legal, and it is the same
// after it was written again.
func FuzzLoad(f *testing.F) {
	f.Add(`{"schema_version":1,"setup":{"model":"llama3.1-8b"}}`)
	f.Add(`{"schema_version":1,"setup":[],"pins":[{"tp":8,"gbs":512},{"tp":3}],"x":[null]}`)
	f.Add(`{"schema_version":1,"pins":null,"mouse":null,"theme":7}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := decode([]byte(text))
		if err != nil {
			return
		}
		r := d.read(presets.Default())
		for _, s := range append(listed(&r.Session), r.Setup) {
			if s != (engine.Setup{}) && !engine.Legal(s) {
				t.Fatalf("illegal: %+v", s)
			}
		}
		for key := range r.refused {
			delete(d, key)
		}
		written, err := d.text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(written)
		if err != nil {
			t.Fatal(err)
		}
		if second := again.read(presets.Default()); second.Session != r.Session || len(second.refused) > 0 ||
			second.strange != r.strange && r.refused[pinsKey] == nil {
			t.Fatalf("%+v\n%+v", r, second)
		}
	})
}

// TestLearned: lessons of two programs are kept together, each once; a file that is none has none.
func TestLearned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.json")
	for _, id := range []string{"zero", "bubble", "zero"} {
		store, start, _ := Open(path, presets.Default())
		end := start
		end.Learned = Learn("", id) // as if the other had not been there at the start
		if err := store.Save(start, end); err != nil {
			t.Fatal(err)
		}
	}
	if got := Learned(path); !slices.Equal(got, []string{"bubble", "zero"}) {
		t.Errorf("learned %v", got)
	}
	if got := Learned(filepath.Join(t.TempDir(), "none")); got != nil {
		t.Errorf("learned %v of no file", got)
	}
}
