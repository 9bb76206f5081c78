// Package session keeps what the user left behind between two runs of the
// program: one file in the XDG state folder. It is a convenience, never a
// reason to fail: a home that cannot be written is fine, and a file that cannot
// be read is set aside with a notice.
package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"meshscope/engine"
	"meshscope/presets/setupdoc"
	"meshscope/themes"
)

// Session is what is restored.
type Session struct {
	Setup  engine.Setup
	Locks  engine.Locks
	Focus  engine.ParamID
	Screen string // name of the screen; the caller knows which there are
	Theme  string // auto or a palette; empty: not chosen
	Mouse  bool
	Hinted bool // the hint of the first run was dismissed

	Unmarked bool // words of the glossary are not underlined

	Pins [MaxPins]engine.Setup // pinned to compare; the zero Setup: none
}

// MaxPins is how many pinned setups are kept.
const MaxPins = 9

// version of the file. A file of another version is set aside.
const version = 1

// Bounds of what is read.
const (
	maxBytes  = 256 << 10
	maxScreen = 32
)

// document is the file.
type document struct {
	Version int             `json:"schema_version"`
	Setup   json.RawMessage `json:"setup"`
	GPUs    bool            `json:"gpus_kept"`
	Batch   bool            `json:"batch_kept"`
	Focus   string          `json:"focus"`
	Screen  string          `json:"screen"`
	Theme   string          `json:"theme"`
	Mouse   bool            `json:"mouse"`
	Hinted  bool            `json:"hinted"`

	Unmarked bool `json:"unmarked"`

	Pins []json.RawMessage `json:"pins,omitempty"`
}

// Path is where the session is kept: in $XDG_STATE_HOME, which counts only when
// it is absolute, else in .local/state of the home folder. Empty: nowhere.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "meshscope", "session.json")
}

// Load reads a session. found is false when there is none to restore; the
// notice says why where that is not simply the first run.
func Load(path string, lib setupdoc.Library) (s Session, found bool, notice string) {
	if path == "" {
		return Session{}, false, ""
	}
	text, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return Session{}, false, ""
	case err != nil:
		return Session{}, false, fmt.Sprintf("the last session cannot be read: %v", reason(err))
	}
	s, err = parse(text, lib)
	if err != nil {
		return Session{}, false, setAside(path, err)
	}
	if !engine.Legal(s.Setup) {
		return Session{}, false, "the last session's setup is not legal; starting afresh"
	}
	return s, true, ""
}

// read refuses what is not a plain file: opening a pipe would wait for ever.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a plain file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxBytes+1))
}

func parse(text []byte, lib setupdoc.Library) (Session, error) {
	var d document
	if len(text) > maxBytes {
		return Session{}, fmt.Errorf("longer than %d bytes", maxBytes)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return Session{}, where(text, err)
	}
	if d.Version != version {
		return Session{}, fmt.Errorf("schema_version is %d, not %d", d.Version, version)
	}
	if len(d.Setup) == 0 {
		return Session{}, errors.New("it has no setup")
	}
	doc, err := setupdoc.Parse("session.json", d.Setup)
	if err != nil {
		return Session{}, err
	}
	setup, err := doc.Setup(lib)
	if err != nil {
		return Session{}, err
	}
	s := Session{
		Setup: setup, Locks: engine.Locks{GPUs: d.GPUs, Batch: d.Batch},
		Focus: engine.ParamID(d.Focus), Theme: d.Theme, Mouse: d.Mouse, Hinted: d.Hinted, Unmarked: d.Unmarked,
	}
	// What this program does not know is left out; the rest is as it was.
	n := 0
	for _, text := range d.Pins[:min(len(d.Pins), MaxPins)] {
		if pin, err := setupdoc.Parse("session.json", text); err == nil {
			if setup, err := pin.Setup(lib); err == nil && engine.Legal(setup) {
				s.Pins[n] = setup
				n++
			}
		}
	}
	if _, ok := engine.FindParam(s.Focus); !ok {
		s.Focus = ""
	}
	if s.Theme != "auto" && !slices.Contains(themes.Names(), s.Theme) {
		s.Theme = ""
	}
	if len(d.Screen) <= maxScreen {
		s.Screen = d.Screen
	}
	return s, nil
}

// where adds the line to an error of the JSON parser.
func where(text []byte, err error) error {
	offset := int64(-1)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(text)) {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:offset], []byte("\n")), err)
}

// setAside renames a file that cannot be used, so that it is neither lost nor
// in the way.
func setAside(path string, why error) string {
	aside := path + ".broken"
	text := fmt.Sprintf("the last session cannot be read (%s)", printable(why.Error()))
	if err := os.Rename(path, aside); err != nil {
		return text + "; starting afresh"
	}
	return text + "; it was set aside as " + setupdoc.ShowName(aside)
}

// printable is a message without what could steer a terminal, of one line.
func printable(s string) string {
	const most = 200
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

// reason is an error without the path, which may be long.
func reason(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
