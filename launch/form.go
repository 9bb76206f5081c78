package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets/input"
)

// form is the file of a launcher: its keys, and where the knobs stay that it has no key for.
type form struct {
	id, file string
	rows     []field
	assumed  []assumed
	leaves   []lack
	// parse returns the keys of a file, in its order, and those before an error.
	parse func(data []byte) ([]Entry, error)
	// finish reads the keys that mean something only together.
	finish func(r *reader)

	// prefixes of keys that are fields of Megatron-Core, which rows of Megatron-LM read
	core   []string
	asides map[string]string // prefixes of keys that are of something else than the training, with why
	// prepare puts keys that others stand for before those of the file.
	prepare func(entries []Entry, around *amid) []Entry

	// Of a program that a file or a command line is told by:
	name, source string
	keys         func(has func(key string) bool) bool             // of its YAML; nil: it has none
	starts       func(words []string, flags map[string]bool) bool // of a command line; nil: it has none
	rename       map[string]string                                // other words for keys
	overrides    bool                                             // its command line has KEY=VALUE
	// its command line names YAML files of the same keys
	configs bool
	// the number of processes is that of the command that starts it
	spawns bool
	render func(d *Document) []byte
}

// assumed is a knob that a launcher has one value of, so that no file says it.
type assumed struct {
	id    knob.ID
	value any
	why   string
}

// document returns a setup as the launcher's file.
func (f *form) document(s *engine.Setup) Document {
	d := Document{File: f.file, Entries: written(f.rows, s), render: f.render}
	d.NotCarried = notCarried(f.leaves, s)
	return d
}

// reading reads the launcher's file. What stands before an error is kept.
func (f *form) reading(data []byte) Reading {
	return f.readingAmid(data, Given{})
}

// readingAmid is reading with what stands around the file.
func (f *form) readingAmid(data []byte, given Given) Reading {
	text, err := input.Text(data)
	var entries []Entry
	if err == nil {
		entries, err = f.parse(text)
	}
	if at, ok := errors.AsType[*input.Error](err); ok && entries == nil && at.Line > 1 { // what stands above
		lines := bytes.SplitAfterN(text, []byte("\n"), at.Line)
		entries, _ = f.parse(bytes.Join(lines[:min(len(lines), at.Line-1)], nil))
	}
	return f.of(entries, err, amid{given: given})
}

// amid is what stands around the keys of a program.
type amid struct {
	given   Given
	script  *script
	starter []shellField // the words of a command line before the program's own
	open    string       // a word that may be any flags; empty: there is none
}

// of reads the keys of a file or a command line, and those before an error.
func (f *form) of(entries []Entry, err error, around amid) Reading {
	auto, unknown := map[string]bool{}, []Ignored(nil)
	if f.prepare != nil {
		entries = f.prepare(entries, &around)
	}
	entries = f.renamed(entries)
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		if e.Value != "auto" {
			return false
		}
		auto[e.Key] = true
		unknown = append(unknown,
			Ignored{
				Key: e.Key, Why: "auto: filled in by the program that starts it, so unknown here",
				Line: e.Line,
			})
		return true
	})
	if around.script != nil {
		around.open, entries = around.script.anyFlags, merged(entries)
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Key == "" })
	}
	r := readEntriesWith(f.id, f.rows, interpolated(entries), around)
	r.Ignored, r.auto = append(r.Ignored, unknown...), auto
	r.Problems = append(r.Problems, problemsOf(err)...)
	if len(entries)+len(unknown)+len(around.starter) == 0 {
		return r.Reading
	}
	for _, a := range f.assumed {
		r.assume(flat(a.id), a.value, a.why)
	}
	f.notTraining(r)
	if f.spawns && around.script != nil {
		r.world(around.script, around.starter)
	}
	if f.finish != nil {
		f.finish(r)
	}
	r.ignoreIncomplete()
	return r.Reading
}

// renamed gives keys the names that the rows have. A list below a field of Megatron-Core is one value again.
func (f *form) renamed(entries []Entry) []Entry {
	flags := map[string]bool{}
	if len(f.core) > 0 {
		entries = interpolated(entries)
		for _, row := range f.rows {
			flags[row.key] = true
		}
	}
	var out []Entry
	for _, e := range entries {
		if to := f.rename[e.Key]; to != "" {
			e.Key = to
		}
		if rest, ok := strings.CutPrefix(e.Key, "fsdp_config.fsdp_"); ok && f.spawns {
			e.Key = "fsdp_config." + rest
		}
		for _, prefix := range f.core {
			rest, ok := strings.CutPrefix(e.Key, prefix)
			if !ok || flags[e.Key] {
				continue
			}
			rest = strings.ReplaceAll(cmp.Or(f.rename[rest], rest), "_", "-")
			name, at, list := strings.Cut(rest, ".")
			switch {
			case list && flags[name] && at != "0" && len(out) > 0 && out[len(out)-1].Key == name:
				last := &out[len(out)-1]
				last.Value = append(last.Value.([]any), e.Value)
				e.Key = ""
			case list && flags[name] && at == "0":
				e.Key, e.Value = name, []any{e.Value}
			case flags[rest]:
				e.Key = rest
			}
		}
		if e.Key != "" && (e.Value != nil || !flags[e.Key]) {
			out = append(out, e)
		}
	}
	return out
}

// ignoreIncomplete moves keys to the ignored that set nothing, because the keys that they are combined
// with are missing from the file or are problems.
func (r *reader) ignoreIncomplete() {
	given := func(key string) bool { // what is unknown of adapters is told by several keys
		return r.Setup[key] != nil || r.lost[key] && slices.Contains([]string{loraKey, baseKey}, key)
	}
	r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool {
		if len(u.Setup) == 0 || slices.ContainsFunc(u.Setup, given) {
			return false
		}
		r.Ignored = append(r.Ignored,
			Ignored{
				Key: u.Key, Why: "has no effect without the keys that it is combined with",
				Line: u.Line,
			})
		return true
	})
}

// problemsOf returns an error of a parser, or each of several, with its place.
func problemsOf(err error) []Problem {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var out []Problem
		for _, e := range several.Unwrap() {
			out = append(out, problemsOf(e)...)
		}
		return out
	}
	if at, ok := errors.AsType[*input.Error](err); ok {
		return []Problem{{Line: at.Line, Column: at.Column, Key: at.Key, Message: at.Err.Error()}}
	}
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	return nil
}

// readsWith returns how a launcher reads its file.
func readsWith(of func() form) func(name string, data []byte, given Given) Reading {
	return func(_ string, data []byte, given Given) Reading {
		f := of()
		return f.readingAmid(data, given)
	}
}

// flats returns the keys of knobs.
func flats(ids []knob.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = flat(id)
	}
	return out
}

// whole returns a whole number of the file, from least; otherwise where the file does not have
// the key, or something else.
func (r *reader) whole(key string, least, otherwise int) int {
	if e, ok := r.values[key]; ok {
		if _, waits := e.Value.(unresolved); waits { // which the row has told
			return otherwise
		}
		n, err := wholeNumber(e.Value, least)
		if err == nil {
			return n
		}
		r.wrongf(key, "%v", err)
	}
	return otherwise
}

// said reports whether the file has a key, be it with a value that another program fills in.
func (r *reader) said(key string) bool {
	_, ok := r.values[key]
	return ok || r.auto[key]
}

// countField returns the row of a knob that is a whole number from 1 of a file with types.
func countField(key string, id knob.ID, of func(*engine.Setup) int) field {
	f := numberField(key, flat(id), of, nil)
	f.read = func(v any, r *reader) error {
		n, err := wholeNumber(v, 1)
		if err == nil {
			r.Setup[flat(id)] = n
		}
		return err
	}
	return f
}

// pair is a value of a launcher's file for one word of a knob.
type pair struct {
	word  string
	value any
}

// words returns the row of a knob whose values the launcher has own words for.
func words(key string, id knob.ID, pairs ...pair) field {
	return field{
		key: key, from: []string{flat(id)},
		write: func(s *engine.Setup) (any, bool) {
			k, _ := knob.Find(id)
			text := k.Text(*s)
			for _, p := range pairs {
				if p.word == text {
					return p.value, true
				}
			}
			return nil, false
		},
		read: func(v any, r *reader) error {
			var known []string
			for _, p := range pairs {
				if p.value == single(v) {
					r.Setup[flat(id)] = flatValue(id, p.word)
					return nil
				}
				known = append(known, fmt.Sprint(p.value))
			}
			if text, ok := v.(string); ok && slices.Contains(known, strings.TrimSpace(text)) {
				return foreignf("%s is a text; the number %s, without quotes, is understood", shown(v),
					strings.TrimSpace(text))
			}
			return foreignf("%s is none of %s, which are understood", shown(v), strings.Join(known, ", "))
		},
	}
}

// single returns a value that can be compared: a list is none.
func single(v any) any {
	if _, list := v.([]any); list {
		return nil
	}
	return v
}

// flatValue returns a word of a knob as a setup document has it.
func flatValue(id knob.ID, word string) any {
	k, ok := knob.Find(id)
	switch {
	case ok && k.Kind == knob.Switch:
		return word == "on"
	case ok && k.Kind == knob.Number:
		n := 0
		_, _ = fmt.Sscan(word, &n)
		return n
	}
	return word
}

// joint returns the row of a key that means something only with others.
func joint(key string, from []knob.ID, write func(s *engine.Setup) (any, bool)) field {
	return field{key: key, from: flats(from), write: write, read: part}
}

// ofAll returns what joint writes for a number that every setup has.
func ofAll(of func(s *engine.Setup) int) func(s *engine.Setup) (any, bool) {
	return func(s *engine.Setup) (any, bool) { return of(s), true }
}

// only restricts a row to the setups for which it is needed.
func (f field) only(when func(s *engine.Setup) bool) field {
	write := f.write
	f.write = func(s *engine.Setup) (any, bool) {
		if !when(s) {
			return nil, false
		}
		return write(s)
	}
	return f
}

// unwritten makes a row one that is only read.
func (f field) unwritten() field {
	f.write = nil
	return f
}

// same returns the row of a key that is the same for every setup, and why it is there.
func same(key string, value any, why string) field {
	return field{key: key, why: why, write: func(*engine.Setup) (any, bool) { return value, true }}
}

// must returns the row of a key that the prediction has one value of: another is a problem.
func must(key string, value any, why string) field {
	f := same(key, value, why)
	f.read = func(v any, _ *reader) error {
		if single(v) != value {
			return foreignf("%s is not modelled; %v is: %s", shown(v), value, why)
		}
		return nil
	}
	return f
}

// unwritten returns the row of a key that is only read: another value is a problem.
func unwritten(key string, value any, why string) field {
	return must(key, value, why).unwritten()
}

// yours returns the row of a key that only the site knows, with a placeholder.
func yours(key string, value any, why string) field {
	f := same(key, value, why)
	f.site = true
	return f
}

// stays returns knobs that a file has no place for, listed where they are given another value
// than one of the words.
func stays(why string, unless []string, ids ...knob.ID) []lack {
	var out []lack
	for _, id := range ids {
		out = append(out, lack{flat(id), why, func(s *engine.Setup) bool {
			k, _ := knob.Find(id)
			return !slices.Contains(unless, k.Text(*s))
		}})
	}
	return out
}

// startedAs returns what no file says, for a launcher whose files are predicted as one stack.
func startedAs(stack recipe.Stack) []lack {
	rows := slices.DeleteFunc(everyLack(), func(l lack) bool { return l.key == flat(knob.Calibration) })
	return append(rows,
		lack{
			flat(knob.Calibration),
			predictedAsAnother(stack),
			func(s *engine.Setup) bool { return s.Stack != stack },
		})
}

// predictedAsAnother says why a file does not have the stack of a setup.
func predictedAsAnother(stack recipe.Stack) string {
	return "the file starts " + string(stack) + ", the setup is predicted as another stack"
}

// ownDefaults returns what a file does not say because the launcher has one value of it.
func ownDefaults() []lack {
	rows := stays("auto and what it does by default are the same file", []string{"", recipe.Auto},
		softwareKnobs()...)
	return append(rows, append(stays("only the zb-auto schedule reads it", []string{"0"}, knob.MaxInFlight),
		stays("always so", []string{recipe.Auto, ""}, "dp-overlap")...)...)
}

// errText is an error of fixed text.
type errText string

func (e errText) Error() string { return string(e) }
