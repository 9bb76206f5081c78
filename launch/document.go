package launch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/presets/hfconfig"
	"meshscope/presets/setupdoc"
)

// Entry is one key of a launcher's file with its value.
type Entry struct {
	// as the launcher spells it, without leading dashes; the path with dots where keys are nested
	Key   string
	Value any      // string, int, float64, bool, []any, or nil: a flag without a value, a null
	From  []string // flat keys of the setup document that it comes from; none: the same for every setup
	Why   string   // the reason for what no knob gives
	Site  bool     // a placeholder: only the site knows the value
	Line  int      // the line where it was read, from 1; 0 where it is written
}

// Document is a setup in the words of a launcher, before it is text.
type Document struct {
	Launcher   string
	File       string // the name it usually has
	Entries    []Entry
	NotCarried []NotCarried // what the launcher takes from elsewhere, such as a network or a price
	Warnings   []string
	Stamp      []string // lines of a comment: what this is, whose rules it meets

	Nodes, PerNode int     // machines, and processes on each
	Env            []Entry // variables of the environment, each with its reason
	// Program is what torchrun starts on every node, as bash reads it, such as
	// pretrain_gpt.py "${ARGS[@]}".
	Program string
	// Starter is another program than torchrun that is started once per node, with its
	// arguments as bash reads them; empty: torchrun.
	Starter string

	render func(d *Document) []byte
}

// NotCarried is a key of the setup that a launcher's file has no place for, and where it stays.
type NotCarried struct {
	Key string `json:"key"`
	Why string `json:"why"`
}

// Text returns the file: each entry with the knob it comes from in a comment, where the format
// has comments.
func (d *Document) Text() []byte { return d.render(d) }

// Reading is what a launcher's file says of a setup. What was understood stays where
// something else is a problem.
type Reading struct {
	Launcher   string
	Setup      map[string]any // flat keys of a setup document, model figures as set.model.KEY
	Understood []Understood
	Ignored    []Ignored
	Problems   []Problem
	Unknown    []Unknown
	OtherParts []hfconfig.OtherPart // parts of a checkpoint next to the model

	// over how many ranks weights are sharded, where replicas follow; 0: nothing follows
	shard    int
	each     shape              // processes that are started on each of several nodes
	called   string             // the model's name in the comment that this program writes
	ledger   bool               // the launcher's stack is read, and may have no rules for the setup
	document *setupdoc.Document // of a file that is a setup document; nil: Setup has its keys
	given    []given            // from elsewhere, in its order
}

// Understood is a key of the file that became part of the setup. Assumed is where its value
// comes from when the file does not say it, such as the default of a launcher's version.
type Understood struct {
	Key     string   `json:"key"`
	Value   any      `json:"value"`
	Setup   []string `json:"setup"` // the flat keys that it gives
	Line    int      `json:"line,omitempty"`
	Assumed string   `json:"assumed,omitempty"`
}

// Unknown is a key of the setup that the file gives no value to, with what it depends on. Guess stands in for
// it; nil: what follows from the rest, or the default of this program.
type Unknown struct {
	Key   string
	Why   string
	Line  int
	Guess any
}

// unknown takes a key of the setup for one that the file gives no value to.
func (r *Reading) unknown(key, why string, line int) {
	delete(r.Setup, key)
	if !slices.ContainsFunc(r.Unknown, func(u Unknown) bool { return u.Key == key }) {
		r.Unknown = append(r.Unknown, Unknown{Key: key, Why: why, Line: line})
	}
}

// guess gives an unknown key what stands in for it.
func (r *Reading) guess(key string, value any) {
	for i := range r.Unknown {
		if r.Unknown[i].Key == key && r.Unknown[i].Guess == nil {
			r.Unknown[i].Guess = value
		}
	}
}

// Ignored is a key of the file that says nothing about the setup, or nothing that is known.
type Ignored struct {
	Key  string `json:"key"`
	Why  string `json:"why"`
	Line int    `json:"line,omitempty"`

	value any
	lost  bool // no setup has it
}

// Problem is a place of the file that could not be read, or that contradicts another.
type Problem struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

// field is a key of a launcher's file: written from a setup, and what it gives when it is read.
// A launcher is a table of these; a format (flags, YAML, TOML, JSON) knows only entries.
type field struct {
	key  string
	from []string // flat keys of the setup document
	why  string
	// unread is why a reader takes nothing from it, if not for why; reason is why, for a given setup.
	unread string
	reason func(s *engine.Setup) string
	site   bool // the value is the user's to choose
	alone  bool // it has no value
	// write returns the value; false where the file does not have the key for this setup.
	write func(s *engine.Setup) (any, bool)
	// read puts the value into what is read so far; nil where from has one key that takes it as it is.
	read func(value any, r *reader) error
}

// unresolved is a value that the file does not give: what it depends on, such as $TP.
type unresolved string

// skip is why a key says nothing here, as the error of a row that reads it.
type skip string

func (s skip) Error() string { return string(s) }

// uncarried is why no setup has what a key says.
type uncarried string

func (u uncarried) Error() string { return string(u) }

// foreign is what a key asks for that is not modelled: what it gives is not known then.
type foreign string

func (f foreign) Error() string { return string(f) }

func foreignf(format string, args ...any) error { return foreign(fmt.Sprintf(format, args...)) }

// reader collects the entries of a file before they become a setup: some keys mean something
// only together.
type reader struct {
	Reading
	values map[string]Entry // by key of the file; the last one counts, as launchers do
	auto   map[string]bool  // keys whose value another program fills in
	lost   map[string]bool  // keys of the setup whose value the file gives, but cannot be read

	amid     amid
	started  int    // the line that gives the number of processes
	stage    int    // of ZeRO that a name tells; a guess
	deep     bool   // DeepSpeed's engine runs the steps
	unevenly bool   // layers need not divide over stages
	launched string // what the number of processes depends on
	open     string // a word that may be any flags; empty: there is none
}

// written returns the entries of the rows that a setup has.
func written(rows []field, s *engine.Setup) []Entry {
	var out []Entry
	for i := range rows {
		if row := &rows[i]; row.write != nil {
			if v, ok := row.write(s); ok {
				e := Entry{Key: row.key, Value: v, From: row.from, Why: row.why, Site: row.site}
				if row.reason != nil {
					e.Why = row.reason(s)
				}
				out = append(out, e)
			}
		}
	}
	return out
}

// readEntries returns what the entries of a file say by the rows of a launcher. The rows are
// read in their order, so that a row may rely on those above it.
func readEntries(launcher string, rows []field, entries []Entry) *reader {
	return readEntriesWith(launcher, rows, entries, amid{})
}

// readEntriesWith is readEntries amid what stands around them, such as a word that may be any flags.
func readEntriesWith(launcher string, rows []field, entries []Entry, around amid) *reader {
	r := &reader{
		amid: around, Reading: Reading{Launcher: launcher, Setup: map[string]any{}},
		values: map[string]Entry{}, lost: map[string]bool{},
	}
	if around.open != "" {
		r.open = dependsOn(unresolved(around.open)) + ": it may be any flags"
	}
	for _, e := range entries {
		if before, twice := r.values[e.Key]; twice && fmt.Sprint(before.Value) != fmt.Sprint(e.Value) {
			if _, waits := e.Value.(unresolved); !waits {
				r.Ignored = append(r.Ignored,
					Ignored{Key: e.Key, Why: fmt.Sprintf("given twice: %s of line %d counts", shown(e.Value),
						e.Line), Line: before.Line})
			}
		} else if twice && e.Line > 0 {
			r.Ignored = append(r.Ignored, Ignored{Key: e.Key, Why: "given twice, alike", Line: e.Line})
		}
		r.values[e.Key] = e
	}
	left := maps.Clone(r.values)
	for i := range rows {
		row := &rows[i]
		e, ok := left[row.key]
		if !ok { // or was read by a row above
			continue
		}
		delete(left, row.key)
		r.take(row, e)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if why := sectionOf(rows, left[key]); why != "" {
			r.Problems = append(r.Problems, Problem{Line: left[key].Line, Key: key, Message: why})
			continue
		}
		r.Ignored = append(r.Ignored, Ignored{
			Key: key, Why: unknownKey, Line: left[key].Line,
			value: left[key].Value, lost: true,
		})
	}
	return r
}

// sectionOf tells that an entry gives a number, a switch or a list to what holds keys of rows; empty: it does
// not. A text may be the path of a file with these keys, or the name of a group.
func sectionOf(rows []field, e Entry) string {
	switch v := e.Value.(type) {
	case bool, int, float64:
	case []any:
		if len(v) == 0 {
			return ""
		}
	default:
		return ""
	}
	var keys []string
	for i := range rows {
		if inside, ok := strings.CutPrefix(rows[i].key, e.Key+"."); ok && len(keys) < 3 {
			keys = append(keys, inside)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf("given %s, allowed are keys below it, such as %s", shown(e.Value),
		strings.Join(keys, ", "))
}

// unknownKey is why nothing is read of a key that no row has.
const unknownKey = hfconfig.NoKey

// leave takes what an entry gives for unknown.
func (r *reader) leave(row *field, e Entry, why string) {
	for _, key := range row.from {
		r.lost[key] = true
		r.unknown(key, fmt.Sprintf("%s: %s", e.Key, why), e.Line)
	}
	if len(row.from) == 0 {
		r.Ignored = append(r.Ignored, Ignored{Key: e.Key, Why: why, Line: e.Line})
	}
}

// lose tells why an entry cannot be read. What it gives has no default then.
func (r *reader) lose(row *field, e Entry, why string) {
	r.Problems = append(r.Problems, Problem{Line: e.Line, Key: e.Key, Message: why})
	for _, key := range row.from {
		r.lost[key] = true
	}
}

// dependsOn says what a value depends on.
func dependsOn(of unresolved) string {
	if strings.HasPrefix(string(of), whether) || strings.HasPrefix(string(of), amongWords) {
		if strings.HasPrefix(string(of), amongWords) {
			return string(of)
		}
		return "depends on " + string(of)
	}
	return fmt.Sprintf("depends on %s, to which the file gives no value", string(of))
}

// take reads one entry by its row.
func (r *reader) take(row *field, e Entry) {
	of, waits := e.Value.(unresolved)
	switch {
	case waits && !row.site && (row.read != nil || len(row.from) == 1):
		r.leave(row, e, dependsOn(of))
		return
	case row.read != nil:
		err := row.read(e.Value, r)
		if why, ok := errors.AsType[skip](err); ok {
			r.Ignored = append(r.Ignored, Ignored{Key: e.Key, Why: string(why), Line: e.Line})
			return
		}
		if why, ok := errors.AsType[uncarried](err); ok {
			r.Ignored = append(r.Ignored,
				Ignored{Key: e.Key, Why: string(why), Line: e.Line, value: e.Value, lost: true})
			return
		}
		if why, ok := errors.AsType[foreign](err); ok {
			r.leave(row, e, string(why))
			return
		}
		if err != nil {
			r.lose(row, e, err.Error())
			return
		}
	case len(row.from) == 1 && !row.site:
		r.Setup[row.from[0]] = e.Value
	default:
		r.Ignored = append(r.Ignored,
			Ignored{
				Key: e.Key, Why: cmp.Or(row.unread, row.why, "says nothing of a layout"), Line: e.Line,
				value: e.Value, lost: true,
			})
		return
	}
	r.Understood = append(r.Understood, Understood{
		Key: e.Key, Value: e.Value, Setup: row.from, Line: e.Line,
		Assumed: e.Why,
	})
}
