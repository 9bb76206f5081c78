package presets

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/presets/input"
)

// document is one file while it is read.
type document struct {
	name string
	id   string // the id that the file's name promises
	text []byte
	errs []error
}

// decode reads the file into a struct and refuses every key that the struct
// does not have. The error is of a file that cannot be read at all.
func (d *document) decode(into any) error {
	unknown, err := input.DecodeTOML(d.name, d.text, into)
	known := keysOf(reflect.TypeOf(into))
	for _, at := range unknown {
		key := at.Key[strings.LastIndexByte(at.Key, '.')+1:]
		at.Err = errors.New("unknown key" + closestKey(key, known))
		d.errs = append(d.errs, at)
	}
	if !visibleASCII(d.text) {
		d.texts("", reflect.ValueOf(into))
	}
	return err
}

// visibleASCII reports whether no string of a TOML text can hold a character without a visible
// form: it is visible ASCII on lines, without escapes and strings of several lines.
func visibleASCII(text []byte) bool {
	for _, b := range text {
		if (b < ' ' || b >= 0x7f || b == '\\') && b != '\n' {
			return false
		}
	}
	return !bytes.Contains(text, []byte(`"""`)) && !bytes.Contains(text, []byte("'''"))
}

// texts refuses every string of a file that contains characters without a visible form.
func (d *document) texts(key string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.texts(key, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
			d.texts(name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			d.texts(key, v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			d.texts(k.String(), k)
			d.texts(k.String(), v.MapIndex(k))
		}
	case reflect.String:
		if !escape.Printable(v.String()) {
			d.refuse(key, escape.Quote(v.String()), "printable text on one line")
		}
	default: // numbers and switches
	}
}

// mostRefused bounds the errors of one file.
const mostRefused = 2 * input.MaxErrors

// refuse records an invalid value of a key, its place and what is allowed.
func (d *document) refuse(key, given, allowed string) {
	if len(d.errs) >= mostRefused {
		return
	}
	line, column := d.find(key)
	message := fmt.Sprintf("is %s; allowed: %s", given, allowed)
	if line == 0 {
		message = "is missing; allowed: " + allowed
	}
	d.errs = append(d.errs, &input.Error{
		File: d.name, Line: line, Column: column, Key: key,
		Err: errors.New(message),
	})
}

// find returns the place of a key: the format is flat, so the first line that begins
// with it. It runs only on errors.
func (d *document) find(key string) (line, column int) {
	key = key[strings.LastIndexByte(key, '.')+1:] // of a table the key alone
	for i, text := range strings.Split(string(d.text), "\n") {
		name, _, ok := strings.Cut(text, "=")
		if ok && strings.EqualFold(strings.Trim(strings.TrimSpace(name), `"'`), key) {
			return i + 1, len(text) - len(strings.TrimLeft(text, " \t")) + 1
		}
	}
	return 0, 0
}

// err returns all recorded errors.
func (d *document) err() error { return errors.Join(d.errs...) }

// demand refuses a file without a key.
func (d *document) demand(key, allowed string) {
	if line, _ := d.find(key); line == 0 {
		d.refuse(key, "", allowed)
	}
}

// identity checks what every preset has: the id is the file's name, and there
// is a name and a source.
func (d *document) identity(id, name, source string) {
	if id != d.id {
		d.refuse("id", escape.Quote(id), strconv.Quote(d.id)+", the name of the file")
	}
	d.required("name", name)
	d.required("source", source)
}

// maxText bounds names, notes and sources.
const maxText = 600

func (d *document) line(key, value string) string {
	if len(value) > maxText {
		d.refuse(key, "too long", fmt.Sprintf("at most %d bytes of printable text on one line", maxText))
	}
	return value
}

func (d *document) required(key, value string) string {
	if strings.TrimSpace(value) == "" {
		d.refuse(key, "empty", "some text")
	}
	return d.line(key, value)
}

// figure returns a required number between two limits, in the unit of its key.
func (d *document) figure(key string, value *float64, low, high float64) float64 {
	if value == nil {
		d.refuse(key, "missing", between(low, high))
		return 0
	}
	return d.optional(key, value, low, high)
}

// optional returns a figure that may be missing, which gives 0.
func (d *document) optional(key string, value *float64, low, high float64) float64 {
	if value == nil {
		return 0
	}
	if !(*value >= low && *value <= high) { // refuses NaN too
		d.refuse(key, strconv.FormatFloat(*value, 'g', 6, 64), between(low, high))
		return 0
	}
	return *value
}

func (d *document) whole(key string, value *int64, high int64) int {
	if value == nil {
		d.refuse(key, "missing", fmt.Sprintf("a whole number from 1 to %d", high))
		return 0
	}
	return d.optionalWhole(key, value, high)
}

func (d *document) optionalWhole(key string, value *int64, high int64) int {
	if value == nil {
		return 0
	}
	if *value < 1 || *value > min(high, math.MaxInt32) {
		d.refuse(key, strconv.FormatInt(*value, 10), fmt.Sprintf("a whole number from 1 to %d", high))
		return 0
	}
	return int(*value)
}

func between(low, high float64) string {
	return fmt.Sprintf("a number from %s to %s", strconv.FormatFloat(low, 'f', -1, 64),
		strconv.FormatFloat(high, 'f', -1, 64))
}
