package setupdoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"meshscope/presets/input"
)

// jsonReader turns JSON text into a tree, keeping positions and refusing what
// the plain decoder lets through: a key that comes twice, text after the end.
type jsonReader struct {
	data   []byte
	dec    *json.Decoder
	breaks input.Breaks
	keys   int
}

func parseJSON(data []byte) (*node, error) {
	r := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), breaks: input.NewBreaks(data)}
	r.dec.UseNumber()
	root, err := r.value(0)
	if err != nil {
		return nil, err
	}
	end := r.next()
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, r.fail(end, errors.New("something follows the end of the document"))
	}
	return root, nil
}

// next returns the offset at which the next token starts.
func (r *jsonReader) next() int { return r.skip(" \t\r\n,:") }

// skip returns the offset of the first character after the last token that is none
// of these.
func (r *jsonReader) skip(these string) int {
	i := int(r.dec.InputOffset())
	for i < len(r.data) && strings.IndexByte(these, r.data[i]) >= 0 {
		i++
	}
	return i
}

func (r *jsonReader) position(offset int) position {
	return placeOf(r.breaks, min(max(offset, 0), len(r.data)))
}

func (r *jsonReader) fail(offset int, err error) error {
	at := r.position(offset)
	return &input.Error{Line: at.line, Column: at.column, Err: err}
}

// token reads one token; its start is wanted for messages.
func (r *jsonReader) token() (json.Token, int, error) {
	start := r.next()
	tok, err := r.dec.Token()
	switch {
	case err == nil:
		return tok, start, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, start, r.fail(len(r.data), errors.New("not JSON: the text ends too early"))
	default:
		// The decoder stands before what it does not take, which may be a comma.
		return nil, start, r.fail(r.skip(" \t\r\n:"), fmt.Errorf("not JSON: %w", err))
	}
}

func (r *jsonReader) value(depth int) (*node, error) {
	tok, start, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &node{at: r.position(start)}
	if depth > maxDepth {
		return nil, tooDeep(n.at)
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			return n, r.object(n, depth)
		}
		n.kind, n.text = other, "a list"
		return n, r.skipList(depth)
	case string:
		n.kind, n.text = text, t
	case json.Number:
		n.kind, n.text = number, t.String()
	case bool:
		n.kind, n.text = boolean, fmt.Sprint(t)
	default:
		n.kind, n.text = other, "null"
	}
	return n, nil
}

func (r *jsonReader) object(n *node, depth int) error {
	seen := map[string]bool{}
	for r.dec.More() {
		tok, start, err := r.token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return r.fail(start, errors.New("not JSON: a key must be text in quotes"))
		}
		if r.keys++; r.keys > input.MaxJSONKeys {
			return tooMany(r.position(start), input.MaxJSONKeys)
		}
		if seen[key] {
			return r.fail(start, &KeyError{Key: key, Twice: true})
		}
		seen[key] = true
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key, r.position(start), value})
	}
	_, _, err := r.token() // the closing brace
	return err
}

// skipList reads past a list: no key of a setup takes one, but what is wrong
// inside it should still be said as JSON.
func (r *jsonReader) skipList(depth int) error {
	for r.dec.More() {
		if _, err := r.value(depth + 1); err != nil {
			return err
		}
	}
	_, _, err := r.token()
	return err
}
