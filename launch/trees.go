package launch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"meshscope/presets/input"
)

// keyed returns what tells a file: its ending and one of some keys, wherever they stand for a broken file of
// which nothing can be parsed.
func keyed(ending string, parse func([]byte) ([]Entry, error), keys ...string) func(name string,
	data []byte) bool {
	var last []string
	for _, key := range keys {
		last = append(last, regexp.QuoteMeta(key[strings.LastIndexByte(key, '.')+1:]))
	}
	begins := regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*["']?\[?(?:` + strings.Join(last,
		"|") + `)\]?["']?[ \t]*(?:[:=]|$)`)
	return func(name string, data []byte) bool {
		other := strings.Replace(strings.ToLower(path.Ext(name)), ".yml", ".yaml", 1)
		if other != ending && slices.Contains(endings(), other) || !begins.Match(data) {
			return false
		}
		entries, _ := parse(data)
		return len(entries) == 0 || slices.ContainsFunc(keys, hasKey(entries))
	}
}

// endings returns those that say in which language a file is.
func endings() []string { return []string{".json", ".yaml", ".toml", ".py", ".sh"} }

// tooLong refuses a text that no configuration has.
func tooLong(text []byte) error {
	if len(text) > input.MaxDocument {
		return fmt.Errorf("longer than %d bytes, which no configuration is", input.MaxDocument)
	}
	return nil
}

// parseJSON returns the keys of a JSON document, nested ones with dots.
func parseJSON(text []byte) ([]Entry, error) {
	if err := tooLong(text); err != nil {
		return nil, err
	}
	wrong := input.CheckJSON(text)
	p := jsonReader{text: text, dec: json.NewDecoder(bytes.NewReader(text)), line: 1}
	p.dec.UseNumber()
	if tok, err := p.dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, cmp.Or(wrong, errors.New("no JSON object"))
	}
	if err := p.object(""); err != nil || wrong != nil { // what stands before a mistake is kept
		return p.entries, cmp.Or(wrong, err)
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return p.entries, errors.New("something follows the end of the document")
	}
	return p.entries, nil
}

type jsonReader struct {
	text     []byte
	dec      *json.Decoder
	entries  []Entry
	depth    int
	line, at int // the line of an offset that was asked for
}

func (p *jsonReader) object(prefix string) error {
	if p.depth++; p.depth > input.MaxDepth { // which is refused already
		return errText("nested too deep")
	}
	defer func() { p.depth-- }()
	for p.dec.More() && len(p.entries) <= input.MaxJSONKeys {
		tok, err := p.dec.Token()
		if err != nil {
			return err
		}
		end := int(p.dec.InputOffset())
		p.line += bytes.Count(p.text[p.at:end], []byte("\n"))
		p.at = end
		key := prefix + fmt.Sprint(tok)
		if err := p.value(key, p.line); err != nil {
			return err
		}
	}
	_, err := p.dec.Token()
	return err
}

func (p *jsonReader) value(key string, line int) error {
	tok, err := p.dec.Token()
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('{'):
		return p.object(key + ".")
	case json.Delim('['):
		list := []any{}
		for p.dec.More() {
			var v any
			if err := p.dec.Decode(&v); err != nil {
				return err
			}
			list = append(list, v)
		}
		p.entries = append(p.entries, Entry{Key: key, Value: list, Line: line})
		_, err := p.dec.Token()
		return err
	}
	p.entries = append(p.entries, Entry{Key: key, Value: plain(tok), Line: line})
	return nil
}

// plain returns a number of a file as Go has it: whole ones as int.
func plain(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	return numberOf(n.String())
}

func numberOf(text string) any {
	text = strings.ReplaceAll(text, "_", "")
	if whole, err := strconv.Atoi(text); err == nil {
		return whole
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return f
}

// parseTOML returns the keys of a TOML document, nested ones with dots.
func parseTOML(text []byte) (entries []Entry, err error) {
	defer func() {
		if fault := recover(); fault != nil { // the file may be anybody's
			err = errors.New("cannot be read as TOML")
		}
	}()
	if err := tooLong(text); err != nil {
		return nil, err
	}
	if err := input.CheckTOML(text); err != nil {
		return nil, err
	}
	var checked map[string]any
	if err := toml.Unmarshal(text, &checked); err != nil {
		return nil, input.NotTOML(err)
	}
	var p unstable.Parser
	p.Reset(text)
	prefix, line, at := "", 1, 0
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			name, _, _ := tomlKey(e.Key())
			prefix = name + "."
		case unstable.KeyValue:
			name, offset, ok := tomlKey(e.Key())
			if ok && offset >= at {
				line += bytes.Count(text[at:offset], []byte("\n"))
				at = offset
			}
			entries = append(entries, Entry{Key: prefix + name, Value: tomlValue(e.Value(), 0), Line: line})
		default:
		}
	}
	return entries, p.Error()
}

// tomlKey returns a dotted key and where it begins.
func tomlKey(key unstable.Iterator) (name string, offset int, ok bool) {
	var parts []string
	for key.Next() {
		if n := key.Node(); len(parts) == 0 {
			offset, ok = int(n.Raw.Offset), true
		}
		parts = append(parts, string(key.Node().Data))
	}
	return strings.Join(parts, "."), offset, ok
}

func tomlValue(n *unstable.Node, depth int) any {
	switch n.Kind {
	case unstable.Bool:
		return string(n.Data) == "true"
	case unstable.Integer, unstable.Float:
		return numberOf(string(n.Data))
	case unstable.Array:
		out := []any{}
		for children := n.Children(); depth < input.MaxDepth && children.Next(); {
			if child := children.Node(); child.Kind != unstable.Comment {
				out = append(out, tomlValue(child, depth+1))
			}
		}
		return out
	default:
		return string(n.Data)
	}
}

// tomlText returns a document as TOML: a table for the first part of each key.
func tomlText(d *Document) []byte {
	var b strings.Builder
	comment(&b, d.Stamp)
	last := ""
	for i := range d.Entries {
		e := &d.Entries[i]
		table, key, _ := strings.Cut(e.Key, ".")
		if table != last {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			last = table
		}
		fmt.Fprintf(&b, "%s = %s%s\n", key, jsonLine(e.Value), noted(e))
	}
	return []byte(b.String())
}

// noted returns the comment of an entry with the space before it.
func noted(e *Entry) string {
	if note := e.note(); note != "" {
		return " # " + note
	}
	return ""
}

// jsonLine returns a value as JSON writes it, which TOML and YAML read as well.
func jsonLine(v any) string {
	if f, ok := v.(float64); ok {
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.Contains(text, ".") { // 1e-08 is text in YAML 1.1, and 1 no float in TOML
			if mantissa, exp, ok := strings.Cut(text, "e"); ok {
				return mantissa + ".0e" + exp
			}
			return text + ".0"
		}
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}

// branch is a key of a nested document with its value or the keys below it.
type branch struct {
	key   string
	entry *Entry
	below []*branch
}

// tree returns entries by the parts of their keys, in the order in which these come first.
func tree(entries []Entry) *branch {
	root := &branch{}
	for i := range entries {
		at := root
		for _, part := range strings.Split(entries[i].Key, ".") {
			next := at.find(part)
			if next == nil {
				next = &branch{key: part}
				at.below = append(at.below, next)
			}
			at = next
		}
		at.entry = &entries[i]
	}
	return root
}

func (b *branch) find(key string) *branch {
	for _, c := range b.below {
		if c.key == key {
			return c
		}
	}
	return nil
}

// jsonText returns a document as JSON, which has no comments.
func jsonText(d *Document) []byte {
	var b strings.Builder
	var write func(n *branch, indent string)
	write = func(n *branch, indent string) {
		b.WriteString("{\n")
		for i, c := range n.below {
			fmt.Fprintf(&b, "%s  %q: ", indent, c.key)
			if c.entry != nil {
				b.WriteString(jsonLine(c.entry.Value))
			} else {
				write(c, indent+"  ")
			}
			if i < len(n.below)-1 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
		}
		b.WriteString(indent + "}")
	}
	write(tree(d.Entries), "")
	b.WriteByte('\n')
	return []byte(b.String())
}
