package launch

import (
	"regexp"
	"slices"
	"strings"
)

// pyPair is a keyword with the text of its value, of a call, a parameter or an assignment.
type pyPair struct {
	key, value string
	line       int
	maybe      bool // in a part that may run or not, or changed in place
}

// pyFunction is a function of a Python file: its parameters with defaults, and the keywords and assignments
// of its body, in order. Nothing is executed: values are literals, names of such, or unknown.
type pyFunction struct {
	name         string
	params, body []pyPair
	calls        []string // what it calls, by name
	words        []pyPair // members of classes and enumerations
}

// pyFile is what is read of a Python file.
type pyFile struct {
	constants map[string]string
	functions []pyFunction
}

var (
	pyText    = regexp.MustCompile(`(?s)""".*?"""|'''.*?'''`)
	pyDef     = regexp.MustCompile(`^def (\w+)\(`)
	pyAssign  = regexp.MustCompile(`^(\s*)([A-Za-z_][\w.]*)(?:\s*:[^=]+?)?\s*(//|[-+*])?=\s*([^=].*)$`)
	pyKeyword = regexp.MustCompile(
		`([A-Za-z_]\w*)(?:\s*:[^=,()]+(?:\[[^=]*\])?)?\s*=\s*([^=,()\[\]]+(?:\(\))?)`,
	)
	pyMember = regexp.MustCompile(`\b([A-Z]\w+)\.(\w+)`)
	pyCall   = regexp.MustCompile(`([A-Za-z_][\w.]*)\(`)
)

// parsePython reads the functions of a file.
func parsePython(data []byte) pyFile {
	file := pyFile{constants: map[string]string{}}
	if len(data) > maxScript {
		return file
	}
	text := pyText.ReplaceAllStringFunc(string(data), func(s string) string {
		return strings.Repeat("\n", strings.Count(s, "\n"))
	})
	var now *pyFunction
	depth, head, branch := 0, false, -1
	for i, line := range strings.Split(text, "\n") {
		code := strings.TrimRight(uncommented(line), " \t\r")
		if strings.TrimSpace(code) == "" || len(code) > maxLine {
			continue
		}
		indent := len(code) - len(strings.TrimLeft(code, " \t"))
		if m := pyDef.FindStringSubmatch(code); m != nil && depth == 0 {
			file.functions = append(file.functions, pyFunction{name: m[1]})
			now, head, branch = &file.functions[len(file.functions)-1], true, -1
			code = code[len(m[0])-1:]
		} else if depth == 0 && indent == 0 {
			now = nil
		}
		if depth == 0 && indent <= branch {
			branch = -1
		}
		if word, _, _ := strings.Cut(strings.TrimLeft(code, " \t"), " "); depth == 0 && branch < 0 &&
			slices.Contains([]string{"if", "elif", "else:", "for", "while"}, word) {
			branch = indent
		}
		file.line(now, code, i+1, depth == 0, head, branch >= 0)
		depth = max(0, depth+strings.Count(code, "(")+strings.Count(code, "[")+strings.Count(code, "{")-
			strings.Count(code, ")")-strings.Count(code, "]")-strings.Count(code, "}"))
		head = head && depth > 0
	}
	return file
}

// line reads one line of a function, or of none.
func (f *pyFile) line(now *pyFunction, code string, number int, starts, head, maybe bool) {
	if m := pyAssign.FindStringSubmatch(code); m != nil && starts && !head {
		if now == nil {
			f.constants[m[2]] = m[4]
			return
		}
		now.body = append(now.body, pyPair{m[2], m[4], number, maybe || m[3] != ""})
		code = m[4]
	}
	if now == nil {
		return
	}
	for _, m := range pyKeyword.FindAllStringSubmatch(code, -1) {
		p := pyPair{m[1], strings.TrimSpace(m[2]), number, maybe}
		if head {
			now.params = append(now.params, p)
		} else {
			now.body = append(now.body, p)
		}
	}
	for _, m := range pyMember.FindAllStringSubmatch(code, -1) {
		now.words = append(now.words, pyPair{m[1], m[2], number, maybe})
	}
	if !head {
		for _, m := range pyCall.FindAllStringSubmatch(code, -1) {
			now.calls = append(now.calls, m[1])
		}
	}
}

// function returns a function by its name; nil: there is none.
func (f *pyFile) function(name string) *pyFunction {
	for i := range f.functions {
		if f.functions[i].name == name {
			return &f.functions[i]
		}
	}
	return nil
}

// known returns the value of a text: a literal, a product, the end of a name with dots or of a call, or
// what a constant has. What is not known is said.
func (f *pyFile) known(text string, names map[string]string) any {
	for range 8 {
		if _, otherwise, ok := strings.Cut(text, " or "); ok { // opts.x or DEFAULT
			text = otherwise
		}
		text = strings.TrimSpace(text)
		if text == "" {
			break
		}
		factors := strings.Split(text, "*")
		for i := range factors {
			factors[i] = strings.TrimSpace(factors[i])
			if to := firstOf(names[factors[i]], f.constants[factors[i]]); to != "" && to != factors[i] {
				factors[i] = to
			}
		}
		if v, err := pythonValue(strings.Join(factors, "*")); err == nil {
			return v
		}
		if len(factors) > 1 || factors[0] == text {
			break
		}
		text = factors[0]
	}
	if name, _, _ := strings.Cut(text, "("); nameValue.MatchString(name) && strings.ContainsAny(text, ".(") {
		return name
	}
	return unresolved(text)
}

// entries returns pairs as entries, by the keys that some of them have elsewhere.
func (f *pyFile) entries(pairs []pyPair, names map[string]string, keys map[string]string) (out []Entry) {
	for _, p := range pairs {
		to := keys[p.key]
		if to == "" {
			to = keys[lastPart(strings.ReplaceAll(p.key, ".", "/"))]
		}
		if to == "" || p.value == lastPart(strings.ReplaceAll(p.key, ".", "/")) { // passed on
			continue
		}
		e := Entry{Key: to, Value: f.known(p.value, names), Line: p.line}
		if p.maybe {
			e.Value = unresolved("what the program finds while it runs")
		}
		out = append(out, e)
	}
	return out
}
