package launch

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// expansion collects the fields of a word.
type expansion struct {
	*walker
	fields []shellField
	now    shellField
	open   bool // a field is begun
	split  bool // words of unquoted values are fields of their own
	// nothing: a part gave no word at all, so that the word may be none.
	nothing bool
}

// fields expands words as arguments.
func (w *walker) fields(words ...*syntax.Word) (out []shellField) {
	for word := range w.braced(words) {
		e := expansion{walker: w, split: true}
		e.parts(word.Parts, false)
		e.end()
		for _, f := range e.fields {
			if f.line == 0 { // else where the variable has it from
				f.line = w.lineOf(word)
			}
			out = append(out, f)
		}
	}
	return out
}

// braced returns words with their {a,b} and {1..4} written out.
func (w *walker) braced(words []*syntax.Word) iter.Seq[*syntax.Word] {
	return func(yield func(*syntax.Word) bool) {
		for _, word := range words {
			if !strings.Contains(word.Lit(), "{") || !strings.Contains(word.Lit(), "}") {
				if !yield(word) {
					return
				}
				continue
			}
			made := 0
			for one, err := range expand.BracesSeq(nil, word) {
				if made++; err != nil || made > maxRounds || !yield(one) {
					return
				}
			}
		}
	}
}

// word expands a word as a value: one field.
func (w *walker) word(word *syntax.Word) shellField {
	if word == nil {
		return shellField{}
	}
	e := expansion{walker: w}
	e.parts(word.Parts, false)
	e.now.line = w.lineOf(word)
	return e.now
}

func (e *expansion) end() {
	if e.open && (!e.nothing || e.now.text != "") {
		e.fields = append(e.fields, e.now)
	}
	e.now, e.open, e.nothing = shellField{}, false, false
}

// add adds text to the field, unless the words are too long already.
func (e *expansion) add(text string) {
	if e.tooLong() {
		return
	}
	e.now.text += text
	e.open = true
	e.written += len(text)
}

// unresolved adds a part whose value the file does not give.
func (e *expansion) unresolved(name string) { e.add(e.hole(name)) }

func (e *expansion) parts(list []syntax.WordPart, quoted bool) {
	for _, p := range list {
		if e.tooLong() {
			return
		}
		e.part(p, quoted)
	}
}

func (e *expansion) part(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		e.add(unescaped(p.Value, quoted))
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			if text, err := expand.Literal(&expand.Config{}, &syntax.Word{Parts: []syntax.WordPart{p}}); err == nil {
				e.add(withoutHoles(text))
			} else {
				e.unresolved("$'...'")
			}
			return
		}
		e.add(p.Value)
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 { // an empty field
			e.add("")
		}
		e.parts(p.Parts, true)
	case *syntax.ParamExp:
		e.parameter(p, quoted)
	case *syntax.ArithmExp:
		if n, ok := e.calculate(p, p.X); ok {
			e.add(strconv.Itoa(n))
		} else {
			e.unresolved("$((...))")
		}
	case *syntax.CmdSubst:
		e.output(p, quoted)
	default:
		e.unresolved("a part of the word")
	}
}

// unescaped removes backslashes as the shell does.
func unescaped(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// output adds what a command writes: that of echo and of cat of a text in the script is known.
func (e *expansion) output(p *syntax.CmdSubst, quoted bool) {
	if len(p.Stmts) == 1 && !p.Stmts[0].Negated && !p.Stmts[0].Background {
		st := p.Stmts[0]
		call, ok := st.Cmd.(*syntax.CallExpr)
		var words []shellField
		if ok && len(call.Assigns) == 0 {
			if name := call.Args[0].Lit(); (name == "echo" || name == "cat") && !e.known(name) && e.alias[name] == "" {
				words = e.walker.fields(call.Args[1:]...)
				switch {
				case name == "cat" && len(words) == 0 && len(st.Redirs) == 1 && st.Redirs[0].Hdoc != nil:
					e.values([]shellField{{text: strings.TrimRight(e.hereText(st.Redirs[0]).text, "\n"), line: e.lineOf(p)}}, quoted)
					return
				case name == "echo" && len(st.Redirs) == 0 && (len(words) == 0 || !strings.HasPrefix(words[0].text, "-") && !strings.ContainsAny(joined(words), "*?")):
					e.values([]shellField{{text: joined(words), line: e.lineOf(p)}}, quoted)
					return
				}
			}
		}
	}
	e.notFollowed(p, "$(...)", "a command, which is not run")
	e.unresolved("$(...)")
}

// parameter adds the value of a variable.
func (e *expansion) parameter(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil || p.Flags != nil || p.NestedParam != nil {
		e.unresolved("a variable")
		return
	}
	name := p.Param.Value
	fields, known, all := e.lookup(name)
	if index, ok := p.Index.(*syntax.Word); ok {
		switch lit := index.Lit(); lit {
		case "@", "*": // all of them
			if all = true; lit == "*" && quoted && len(fields) > 0 {
				fields = []shellField{{text: joined(fields), line: fields[0].line}}
			}
		default:
			n, ok := e.calculate(p, index)
			if ok && slices.ContainsFunc(fields[:min(max(n, 0), len(fields))], func(f shellField) bool { return hasHole(f.text) }) { // may be no word, or several
				e.unresolved("${" + name + "[" + lit + "]}")
				return
			}
			if known = known && ok && n >= 0 && n < len(fields) && !e.mangled[name]; known {
				fields = fields[n : n+1]
			}
		}
	} else if p.Index != nil {
		e.calculate(p, p.Index)
		e.unresolved("${" + name + "[...]}")
		return
	} else if !all && len(fields) > 1 {
		fields = fields[:1]
	}
	spelled := "$" + name
	if len(name) > 1 && name[0] >= '0' && name[0] <= '9' {
		spelled = "${" + name + "}"
	}
	switch {
	case p.Length || p.Excl || p.Width || p.IsSet || p.Slice != nil || p.Repl != nil || p.Names != 0:
		e.operation(p, name, fields, known)
	case p.Exp != nil:
		e.otherwise(p, fields, known && len(fields) > 0, quoted)
	case known:
		e.values(fields, quoted)
	case all && name == arguments: // none are given
		e.ignored = append(e.ignored, Ignored{Key: "$@", Why: "arguments of the script: read as none; give them after --", Line: e.lineOf(p)})
		e.nothing = !e.open && quoted
	case all && (name == "*"):
	default:
		e.unresolved(spelled)
	}
}

// lookup returns the words of a variable or an argument; all: it has several by itself.
func (e *expansion) lookup(name string) (fields []shellField, known, all bool) {
	args, given := e.vars[arguments]
	switch {
	case name == "@" || name == "*":
		return args, given, true
	case name == "#":
		return []shellField{{text: strconv.Itoa(len(args))}}, given && !slices.ContainsFunc(args, func(f shellField) bool { return hasHole(f.text) }), false
	case name[0] >= '1' && name[0] <= '9':
		n, err := strconv.Atoi(name)
		if err != nil || !given {
			return nil, false, false
		}
		for i, f := range args {
			if strings.HasPrefix(e.reason(f.text), whether) || e.legible(f).bare {
				return nil, false, false
			}
			if i == n-1 {
				return args[i : i+1], true, false
			}
		}
		return nil, false, false
	}
	fields, known = e.vars[name]
	return fields, known, false
}

// operation adds what ${#name}, ${name#...} and their kin make of a value that is known.
func (e *expansion) operation(p *syntax.ParamExp, name string, fields []shellField, known bool) {
	effects := e.effectsOf(p)
	e.suffer(effects, "${"+name+"...}", e.lineOf(p))
	long := len(fields) > 256
	for _, f := range fields {
		known, long = known && !hasHole(f.text), long || len(f.text) > 1<<12
	}
	if !known || long || p.Excl || p.Names != 0 || p.Width || p.IsSet || len(effects.names) > 0 || effects.all != "" || !e.plainParts(p) {
		e.unresolved("${" + name + "...}")
		return
	}
	text, err := expandSafely(e.walker, &syntax.Word{Parts: []syntax.WordPart{p}})
	if err != nil || len(text) > 1<<14 {
		e.unresolved("${" + name + "...}")
		return
	}
	e.add(withoutHoles(text))
}

// plainParts reports whether all that an operation depends on is known.
func (e *expansion) plainParts(p *syntax.ParamExp) bool {
	ok := true
	syntax.Walk(p, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob:
			ok = false
		case *syntax.ParamExp:
			if n.Param == nil {
				ok = false
				break
			}
			fields, known, _ := e.lookup(n.Param.Value)
			if !known || slices.ContainsFunc(fields, func(f shellField) bool { return hasHole(f.text) }) || e.mangled[n.Param.Value] {
				ok = false
			}
		case *syntax.Word:
			if lit := n.Lit(); isName(lit) && p.Slice != nil && (n == p.Slice.Offset || n == p.Slice.Length) {
				if f := e.vars[lit]; len(f) != 1 || hasHole(f[0].text) {
					ok = false
				}
			}
		}
		return ok
	})
	return ok
}

// expandSafely expands a word of known values by the rules of the shell. Nothing is run, no file looked at.
func expandSafely(w *walker, word *syntax.Word) (text string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errText("not understood")
		}
	}()
	text, err = expand.Literal(&expand.Config{Env: environ{w}}, word)
	return text, err
}

// environ is what a script knows, for the rules of expansion.
type environ struct{ w *walker }

// Get returns a variable.
func (e environ) Get(name string) expand.Variable {
	if name == "" {
		return expand.Variable{}
	}
	fields, known, all := (&expansion{walker: e.w}).lookup(name)
	v := expand.Variable{Set: known, Kind: expand.String}
	if all || e.w.arrays[name] {
		v.Kind = expand.Indexed
		for _, f := range fields {
			v.List = append(v.List, f.text)
		}
	} else if len(fields) > 0 {
		v.Str = fields[0].text
	}
	return v
}

// Each returns nothing: no name is looked for.
func (e environ) Each(func(string, expand.Variable) bool) {}

// otherwise adds a value with a default: ${name:-word} and its kin.
func (e *expansion) otherwise(p *syntax.ParamExp, fields []shellField, known, quoted bool) {
	name := p.Param.Value
	filled := known && (len(fields) > 1 || fields[0].text != "")
	if filled && e.legible(fields[0]).bare && len(fields) == 1 { // it may be nothing
		e.values(fields, quoted)
		return
	}
	use := known
	switch p.Exp.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		use = filled
	case syntax.DefaultUnset, syntax.AssignUnset, syntax.ErrorUnset:
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if p.Exp.Op == syntax.AlternateUnsetOrNull {
			use = filled
		}
		switch {
		case use && p.Exp.Word != nil:
			e.parts(p.Exp.Word.Parts, quoted)
		case !known:
			e.unresolved("$" + name)
		case !quoted:
			e.nothing = !e.open
		}
		return
	default: // ${name%...} and others
		e.operation(p, name, fields, known)
		return
	}
	failing := p.Exp.Op == syntax.ErrorUnset || p.Exp.Op == syntax.ErrorUnsetOrNull
	switch {
	case use:
		e.values(fields, quoted)
	case failing:
		e.notFollowed(p, "$"+name, "the script ends here unless it is given a value: --env "+name+"=VALUE")
		e.unresolved("$" + name)
	case p.Exp.Word == nil:
		e.add("")
	default:
		e.instead(p, quoted)
	}
}

// instead adds the word that stands in for a value, and assigns it where ${name:=word} does.
func (e *expansion) instead(p *syntax.ParamExp, quoted bool) {
	name, line := p.Param.Value, e.lineOf(p)
	if e.anything != "" {
		e.add(e.hole(e.anything))
		return
	}
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		if p.Index == nil && isName(name) && !e.readonly[name] {
			value := e.word(p.Exp.Word)
			e.set(name, []shellField{value}, line)
			e.values([]shellField{value}, quoted)
			return
		}
		e.doubt(name, "${"+name+":=...}", line)
	}
	e.parts(p.Exp.Word.Parts, quoted)
}

// values adds the fields of a variable: each its own, as are the words of unquoted text.
func (e *expansion) values(fields []shellField, quoted bool) {
	for i, f := range fields {
		if e.tooLong() {
			return
		}
		if i > 0 && e.split {
			e.end()
		}
		if !e.open {
			e.now.line = f.line
		}
		if i > 0 && !e.split {
			e.add(" ")
		}
		if quoted || !e.split {
			e.add(f.text)
			continue
		}
		words := strings.Fields(f.text)
		if len(f.text) == 0 {
			continue
		}
		for j, word := range words {
			if len(e.vars["IFS"]) > 0 { // words end elsewhere
				word = e.hole(whether+"IFS of line "+strconv.Itoa(e.vars["IFS"][0].line)+" cuts it") + word
			}
			if j > 0 || strings.IndexAny(f.text[:1], " \t\n") == 0 {
				e.end()
			}
			if !e.open {
				e.now.line = f.line
			}
			e.add(word)
		}
		if last := len(f.text) - 1; last >= 0 && strings.IndexByte(" \t\n", f.text[last]) >= 0 {
			e.end()
		}
	}
}
