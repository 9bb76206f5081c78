package launch

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"meshscope/presets/input"
)

// call is a value of a Python file that is made by a call without arguments.
type call string

// recipeText returns a document as a Python module with one recipe function of torchtitan.
func recipeText(d *Document) []byte {
	var b strings.Builder
	folder, function, _ := strings.Cut(fmt.Sprint(d.value("recipe")), ".")
	name := d.value("def")
	comment(&b, d.Stamp)
	fmt.Fprintf(&b,
		"# Start: MODULE=my_runs CONFIG=%v ./run_train.sh, with this file where Python finds it.\n", name)
	if made, ok := d.value("config.activation_checkpoint").(call); ok {
		class, _, _ := strings.Cut(string(made), ".")
		fmt.Fprintf(&b, "from torchtitan.distributed.activation_checkpoint import %s\n", class)
	}
	fmt.Fprintf(&b, "from torchtitan.models.%s.config_registry import %s\nfrom torchtitan.trainer import "+
		"Trainer\n\n\ndef %v() -> Trainer.Config:\n", folder, function, name)
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.Key == "def" {
			continue
		}
		line := e.Key + " = " + python(e.Value)
		if e.Key == "recipe" {
			line = "config = " + function + "()"
		}
		b.WriteString("    " + line + "  # " + e.note() + "\n")
		if e.Key == "recipe" {
			b.WriteString("    p = config.parallelism\n")
		}
	}
	b.WriteString("    return config\n")
	return []byte(b.String())
}

// value returns the value of an entry; nil where there is none.
func (d *Document) value(key string) any {
	for i := range d.Entries {
		if d.Entries[i].Key == key {
			return d.Entries[i].Value
		}
	}
	return nil
}

// python returns a value as Python writes it.
func python(v any) string {
	switch t := v.(type) {
	case nil:
		return "None"
	case bool:
		if t {
			return "True"
		}
		return "False"
	case string:
		return strconv.Quote(t)
	case []any:
		items := make([]string, len(t))
		for i := range t {
			items[i] = python(t[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// recipeReader reads the lines of a recipe function. Nothing is executed.
type recipeReader struct {
	entries []Entry
	aliases map[string]string // p for config.parallelism
	from    map[string]string // a recipe function and the folder that it is imported from
	inside  bool              // a function has begun
	wrong   []error
}

// maxRecipe bounds the lines of a Python file, and the characters of one of them.
const maxRecipe, maxLine = 20_000, 1 << 16

// parseRecipe reads a Python file line by line: imports of recipe functions, and assignments of
// literals and products of numbers inside one function. Any other line is an error with its
// number; what stands around it is kept.
func parseRecipe(text []byte) ([]Entry, error) {
	if err := tooLong(text); err != nil {
		return nil, err
	}
	r := recipeReader{aliases: map[string]string{}, from: map[string]string{}}
	lines := strings.Split(string(text), "\n")
	if len(lines) > maxRecipe {
		return nil, fmt.Errorf("more than %d lines, which no recipe function has", maxRecipe)
	}
	for i, line := range lines {
		if err := r.line(line, i+1); err != nil && len(r.wrong) < input.MaxErrors {
			r.wrong = append(r.wrong, &input.Error{Line: i + 1, Column: 1, Err: err})
		}
	}
	return r.entries, errors.Join(r.wrong...)
}

// How the lines look that are read.
var (
	importLine = regexp.MustCompile(`^from torchtitan\.models\.(\w+)\.config_registry import (\w+)$`)
	assignLine = regexp.MustCompile(`^([A-Za-z_][\w.]*) = (.+)$`)
	callValue  = regexp.MustCompile(`^\w+(\.Config)?\(\)$`)
	nameValue  = regexp.MustCompile(`^[A-Za-z_][\w.]*$`)
)

// line reads one line.
func (r *recipeReader) line(line string, number int) error {
	if len(line) > maxLine {
		return fmt.Errorf("longer than %d characters", maxLine)
	}
	code := strings.TrimSpace(uncommented(line))
	switch {
	case code == "", strings.HasPrefix(code, "return "), strings.HasPrefix(code, "import "):
		return nil
	case strings.HasPrefix(code, "from "):
		if m := importLine.FindStringSubmatch(code); m != nil {
			r.from[m[2]] = m[1]
		}
		return nil
	case strings.HasPrefix(code, "def "):
		if r.inside {
			return errors.New("a second function: only the first is read")
		}
		r.inside = true
		return nil
	}
	m := assignLine.FindStringSubmatch(code)
	if m == nil {
		return errors.New("neither an import nor an assignment of a literal: not read, since nothing is " +
			"executed")
	}
	return r.assign(m[1], m[2], number)
}

// assign reads the value of one assignment.
func (r *recipeReader) assign(key, value string, line int) error {
	if callValue.MatchString(value) {
		function, _, _ := strings.Cut(value, "(")
		if folder, ok := r.from[function]; ok {
			r.entries = append(r.entries, Entry{Key: "recipe", Value: folder + "." + function, Line: line})
			return nil
		}
		r.entries = append(r.entries, Entry{Key: r.full(key), Value: call(value), Line: line})
		return nil
	}
	if nameValue.MatchString(value) && value != "True" && value != "False" && value != "None" {
		if value != "config.parallelism" {
			return fmt.Errorf("%s: neither a literal nor a product of whole numbers", shown(value))
		}
		r.aliases[key] = "p"
		return nil
	}
	v, err := pythonValue(value)
	if err == nil {
		r.entries = append(r.entries, Entry{Key: r.full(key), Value: v, Line: line})
	}
	return err
}

// full returns a key by the names that the rows have.
func (r *recipeReader) full(key string) string {
	first, rest, ok := strings.Cut(key, ".")
	if alias, known := r.aliases[first]; known && ok {
		return alias + "." + rest
	}
	if rest, ok := strings.CutPrefix(key, "config.parallelism."); ok {
		return "p." + rest
	}
	return key
}

// uncommented returns a line up to its comment.
func uncommented(line string) string {
	quote := byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case c == '#':
			return line[:i]
		}
	}
	return line
}

// pythonValue reads a literal, or a product of whole numbers.
func pythonValue(text string) (any, error) {
	switch text {
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "None":
		return nil, nil
	case "":
		return nil, errors.New("no value")
	}
	if text[0] == '[' {
		p := listReader{rest: text}
		v, err := p.list(0)
		if err == nil && strings.TrimSpace(p.rest) != "" {
			err = errors.New("something follows the list")
		}
		return v, err
	}
	if q := text[0]; q == '"' || q == '\'' {
		if i := strings.IndexByte(text[1:], q); i < 0 || i != len(text)-2 || strings.Contains(text, `\`) {
			return nil, errors.New("no plain text in quotes")
		}
		return text[1 : len(text)-1], nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".eE") {
		return f, nil
	}
	product := 1
	for _, factor := range strings.Split(text, "*") {
		n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(factor), "_", ""))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: neither a literal nor a product of whole numbers", shown(text))
		case n != 0 && (product > maxWhole/max(n, -n) || product < -maxWhole/max(n, -n)):
			return nil, fmt.Errorf("%s is too large", shown(text))
		}
		product *= n
	}
	return product, nil
}

// listReader reads lists of texts.
type listReader struct{ rest string }

func (p *listReader) list(depth int) (any, error) {
	if depth > 4 {
		return nil, errors.New("lists inside lists inside lists")
	}
	p.rest = p.rest[1:]
	out := []any{}
	for {
		p.rest = strings.TrimLeft(p.rest, " ,")
		switch {
		case p.rest == "":
			return nil, errors.New("a list without an end")
		case p.rest[0] == ']':
			p.rest = p.rest[1:]
			return out, nil
		case p.rest[0] == '[':
			v, err := p.list(depth + 1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		case p.rest[0] == '"' || p.rest[0] == '\'':
			end := strings.IndexByte(p.rest[1:], p.rest[0])
			if end < 0 {
				return nil, errors.New("a text without an end")
			}
			out, p.rest = append(out, p.rest[1:end+1]), p.rest[end+2:]
		default:
			return nil, errors.New("a list of anything but texts")
		}
	}
}
