// Package setupdoc reads and writes setup documents: JSON or TOML with the
// flags' names as keys, or the complete form that eval prints.
package setupdoc

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/presets/input"
)

// What is taken when nothing is said.
const (
	DefaultModel   = "llama3.1-70b"
	DefaultCluster = "dgx-h100"
)

// Library knows the named models, GPUs and clusters.
type Library interface {
	Model(id string) (model.Model, error)
	GPU(id string) (hardware.GPU, error)
	Cluster(id string) (hardware.Cluster, error)
	// NodeOf is the typical node of a GPU with its own links.
	NodeOf(g hardware.GPU) hardware.Cluster
}

// Document is a setup as somebody wrote it: some things said, others left out.
// The zero value says nothing.
type Document struct {
	file  string
	draft knob.Draft
	// what is trained and on what: a name or a table of fields
	model, gpu, cluster *node
	sets                []assignment
	asStated            bool     // what is not said is the program's default
	overridden          bool     // something was said after the text was read
	over                knob.Set // what
	moved               bool     // another model or machine than that of the text
	origins             map[string]origin
}

// assignment is one key=value of "set", written after everything else.
type assignment struct {
	part  string // model, cluster, gpu
	path  string // the full key
	keys  []string
	at    position
	value *node
	node  bool // a rate of a node, which its GPUs share
	words bool // in a word of the machine
}

// Parse reads a document. The name decides between JSON and TOML by its
// ending; without a known one the first character does.
func Parse(name string, data []byte) (*Document, error) { return parse(name, data, parseTree) }

// ParseLine reads a line of a batch, which is JSON whatever it begins with.
func ParseLine(data []byte) (*Document, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, &input.Error{Line: 1, Column: 1, Err: errors.New("an empty line is no JSON setup")}
	}
	return parse("", data, func(_ string, data []byte) (*node, error) { return parseJSON(data) })
}

func parse(name string, data []byte, tree func(string, []byte) (*node, error)) (*Document, error) {
	d := &Document{file: name}
	if len(data) > input.MaxDocument {
		return nil,
			&input.Error{File: name, Err: fmt.Errorf("longer than %d bytes, which is no setup",
				input.MaxDocument)}
	}
	text, err := input.Text(data)
	if err != nil {
		return nil, input.InFile(name, err)
	}
	root, err := tree(name, text)
	if err == nil {
		err = d.read(root)
	}
	if err != nil {
		return nil, input.InFile(d.file, err)
	}
	return d, nil
}

func parseTree(name string, data []byte) (*node, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return parseJSON(data)
	case ".toml":
		return parseTOML(data)
	}
	// No TOML setup starts with a brace, and no JSON one with anything else.
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 &&
		bytes.IndexByte([]byte(`{["`), trimmed[0]) >= 0 && !tableHeader(trimmed) {
		return parseJSON(data)
	}
	return parseTOML(data)
}

// tableHeader tells TOML's [model] and "key" = from a JSON list or text, so
// that the message is about the format that was meant.
func tableHeader(trimmed []byte) bool {
	line, _, _ := bytes.Cut(trimmed, []byte("\n"))
	if name := bytes.TrimLeft(line, "["); trimmed[0] == '[' && len(name) > 0 && name[0] >= 'a' &&
		name[0] <= 'z' {
		return true // [model] and [[model]]
	}
	return trimmed[0] == '"' && bytes.Contains(line, []byte("="))
}

// read takes over the keys of a document.
func (d *Document) read(root *node) error {
	if root.kind != object {
		return wrongValue("setup", root, "a table of keys such as model, gpus, tp")
	}
	root, err := setupOf(root)
	if err != nil {
		return err
	}
	for i := range root.members {
		m := &root.members[i]
		if err := d.say(m); err != nil {
			return place(m.at, err)
		}
	}
	return nil
}

// say takes over one key. Errors without a place get that of the key.
func (d *Document) say(m *member) error {
	key := strings.ReplaceAll(m.key, "-", "_")
	if err := d.note(key, m); err != nil {
		return err
	}
	switch key {
	case "model", "gpu", "cluster":
		if err := d.noteAll(key, m.value); err != nil {
			return err
		}
		return d.sayPart(key, m.value)
	case "set":
		return d.saySet(m.value)
	}
	if w, ok := knob.FindMachineWord(key); ok {
		return d.sayMachine(&w, m)
	}
	id, named, err := knob.Named(knob.ID(strings.ReplaceAll(key, "_", "-")), m.value.text)
	if err != nil {
		return place(m.value.at, err)
	}
	p, ok := knob.Find(id)
	if !ok {
		wrong := unknownKey(m.key, append(flatKeys(), "set"))
		for i, name := range wrong.Nearest {
			if strings.HasPrefix(name, "model.") { // no key of its own
				wrong.Nearest[i] = name + " in the table set"
			}
		}
		return wrong
	}
	if named != m.value.text { // an alias
		return d.draft.Set(id, named)
	}
	literal, err := literalFor(&p, key, m.value)
	if err != nil {
		return err
	}
	if err := d.draft.Set(id, literal); err != nil {
		return place(m.value.at, knob.Called(key, err))
	}
	return nil
}

// flatKeys lists every key of the flat form; a document has "set" too.
func flatKeys() []string {
	keys := []string{"model", "gpu", "cluster"}
	for _, p := range knob.All() {
		keys = append(keys, strings.ReplaceAll(string(p.ID), "-", "_"))
	}
	for _, w := range knob.MachineWords() {
		keys = append(keys, strings.ReplaceAll(string(w.Name), "-", "_"))
	}
	return keys
}

// literalFor checks that a value has the parameter's type and gives it in the
// words of the command line.
func literalFor(p *knob.Knob, key string, n *node) (string, error) {
	want := text
	switch p.Kind {
	case knob.Number:
		if n.kind == text { // as people write it: 2,048, or a batch in tokens: 4Mtok
			return n.text, nil
		}
		want = number
	case knob.Switch:
		if n.kind == text || n.kind == number { // as people write it: "on"
			return n.text, nil
		}
		want = boolean
	case knob.Figure:
		if n.kind == number && !decimal(n.text) {
			return "", wrongValue(key, n, p.Allowed())
		}
		if mantissa, _, _ := strings.Cut(strings.ToLower(n.text), "e"); n.kind == number &&
			strings.Trim(mantissa, "+-.0") == "" && p.ID != knob.Goodput {
			return "none", nil // 0 of a document is left out
		}
		if v, err := strconv.ParseFloat(n.text, 64); n.kind == number && err == nil {
			return strconv.FormatFloat(v, 'g', -1, 64), nil // 15.000 of a document is 15
		}
		if n.kind == number {
			return n.text, nil
		}
	case knob.Choice, knob.List, knob.Rate:
	}
	if n.kind != want {
		return "", wrongValue(key, n, p.Allowed())
	}
	if want == number {
		if v, ok := whole(n.text); ok {
			return fmt.Sprint(v), nil
		}
	}
	return n.text, nil
}

func (d *Document) sayPart(key string, n *node) error {
	if n.kind != text && n.kind != object {
		return wrongValue(key, n, "an id or a table of fields")
	}
	switch key {
	case "model":
		d.model = n
	case "gpu":
		d.gpu = n
	default:
		d.cluster = n
	}
	return nil
}

// saySet reads {"model.layers":40,"tp":4}.
func (d *Document) saySet(n *node) error {
	if n.kind != object {
		return wrongValue("set", n, `a table such as {"model.layers":40}`)
	}
	for i := range n.members {
		if err := d.assignLater(&n.members[i]); err != nil {
			return place(n.members[i].at, err)
		}
	}
	return nil
}

func (d *Document) assignLater(m *member) error {
	part, _, nested := strings.Cut(m.key, ".")
	if !nested {
		if m.value.kind == object && (m.key == "model" || m.key == "cluster" || m.key == "gpu") {
			// TOML's [set] model.layers = 40 is a table in a table.
			return d.flatten(m.key, m.value)
		}
		if m.key == "set" {
			return unknownKey(m.key, flatKeys())
		}
		return d.say(m)
	}
	if part != "model" && part != "cluster" && part != "gpu" {
		return unknownKey(m.key, flatKeys())
	}
	if name := canonical(m.key); name == "model.id" || name == "cluster.gpu.id" {
		return &KeyError{Key: m.key, Names: strings.TrimSuffix(strings.TrimPrefix(name, "cluster."), ".id")}
	}
	if err := d.note(m.key, m); err != nil {
		return err
	}
	keys := strings.Split(m.key, ".")[1:]
	d.sets = append(d.sets, assignment{part: part, path: m.key, keys: keys, at: m.at, value: m.value})
	return nil
}

func (d *Document) flatten(prefix string, n *node) error {
	for i := range n.members {
		m := n.members[i]
		m.key = prefix + "." + m.key
		if m.value.kind == object && strings.Count(m.key, ".") < maxDepth {
			if err := d.flatten(m.key, m.value); err != nil {
				return err
			}
			continue
		}
		if err := d.assignLater(&m); err != nil {
			return place(m.at, err)
		}
	}
	return nil
}

// Set says one thing in the words of the command line; it wins over the text.
func (d *Document) Set(key, value string) error {
	switch key {
	case "model", "gpu", "cluster":
		if value == "" {
			return &knob.ValueError{Field: key, Given: value, Allowed: "an id of 'presets " + key + "s'"}
		}
		d.forget(key)
		d.moved = d.moved || d.names(key) != value
		return d.sayPart(key, &node{kind: text, text: value})
	}
	if _, ok := knob.FindMachineWord(key); ok {
		return d.say(&member{key: key, value: scalar(value)})
	}
	id, value, err := knob.Named(knob.ID(strings.ReplaceAll(key, "_", "-")), value)
	if err != nil {
		return err
	}
	if _, ok := knob.Find(id); !ok {
		return unknownKey(key, flatKeys())
	}
	d.overridden, d.over = true, d.over.With(id)
	delete(d.origins, canonical(key))
	return knob.Called(key, d.draft.Set(id, value))
}

// AsStated takes the program's defaults for what the document does not say, not what published runs
// of its model have: for what was run, measured or kept.
func (d *Document) AsStated() *Document {
	d.asStated = true
	return d
}

// names returns the id of the model, gpu or cluster of the text; empty where it has none.
func (d *Document) names(key string) string {
	n := map[string]*node{"model": d.model, "gpu": d.gpu, "cluster": d.cluster}[key]
	if n != nil && n.kind == object {
		n = n.find("id")
	}
	if n == nil {
		return ""
	}
	return n.text
}

// Empty reports whether the document says nothing.
func (d *Document) Empty() bool { return len(d.origins) == 0 }

// SaysBatch reports whether the document says the global batch, or the micro-batches
// that it follows from.
func (d *Document) SaysBatch() bool { return d.draft.Has(knob.GBS) || d.draft.Has(knob.MicroBatches) }

// BatchInSequences reports whether the document says the global batch, and not in tokens.
func (d *Document) BatchInSequences() bool { return d.draft.BatchInSequences() }

// Gives reports whether the document says anything of a parameter.
func (d *Document) Gives(id knob.ID) bool { return d.draft.Has(id) }

// Take returns what the document says of a parameter, in the words of the command
// line, and unsays it; false where it says nothing.
func (d *Document) Take(id knob.ID) (text string, said bool) {
	text, said = d.draft.Take(id)
	if said {
		d.overridden = true
		delete(d.origins, canonical(string(id)))
	}
	return text, said
}

// Assign reads key=value: a flag's name, or a field of model, gpu or cluster
// such as model.layers=40.
func (d *Document) Assign(text string) error {
	key, value, ok := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" {
		return &knob.ValueError{Field: "set", Given: text, Allowed: "key=value, such as model.layers=40"}
	}
	if !strings.Contains(key, ".") {
		return d.Set(key, value)
	}
	return d.assignLater(&member{key: key, value: scalar(value)})
}

// scalar guesses the type of a value from a command line; apply lets a
// text field take any of them.
func scalar(value string) *node {
	n := &node{kind: text, text: value}
	switch {
	case value == "true" || value == "false":
		n.kind = boolean
	case value != "" && slices.Contains([]byte("+-.0123456789"), value[0]):
		n.kind = number
	}
	return n
}
