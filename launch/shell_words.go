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
	// an empty word has a price, and so has the copy of a long one
	e.written += len(text) + 1 + len(e.now.text)>>6
	e.now.text += text
	e.open = true
}

// lines adds a text of the script, each of its lines with its own number.
func (e *expansion) lines(p syntax.Node, text string, read func(string) string) {
	var all strings.Builder
	line, begin := e.lineOf(p), len(e.now.text)
	for part := range strings.SplitAfterSeq(text, "\n") {
		e.now.breaks = append(e.now.breaks, lineBreak{begin + all.Len(), line})
		all.WriteString(read(part))
		line++
	}
	e.add(all.String())
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
		e.lines(p, p.Value, func(text string) string { return unescaped(text, quoted) })
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			if text, err := expand.Literal(&expand.Config{},
				&syntax.Word{Parts: []syntax.WordPart{p}}); err == nil {
				e.add(withoutHoles(text))
			} else {
				e.unresolved("$'...'")
			}
			return
		}
		e.lines(p, p.Value, func(text string) string { return text })
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

// output adds what a command writes: that of echo, of seq and of cat of a text in the script is known.
func (e *expansion) output(p *syntax.CmdSubst, quoted bool) {
	if len(p.Stmts) == 1 && !p.Stmts[0].Negated && !p.Stmts[0].Background {
		st := p.Stmts[0]
		call, ok := st.Cmd.(*syntax.CallExpr)
		var words []shellField
		if ok && len(call.Assigns) == 0 {
			if name := call.Args[0].Lit(); slices.Contains([]string{"echo", "cat", "seq", "expr"}, name) &&
				!e.known(name) && e.alias[name] == "" {
				words = e.walker.fields(call.Args[1:]...)
				switch {
				case name == "cat" && len(words) == 0 && len(st.Redirs) == 1 && st.Redirs[0].Hdoc != nil:
					e.values([]shellField{{
						text: strings.TrimRight(e.hereText(st.Redirs[0]).text, "\n"),
						line: e.lineOf(p),
					}}, quoted)
					return
				case name == "echo" && len(st.Redirs) == 0 &&
					(len(words) == 0 || !strings.HasPrefix(words[0].text, "-") &&
						!strings.ContainsAny(joined(words), "*?")):
					e.values([]shellField{{text: joined(words), line: e.lineOf(p)}}, quoted)
					return
				case name == "expr" && len(st.Redirs) == 0:
					if text, ok := expression(words); ok {
						e.values([]shellField{{text: text, line: e.lineOf(p)}}, quoted)
						return
					}
				case name == "seq" && len(st.Redirs) == 0:
					if text, ok := sequence(words); ok {
						e.values([]shellField{{text: text, line: e.lineOf(p)}}, quoted)
						return
					}
				}
			}
		}
	}
	e.notFollowed(p, "$(...)", "a command, which is not run")
	e.unresolved("$(...)")
}

// expression returns what expr makes of two whole numbers; false where it is given anything else.
func expression(words []shellField) (string, bool) {
	if len(words) != 3 || words[1].unknown != "" {
		return "", false
	}
	a, ok := wholeOf(words[0])
	b, also := wholeOf(words[2])
	if !ok || !also || a > maxWhole || b > maxWhole || a < -maxWhole || b < -maxWhole {
		return "", false
	}
	switch op := words[1].text; {
	case op == "+":
		return strconv.Itoa(a + b), true
	case op == "-":
		return strconv.Itoa(a - b), true
	case op == "*" && (b == 0 || max(a, -a) <= maxWhole/max(b, -b)):
		return strconv.Itoa(a * b), true
	case op == "/" && b != 0:
		return strconv.Itoa(a / b), true
	case op == "%" && b != 0:
		return strconv.Itoa(a % b), true
	}
	return "", false
}

// sequence returns the numbers of seq, which has the last one, the first and last, or a step between them;
// false where it is given anything else, or makes too many.
func sequence(words []shellField) (string, bool) {
	n := [3]int{1, 1, 0}
	for i, f := range words {
		v, ok := wholeOf(f)
		if !ok || i > 2 || strings.HasPrefix(f.text, "0") && v != 0 {
			return "", false
		}
		switch {
		case i == len(words)-1:
			n[2] = v
		default:
			n[i] = v
		}
	}
	if len(words) == 0 || n[1] == 0 || (n[2]-n[0])/n[1] > maxRounds<<4 {
		return "", false
	}
	var out []string
	for v := n[0]; n[1] > 0 && v <= n[2] || n[1] < 0 && v >= n[2]; v += n[1] {
		out = append(out, strconv.Itoa(v))
	}
	return strings.Join(out, "\n"), true
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
			// may be no word, or several
			if ok && slices.ContainsFunc(fields[:min(max(n, 0), len(fields))],
				func(f shellField) bool { return hasHole(f.text) }) {
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
		e.ignored = append(e.ignored,
			Ignored{
				Key: "$@", Why: "arguments of the script: read as none; give them after --",
				Line: e.lineOf(p),
			})
		e.nothing = !e.open && quoted
	case all && (name == "*"):
	case (all || p.Index == nil && e.owned[name]) && e.anything == "" && !e.special(name):
		note := Ignored{
			Key: "$" + name,
			Why: "read as empty, since the script gives it no value before: --env " + name +
				"=VALUE gives it one", Line: e.lineOf(p),
		}
		if !slices.ContainsFunc(e.ignored,
			func(i Ignored) bool { return i.Key == note.Key && i.Why == note.Why }) {
			e.ignored = append(e.ignored, note)
		}
		if e.nothing = e.nothing || !e.open && !quoted; quoted {
			e.add("")
		}
	default:
		e.unresolved(spelled)
	}
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
			e.now.take(&f)
			e.add(f.text)
			continue
		}
		words := f.words()
		if len(f.text) == 0 {
			continue
		}
		for j, one := range words {
			word := one.text
			if len(e.vars["IFS"]) > 0 { // words end elsewhere
				word = e.hole(whether+"IFS of line "+strconv.Itoa(e.vars["IFS"][0].line)+" cuts it") + word
			}
			if j > 0 || strings.IndexAny(f.text[:1], " \t\n") == 0 {
				e.end()
			}
			if !e.open {
				e.now.line = one.line
			}
			e.add(word)
		}
		if last := len(f.text) - 1; last >= 0 && strings.IndexByte(" \t\n", f.text[last]) >= 0 {
			e.end()
		}
	}
}
