package launch

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// truth is whether a condition holds.
type truth int

// What a condition is.
const (
	unsure truth = iota
	yes
	no
)

func truthOf(is bool) truth {
	if is {
		return yes
	}
	return no
}

func (t truth) not() truth { return [...]truth{unsure, no, yes}[t] }

func (t truth) and(other func() truth) truth {
	if t == no {
		return no
	}
	if b := other(); b == no || t == yes {
		return b
	}
	return unsure
}

func (t truth) or(other func() truth) truth {
	return t.not().and(func() truth { return other().not() }).not()
}

// holds follows a command, and returns whether it succeeds.
func (w *walker) holds(st *syntax.Stmt) truth {
	w.at = int(st.Pos().Line())
	is := unsure
	switch c := st.Cmd.(type) {
	case *syntax.TestClause:
		is = w.test(c.X)
	case *syntax.ArithmCmd:
		if n, ok := w.calculate(c, c.X); ok {
			is = truthOf(n != 0)
		}
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			is = w.either(c)
		} else {
			w.statement(st)
		}
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			w.statement(st)
			break
		}
		fields := w.legibles(w.fields(c.Args...))
		switch {
		case len(fields) == 0:
		case w.known(fields[0].text): // another program than it says
			w.statement(st)
		case fields[0].text == "true" || fields[0].text == ":":
			w.redirected(st)
			is = yes
		case fields[0].text == "false":
			is = no
		case fields[0].text == "test", fields[0].text == "[" && fields[len(fields)-1].text == "]":
			args := fields[1:]
			if fields[0].text == "[" {
				args = args[:len(args)-1]
			}
			args = w.notGiven(args, w.lineOf(c))
			if !slices.ContainsFunc(args, func(f shellField) bool { return f.unknown != "" }) {
				is = w.bracket(args)
			}
		default:
			w.statement(st)
		}
	default:
		w.statement(st)
	}
	if st.Negated {
		is = is.not()
	}
	return is
}

// positional finds an argument of the script as a word that is not known shows it.
var positional = regexp.MustCompile(`^\$\{?[0-9]+\}?$`)

// notGiven takes arguments of the script for empty where it is called without any and looks whether they are.
func (w *walker) notGiven(words []shellField, line int) []shellField {
	_, given := w.vars[arguments]
	empty := slices.ContainsFunc(words, func(f shellField) bool {
		return f.text == "" || f.text == "-z" || f.text == "-n"
	})
	if given || !empty || len(words) > 4 || w.guards {
		return words
	}
	out := slices.Clone(words)
	for i, f := range out {
		if f.unknown == f.text && positional.MatchString(f.text) {
			note := Ignored{Key: f.text, Why: "read as not given, which the script looks at: give it " +
				"after --", Line: line}
			if !slices.ContainsFunc(w.ignored, func(g Ignored) bool {
				return g.Key == note.Key &&
					g.Why == note.Why
			}) {
				w.ignored = append(w.ignored, note)
			}
			out[i].text, out[i].unknown = "", ""
		}
	}
	return out
}

// ends reports whether a part may end the script, itself or in a function.
func (w *walker) ends(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			name := c.Args[0].Lit()
			found = found || name == "exit" || name == "return" || w.known(name)
		}
		return !found
	})
	return found
}

// known reports whether a name is that of a function or an alias of the script.
func (w *walker) known(name string) bool {
	_, function := w.functions[name]
	return function
}

// bracket returns whether the words of [ hold, all of which are known.
func (w *walker) bracket(f []shellField) truth {
	if w.written += len(f); w.tooLong() {
		return unsure
	}
	words := make([]string, len(f))
	for i := range f {
		words[i] = f[i].text
	}
	for i, word := range words { // -o binds least
		if word == "-o" && i > 0 {
			return w.bracket(f[:i]).or(func() truth { return w.bracket(f[i+1:]) })
		}
	}
	for i, word := range words {
		if word == "-a" && i > 0 {
			return w.bracket(f[:i]).and(func() truth { return w.bracket(f[i+1:]) })
		}
	}
	switch len(words) {
	case 0:
		return no
	case 1:
		return truthOf(words[0] != "")
	case 2:
		switch words[0] {
		case "!":
			return truthOf(words[1] == "")
		case "-z":
			return truthOf(words[1] == "")
		case "-n":
			return truthOf(words[1] != "")
		}
		return unsure
	case 3:
		if words[0] == "!" {
			return w.bracket(f[1:]).not()
		}
		return w.compare(words[1], f[0], f[2], false)
	case 4:
		if words[0] == "!" {
			return w.bracket(f[1:]).not()
		}
	}
	return unsure
}

// compare returns whether two words stand in a relation.
func (w *walker) compare(op string, a, b shellField, double bool) truth {
	if a.unknown != "" || b.unknown != "" {
		return unsure
	}
	switch op {
	case "=", "==":
		return truthOf(a.text == b.text)
	case "!=":
		return truthOf(a.text != b.text)
	case "<", ">":
		if !double {
			return unsure
		}
		return truthOf((a.text < b.text) == (op == "<"))
	}
	is, ok := map[string]func(x, y int) bool{
		"-eq": func(x, y int) bool { return x == y }, "-ne": func(x, y int) bool { return x != y },
		"-lt": func(x, y int) bool { return x < y },
		"-le": func(x, y int) bool { return x <= y }, "-gt": func(x, y int) bool { return x > y },
		"-ge": func(x, y int) bool { return x >= y },
	}[op]
	if !ok {
		return unsure
	}
	x, known := w.wholeText(a.text)
	y, also := w.wholeText(b.text)
	if !known || !also {
		return unsure
	}
	return truthOf(is(x, y))
}

// wholeText returns the value of a text that is an expression, as [[ 1+1 -eq 2 ]] has it.
func (w *walker) wholeText(text string) (int, bool) {
	if n, ok := wholeOf(shellField{text: strings.TrimSpace(text)}); ok {
		return n, true
	}
	file := parsed("((" + text + "))")
	if file == nil || len(file.Stmts) != 1 {
		w.doubtAll("an expression", w.line+w.at)
		return 0, false
	}
	c, ok := file.Stmts[0].Cmd.(*syntax.ArithmCmd)
	if !ok {
		w.doubtAll("an expression", w.line+w.at)
		return 0, false
	}
	return w.calculate(c, c.X)
}

// test returns whether the expression of [[ holds.
func (w *walker) test(x syntax.TestExpr) truth {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return w.test(x.X)
	case *syntax.Word:
		f := w.plain(x)
		if f.unknown != "" {
			return unsure
		}
		return truthOf(f.text != "")
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot:
			return w.test(x.X).not()
		case syntax.TsEmpStr, syntax.TsNempStr:
			f := w.notGiven([]shellField{w.plain(x.X.(*syntax.Word)), {}}, w.lineOf(x))[0]
			if f.unknown != "" {
				return unsure
			}
			return truthOf((f.text == "") == (x.Op == syntax.TsEmpStr))
		default:
			if word, ok := x.X.(*syntax.Word); ok {
				w.word(word) // for what it assigns
			}
			return unsure
		}
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest:
			return w.test(x.X).and(func() truth { return w.testMaybe(x.Y) })
		case syntax.OrTest:
			return w.test(x.X).or(func() truth { return w.testMaybe(x.Y) })
		default:
		}
		a, ok := x.X.(*syntax.Word)
		b, also := x.Y.(*syntax.Word)
		if !ok || !also {
			return unsure
		}
		left, right := w.plain(a), w.plain(b)
		switch x.Op {
		case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
			is := w.matches(b, left)
			if x.Op == syntax.TsNoMatch {
				is = is.not()
			}
			return is
		case syntax.TsReMatch:
			return unsure
		default:
			both := w.notGiven([]shellField{left, right}, w.lineOf(x))
			return w.compare(x.Op.String(), both[0], both[1], true)
		}
	}
	return unsure
}

// testMaybe returns whether an expression holds that is looked at only where the one before it says so.
func (w *walker) testMaybe(x syntax.TestExpr) truth {
	e := w.effectsOf(x)
	is := w.test(x)
	w.suffer(e, "[[", w.line+w.at)
	return is
}

// plain returns a word as a value, legible.
func (w *walker) plain(word *syntax.Word) shellField { return w.legible(w.word(word)) }

// matches reports whether a word matches a pattern of case or [[.
func (w *walker) matches(word *syntax.Word, f shellField) truth {
	quoted := ""
	for _, p := range word.Parts {
		one := w.plain(&syntax.Word{Parts: []syntax.WordPart{p}})
		if one.unknown != "" {
			return unsure
		}
		switch lit := p.(type) {
		case *syntax.Lit:
			quoted += lit.Value
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted += pattern.QuoteMeta(one.text, 0)
		case *syntax.ExtGlob:
			return unsure
		default:
			quoted += one.text
		}
	}
	if quoted == "*" {
		return yes
	}
	if f.unknown != "" || strings.Contains(quoted, "[") {
		return unsure
	}
	ok, err := path.Match(quoted, strings.ReplaceAll(f.text, "/", "\x00"))
	if strings.Contains(quoted, "/") {
		ok, err = path.Match(strings.ReplaceAll(quoted, "/", "\x00"), strings.ReplaceAll(f.text, "/", "\x00"))
	}
	if err != nil {
		return unsure
	}
	return truthOf(ok)
}
