package launch

import (
	"errors"
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

// number returns the row of a whole number; where says for which setups it is written, nil: all.
func number(key, from string, of func(*engine.Setup) int, where func(*engine.Setup) bool) field {
	return field{
		key: key, from: []string{from},
		write: func(s *engine.Setup) (any, bool) { return of(s), where == nil || where(s) },
		read: func(v any, r *reader) error {
			n, err := natural(v)
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
		key: key, from: []string{from},
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
			return fmt.Errorf("%v is not modelled", v)
		},
	}
}

// fixed returns the row of a value that no knob gives, where it holds.
func fixed(key string, value any, why string, where func(*engine.Setup) bool) field {
	return field{key: key, why: why, write: func(s *engine.Setup) (any, bool) { return value, where == nil || where(s) }}
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
		if v == nil || slices.ContainsFunc(listOf(v), func(word string) bool { return !slices.Contains(harmless, word) }) {
			return errors.New(why + " is not modelled")
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

// whole reads a whole number of at most 15 digits.
func whole(v any) (int, error) {
	switch n := v.(type) {
	case int:
		return n, nil
	case int64:
		return int(n), nil
	case uint64:
		if n <= math.MaxInt64 {
			return int(n), nil
		}
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1e15 {
			return int(n), nil
		}
	case string:
		if i, err := strconv.Atoi(strings.ReplaceAll(n, "_", "")); err == nil && len(n) <= 15 {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s is not a whole number", shown(v))
}

// natural reads a whole number of 0 or more.
func natural(v any) (int, error) {
	n, err := whole(v)
	if err == nil && n < 0 {
		return 0, fmt.Errorf("%s is below 0", shown(v))
	}
	return n, err
}

// isOn reads a switch: a flag without a value is on.
func isOn(v any) (bool, error) {
	switch b := v.(type) {
	case nil:
		return true, nil
	case bool:
		return b, nil
	case string:
		if slices.Contains([]string{"true", "True", "1", "on"}, b) {
			return true, nil
		}
		if slices.Contains([]string{"false", "False", "0", "off"}, b) {
			return false, nil
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

// count returns the whole number of a key of the file; 0 where there is none.
func (r *reader) count(key string) int {
	n, _ := whole(r.text(key))
	return n
}

// number returns a whole number of what is read so far, or otherwise.
func (r *reader) number(key string, otherwise int) int {
	if n, err := whole(r.Setup[key]); err == nil {
		return n
	}
	return otherwise
}

// assume gives a key of the setup that the file does not give the value of the launcher's default.
func (r *reader) assume(key string, value any, why string) {
	if _, given := r.Setup[key]; !given && !r.lost[key] {
		r.Setup[key] = value
		r.Understood = append(r.Understood, Understood{Key: key, Value: value, Setup: []string{key}, Assumed: why})
	}
}

// wrongf adds a problem of a key of the file.
func (r *reader) wrongf(key, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{Line: r.values[key].Line, Key: key, Message: fmt.Sprintf(format, args...)})
}
