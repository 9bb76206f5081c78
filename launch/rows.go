package launch

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Rows of the shapes that most keys of a file have.

// flat returns the key of a setup document for a knob.
func flat(id knob.ID) string { return strings.ReplaceAll(string(id), "-", "_") }

// numberField returns the row of a whole number of a command line; where says for which setups it is written,
// nil: all.
func numberField(key, from string, of func(*engine.Setup) int, where func(*engine.Setup) bool) field {
	return field{
		key: key, from: []string{from},
		write: func(s *engine.Setup) (any, bool) { return of(s), where == nil || where(s) },
		read: func(v any, r *reader) error {
			n, err := wholeArgument(v, 0)
			if err == nil {
				r.Setup[from] = n
			}
			return err
		},
	}
}

// mark returns the row of a flag without a value, which gives means where it is read.
func mark(key, from string, means any, where func(*engine.Setup) bool) field {
	return field{
		key: key, from: []string{from}, alone: true,
		write: func(s *engine.Setup) (any, bool) { return nil, where(s) },
		read: func(v any, r *reader) error {
			on, err := isOn(v)
			if err == nil && on {
				r.Setup[from] = means
			}
			return err
		},
	}
}

// word returns the row of a word: pairs of that of the setup and that of the file, which is
// not written where it is empty. The first pair with a word is the one that counts, either way.
func word(key, from string, of func(*engine.Setup) string, pairs ...[2]string) field {
	return field{
		key: key, from: []string{from},
		write: func(s *engine.Setup) (any, bool) {
			for _, p := range pairs {
				if p[0] == of(s) {
					return p[1], p[1] != ""
				}
			}
			return nil, false
		},
		read: func(v any, r *reader) error {
			for _, p := range pairs {
				if text := fmt.Sprint(v); p[1] == text && text != "" {
					r.Setup[from] = p[0]
					return nil
				}
			}
			return foreignf("%v is not modelled", v)
		},
	}
}

// fixed returns the row of a value that no knob gives, where it holds.
func fixed(key string, value any, why string, where func(*engine.Setup) bool) field {
	return field{key: key, why: why, write: func(s *engine.Setup) (any, bool) {
		return value, where == nil || where(s)
	}}
}

// always is where a row is written for every setup.
func always(*engine.Setup) bool { return true }

// never is where a row that is only read is written.
func never(*engine.Setup) bool { return false }

// under makes a row one that means something only with a switch of the file, such as
// --num-query-groups with --group-query-attention. A recipe may have the switch on without a word.
func (f field) under(key string) field {
	read := f.read
	f.read = func(v any, r *reader) error {
		if _, given := r.values[key]; !r.has(key) && (given || r.Launcher == "megatron") {
			return skip("without " + key + " it has no effect")
		}
		return read(v, r)
	}
	return f
}

// unmodelled returns the row of a key that changes what runs in a way that is not predicted: a
// problem, unless it has one of the values that change nothing.
func unmodelled(key, why string, harmless ...string) field {
	return field{key: key, read: func(v any, _ *reader) error {
		harmless := append([]string{"None", "null", "False", "false"}, harmless...)
		if v == nil ||
			slices.ContainsFunc(listOf(v),
				func(word string) bool { return !slices.Contains(harmless, word) }) {
			return foreign(why + " is not modelled")
		}
		return skip("changes nothing")
	}}
}

// own marks rows whose value is the user's to choose.
func own(rows ...field) []field {
	for i := range rows {
		rows[i].site = true
	}
	return rows
}

// part is the reading of a key that gives something together with another, whose row reads both.
func part(any, *reader) error { return nil }

// maxWhole bounds whole numbers of files: tokens of a step.
const maxWhole = 1 << 50

// wholeNumber reads a whole number from least to maxWhole. A number in quotes is a text.
func wholeNumber(v any, least int) (int, error) {
	if n, ok := v.(int); ok && n >= least && n <= maxWhole {
		return n, nil
	}
	err := fmt.Errorf("%s is not a whole number from %d to %d", shown(v), least, maxWhole)
	f, isNumber := v.(float64)
	if n, ok := v.(int); ok {
		f, isNumber = float64(n), true
	}
	if isNumber && !math.IsNaN(f) {
		err = fmt.Errorf("%w, nearest %.0f", err, min(max(math.Round(f), float64(least)), maxWhole))
	}
	return 0, err
}

// wholeArgument reads a whole number of a command line, where every value is a text.
func wholeArgument(v any, least int) (int, error) {
	text, _ := v.(string)
	if n, err := strconv.Atoi(strings.ReplaceAll(text, "_", "")); err == nil {
		v = n
	}
	return wholeNumber(v, least)
}

// isOn reads a switch: a flag without a value is on.
func isOn(v any) (bool, error) {
	switch b := v.(type) {
	case nil:
		return true, nil
	case bool:
		return b, nil
	case string:
		switch strings.ToLower(b) { // YAML has yes and on too
		case "true", "1", "on", "yes":
			return true, nil
		case "false", "0", "off", "no":
			return false, nil
		}
	case int, int64, float64:
		if text := fmt.Sprint(b); text == "1" || text == "0" {
			return text == "1", nil
		}
	}
	return false, fmt.Errorf("%s is neither true nor false", shown(v))
}

// shown returns a value as a message repeats it.
func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	text := []rune(fmt.Sprint(v))
	return strconv.Quote(string(text[:min(len(text), 60)]))
}

// has reports whether the file gives a key, and not as off.
func (r *reader) has(key string) bool {
	e, ok := r.values[key]
	if !ok {
		return false
	}
	on, err := isOn(e.Value)
	return err != nil || on
}

// text returns the value of a key; empty where the file does not give it.
func (r *reader) text(key string) string {
	if e, ok := r.values[key]; ok && e.Value != nil {
		return fmt.Sprint(e.Value)
	}
	return ""
}

// argument returns the whole number of a flag of the command line; 0 where there is none.
func (r *reader) argument(key string) int {
	n, _ := wholeArgument(r.text(key), -maxWhole)
	return n
}

// number returns a whole number of what is read so far, or otherwise.
func (r *reader) number(key string, otherwise int) int {
	if n, ok := r.Setup[key].(int); ok {
		return n
	}
	return otherwise
}

// assume gives a key of the setup that the file does not give the value of the launcher's default.
func (r *reader) assume(key string, value any, why string) {
	if _, given := r.Setup[key]; given {
		return
	}
	if r.open != "" && !strings.HasPrefix(key, modelPrefix) && !r.lost[key] {
		r.lost[key] = true
		r.unknown(key, r.open, 0)
	}
	if r.guess(key, value); !r.lost[key] {
		r.Setup[key] = value
		r.Understood = append(r.Understood, Understood{
			Key: key, Value: value, Setup: []string{key},
			Assumed: why,
		})
	}
}

// wrongf adds a problem of a key of the file, once: keys are read again with those that they count with.
func (r *reader) wrongf(key, format string, args ...any) {
	p := Problem{Line: r.values[key].Line, Key: key, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.Problems, p) {
		r.Problems = append(r.Problems, p)
	}
}
