package launch

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A shell script is followed as far as its words are known: assignments, arrays and calls in their
// order. Nothing is run. What depends on a command, an argument or a branch stays unresolved.

// shellField is a word after expansion.
type shellField struct {
	text    string
	unknown string // what it depends on that the file does not give, such as $TP; empty: nothing
	bare    bool   // nothing but that: the word may be any number of words
	line    int
	breaks  []lineBreak // where the text goes on on another line than before
}

// lineBreak is a place in a text from which on it is of a line.
type lineBreak struct{ at, line int }

// from notes that what is added next is of a line.
func (f *shellField) from(line int) { f.breaks = append(f.breaks, lineBreak{len(f.text), line}) }

// take notes the lines of a field whose text is added next.
func (f *shellField) take(of *shellField) {
	if of.line != 0 {
		f.from(of.line)
	}
	for _, b := range of.breaks {
		f.breaks = append(f.breaks, lineBreak{len(f.text) + b.at, b.line})
	}
}

// words cuts a text at blanks, each word with its own line.
func (f *shellField) words() []shellField {
	var out []shellField
	at, line, breaks := 0, f.line, f.breaks
	for word := range strings.FieldsSeq(f.text) {
		at += strings.Index(f.text[at:], word)
		for len(breaks) > 0 && breaks[0].at <= at {
			line, breaks = breaks[0].line, breaks[1:]
		}
		out = append(out, shellField{text: word, line: line})
		at += len(word)
	}
	return out
}

// shellCall is a command with its words.
type shellCall struct {
	fields []shellField
	way    string       // what decides whether it runs; empty: it does
	outer  []shellField // the words before the script that it is part of, such as srun with its options
	env    []shellField // NAME=value before it
}

// script is what is known of a shell script.
type script struct {
	shellState
	order    []string // names in the order of their assignment
	calls    []shellCall
	holes    []string
	anyFlags string            // a word that may be any flags
	sbatch   map[string]string // options of #SBATCH lines
	lines    map[string]int    // where they are
	files    []hereFile        // in the order in which they are written
	skipped  []shellField      // words of parts that are not followed, with what each part is
	asides   []aside

	called map[string]bool
	owned  map[string]bool // variables that the script gives a value to, and not from themselves

	ignored  []Ignored
	problems []Problem
	written  int // signs of all expansions, to bound them: what comes after too many is not followed

	given Given
}

// Given is what stands around a script: its arguments, variables of its environment, and the files that it
// sources. Nothing of it is run.
type Given struct {
	As   string // the type that a config.json is read as; empty: its own
	Args []string
	Env  map[string]string
	Over map[string]string // keys of the setup that are given in place of the file's
	// Source returns a file by the name that a script has for it, of which only the end may be known.
	Source func(name string) ([]byte, bool)
}

// Bounds of what is followed.
const (
	maxExpansion  = 1 << 21 // signs of all words
	perStatement  = 64      // signs that following a statement once counts as, so that loops in loops end
	maxShellDepth = 4       // scripts in words of scripts, such as bash -c
	maxScript     = 1 << 18 // bytes; a parser follows some nesting by recursion
)

// maxNesting bounds brackets and quotes inside each other, which a parser follows by recursion.
const maxNesting = 100

// tooLong reports whether the words of a script have grown without end.
func (s *script) tooLong() bool { return s.written > maxExpansion }

// parseScript follows a script; what cannot be parsed is a problem with its position.
func parseScript(name string, data []byte, given Given) *script {
	s := &script{
		shellState: newShellState(), sbatch: map[string]string{}, lines: map[string]int{},
		called: map[string]bool{}, given: given,
	}
	s.errexit = regexp.MustCompile(`^#!\S*sh\s+-[a-z]*e`).Match(data)
	s.posix = regexp.MustCompile(`^#!\S*/sh\b`).Match(data)
	for name, value := range given.Env {
		s.vars[name], s.exported[name] = []shellField{{text: withoutHoles(value)}}, true
	}
	if given.Args != nil {
		s.vars[arguments] = []shellField{}
		for _, arg := range given.Args {
			s.vars[arguments] = append(s.vars[arguments], shellField{text: withoutHoles(arg)})
		}
	}
	s.directives(data[:min(len(data), maxScript)])
	s.parse(name, data, 0)
	return s
}

// parse follows a text as a script.
func (s *script) parse(name string, data []byte, line int) {
	if len(data) > maxScript {
		s.problems = append(s.problems,
			Problem{Line: 1, Message: fmt.Sprintf("a script of %d KiB; at most %d KiB are read",
				len(data)>>10, maxScript>>10)})
		return
	}
	if depth := nesting(data); depth > maxNesting {
		s.problems = append(s.problems,
			Problem{Line: 1, Message: fmt.Sprintf("brackets are nested %d deep; at most %d are read", depth,
				maxNesting)})
		return
	}
	var known []*syntax.Stmt // before a mistake
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(
		strings.NewReader(quotedLists(withoutHoles(string(data)))), name,
	)
	if err != nil { // <path> and its kin, to be filled in
		if again := placeholder.ReplaceAllString(string(data), `${1}$${PLACEHOLDER}`); again != string(data) {
			if f, e := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(
				strings.NewReader(quotedLists(withoutHoles(again))), name,
			); e == nil {
				file, err = f, nil
			}
		}
	}
	if file != nil {
		known = file.Stmts
	}
	if wrong := (syntax.ParseError{}); errors.As(err, &wrong) {
		s.problems = append(s.problems,
			Problem{
				Line: line + int(wrong.Pos.Line()), Column: int(wrong.Pos.Col()),
				Message: "not a shell script: " + wrong.Text,
			})
	} else if err != nil {
		s.problems = append(s.problems,
			Problem{Line: max(line, 1), Message: "not a shell script: " + err.Error()})
	}
	s.own(known)
	w := walker{script: s, line: line}
	w.statements(known)
	w.uncalled()
	if s.tooLong() {
		s.problems = append(s.problems,
			Problem{Line: line + w.at, Message: "its words expand to more than 2,097,152 signs"})
	}
}

// own collects the variables that the script gives values to itself: where it has not yet, they are empty as
// long as the environment does not give them.
func (s *script) own(list []*syntax.Stmt) {
	s.owned = map[string]bool{}
	for _, st := range list {
		syntax.Walk(st, func(n syntax.Node) bool {
			// TP=8 command: of that command alone
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				return false
			}
			a, ok := n.(*syntax.Assign)
			if !ok || a.Name == nil || a.Naked {
				return true
			}
			name := a.Name.Value
			if _, known := s.owned[name]; known {
				return true
			}
			itself := false
			syntax.Walk(a, func(n syntax.Node) bool {
				p, ok := n.(*syntax.ParamExp)
				itself = itself || ok && p.Param != nil && p.Param.Value == name
				return true
			})
			s.owned[name] = !itself
			return true
		})
	}
}

// placeholder finds what a reader of a script is to fill in.
var placeholder = regexp.MustCompile(`(?m)([\s="'])<[A-Za-z][A-Za-z0-9_ ./-]*[A-Za-z0-9_./-]>`)

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
				key = map[string]string{
					"N": "nodes", "n": "ntasks", "c": "cpus-per-task",
					"G": "gpus",
				}[string(m[2])]
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
		"SLURM_NNODES": "nodes", "SLURM_JOB_NUM_NODES": "nodes", "SLURM_NTASKS": "ntasks",
		"SLURM_NTASKS_PER_NODE": "ntasks-per-node",
		"SLURM_GPUS_PER_NODE":   "gpus-per-node", "SLURM_GPUS_ON_NODE": "gpus-per-node",
	} {
		if v := s.sbatch[key]; v != "" {
			s.vars[name], s.exported[name] = []shellField{{text: v}}, true
		}
	}
}

// quotedLists quotes the lists of a flag that stand in an array without quotes, which bash takes for a
// pattern and the parser for an element: A=(--moe-layer-freq [0]*3+[1]*58).
func quotedLists(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	return listForm.ReplaceAllString(text, "$1$2'$3'")
}

var listForm = regexp.MustCompile(`(--[A-Za-z0-9_-]+)([ \t=]+)(\(?\[[0-9]+\][0-9*+()\[\],]*)`)

// walker follows the statements of a script.
type walker struct {
	*script
	line  int // added to the lines of a script in a word
	depth int // of scripts in words
	at    int // the line that is followed

	guards bool // what is tested may end the script
}

func (w *walker) lineOf(n syntax.Node) int { return w.line + int(n.Pos().Line()) }

// notFollowed says that a part of the script is not followed.
func (w *walker) notFollowed(n syntax.Node, what, why string) {
	w.ignored = append(w.ignored, Ignored{Key: what, Why: why, Line: w.lineOf(n)})
}

func (w *walker) statements(list []*syntax.Stmt) {
	for _, st := range list {
		if w.stopped() {
			return
		}
		w.statement(st)
	}
}

// statement follows one statement, with what it redirects.
func (w *walker) statement(st *syntax.Stmt) {
	w.at = int(st.Pos().Line())
	w.written += perStatement
	input := w.input
	w.input = w.redirected(st)
	if st.Background || st.Coprocess {
		w.scoped(func() { w.command(st.Cmd) })
	} else {
		w.command(st.Cmd)
	}
	w.input = input
	w.here(st)
	if call, ok := st.Cmd.(*syntax.CallExpr); ok && !st.Negated && !st.Background && len(call.Args) == 1 &&
		call.Args[0].Lit() == "false" {
		w.failed(w.lineOf(st))
	}
}

// redirected expands the words of redirections, and returns what the statement reads; nil: it is not known.
func (w *walker) redirected(st *syntax.Stmt) *shellField {
	var in *shellField
	for _, r := range st.Redirs {
		switch {
		case r.Hdoc != nil:
			in = new(w.hereText(r))
		case r.Word != nil:
			f := w.word(r.Word)
			if in = nil; r.Op == syntax.WordHdoc {
				f.text += "\n"
				in = &f
			}
		}
	}
	return in
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
		w.branch(c)
	case *syntax.WhileClause, *syntax.ForClause:
		w.loop(c)
	case *syntax.CaseClause:
		w.choose(c)
	case *syntax.FuncDecl:
		if c.Name == nil { // of a mistake, which has its problem
			return
		}
		w.functions[c.Name.Value] = []*syntax.FuncDecl{c}
	case *syntax.ArithmCmd:
		if n, ok := w.calculate(c, c.X); ok && n == 0 {
			w.failed(w.lineOf(c))
		}
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			w.let(c, x)
		}
	case *syntax.TestClause:
		w.succeeds(c, w.test(c.X))
	case *syntax.CoprocClause:
		w.scoped(func() { w.command(c.Stmt.Cmd) })
	}
}

// succeeds ends a script that ends at its first failure where a test fails, and says so where it may.
func (w *walker) succeeds(n syntax.Node, is truth) {
	switch {
	case is == no:
		w.failed(w.lineOf(n))
	case is == unsure && w.errexit:
		w.notFollowed(n, "set -e",
			"the script ends here where this test fails, which is not known: read as if it holds")
	}
}

// either follows a pipe, whose sides run in shells of their own, and what && or || joins.
func (w *walker) either(c *syntax.BinaryCmd) truth {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		w.scoped(func() { w.command(c.X.Cmd) })
		w.scoped(func() { w.statement(c.Y) })
		if w.lastpipe {
			w.suffer(w.effectsOf(c.Y), "pipe", w.lineOf(c))
		}
		return unsure
	}
	errexit := w.errexit
	w.errexit = false // what is not last may fail
	guards := w.guards
	w.guards = w.ends(c.Y)
	is := w.holds(c.X)
	w.errexit, w.guards = errexit, guards
	if w.stopped() {
		return unsure
	}
	if c.Op == syntax.OrStmt {
		is = is.not()
	}
	switch is {
	case yes:
		return w.holdsLast(c.Y)
	case no:
		return truthOf(c.Op == syntax.OrStmt)
	default:
		w.ways(c.Y, "branch of && or ||", func() { w.statement(c.Y) }, func() {})
		return unsure
	}
}

// holdsLast follows the last part of a list, whose failure may end the script.
func (w *walker) holdsLast(st *syntax.Stmt) truth {
	is := w.holds(st)
	if is == no {
		w.failed(w.lineOf(st))
	}
	return is
}
