package launch

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// effects are what a part of a script that is not followed can change.
type effects struct {
	names map[string]bool
	grown []*syntax.Assign // words that may be added
	all   string           // what can change any variable; empty: nothing does
	exits bool             // it can end the script

	seen map[*syntax.FuncDecl]bool
}

// effectsOf collects what a part can change, the functions that it calls included. What runs in a
// shell of its own changes nothing.
func (w *walker) effectsOf(n syntax.Node) *effects {
	e := &effects{names: map[string]bool{}, seen: map[*syntax.FuncDecl]bool{}}
	w.collect(n, e)
	for name := range maps.Clone(e.names) {
		if target, ok := w.refs[name]; ok {
			e.change(target, "declare -n")
		}
	}
	return e
}

// change notes that a variable may be changed; one without a known name can be any.
func (e *effects) change(name, what string) {
	if name, _, _ = strings.Cut(name, "["); IsName(name) {
		e.names[name] = true
		return
	}
	e.all = what
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsName reports whether a text can be the name of a variable of a shell.
func IsName(text string) bool { return nameForm.MatchString(text) }

func (w *walker) collect(n syntax.Node, e *effects) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w.written++; w.tooLong() {
			return false
		}
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Stmt:
			return n == nil || !n.Background && !n.Coprocess
		case *syntax.BinaryCmd:
			return n.Op != syntax.Pipe && n.Op != syntax.PipeAll || w.lastpipe
		case *syntax.FuncDecl:
			if n.Name != nil && !slices.Contains(w.functions[n.Name.Value], n) {
				w.functions[n.Name.Value] = append(w.functions[n.Name.Value], n)
			}
			return false
		case *syntax.DeclClause:
			if n.Variant.Value == "local" && !options(n)['n'] {
				return false
			}
			if options(n)['n'] {
				e.all = "declare -n"
			}
		case *syntax.Assign:
			switch {
			case n.Name == nil || n.Naked:
			case n.Append && n.Index == nil:
				e.grown = append(e.grown, n)
			default:
				e.change(n.Name.Value, "")
			}
		case *syntax.WordIter:
			e.change(n.Name.Value, "")
		case *syntax.ParamExp:
			if n.Exp != nil && n.Param != nil &&
				(n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				e.change(n.Param.Value, "")
			}
		case *syntax.BinaryArithm:
			if strings.HasSuffix(n.Op.String(), "=") && !slices.Contains([]string{"==", "!=", "<=", ">="},
				n.Op.String()) {
				e.change(arithmName(n.X), "an assignment")
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				e.change(arithmName(n.X), "an assignment")
			}
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				if word, ok := x.(*syntax.Word); ok && word.Lit() == "" {
					e.all = "let"
				}
			}
		case *syntax.CallExpr:
			w.callEffects(n, e)
		}
		return true
	})
}

// arithmName returns the variable that an arithmetic expression assigns to; empty where it is none.
func arithmName(x syntax.ArithmExpr) string {
	word, ok := x.(*syntax.Word)
	if !ok || len(word.Parts) != 1 {
		return ""
	}
	switch p := word.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.ParamExp:
		if p.Short && p.Index != nil && p.Param != nil {
			return p.Param.Value
		}
	}
	return ""
}

// options returns the letters of the options of a declaration.
func options(d *syntax.DeclClause) map[byte]bool {
	out := map[byte]bool{}
	for _, a := range d.Args {
		if a.Naked && a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") {
			for _, letter := range []byte(a.Value.Lit()[1:]) {
				out[letter] = true
			}
		}
	}
	return out
}

// static returns the text of a word that depends on nothing.
func static(word *syntax.Word) (string, bool) {
	text := ""
	for _, p := range word.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text += unescaped(p.Value, false)
		case *syntax.SglQuoted:
			if text += p.Value; p.Dollar {
				return "", false
			}
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				text += unescaped(lit.Value, true)
			}
		default:
			return "", false
		}
	}
	return text, true
}

// callEffects collects what a call can change: builtins that write variables, files that are sourced,
// functions.
func (w *walker) callEffects(c *syntax.CallExpr, e *effects) {
	var words []string
	for _, arg := range c.Args {
		text, _ := static(arg) // empty: unknown
		words = append(words, text)
	}
	for len(words) > 1 && (words[0] == "command" || words[0] == "builtin") {
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "" {
		return
	}
	for _, f := range w.functions[words[0]] {
		if !e.seen[f] {
			e.seen[f] = true
			w.collect(f.Body, e)
		}
	}
	if len(w.functions[words[0]]) > 0 {
		return
	}
	switch name, args := words[0], words[1:]; name {
	case "exit", "exec":
		e.exits = e.exits || name == "exit" || len(args) > 0
	case "read", "mapfile", "readarray", "getopts", "unset":
		for i, arg := range args {
			option := i > 0 && len(args[i-1]) > 1 && args[i-1][0] == '-' &&
				strings.Contains("dinNptu", args[i-1][len(args[i-1])-1:])
			if before, _, _ := strings.Cut(arg, "["); arg == "" && !option || IsName(before) {
				e.change(arg, name)
			}
		}
		if name == "read" {
			e.change("REPLY", "")
		}
	case "wait":
		if at := slices.Index(args, "-p"); at >= 0 && at+1 < len(args) {
			e.change(args[at+1], name)
		}
	case "printf":
		if len(args) > 1 && strings.HasPrefix(args[0], "-v") {
			e.change(args[1], name)
		}
	case "source", ".":
		if len(args) > 0 && !sourcesNothing(args[0]) {
			e.all = name + " " + args[0]
		}
	case "eval", "trap":
		text := strings.Join(args[:min(len(args), 1)], "")
		if name == "eval" {
			text = strings.Join(args, " ")
		}
		file := parsed(text)
		if slices.Contains(args, "") || file == nil {
			e.all = name
			return
		}
		w.collect(file, e)
	}
}

// parsed returns a text as a script; nil for what is none, or nests without end.
func parsed(text string) *syntax.File {
	if nesting([]byte(text)) > maxNesting {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// sourcesNothing reports whether a file is one that sets up a Python environment: its variables are known
// and no setup depends on them.
func sourcesNothing(name string) bool {
	return slices.Contains([]string{"activate", "conda.sh", "mamba.sh"}, path.Base(name))
}

// doubt makes a variable unknown: a part of the script may have changed it. Words with flags stay, so that
// each flag is known to be in doubt.
func (w *walker) doubt(name, what string, line int) {
	w.written++
	old := w.vars[name]
	if !w.arrays[name] &&
		!slices.ContainsFunc(old, func(f shellField) bool { return strings.Contains(f.text, "--") }) {
		w.vars[name] = []shellField{{text: w.hole("$" + name), line: line}}
		return
	}
	all := slices.Clone(old)
	for i := range all {
		if w.written += len(all[i].text) + 1; w.tooLong() {
			return
		}
		all[i].text = w.maybe(all[i].text, fmt.Sprintf("%s%s of line %d changes $%s", whether, what, line,
			name))
	}
	w.vars[name] = all
}

// doubtAll makes every variable unknown, those too that are not set yet. What Slurm sets stays.
func (w *walker) doubtAll(what string, line int) {
	for name := range w.vars {
		if !strings.HasPrefix(name, "SLURM_") && name != arguments {
			w.doubt(name, what, line)
		}
	}
	w.anything = fmt.Sprintf("%s%s of line %d sets it", whether, what, line)
}

// suffer makes unknown what a part may have changed.
func (w *walker) suffer(e *effects, what string, line int) {
	for _, name := range slices.Sorted(maps.Keys(e.names)) {
		w.doubt(name, what, line)
	}
	for _, a := range e.grown {
		w.doubt(a.Name.Value, what, line)
	}
	if e.all != "" {
		w.doubtAll(e.all, line)
	}
}

// shellState is what a shell knows, which a shell inside it has a copy of.
type shellState struct {
	vars                        map[string][]shellField // arrays; a scalar has one field
	arrays                      map[string]bool
	readonly, integer, exported map[string]bool
	mangled                     map[string]bool // in upper or lower case, or with keys
	refs                        map[string]string
	functions                   map[string][]*syntax.FuncDecl
	always                      map[string]bool // what a trap may change before each command
	// what may have set a variable without a value; empty: nothing
	anything                  string
	over                      int // the line that ends the script
	errexit, allexport, posix bool
	lastpipe, aliases         bool

	alias  map[string]string
	local  map[string]bool // variables of the function that is followed
	nested int             // functions inside each other
	leave  string          // return, break or continue
	fuzzy  bool            // one of these may happen or not
	way    string          // what decides whether this part runs; empty: it does
	outer  []shellField    // the words before the script that is followed
	input  *shellField     // what the statement reads; nil: it is not known
}

func newShellState() shellState {
	return shellState{
		vars: map[string][]shellField{}, arrays: map[string]bool{}, readonly: map[string]bool{},
		integer: map[string]bool{}, exported: map[string]bool{},
		mangled: map[string]bool{}, refs: map[string]string{}, functions: map[string][]*syntax.FuncDecl{},
		always: map[string]bool{}, alias: map[string]string{}, local: map[string]bool{},
	}
}

// scoped follows a part that runs in a shell of its own.
func (w *walker) scoped(run func()) {
	before := w.shellState
	w.shellState = w.copyOf(&before)
	run()
	w.shellState = before
}
