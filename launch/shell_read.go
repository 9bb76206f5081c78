package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A shell script is followed as far as its words are known: assignments, arrays and calls in their
// order. Nothing is run. What depends on a command, an argument or a branch stays unresolved.

// shellField is a word after expansion.
type shellField struct {
	text    string
	unknown string // what it depends on that the file does not give, such as $TP; empty: nothing
	line    int
}

// script is what is known of a shell script.
type script struct {
	vars    map[string][]shellField // arrays; a scalar has one field
	arrays  map[string]bool
	order   []string // names in the order of their assignment
	calls   [][]shellField
	sbatch  map[string]string // options of #SBATCH lines
	lines   map[string]int    // where they are
	files   []hereFile        // in the order in which they are written
	skipped []shellField      // words of parts that are not followed, with what each part is
	asides  []aside

	functions map[string]*syntax.FuncDecl
	called    map[string]bool

	ignored  []Ignored
	problems []Problem
	written  int // signs of all expansions, to bound them: what comes after too many is not followed
}

// Bounds of what is followed.
const (
	maxExpansion  = 1 << 21 // signs of all words
	maxShellDepth = 4       // scripts in words of scripts, such as bash -c
	maxScript     = 1 << 18 // bytes; a parser follows some nesting by recursion
)

// maxNesting bounds brackets and quotes inside each other, which a parser follows by recursion.
const maxNesting = 100

// tooLong reports whether the words of a script have grown without end.
func (s *script) tooLong() bool { return s.written > maxExpansion }

// parseScript follows a script; what cannot be parsed is a problem with its position.
func parseScript(name string, data []byte) *script {
	s := &script{vars: map[string][]shellField{}, arrays: map[string]bool{}, sbatch: map[string]string{}, lines: map[string]int{}, functions: map[string]*syntax.FuncDecl{}, called: map[string]bool{}}
	s.directives(data[:min(len(data), maxScript)])
	s.parse(name, data, 0)
	return s
}

// parse follows a text as a script.
func (s *script) parse(name string, data []byte, line int) {
	if len(data) > maxScript {
		s.problems = append(s.problems, Problem{Line: 1, Message: fmt.Sprintf("a script of %d KiB; at most %d KiB are read", len(data)>>10, maxScript>>10)})
		return
	}
	if depth := nesting(data); depth > maxNesting {
		s.problems = append(s.problems, Problem{Line: 1, Message: fmt.Sprintf("brackets are nested %d deep; at most %d are read", depth, maxNesting)})
		return
	}
	var known []*syntax.Stmt // before a mistake
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(data), name)
	if file != nil {
		known = file.Stmts
	}
	if wrong := (syntax.ParseError{}); errors.As(err, &wrong) {
		s.problems = append(s.problems, Problem{Line: line + int(wrong.Pos.Line()), Column: int(wrong.Pos.Col()), Message: "not a shell script: " + wrong.Text})
	} else if err != nil {
		s.problems = append(s.problems, Problem{Line: max(line, 1), Message: "not a shell script: " + err.Error()})
	}
	w := walker{script: s, line: line}
	w.statements(known)
	w.uncalled()
	if s.tooLong() {
		s.problems = append(s.problems, Problem{Line: line + w.at, Message: "its words expand to more than 2,097,152 signs"})
	}
}

// nesting returns how deep brackets stand in each other at most, quotes not counted.
func nesting(data []byte) int {
	depth, most := 0, 0
	for _, c := range data {
		switch c {
		case '(', '{', '[', '`':
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
		most = max(most, depth)
	}
	return most
}

// directives reads the options of #SBATCH lines, and what Slurm sets by them.
func (s *script) directives(data []byte) {
	option := regexp.MustCompile(`\s(?:--([a-z-]+)[=\s]\s*|-([A-Za-z])[=\s]?\s*)([^\s#=-][^\s#]*)`)
	line := 0
	for text := range bytes.Lines(data) {
		line++
		rest, ok := bytes.CutPrefix(text, []byte("#SBATCH"))
		if !ok {
			continue
		}
		for _, m := range option.FindAllSubmatch(rest, -1) {
			key := string(m[1])
			if key == "" {
				key = map[string]string{"N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus"}[string(m[2])]
			}
			s.sbatch[key], s.lines[key] = string(m[3]), line
		}
	}
	if gres := s.sbatch["gres"]; s.sbatch["gpus-per-node"] == "" && strings.HasPrefix(gres, "gpu") {
		s.sbatch["gpus-per-node"] = gres[strings.LastIndexByte(gres, ':')+1:]
	}
	gpus := s.sbatch["gpus-per-node"]
	gpus = gpus[strings.LastIndexByte(gpus, ':')+1:] // h100:8
	s.sbatch["gpus-per-node"] = gpus
	for name, key := range map[string]string{
		"SLURM_NNODES": "nodes", "SLURM_JOB_NUM_NODES": "nodes", "SLURM_NTASKS": "ntasks", "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
		"SLURM_GPUS_PER_NODE": "gpus-per-node", "SLURM_GPUS_ON_NODE": "gpus-per-node",
	} {
		if v := s.sbatch[key]; v != "" {
			s.vars[name] = []shellField{{text: v}}
		}
	}
}

// walker follows the statements of a script.
type walker struct {
	*script
	line  int // added to the lines of a script in a word
	depth int // of scripts in words
	at    int // the line that is followed
}

func (w *walker) lineOf(n syntax.Node) int { return w.line + int(n.Pos().Line()) }

// leave says that a part of the script is not followed.
func (w *walker) leave(n syntax.Node, what, why string) {
	w.ignored = append(w.ignored, Ignored{Key: what, Why: why, Line: w.lineOf(n)})
}

func (w *walker) statements(list []*syntax.Stmt) {
	for _, st := range list {
		if w.tooLong() {
			return
		}
		w.at = int(st.Pos().Line())
		w.command(st.Cmd)
		w.here(st)
	}
}

// command follows one command.
func (w *walker) command(c syntax.Command) {
	switch c := c.(type) {
	case nil:
	case *syntax.CallExpr:
		w.call(c)
	case *syntax.DeclClause:
		w.assign(c.Args)
	case *syntax.Block:
		w.statements(c.Stmts)
	case *syntax.Subshell:
		w.statements(c.Stmts)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			w.command(c.Stmt.Cmd)
		}
	case *syntax.BinaryCmd:
		w.command(c.X.Cmd)
		if call, ok := c.Y.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 || c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			w.command(c.Y.Cmd)
		} else {
			w.forget(c.Y, "branch of && or ||")
		}
	case *syntax.IfClause:
		w.forget(c, "if")
	case *syntax.WhileClause, *syntax.ForClause:
		w.forget(c, "loop")
	case *syntax.CaseClause:
		w.forget(c, "case")
	case *syntax.FuncDecl:
		if c.Name == nil { // of a mistake, which has its problem
			return
		}
		w.skip(c, "function")
		w.leave(c, "function "+c.Name.Value, "its body is not followed")
		w.functions[c.Name.Value] = c
	case *syntax.ArithmCmd, *syntax.LetClause:
		w.forget(c, "arithmetic command")
	}
}

// call follows assignments and the words of a call; scripts in words too.
func (w *walker) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		w.assign(c.Assigns)
		return
	}
	fields := w.fields(c.Args...)
	if len(fields) == 0 || w.tooLong() {
		return
	}
	w.calls = append(w.calls, fields)
	if f, ok := w.functions[fields[0].text]; ok {
		w.called[fields[0].text] = true
		w.forget(f, "function")
		return
	}
	inner := ""
	for i, f := range fields {
		switch {
		case i == 0 && f.text == "eval":
			inner = joined(fields[1:])
		case f.text == "-c" && i > 0 && i+1 < len(fields) && strings.HasSuffix(fields[i-1].text, "sh"):
			inner = fields[i+1].text
		case i == 0 && (f.text == "source" || f.text == ".") && len(fields) > 1:
			w.leave(c, "source "+fields[1].text, "another file, which is not read")
		}
	}
	if inner != "" && w.depth < maxShellDepth && nesting([]byte(inner)) <= maxNesting {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(inner), "")
		if err != nil || file == nil {
			w.leave(c, "words that are a script", "not understood")
			return
		}
		deeper := walker{script: w.script, line: w.lineOf(c) - 1, depth: w.depth + 1}
		deeper.statements(file.Stmts)
	}
}

func joined(fields []shellField) string {
	words := make([]string, len(fields))
	for i, f := range fields {
		words[i] = f.text
	}
	return strings.Join(words, " ")
}

// assign follows assignments.
func (w *walker) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		name := a.Name.Value
		var fields []shellField
		switch {
		case a.Array != nil:
			for _, e := range a.Array.Elems {
				if e.Value == nil || e.Index != nil {
					w.leave(a, name, "an array with keys")
					continue
				}
				fields = append(fields, w.fields(e.Value)...)
			}
		case a.Index != nil:
			w.leave(a, name, "an element of an array")
			continue
		default:
			one := w.word(a.Value)
			if old := w.vars[name]; a.Append && len(old) == 1 && !w.arrays[name] {
				one.text, one.unknown = old[0].text+one.text, cmp.Or(old[0].unknown, one.unknown)
				a = &syntax.Assign{Name: a.Name} // whole, not added
			}
			fields = []shellField{one}
		}
		if a.Append {
			fields = append(append([]shellField{}, w.vars[name]...), fields...)
			for _, f := range fields {
				w.written += len(f.text)
			}
		}
		if w.tooLong() {
			return
		}
		w.arrays[name] = a.Array != nil || a.Append && w.arrays[name]
		w.vars[name] = fields
		w.order = append(w.order, name)
	}
}

// arithmetic returns the value of an expression of whole numbers; false where a part is not known.
func (w *walker) arithmetic(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.ParenArithm:
		return w.arithmetic(x.X)
	case *syntax.Word:
		f := w.word(x)
		if n, wrong := strconv.Atoi(f.text); wrong == nil && f.unknown == "" {
			return n, true
		}
		if v := w.vars[f.text]; len(v) == 1 && v[0].unknown == "" {
			n, wrong := strconv.Atoi(v[0].text)
			return n, wrong == nil
		}
	case *syntax.BinaryArithm:
		a, known := w.arithmetic(x.X)
		b, also := w.arithmetic(x.Y)
		const most = 1 << 30
		if !known || !also || max(a, -a) > most || max(b, -b) > most {
			return 0, false
		}
		switch x.Op {
		case syntax.Add:
			return a + b, true
		case syntax.Sub:
			return a - b, true
		case syntax.Mul:
			return a * b, true
		case syntax.Quo:
			if b != 0 {
				return a / b, true
			}
		case syntax.Rem:
			if b != 0 {
				return a % b, true
			}
		default:
		}
	}
	return 0, false
}
