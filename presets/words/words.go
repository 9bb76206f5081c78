// Package words holds the texts of the program: a note on every knob and the
// glossary. Both are data files with sources; nothing here is a figure that the
// engine computes.
package words

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine/knob"
)

//go:embed methods.toml
var methodsFile []byte

//go:embed glossary.toml
var glossaryFile []byte

// Method is the note on a knob: what turning it up does, and when to.
type Method struct {
	ID     knob.ID `toml:"-"`
	Name   string  `toml:"name"`  // in full: tensor parallelism
	Cuts   string  `toml:"cuts"`  // memory, time or traffic that gets smaller
	Costs  string  `toml:"costs"` // its cost
	Use    string  `toml:"use"`   // when to reach for it
	Watch  string  `toml:"watch"` // traps; empty where there are none
	Source string  `toml:"source"`
}

// Word is an entry of the glossary.
type Word struct {
	Term    string   `toml:"term"`
	Also    []string `toml:"also"`   // other names
	Labels  []string `toml:"labels"` // how a screen writes it
	Means   string   `toml:"means"`
	Formula string   `toml:"formula"` // empty where there is none
	Unit    string   `toml:"unit"`
	See     []string `toml:"see"` // terms of other entries
	Source  string   `toml:"source"`
	Card    string   `toml:"card"` // of the current setup that is shown with it; empty: none
}

// Methods returns the notes by knob. A file with a fault gives the sound ones and an
// error; the built-in file has none, which a test checks. The file is read once, as the glossary is.
func Methods() (map[knob.ID]Method, error) { return methods() }

//nolint:gochecknoglobals // built once, then only read
var methods = sync.OnceValues(func() (map[knob.ID]Method, error) { return parseMethods(methodsFile) })

// Glossary returns every word, in the order of the alphabet. The file is read once: all callers
// get the same words, which nobody changes.
func Glossary() ([]Word, error) { return glossary() }

//nolint:gochecknoglobals // built once, then only read
var glossary = sync.OnceValues(func() ([]Word, error) { return parseGlossary(glossaryFile) })

func parseMethods(text []byte) (map[knob.ID]Method, error) {
	var notes map[knob.ID]Method
	if err := decode(text, &notes); err != nil {
		return nil, fmt.Errorf("methods: %w", err)
	}
	var errs []error
	for id, note := range notes {
		note.ID = id
		if err := note.check(); err != nil {
			errs = append(errs, err)
			delete(notes, id)
			continue
		}
		notes[id] = note
	}
	return notes, errors.Join(errs...)
}

func (m *Method) check() error {
	if _, ok := knob.Find(m.ID); !ok {
		return fmt.Errorf("methods: %q is no parameter", m.ID)
	}
	for name, text := range map[string]string{
		"name": m.Name, "cuts": m.Cuts, "costs": m.Costs, "use": m.Use,
		"source": m.Source,
	} {
		if err := sayable(text, true); err != nil {
			return fmt.Errorf("methods: %s: %s %w", m.ID, name, err)
		}
	}
	if err := sayable(m.Watch, false); err != nil {
		return fmt.Errorf("methods: %s: watch %w", m.ID, err)
	}
	return nil
}

func parseGlossary(text []byte) ([]Word, error) {
	var file struct {
		Words []Word `toml:"word"`
	}
	if err := decode(text, &file); err != nil {
		return nil, fmt.Errorf("glossary: %w", err)
	}
	var errs []error
	words, seen := make([]Word, 0, len(file.Words)), map[string]string{}
	for i := range file.Words {
		w := &file.Words[i]
		err := w.check()
		for _, name := range w.Names() {
			key := strings.ToLower(name)
			if other, taken := seen[key]; taken && err == nil {
				err = fmt.Errorf("glossary: %s: %q is also that of %s", w.Term, name, other)
			}
			seen[key] = w.Term
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		words = append(words, *w)
	}
	slices.SortFunc(words,
		func(a, b Word) int { return strings.Compare(strings.ToLower(a.Term), strings.ToLower(b.Term)) })
	return words, errors.Join(errs...)
}

func (w *Word) check() error {
	for name, text := range map[string]string{"term": w.Term, "means": w.Means, "source": w.Source} {
		if err := sayable(text, true); err != nil {
			return fmt.Errorf("glossary: %q: %s %w", w.Term, name, err)
		}
	}
	for name, text := range map[string]string{
		"formula": w.Formula, "unit": w.Unit,
		"names": strings.Join(w.Names(), ""), "see": strings.Join(w.See, ""),
	} {
		if err := sayable(text, false); err != nil {
			return fmt.Errorf("glossary: %q: %s %w", w.Term, name, err)
		}
	}
	return nil
}

// longest is how many letters a text may have: one overlay of 80x24 shows what
// has several of them.
const longest = 330

// sayable refuses what a line of the screen cannot show.
func sayable(text string, needed bool) error {
	switch {
	case needed && strings.TrimSpace(text) == "":
		return errors.New("is missing")
	case len(text) > longest:
		return fmt.Errorf("has %d letters, more than %d", len(text), longest)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return errors.New("has a sign beyond ASCII, which some terminals cannot show")
	}
	return nil
}

func decode(text []byte, into any) error {
	return toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(into)
}

// Names are everything that a word is found by: its term first.
func (w *Word) Names() []string { return slices.Concat([]string{w.Term}, w.Also, w.Labels) }

// Find returns the index of the entry with a name, which is not case-sensitive.
func Find(all []Word, name string) (int, bool) {
	for i := range all {
		if slices.ContainsFunc(all[i].Names(), func(s string) bool { return strings.EqualFold(s, name) }) {
			return i, true
		}
	}
	return 0, false
}
