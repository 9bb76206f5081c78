package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
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
	shellState
	order   []string // names in the order of their assignment
	calls   [][]shellField
	sbatch  map[string]string // options of #SBATCH lines
	lines   map[string]int    // where they are
	files   []hereFile        // in the order in which they are written
	skipped []shellField      // words of parts that are not followed, with what each part is
	asides  []aside

	called map[string]bool

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
	s := &script{shellState: newShellState(), sbatch: map[string]string{}, lines: map[string]int{}, called: map[string]bool{}}
	s.errexit = regexp.MustCompile(`^#!\S*sh\s+-[a-z]*e`).Match(data)
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
			s.vars[name], s.exported[name] = []shellField{{text: v}}, true
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
		if w.tooLong() || w.over > 0 {
			return
		}
		w.at = int(st.Pos().Line())
		if st.Background || st.Coprocess {
			w.scoped(func() { w.command(st.Cmd) })
		} else {
			w.command(st.Cmd)
		}
		w.here(st)
		if call, ok := st.Cmd.(*syntax.CallExpr); ok && !st.Negated && !st.Background && len(call.Args) == 1 && call.Args[0].Lit() == "false" {
			w.failed(w.lineOf(st))
		}
	}
}

// command follows one command.
func (w *walker) command(c syntax.Command) {
	switch c := c.(type) {
	case nil:
	case *syntax.CallExpr:
		w.call(c)
	case *syntax.DeclClause:
		w.declare(c)
	case *syntax.Block:
		w.statements(c.Stmts)
	case *syntax.Subshell:
		w.scoped(func() { w.statements(c.Stmts) })
	case *syntax.TimeClause:
		if c.Stmt != nil {
			w.command(c.Stmt.Cmd)
		}
	case *syntax.BinaryCmd:
		w.either(c)
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
		w.functions[c.Name.Value] = []*syntax.FuncDecl{c}
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CoprocClause, *syntax.TestClause:
		if e := w.effectsOf(c); len(e.names) > 0 || e.all != "" {
			w.forget(c, "arithmetic command")
		}
	}
}

// either follows a pipe, whose sides run in shells of their own, and what && or || joins, of which the
// second may run or not: it may start training, and change nothing.
func (w *walker) either(c *syntax.BinaryCmd) {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		w.scoped(func() { w.command(c.X.Cmd) })
		w.scoped(func() { w.command(c.Y.Cmd) })
		if w.lastpipe {
			w.suffer(w.effectsOf(c.Y), "pipe", w.lineOf(c))
		}
		return
	}
	w.command(c.X.Cmd)
	if w.over > 0 {
		return
	}
	call, ok := c.Y.Cmd.(*syntax.CallExpr)
	e := w.effectsOf(c.Y)
	if ok && len(call.Args) > 0 && len(e.names)+len(e.grown) == 0 && e.all == "" && !e.exits {
		w.command(c.Y.Cmd)
		return
	}
	if ok && len(e.names)+len(e.grown) == 0 && e.all == "" && e.exits { // || exit 1
		return
	}
	w.forget(c.Y, "branch of && or ||")
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
	name := fields[0].text
	if bodies, ok := w.functions[name]; ok {
		w.called[name] = true
		w.calls = append(w.calls, inDoubt(fields, fmt.Sprintf("%sfunction %s runs it as it is", whether, name)))
		for _, f := range bodies {
			w.forget(f.Body, "function")
		}
		return
	}
	w.calls = append(w.calls, fields)
	for len(fields) > 1 && (fields[0].text == "command" || fields[0].text == "builtin") {
		fields = fields[1:]
	}
	if !w.builtin(c, fields) {
		w.inner(c, fields)
	}
}

// inDoubt returns words that another program than the first of them may get.
func inDoubt(fields []shellField, why string) []shellField {
	out := slices.Clone(fields)
	for i := range out {
		out[i].unknown = cmp.Or(out[i].unknown, why)
	}
	return out
}

// inner follows scripts in words: those of eval in this shell, those of bash -c in one of its own,
// which has the exported variables.
func (w *walker) inner(c *syntax.CallExpr, fields []shellField) {
	if fields[0].text == "eval" {
		for _, a := range c.Assigns {
			w.doubt(a.Name.Value, "eval", w.lineOf(c))
		}
		w.follow(c, joined(fields[1:]), func(list []*syntax.Stmt, deeper *walker) { deeper.statements(list) })
		return
	}
	for i, f := range fields {
		if f.text != "-c" || i == 0 || i+1 == len(fields) || !strings.HasSuffix(fields[i-1].text, "sh") {
			continue
		}
		w.follow(c, fields[i+1].text, func(list []*syntax.Stmt, deeper *walker) {
			w.scoped(func() {
				maps.DeleteFunc(w.vars, func(name string, _ []shellField) bool { return !w.exported[name] })
				for _, of := range []map[string]bool{w.readonly, w.integer, w.mangled, w.always} {
					clear(of)
				}
				clear(w.functions)
				clear(w.refs)
				w.anything, w.errexit = "", false
				w.assign(c.Assigns)
				for _, f := range fields[:i] { // env TP=8 bash -c, srun --export=ALL,TP=8 bash -c
					for _, m := range environmentForm.FindAllStringSubmatch(f.text, -1) {
						w.doubt(m[1], "environment", w.lineOf(c))
					}
				}
				deeper.statements(list)
			})
		})
		return
	}
}

// environmentForm finds what a command puts into the environment of another.
var environmentForm = regexp.MustCompile(`(?:^|[,=])([A-Za-z_][A-Za-z0-9_]*)=`)

// follow follows a text as a script; one that is not understood can change any variable of this shell.
func (w *walker) follow(c *syntax.CallExpr, text string, run func([]*syntax.Stmt, *walker)) {
	file := parsed(text)
	if w.depth >= maxShellDepth || file == nil {
		w.leave(c, "words that are a script", "not understood")
		w.doubtAll("script in words", w.lineOf(c))
		return
	}
	run(file.Stmts, &walker{script: w.script, line: w.lineOf(c) - 1, depth: w.depth + 1})
}

func joined(fields []shellField) string {
	words := make([]string, len(fields))
	for i, f := range fields {
		words[i] = f.text
	}
	return strings.Join(words, " ")
}
