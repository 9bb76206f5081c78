package setupdoc

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"meshscope/presets/input"
)

// tomlReader turns TOML text into a tree. The decoder checks the document
// (syntax, keys that come twice); the low-level parser then gives the keys with
// their positions, which the decoder does not keep.
type tomlReader struct {
	parser unstable.Parser
	root   *node
	breaks input.Breaks
}

func parseTOML(data []byte) (*node, error) {
	if err := input.CheckTOML(data); err != nil {
		return nil, err
	}
	r := &tomlReader{root: &node{kind: object, at: position{1, 1}}, breaks: input.NewBreaks(data)}
	var checked map[string]any
	if err := toml.Unmarshal(data, &checked); err != nil && !tooLarge(err) {
		return nil, input.NotTOML(err)
	}
	r.parser.Reset(data)
	table := r.root
	for r.parser.NextExpression() {
		var err error
		switch e := r.parser.Expression(); e.Kind {
		case unstable.Table:
			table, err = r.descend(r.root, e.Key())
		case unstable.ArrayTable:
			// No key of a setup takes a list; the key is refused by its name.
			table, err = r.descend(r.root, e.Key())
			if table != nil {
				table.kind, table.text = other, "a list"
			}
		case unstable.KeyValue:
			err = r.keyValue(table, e, 0)
		default: // comments
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.parser.Error(); err != nil {
		return nil, input.NotTOML(err)
	}
	return r.root, nil
}

func (r *tomlReader) at(n *unstable.Node) position { return placeOf(r.breaks, int(n.Raw.Offset)) }

// descend walks a dotted key, making tables on the way.
func (r *tomlReader) descend(from *node, key unstable.Iterator) (*node, error) {
	n, _, _, err := r.walk(from, key, true)
	return n, err
}

// walk follows a dotted key. With whole false its last part is left for a
// value, and its name and position are given.
func (r *tomlReader) walk(from *node, key unstable.Iterator, whole bool) (n *node, last string, at position,
	err error,
) {
	n = from
	depth := 0
	for key.Next() {
		part := key.Node()
		last, at = string(part.Data), r.at(part)
		if depth++; depth > maxDepth {
			return nil, "", at, tooDeep(at)
		}
		if key.IsLast() && !whole {
			return n, last, at, nil
		}
		next := n.find(last)
		if next == nil {
			next = &node{kind: object, at: at}
			n.members = append(n.members, member{last, at, next})
		}
		n = next
	}
	return n, last, at, nil
}

func (r *tomlReader) keyValue(table *node, e *unstable.Node, depth int) error {
	parent, name, at, err := r.walk(table, e.Key(), false)
	if err != nil {
		return err
	}
	value, err := r.value(e.Value(), at, depth)
	if err == nil {
		parent.members = append(parent.members, member{name, at, value})
	}
	return err
}

func (r *tomlReader) value(v *unstable.Node, at position, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, tooDeep(at)
	}
	n := &node{at: at, text: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.kind = text
	case unstable.Bool:
		n.kind = boolean
	case unstable.Integer, unstable.Float:
		n.kind, n.text = number, decimalTOML(n.text)
	case unstable.InlineTable:
		children := v.Children()
		for children.Next() {
			if err := r.keyValue(n, children.Node(), depth+1); err != nil {
				return nil, err
			}
		}
	case unstable.Array:
		n.kind, n.text = other, "a list"
	default:
		n.kind, n.text = other, "a date or time"
	}
	return n, nil
}

// decimalTOML writes TOML's 0x40 and 1_000 as the plain decimals they are.
func decimalTOML(literal string) string {
	plain := strings.ReplaceAll(literal, "_", "")
	if n, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return plain
}

// tooLarge reports whether the library only cannot hold a number. What the number is
// meant for knows better what is allowed.
func tooLarge(err error) bool {
	return strings.Contains(err.Error(), "value out of range") ||
		strings.Contains(err.Error(), "too large to fit in")
}
