package launch

import (
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

// fields expands a word as an argument.
func (w *walker) fields(word *syntax.Word) ([]shellField, error) {
	e := expansion{walker: w, split: true}
	if err := e.parts(word.Parts, false); err != nil {
		return nil, err
	}
	e.end()
	for i := range e.fields {
		if e.fields[i].line == 0 { // else where the variable has it from
			e.fields[i].line = w.lineOf(word)
		}
	}
	return e.fields, nil
}

// word expands a word as a value: one field.
func (w *walker) word(word *syntax.Word) (shellField, error) {
	if word == nil {
		return shellField{}, nil
	}
	e := expansion{walker: w}
	err := e.parts(word.Parts, false)
	e.now.line = w.lineOf(word)
	return e.now, err
}

func (e *expansion) end() {
	if e.open {
		e.fields = append(e.fields, e.now)
	}
	e.now, e.open = shellField{}, false
}

// add adds text to the field.
func (e *expansion) add(text, unknown string) error {
	e.now.text += text
	e.now.unknown = firstOf(e.now.unknown, unknown)
	e.open = true
	if e.written += len(text); e.written > maxExpansion {
		return errTooLong
	}
	return nil
}

// unresolved adds a part whose value the file does not give.
func (e *expansion) unresolved(name string) error { return e.add(name, name) }

func (e *expansion) parts(list []syntax.WordPart, quoted bool) error {
	for _, p := range list {
		if err := e.part(p, quoted); err != nil {
			return err
		}
	}
	return nil
}

func (e *expansion) part(p syntax.WordPart, quoted bool) error {
	switch p := p.(type) {
	case *syntax.Lit:
		return e.add(unescaped(p.Value, quoted), "")
	case *syntax.SglQuoted:
		return e.add(p.Value, "")
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 {
			return e.add("", "")
		}
		return e.parts(p.Parts, true)
	case *syntax.ParamExp:
		return e.parameter(p, quoted)
	case *syntax.ArithmExp:
		if n, ok := e.arithmetic(p.X); ok {
			return e.add(strconv.Itoa(n), "")
		}
		return e.unresolved("$((...))")
	case *syntax.CmdSubst:
		e.leave(p, "$(...)", "a command, which is not run")
		return e.unresolved("$(...)")
	default:
		return e.unresolved("a part of the word")
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
func (e *expansion) parameter(p *syntax.ParamExp, quoted bool) error {
	if p.Param == nil {
		return e.unresolved("a variable")
	}
	name := p.Param.Value
	fields, known := e.vars[name]
	if index, ok := p.Index.(*syntax.Word); ok {
		switch lit := index.Lit(); lit {
		case "@", "*": // all of them
		default:
			n, err := strconv.Atoi(lit)
			if known = known && err == nil && n >= 0 && n < len(fields); known {
				fields = fields[n : n+1]
			}
		}
	} else if p.Index != nil {
		return e.unresolved("${" + name + "[...]}")
	} else if len(fields) > 1 && (quoted || e.arrays[name]) {
		fields = fields[:1]
	}
	switch {
	case p.Length || p.Excl || p.Width || p.Slice != nil || p.Repl != nil || p.Names != 0:
		return e.unresolved("${" + name + "...}")
	case p.Exp != nil:
		return e.otherwise(p, fields, known && len(fields) > 0, quoted)
	case !known:
		return e.unresolved("$" + name)
	}
	return e.values(fields, quoted)
}

// otherwise adds a value with a default: ${name:-word} and its kin.
func (e *expansion) otherwise(p *syntax.ParamExp, fields []shellField, known, quoted bool) error {
	filled := known && (len(fields) > 1 || fields[0].text != "")
	use := known
	switch p.Exp.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		use = filled
	case syntax.DefaultUnset, syntax.AssignUnset, syntax.ErrorUnset:
	default: // ${name%...} and others
		return e.unresolved("${" + p.Param.Value + "...}")
	}
	failing := p.Exp.Op == syntax.ErrorUnset || p.Exp.Op == syntax.ErrorUnsetOrNull
	switch {
	case use:
		return e.values(fields, quoted)
	case failing || p.Exp.Word == nil:
		return e.unresolved("$" + p.Param.Value)
	}
	return e.parts(p.Exp.Word.Parts, quoted)
}

// values adds the fields of a variable: each its own, as are the words of unquoted text.
func (e *expansion) values(fields []shellField, quoted bool) error {
	for i, f := range fields {
		if i > 0 && e.split {
			e.end()
		}
		if !e.open {
			e.now.line = f.line
		}
		if i > 0 && !e.split {
			if err := e.add(" ", ""); err != nil {
				return err
			}
		}
		if quoted || !e.split {
			if err := e.add(f.text, f.unknown); err != nil {
				return err
			}
			continue
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
			if err := e.add(word, unknown); err != nil {
				return err
			}
		}
		if last := len(f.text) - 1; last >= 0 && strings.IndexByte(" \t\n", f.text[last]) >= 0 {
			e.end()
		}
	}
	return nil
}
