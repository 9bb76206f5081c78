package launch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansion collects the fields of a word.
type expansion struct {
	*walker
	fields []shellField
	now    shellField
	open   bool // a field is begun
	split  bool // words of unquoted values are fields of their own
}

// fields expands words as arguments.
func (w *walker) fields(words ...*syntax.Word) (out []shellField) {
	for _, word := range words {
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
	if e.open {
		e.fields = append(e.fields, e.now)
	}
	e.now, e.open = shellField{}, false
}

// add adds text to the field, unless the words are too long already.
func (e *expansion) add(text, unknown string) {
	if e.tooLong() {
		return
	}
	e.now.text += text
	e.now.unknown = cmp.Or(e.now.unknown, unknown)
	e.open = true
	e.written += len(text)
}

// unresolved adds a part whose value the file does not give.
func (e *expansion) unresolved(name string) { e.add(name, name) }

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
		e.add(unescaped(p.Value, quoted), "")
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			e.unresolved("$'...'")
			return
		}
		e.add(p.Value, "")
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 { // an empty field
			e.add("", "")
		}
		e.parts(p.Parts, true)
	case *syntax.ParamExp:
		e.parameter(p, quoted)
	case *syntax.ArithmExp:
		if n, ok := e.calculate(p, p.X); ok {
			e.add(strconv.Itoa(n), "")
		} else {
			e.unresolved("$((...))")
		}
	case *syntax.CmdSubst:
		e.leave(p, "$(...)", "a command, which is not run")
		e.unresolved("$(...)")
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

// parameter adds the value of a variable.
func (e *expansion) parameter(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil {
		e.unresolved("a variable")
		return
	}
	name := p.Param.Value
	fields, known := e.vars[name]
	if index, ok := p.Index.(*syntax.Word); ok {
		switch lit := index.Lit(); lit {
		case "@", "*": // all of them
		default:
			n, err := strconv.Atoi(lit)
			if err == nil && slices.ContainsFunc(fields[:min(max(n, 0), len(fields))], func(f shellField) bool { return f.unknown != "" }) { // may be no word, or several
				e.unresolved("${" + name + "[" + lit + "]}")
				return
			}
			if known = known && err == nil && n >= 0 && n < len(fields); known {
				fields = fields[n : n+1]
			}
		}
	} else if p.Index != nil {
		e.unresolved("${" + name + "[...]}")
		return
	} else if len(fields) > 1 && (quoted || e.arrays[name]) {
		fields = fields[:1]
	}
	switch {
	case p.Length || p.Excl || p.Width || p.Slice != nil || p.Repl != nil || p.Names != 0:
		e.unresolved("${" + name + "...}")
	case p.Exp != nil:
		e.otherwise(p, fields, known && len(fields) > 0, quoted)
	case !known:
		e.unresolved("$" + name)
	default:
		e.values(fields, quoted)
	}
}

// otherwise adds a value with a default: ${name:-word} and its kin.
func (e *expansion) otherwise(p *syntax.ParamExp, fields []shellField, known, quoted bool) {
	filled := known && (len(fields) > 1 || fields[0].text != "")
	use := known
	switch p.Exp.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		use = filled
	case syntax.DefaultUnset, syntax.AssignUnset, syntax.ErrorUnset:
	default: // ${name%...} and others
		e.unresolved("${" + p.Param.Value + "...}")
		return
	}
	failing := p.Exp.Op == syntax.ErrorUnset || p.Exp.Op == syntax.ErrorUnsetOrNull
	switch {
	case use:
		e.values(fields, quoted)
	case failing || p.Exp.Word == nil:
		e.unresolved("$" + p.Param.Value)
	default:
		e.instead(p, quoted)
	}
}

// instead adds the word that stands in for a value, and assigns it where ${name:=word} does.
func (e *expansion) instead(p *syntax.ParamExp, quoted bool) {
	name, line := p.Param.Value, e.lineOf(p)
	if e.anything != "" {
		e.add("$"+name, e.anything)
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
			e.add(" ", "")
		}
		if quoted || !e.split {
			e.add(f.text, f.unknown)
			continue
		}
		if len(e.vars["IFS"]) > 0 { // words end elsewhere
			f.unknown = cmp.Or(f.unknown, whether+"IFS of line "+strconv.Itoa(e.vars["IFS"][0].line)+" cuts it")
		}
		words := strings.Fields(f.text)
		for j, word := range words {
			unknown := f.unknown
			if unknown != "" && !strings.Contains(word, "$") && !strings.HasPrefix(unknown, whether) { // the part of the text that is not
				unknown = ""
			}
			if j > 0 || strings.IndexAny(f.text[:1], " \t\n") == 0 {
				e.end()
			}
			if !e.open {
				e.now.line = f.line
			}
			e.add(word, unknown)
		}
		if last := len(f.text) - 1; last >= 0 && strings.IndexByte(" \t\n", f.text[last]) >= 0 {
			e.end()
		}
	}
}
