package launch

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin follows a command of the shell that changes what the script knows; false for any other.
func (w *walker) builtin(c *syntax.CallExpr, fields []shellField) bool {
	line := w.lineOf(c)
	switch fields[0].text {
	case "exit":
		w.over = line
	case "exec":
		if len(fields) > 1 {
			w.over = line
		}
		return false
	case "set":
		w.options(fields[1:], line)
	case "shopt":
		for _, f := range fields[1:] {
			w.lastpipe = w.lastpipe || f.text == "lastpipe"
			w.aliases = w.aliases || f.text == "expand_aliases"
		}
	case "alias":
		for _, f := range fields[1:] {
			if name, text, ok := strings.Cut(f.text, "="); ok && w.aliases {
				w.alias[name] = text
			}
		}
	case "unalias":
		for _, f := range fields[1:] {
			delete(w.alias, f.text)
		}
	case "return", "break", "continue":
		if len(fields) > 1 && fields[0].text != "return" { // out of several
			w.fuzzy = true
		}
		if fields[0].text != "return" || w.nested > 0 {
			w.leave = fields[0].text
		}
	case "shift":
		w.shift(c, fields[1:])
	case "read":
		return w.readWords(c, fields[1:])
	case "printf":
		return w.print(fields[1:], line)
	case "unset":
		w.unset(fields[1:], line)
	case "trap":
		w.trap(c, fields[1:])
	case "eval":
		if slices.ContainsFunc(fields,
			func(f shellField) bool {
				seen := w.legible(f)
				return seen.bare && strings.HasPrefix(seen.text, "$(") && !strings.HasPrefix(seen.text, "$((")
			}) {
			w.notFollowed(c, "eval", "words of a command, which is not run")
			w.doubtAll("eval", line)
			return true
		}
		return false
	case "source", ".":
		if len(fields) > 1 {
			w.source(c, fields[1:])
		}
	default:
		e := &effects{names: map[string]bool{}, seen: map[*syntax.FuncDecl]bool{}}
		w.callEffects(c, e) // its words are expanded already
		for name := range e.names {
			if w.refs[name] != "" {
				e.all = "declare -n"
			}
		}
		w.suffer(e, fields[0].text, line)
		return false
	}
	return true
}

// options follows set -e and its kin.
func (w *walker) options(fields []shellField, line int) {
	for i, f := range fields {
		if f.text == "--" || len(f.text) < 2 || f.text[0] != '-' && f.text[0] != '+' { // new arguments
			if f.text == "--" {
				i++
			}
			w.vars[arguments] = slices.Clone(fields[i:])
			return
		}
		on, letters := f.text[0] == '-', f.text[1:]
		if strings.Contains(letters, "o") && i+1 < len(fields) {
			letters += map[string]string{"errexit": "e", "allexport": "a", "noexec": "n"}[fields[i+1].text]
			if fields[i+1].text == "posix" {
				w.posix, w.aliases = on, w.aliases || on
			}
		}
		if strings.Contains(letters, "e") {
			w.errexit = on
		}
		if strings.Contains(letters, "a") {
			w.allexport = on
		}
		if strings.Contains(letters, "n") && on && f.text != "--" {
			w.over = line
		}
		if f.text == "--" || strings.Contains(letters, "o") {
			return
		}
	}
}

// unset takes variables away.
func (w *walker) unset(fields []shellField, line int) {
	for _, f := range fields {
		name := f.text
		switch {
		case strings.HasPrefix(name, "-"):
			if name == "-f" {
				for _, of := range fields {
					delete(w.functions, of.text)
				}
				return
			}
			if name == "-n" {
				w.doubtAll("unset -n", line)
				return
			}
		case hasHole(f.text):
			w.doubtAll("unset", line)
		case !IsName(name), w.refs[name] != "":
			name, _, _ = strings.Cut(name, "[")
			w.doubt(name, "unset", line)
		case w.readonly[name] && w.posix:
			w.over = line
		case !w.readonly[name]:
			delete(w.vars, name)
			delete(w.arrays, name)
			delete(w.functions, name)
		}
	}
}

// trap makes unknown what a command may change that runs before each other one, or after one that failed.
func (w *walker) trap(c *syntax.CallExpr, fields []shellField) {
	if len(fields) < 2 || !slices.ContainsFunc(fields[1:], func(f shellField) bool {
		signal := strings.TrimPrefix(strings.ToUpper(f.text), "SIG")
		return hasHole(f.text) || signal != "EXIT" && signal != "0"
	}) {
		return
	}
	e := w.effectsOf(c)
	w.suffer(e, "trap", w.lineOf(c))
	for name := range e.names {
		w.always[name] = true
	}
	for _, a := range e.grown {
		w.always[a.Name.Value] = true
	}
	if e.all != "" {
		w.always["*"] = true
	}
}

// declare follows a declaration with its attributes.
func (w *walker) declare(d *syntax.DeclClause) {
	of, line := options(d), w.lineOf(d)
	if d.Variant.Value == "local" && w.nested == 0 { // fails outside of functions
		w.failed(line)
		return
	}
	ofFunction := w.nested > 0 && !of['g'] && (d.Variant.Value == "local" || d.Variant.Value == "declare" ||
		d.Variant.Value == "typeset")
	for _, a := range d.Args {
		if a.Name == nil {
			if a.Value != nil && a.Value.Lit() == "" {
				w.doubtAll(d.Variant.Value, line)
			}
			continue
		}
		name := a.Name.Value
		if ofFunction && !w.local[name] {
			w.local[name] = true
			delete(w.refs, name)
			w.integer[name], w.mangled[name], w.arrays[name] = false, false, false
		}
		if of['n'] && d.Variant.Value != "export" {
			target, known := "", false
			if a.Value != nil {
				target, known = static(a.Value)
			}
			w.refs[name] = target
			w.doubt(name, "declare -n", line)
			if !known || !IsName(target) {
				w.doubtAll("declare -n", line)
			}
			continue
		}
		w.integer[name] = w.integer[name] || of['i']
		w.mangled[name] = w.mangled[name] || of['u'] || of['l'] || of['c'] || of['A']
		if !a.Naked {
			w.assign([]*syntax.Assign{a})
		}
		w.readonly[name] = w.readonly[name] || of['r'] || d.Variant.Value == "readonly"
		w.exported[name] = w.exported[name] || of['x'] || d.Variant.Value == "export" && !of['n']
	}
}

// failed ends a script that ends at its first failure.
func (w *walker) failed(line int) {
	if w.errexit {
		w.over = line
	}
}

// assign follows assignments.
func (w *walker) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		name, line := a.Name.Value, w.lineOf(a)
		target, ref := w.refs[name]
		switch {
		case w.readonly[name]: // fails
			w.notFollowed(a, name, "readonly: the assignment fails")
			if w.posix { // which ends the script
				w.over = line
			}
			w.failed(line)
			continue
		case ref:
			w.doubt(name, "declare -n", line)
			if !IsName(target) {
				w.doubtAll("declare -n", line)
				continue
			}
			w.doubt(target, "declare -n", line)
			continue
		case a.Index != nil:
			w.element(a, name, line)
			continue
		}
		fields, known := w.valueOf(a, name)
		if w.tooLong() {
			return
		}
		if !known {
			w.doubt(name, "assignment", line)
			continue
		}
		if a.Array != nil {
			w.arrays[name] = true
		}
		w.set(name, fields, line)
	}
}

// set gives a variable its words, unless something may change them at once.
func (w *walker) set(name string, fields []shellField, line int) {
	w.vars[name] = fields
	w.order = append(w.order, name)
	w.exported[name] = w.exported[name] || w.allexport
	if w.always[name] || w.always["*"] || w.mangled[name] {
		w.doubt(name, "trap or declare", line)
	}
}

// valueOf returns the words that an assignment gives; false where they are not known.
func (w *walker) valueOf(a *syntax.Assign, name string) (fields []shellField, known bool) {
	old := w.vars[name]
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Value == nil || e.Index != nil {
				if e.Index != nil {
					w.calculate(a, e.Index)
				}
				w.notFollowed(a, name, "an array with keys")
				return nil, false
			}
			fields = append(fields, w.fields(e.Value)...)
		}
		if a.Append {
			fields = append(slices.Clone(old), fields...)
			for _, f := range fields {
				w.written += len(f.text) + 1
			}
		}
		return fields, true
	}
	one := w.word(a.Value)
	switch {
	case w.integer[name]:
		n, ok := wholeOf(one)
		if before, had := 0, len(old) == 1; a.Append && ok && had {
			before, ok = wholeOf(old[0])
			n += before
		}
		one.text = strconv.Itoa(n)
		return []shellField{one}, ok
	case a.Append && w.arrays[name]: // the text of its first element
		return nil, false
	case a.Append && len(old) == 1:
		both := shellField{line: one.line}
		both.take(&old[0])
		both.text = old[0].text
		both.take(&one)
		both.text += one.text
		one = both
		w.written += len(one.text)
	case a.Append && w.anything != "":
		return nil, false
	case w.arrays[name] && len(old) > 1: // its first element
		return append([]shellField{one}, old[1:]...), true
	}
	return []shellField{one}, true
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// element follows the assignment to an element of an array.
func (w *walker) element(a *syntax.Assign, name string, line int) {
	w.notFollowed(a, name, "an element of an array")
	n, ok := -1, false
	if !w.mangled[name] { // else a key
		n, ok = w.calculate(a, a.Index)
	}
	old := w.vars[name]
	w.written += len(old)
	unknown := slices.ContainsFunc(old,
		func(f shellField) bool { return strings.HasPrefix(w.reason(f.text), whether) || w.legible(f).bare })
	if !ok || unknown || n < 0 || n > len(old) || a.Append || a.Array != nil || w.mangled[name] ||
		w.integer[name] || !w.arrays[name] && n > 0 {
		w.doubt(name, "element", line)
		w.arrays[name] = true
		return
	}
	all := append(slices.Clone(old), shellField{})[:max(len(old), n+1)]
	all[n] = w.word(a.Value)
	w.set(name, all, line)
}

// wholeOf returns a field as the shell calculates with it: 010 is 8. False where it is no plain number.
func wholeOf(f shellField) (int, bool) {
	if f.unknown != "" || hasHole(f.text) ||
		strings.Trim(strings.TrimPrefix(f.text, "-"), "0123456789abcdefxABCDEFX") != "" ||
		strings.HasPrefix(strings.ToLower(strings.TrimPrefix(f.text, "-")), "0b") {
		return 0, false
	}
	n, err := strconv.ParseInt(f.text, 0, 48) // tokens of a run
	return int(n), err == nil
}
