package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"meshscope/engine/escape"
)

// CheckTOML refuses a document with more than MaxKeys keys or MaxDepth levels before it
// is decoded: the TOML library takes the square of the number of keys to find duplicates.
// It does not report syntax errors.
func CheckTOML(text []byte) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errNotTOML()
		}
	}()
	c := counter{text: text}
	c.parser.Reset(text)
	for c.parser.NextExpression() {
		if err := c.count(c.parser.Expression(), 0); err != nil {
			return err
		}
	}
	return nil
}

func errNotTOML() error { return &Error{Err: errors.New("cannot be read as TOML")} }

// counter counts the keys of a TOML document.
type counter struct {
	parser unstable.Parser
	text   []byte
	keys   int
	last   int // offset of the last key
}

// count adds the keys of an expression, including those inside its value.
func (c *counter) count(n *unstable.Node, depth int) error {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable, unstable.KeyValue:
		key := n.Key()
		for key.Next() {
			c.last = int(key.Node().Raw.Offset)
			if n := len(key.Node().Data); n > MaxKey {
				return c.refuse(fmt.Errorf("a key of %d bytes; allowed: at most %d", n, MaxKey))
			}
			if depth++; depth > MaxDepth {
				return c.refuse(errDepth())
			}
			if c.keys++; c.keys > MaxKeys {
				return c.refuse(errKeys(MaxKeys))
			}
		}
	case unstable.InlineTable, unstable.Array:
		if depth++; depth > MaxDepth {
			return c.refuse(errDepth())
		}
	default:
		return nil
	}
	if n.Kind == unstable.KeyValue {
		return c.count(n.Value(), depth)
	}
	children := n.Children()
	for children.Next() {
		if child := children.Node(); child.Kind != unstable.Key {
			if err := c.count(child, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *counter) refuse(err error) error {
	line, column := Place(c.text, c.last)
	return &Error{Line: line, Column: column, Err: err}
}

func errKeys(most int) error { return fmt.Errorf("more than %d keys", most) }
func errDepth() error        { return fmt.Errorf("nested more than %d levels deep", MaxDepth) }

// DecodeTOML reads a document into a struct or a map. It returns the keys that the
// struct does not have in unknown, at most MaxErrors of them, and reads the rest.
func DecodeTOML(file string, text []byte, into any) (unknown []*Error, err error) {
	defer func() {
		// The file may be anybody's; a fault of the parser is not worth a crash.
		if fault := recover(); fault != nil {
			err = InFile(file, errNotTOML())
		}
	}()
	if err := CheckTOML(text); err != nil {
		return nil, InFile(file, err)
	}
	if err := checkSize(text); err != nil {
		return nil, InFile(file, err)
	}
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(into)
	var missing *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &missing):
		for i := range missing.Errors[:min(len(missing.Errors), MaxErrors)] {
			unknown = append(unknown, located(file, &missing.Errors[i], "unknown key"))
		}
		return unknown, nil
	case errors.As(err, &bad):
		return nil, located(file, bad, inWords(strings.TrimPrefix(bad.Error(), "toml: ")))
	}
	return nil, &Error{File: file, Err: err}
}

// checkSize refuses a TOML document that is too long to name its unknown keys: the
// library splits the whole document into lines for each of them.
func checkSize(text []byte) error {
	if len(text) > MaxPreset {
		return &Error{Err: fmt.Errorf("more than %d bytes", MaxPreset)}
	}
	if bytes.Count(text, []byte("\n")) > MaxLines {
		return &Error{Err: fmt.Errorf("more than %d lines", MaxLines)}
	}
	return nil
}

func located(file string, at *toml.DecodeError, message string) *Error {
	line, column := at.Position()
	return &Error{
		File: file, Line: line, Column: column, Key: strings.Join(at.Key(), "."),
		Err: errors.New(message),
	}
}

// NotTOML returns the error of the TOML library about a text, at its place.
func NotTOML(err error) *Error {
	if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := bad.Position()
		return &Error{
			Line: line, Column: column,
			Err: errors.New("not TOML: " + strings.TrimPrefix(bad.Error(), "toml: ")),
		}
	}
	return &Error{Err: fmt.Errorf("not TOML: %w", err)}
}

// inWords translates an error of the TOML library from the words of Go.
func inWords(message string) string {
	if strings.HasSuffix(message, "value out of range") || strings.Contains(message, "too large to fit in") {
		return "is too large to be read as a number"
	}
	m := regexp.MustCompile(`^cannot decode TOML (.+?) into (?:.*of type )?\*?(.+)$`).FindStringSubmatch(
		message,
	)
	if m == nil {
		return message
	}
	wanted, ok := map[string]string{
		"int": "a whole number", "int64": "a whole number", "float64": "a number",
		"bool": "true or false", "string": "text in quotes",
	}[m[2]]
	switch {
	case ok:
	case strings.HasPrefix(m[2], "[]"):
		wanted = "a list [ ... ]"
	default:
		wanted = "a table { key = value }"
	}
	return fmt.Sprintf("is a TOML %s; allowed: %s", m[1], wanted)
}

// DecodeJSON reads a document into a struct or a map.
func DecodeJSON(text []byte, into any) error {
	if err := CheckJSON(text); err != nil {
		return err
	}
	err := json.Unmarshal(text, into)
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		line, column := Place(text, min(int(kind.Offset), len(text)))
		return &Error{
			Line: line, Column: column, Key: kind.Field,
			Err: fmt.Errorf("is a JSON %s, which it cannot be", escape.Line(kind.Value)),
		}
	}
	return err
}

// CheckJSON refuses a text that is not JSON and a document with more than MaxJSONKeys
// keys or MaxDepth levels.
func CheckJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // their range is checked where they are used
	refuse := func(err error) error {
		line, column := Place(text, min(int(dec.InputOffset()), len(text)))
		return &Error{Line: line, Column: column, Err: err}
	}
	// objects holds, for each object or list around the current token, whether it is an
	// object; key reports whether a key comes next.
	var objects []bool
	key, keys := false, 0
	for {
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF) && len(objects) == 0 && dec.InputOffset() > 0:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return refuse(errors.New("not JSON: the text ends too early"))
		case err != nil:
			return refuse(fmt.Errorf("not JSON: %w", err))
		}
		delim, structure := token.(json.Delim)
		switch {
		case structure && (delim == '{' || delim == '['):
			if objects = append(objects, delim == '{'); len(objects) > MaxDepth {
				return refuse(errDepth())
			}
			key = delim == '{'
			continue
		case structure:
			objects = objects[:len(objects)-1]
		case key:
			if keys++; keys > MaxJSONKeys {
				return refuse(errKeys(MaxJSONKeys))
			}
			key = false
			continue
		}
		key = len(objects) > 0 && objects[len(objects)-1]
	}
}
