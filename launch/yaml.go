package launch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"meshscope/presets/input"
)

// Bounds of a YAML file, checked before it is parsed: they keep the parser's recursion short.
const (
	maxYAMLLines  = 20_000
	maxYAMLLine   = 4096 // characters
	maxYAMLIndent = 128
)

// parseYAML returns the keys of the first document of a YAML file, nested ones with dots, items
// of a list by their number. Aliases and tags are not followed, so nothing can grow: what they stand for is
// unknown.
func parseYAML(text []byte) (entries []Entry, err error) {
	defer func() {
		if fault := recover(); fault != nil { // the file may be anybody's
			err = errors.New("cannot be read as YAML")
		}
	}()
	if err := boundYAML(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
			p := at.GetToken().Position
			return nil,
				&input.Error{Line: p.Line, Column: p.Column, Err: errors.New("not YAML: " + at.GetMessage())}
		}
		return nil, errors.New("not YAML")
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, errors.New("an empty YAML document")
	}
	switch file.Docs[0].Body.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		return nil, errors.New("no YAML map of keys and values")
	}
	w := yamlReader{}
	err = w.node("", file.Docs[0].Body, 0)
	if err == nil && len(file.Docs) > 1 {
		err = errors.New("more than one YAML document: only the first is read")
	}
	return w.entries, err
}

// boundYAML refuses what the parser would take long or deep for.
func boundYAML(text []byte) error {
	if err := tooLong(text); err != nil {
		return err
	}
	refuse := func(line int, format string, args ...any) error {
		return &input.Error{Line: line, Column: 1, Err: fmt.Errorf(format, args...)}
	}
	flow, number := 0, 0
	for line := range bytes.Lines(text) {
		number++
		rest := bytes.TrimLeft(line, " \t-?")
		flow += bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
		switch {
		case number > maxYAMLLines:
			return refuse(number, "more than %d lines", maxYAMLLines)
		case len(line) > maxYAMLLine:
			return refuse(number, "longer than %d characters", maxYAMLLine)
		case len(line)-len(rest) > maxYAMLIndent:
			return refuse(number, "nested more than %d columns deep", maxYAMLIndent)
		case flow > input.MaxDepth:
			return refuse(number, "lists and maps in brackets nested more than %d deep", input.MaxDepth)
		}
		flow = max(0, flow-bytes.Count(line, []byte("]"))-bytes.Count(line, []byte("}")))
	}
	return nil
}

type yamlReader struct{ entries []Entry }

// node reads a value with the key that leads to it.
func (w *yamlReader) node(key string, n ast.Node, depth int) error {
	refuse := func(what string) error {
		p := n.GetToken().Position
		return &input.Error{Line: p.Line, Column: p.Column, Key: key, Err: errors.New(what)}
	}
	if depth > input.MaxDepth {
		return refuse(fmt.Sprintf("nested more than %d levels deep", input.MaxDepth))
	}
	if most := 4 * input.MaxKeys; len(w.entries) > most {
		return refuse(fmt.Sprintf("more than %d keys", most))
	}
	add := func(v any) error {
		w.entries = append(w.entries, Entry{Key: key, Value: v, Line: n.GetToken().Position.Line})
		return nil
	}
	switch t := n.(type) {
	case *ast.MappingNode:
		for _, v := range t.Values {
			if err := w.pair(key, v, depth); err != nil {
				return err
			}
		}
		return nil
	case *ast.MappingValueNode:
		return w.pair(key, t, depth)
	case *ast.SequenceNode:
		for i, v := range t.Values {
			if err := w.node(below(key, fmt.Sprint(i)), v, depth+1); err != nil {
				return err
			}
		}
		if len(t.Values) == 0 {
			return add([]any{})
		}
		return nil
	case *ast.IntegerNode, *ast.FloatNode:
		return add(numberOf(n.GetToken().Value))
	case *ast.BoolNode:
		return add(t.Value)
	case *ast.NullNode:
		return add(nil)
	case *ast.StringNode:
		return add(t.Value)
	case *ast.LiteralNode:
		return add(t.Value.Value)
	case *ast.AnchorNode: // its value is read where it stands
		return w.node(key, t.Value, depth+1)
	case *ast.AliasNode:
		return add(unresolved("*" + t.Value.GetToken().Value))
	case *ast.MergeKeyNode, *ast.TagNode:
		return add(unresolved(n.GetToken().Value))
	}
	return refuse("no value that a configuration has")
}

func (w *yamlReader) pair(key string, v *ast.MappingValueNode, depth int) error {
	name := v.Key.GetToken().Value
	switch v.Key.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.BoolNode, *ast.NullNode, *ast.FloatNode, *ast.MergeKeyNode:
	default:
		p := v.Key.GetToken().Position
		return &input.Error{Line: p.Line, Column: p.Column, Err: errors.New("a key that is no text")}
	}
	return w.node(below(key, name), v.Value, depth+1)
}

// below returns the key of what stands under another.
func below(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// yamlText returns a document as YAML. Parts of a key that are numbers are items of a list.
func yamlText(d *Document) []byte {
	var b strings.Builder
	comment(&b, d.Stamp)
	var write func(n *branch, indent, first string)
	write = func(n *branch, indent, first string) {
		for _, c := range n.below {
			item := c.key[0] >= '0' && c.key[0] <= '9'
			switch {
			case item && c.entry != nil:
				fmt.Fprintf(&b, "%s- %s%s\n", indent, yamlValue(c.entry.Value), noted(c.entry))
			case item:
				write(c, indent+"  ", indent+"- ")
			case c.entry != nil:
				fmt.Fprintf(&b, "%s%s: %s%s\n", first, c.key, yamlValue(c.entry.Value), noted(c.entry))
			default:
				fmt.Fprintf(&b, "%s%s:\n", first, c.key)
				write(c, indent+"  ", indent+"  ")
			}
			first = indent
		}
	}
	write(tree(d.Entries), "", "")
	return []byte(b.String())
}

// yamlValue returns a value as YAML writes it: plain where a text is a plain word.
func yamlValue(v any) string {
	text, ok := v.(string)
	if !ok {
		return jsonLine(v)
	}
	word := strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == ""
	if word && text[0] >= 'A' && !strings.EqualFold(text, "yes") && !strings.EqualFold(text, "no") &&
		!strings.EqualFold(text, "on") && !strings.EqualFold(text, "off") &&
		!strings.EqualFold(text, "null") && !strings.EqualFold(text, "true") &&
		!strings.EqualFold(text, "false") {
		return text
	}
	return jsonLine(text)
}
