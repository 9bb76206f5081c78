package presets

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine/escape"
)

// FileError says what is wrong in a preset file, and where. Line and Column
// count from 1 and are 0 where the file as a whole is meant.
type FileError struct {
	File         string
	Line, Column int
	Key          string // empty where no key is at fault
	Message      string
}

func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(escape.Text(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(escape.Line(e.Key) + ": ")
	}
	b.WriteString(escape.Text(e.Message))
	return b.String()
}

// document is one file while it is read.
type document struct {
	name string
	id   string // the id that the file's name promises
	text []byte
	errs []error
}

// decode reads the file into a struct and refuses every key that the struct
// does not have. The error is of a file that cannot be read at all.
func (d *document) decode(into any) (err error) {
	defer func() {
		// The file may be anybody's; a fault of the parser is not worth a crash.
		if fault := recover(); fault != nil {
			err = &FileError{File: d.name, Message: "cannot be read as TOML"}
		}
	}()
	dec := toml.NewDecoder(bytes.NewReader(d.text))
	dec.DisallowUnknownFields()
	err = dec.Decode(into)
	var missing *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		known := keysOf(reflect.TypeOf(into))
		for i := range missing.Errors {
			key := missing.Errors[i].Key()
			d.errs = append(d.errs, d.located(&missing.Errors[i], "unknown key"+closestKey(key[len(key)-1], known)))
		}
		return nil // the rest is there: what else is wrong is said with it
	case errors.As(err, &bad):
		return d.located(bad, inWords(strings.TrimPrefix(bad.Error(), "toml: ")))
	}
	return &FileError{File: d.name, Message: err.Error()}
}

// mismatch is how the TOML library says that a value has the wrong type, in the
// words of Go.
var mismatch = regexp.MustCompile(`^cannot decode TOML (.+?) into .*of type \*?(\S+)$`)

// beyond is how it says that a number is too large to be held.
var beyond = regexp.MustCompile(`value out of range$|too large to fit in`)

func inWords(message string) string {
	if beyond.MatchString(message) {
		return "is too large to be read as a number"
	}
	m := mismatch.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	wanted, ok := map[string]string{
		"int": "a whole number", "int64": "a whole number", "float64": "a number",
		"bool": "true or false", "string": "text in quotes",
	}[m[2]]
	if !ok {
		wanted = "another kind of value"
	}
	return fmt.Sprintf("is a TOML %s; allowed: %s", m[1], wanted)
}

func (d *document) located(at *toml.DecodeError, message string) *FileError {
	line, column := at.Position()
	return &FileError{
		File: d.name, Line: line, Column: column,
		Key: strings.Join(at.Key(), "."), Message: message,
	}
}

// refuse records what is wrong with the value of a key.
func (d *document) refuse(key, given, allowed string) {
	line, column := d.find(key)
	message := fmt.Sprintf("is %s; allowed: %s", given, allowed)
	if line == 0 {
		message = "is missing; allowed: " + allowed
	}
	d.errs = append(d.errs, &FileError{File: d.name, Line: line, Column: column, Key: key, Message: message})
}

// find is the place of a key: the format is flat, so a line that begins with
// it. Keys are few and this runs only when something is wrong.
func (d *document) find(key string) (line, column int) {
	for i, text := range strings.Split(string(d.text), "\n") {
		name, _, ok := strings.Cut(text, "=")
		if ok && strings.EqualFold(strings.Trim(strings.TrimSpace(name), `"'`), key) {
			return i + 1, len(text) - len(strings.TrimLeft(text, " \t")) + 1
		}
	}
	return 0, 0
}

// err is everything that was refused.
func (d *document) err() error { return errors.Join(d.errs...) }

// demand refuses a file that leaves a key out.
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
	if len(value) > maxText || !escape.Printable(value) {
		d.refuse(key, "not printable or too long", fmt.Sprintf("at most %d bytes of printable text on one line", maxText))
	}
	return value
}

func (d *document) required(key, value string) string {
	if strings.TrimSpace(value) == "" {
		d.refuse(key, "empty", "some text")
	}
	return d.line(key, value)
}

// figure is a positive number between two limits in the unit of its key.
func (d *document) figure(key string, value *float64, low, high float64) float64 {
	if value == nil {
		d.refuse(key, "missing", between(low, high))
		return 0
	}
	return d.optional(key, value, low, high)
}

// optional is a figure that may be left out, which gives 0.
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
	return fmt.Sprintf("a number from %s to %s", strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64))
}
