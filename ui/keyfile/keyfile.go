// Package keyfile reads the keys that a user wants in place of the built-in ones:
// a TOML file of actions and keys. Those of a screen have its name before a dot.
//
//	undo = "z"
//	help = ["?", "f1"]
package keyfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"meshscope/engine/escape"
	"meshscope/presets/input"
	"meshscope/presets/near"
)

// Action is what keys can be given to, with those it has.
type Action struct {
	Name string
	Keys []string
	// Group is the screen whose action it is; empty: the program's. Two actions of
	// different groups may have the same key, and two of a screen that do from the start:
	// they never wait for it at the same time.
	Group string
}

// apart reports whether two actions may have the same key.
func (a *Action) apart(b *Action) bool {
	shared := func(key string) bool { return slices.Contains(b.Keys, key) }
	return a.Group != b.Group || a.Group != "" && slices.ContainsFunc(a.Keys, shared)
}

// Path returns where the file is: in $XDG_CONFIG_HOME, which counts only when it is
// absolute, else in .config of the home folder. Empty: nowhere.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "meshscope", "keys.toml")
}

// maxKeys is how many keys one action may have.
const maxKeys = 8

// Load reads the file: the keys of the actions that it changes, and the errors
// in it, with line and key. An error changes nothing; the rest counts. No
// file is no error.
func Load(path string, actions []Action) (map[string][]string, []string) {
	if path == "" {
		return nil, nil
	}
	shown := escape.Name(path)
	text, err := input.ReadRegular(path, input.MaxPreset)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, []string{fmt.Sprintf("keys left as they are: %s: %v", shown, input.Reason(err))}
	}
	keys, errs := Parse(shown, text, actions)
	var notices []string
	for _, err := range errs {
		notices = append(notices, "key left as it is: "+err.Error())
	}
	return keys, notices
}

// Parse reads the text of a file. The errors are *input.Error, in the order
// of the lines.
func Parse(name string, text []byte, actions []Action) (map[string][]string, []error) {
	f := file{name: name, actions: actions, wanted: map[string][]string{}}
	raw, err := f.decode(text)
	if err != nil {
		return nil, []error{err}
	}
	for _, action := range f.inOrder(raw) {
		keys, err := f.keysOf(action, raw[action])
		if err != nil {
			f.errs = append(f.errs, err)
			continue
		}
		f.wanted[action] = keys
	}
	f.resolve()
	if len(f.wanted) == 0 {
		return nil, f.errs
	}
	return f.wanted, f.errs
}

// file is one file while it is read.
type file struct {
	name    string
	places  map[string][2]int // line and column of an action
	actions []Action
	wanted  map[string][]string
	errs    []error
}

func (f *file) decode(text []byte) (raw map[string]any, err error) {
	text, err = input.Text(text)
	if err != nil {
		return nil, input.InFile(f.name, err)
	}
	_, err = input.DecodeTOML(f.name, text, &raw)
	f.places = input.Places(text)
	return flat(raw), err
}

// flat writes the actions of a screen, which TOML reads as a table of their own, with the
// name of the screen before a dot.
func flat(raw map[string]any) map[string]any {
	out := make(map[string]any, len(raw))
	for name, value := range raw {
		of, ok := value.(map[string]any)
		if !ok || len(of) == 0 {
			out[name] = value
		}
		for action, keys := range of {
			out[name+"."+action] = keys
		}
	}
	return out
}

// inOrder returns the actions of the file by their lines.
func (f *file) inOrder(raw map[string]any) []string {
	names := make([]string, 0, len(raw))
	for name := range raw {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := f.places[a][0] - f.places[b][0]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

func (f *file) wrong(action, format string, args ...any) error {
	at := f.places[action]
	return &input.Error{
		File: f.name, Line: at[0], Column: at[1], Key: action,
		Err: fmt.Errorf(format, args...),
	}
}

// keysOf returns the keys of one line, checked by themselves.
func (f *file) keysOf(action string, value any) ([]string, error) {
	if !slices.ContainsFunc(f.actions, func(a Action) bool { return a.Name == action }) {
		return nil, f.wrong(action, "is no action%s", near.Question(action, f.names()))
	}
	var given []string
	switch value := value.(type) {
	case string:
		given = []string{value}
	case []any:
		for _, one := range value {
			text, ok := one.(string)
			if !ok {
				return nil, f.wrong(action, "allowed: a key in quotes, or a list of them")
			}
			given = append(given, text)
		}
	default:
		return nil, f.wrong(action, "allowed: a key in quotes, or a list of them")
	}
	if len(given) == 0 || len(given) > maxKeys {
		return nil, f.wrong(action, "has %d keys; allowed: 1 to %d", len(given), maxKeys)
	}
	keys := make([]string, 0, len(given))
	for _, text := range given {
		key, why := Canonical(text)
		if why != "" {
			return nil, f.wrong(action, "%s %s", escape.Quote(text), why)
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// names returns what the actions are called.
func (f *file) names() []string {
	out := make([]string, len(f.actions))
	for i := range f.actions {
		out[i] = f.actions[i].Name
	}
	return out
}

// resolve refuses lines whose key is that of another action, until none is left:
// a line that is refused gives its action the built-in keys back.
func (f *file) resolve() {
	for {
		action, err := f.conflict()
		if err == nil {
			return
		}
		f.errs = append(f.errs, err)
		delete(f.wanted, action)
	}
}

// conflict returns the first action of the file whose key another one has as well: one
// earlier in the file, or one that the file leaves as it is.
func (f *file) conflict() (string, error) {
	owners := map[string][]*Action{}
	byName := make(map[string]*Action, len(f.actions))
	for i := range f.actions {
		a := &f.actions[i]
		byName[a.Name] = a
		if _, changed := f.wanted[a.Name]; !changed {
			for _, key := range a.Keys {
				owners[key] = append(owners[key], a)
			}
		}
	}
	names := make(map[string]any, len(f.wanted))
	for name := range f.wanted {
		names[name] = nil
	}
	for _, action := range f.inOrder(names) {
		a := byName[action]
		for _, key := range f.wanted[action] {
			for _, other := range owners[key] {
				if !a.apart(other) {
					return action, f.wrong(action, "%q is the key of %s; give that another one too", key,
						other.Name)
				}
			}
			owners[key] = append(owners[key], a)
		}
	}
	return "", nil
}

// named returns the keys that have names.
func named() []string {
	names := []string{
		"up", "down", "left", "right", "home", "end", "pgup", "pgdown", "tab", "space",
		"backspace", "delete", "insert",
	}
	for i := 1; i <= 12; i++ {
		names = append(names, fmt.Sprintf("f%d", i))
	}
	return names
}

// Canonical returns a key as the terminal library calls it, or why it cannot be given
// to an action.
func Canonical(text string) (key, why string) {
	rest, mods := text, map[string]bool{}
	for {
		cut := false
		for _, mod := range []string{"ctrl", "alt", "shift"} {
			if after, ok := strings.CutPrefix(rest, mod+"+"); ok && after != "" && !mods[mod] {
				rest, mods[mod], cut = after, true, true
			}
		}
		if !cut {
			break
		}
	}
	if rest == " " {
		rest = "space"
	}
	r, size := utf8.DecodeRuneInString(rest)
	single := rest != "" && size == len(rest) && r != utf8.RuneError && unicode.IsPrint(r)
	switch {
	case rest == "esc" || rest == "enter":
		return "", "always does the same"
	case single && !mods["ctrl"] && !mods["alt"] && r >= '0' && r <= '9':
		return "", "types a value"
	case single && mods["shift"]:
		return "", "is written as the sign that it gives, such as A"
	case mods["ctrl"] && rest == "c":
		return "", "always quits"
	case mods["ctrl"] && strings.Contains("imj[", rest) && single:
		return "", "cannot be told from tab, enter or esc by terminals"
	case !single && !slices.Contains(named(), rest):
		return "", "is no key; allowed: a sign, or one of " + strings.Join(named()[:13],
			", ") + ", f1 to f12, with ctrl+, alt+, shift+"
	}
	for _, mod := range []string{"ctrl", "alt", "shift"} {
		if mods[mod] {
			key += mod + "+"
		}
	}
	return key + rest, ""
}
