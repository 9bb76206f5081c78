package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// lookup returns the words of a variable or an argument; all: it has several by itself.
func (e *expansion) lookup(name string) (fields []shellField, known, all bool) {
	args, given := e.vars[arguments]
	e.written += len(args) >> 4
	switch {
	case name == "@" || name == "*":
		return args, given, true
	case name == "#":
		return []shellField{{text: strconv.Itoa(len(args))}}, given &&
			!slices.ContainsFunc(args, func(f shellField) bool { return hasHole(f.text) }), false
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
	if !known || long || p.Excl || p.Names != 0 || p.Width || p.IsSet || len(effects.names) > 0 ||
		effects.all != "" || !e.plainParts(p) {
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
	ok, size := true, 0
	syntax.Walk(p, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			size += len(n.Value)
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob:
			ok = false
		case *syntax.ParamExp:
			if n.Param == nil {
				ok = false
				break
			}
			fields, known, _ := e.lookup(n.Param.Value)
			for _, f := range fields {
				size += len(f.text)
			}
			if !known || n != p && n.Repl != nil ||
				slices.ContainsFunc(fields, func(f shellField) bool { return hasHole(f.text) }) ||
				e.mangled[n.Param.Value] {
				ok = false
			}
		case *syntax.Word:
			if lit := n.Lit(); IsName(lit) && p.Slice != nil && (n == p.Slice.Offset || n == p.Slice.Length) {
				if f := e.vars[lit]; len(f) != 1 || hasHole(f[0].text) {
					ok = false
				}
			}
		}
		return ok && size <= 1<<13
	})
	return ok && size <= 1<<13
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

// OwnDefault is why a variable of a script is read as the default that the script writes for it.
const OwnDefault = "the default is read, since nothing gives the variable a value: --env NAME=VALUE gives one"

// tookDefault notes once that a default stands in for a variable, under the variable as the script has it.
func (e *expansion) tookDefault(p *syntax.ParamExp) {
	value := p.Exp.Word.Lit()
	if parts := p.Exp.Word.Parts; len(parts) == 1 {
		if quoted, ok := parts[0].(*syntax.DblQuoted); ok {
			value = (&syntax.Word{Parts: quoted.Parts}).Lit()
		}
	}
	const most = 40
	if value == "" || len(value) > most { // it depends on more
		return
	}
	note := Ignored{
		Key:  fmt.Sprintf("${%s%s%s}", p.Param.Value, p.Exp.Op, value),
		Why:  OwnDefault,
		Line: e.lineOf(p),
	}
	if !slices.ContainsFunc(e.ignored,
		func(i Ignored) bool { return i.Key == note.Key && i.Why == note.Why }) {
		e.ignored = append(e.ignored, note)
	}
}

// instead adds the word that stands in for a value, and assigns it where ${name:=word} does.
func (e *expansion) instead(p *syntax.ParamExp, quoted bool) {
	name, line := p.Param.Value, e.lineOf(p)
	if e.anything != "" {
		e.add(e.hole(e.anything))
		return
	}
	e.tookDefault(p)
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		if p.Index == nil && IsName(name) && !e.readonly[name] {
			value := e.word(p.Exp.Word)
			e.set(name, []shellField{value}, line)
			e.values([]shellField{value}, quoted)
			return
		}
		e.doubt(name, "${"+name+":=...}", line)
	}
	e.parts(p.Exp.Word.Parts, quoted)
}
