package launch

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
	if text, ok := w.alias[name]; ok {
		w.aliased(c, text, fields)
		return
	}
	if w.known(name) {
		w.called[name] = true
		w.run(c, name, fields)
		return
	}
	if w.posix &&
		slices.Contains([]string{
			":", ".", "eval", "exec", "exit", "export", "readonly", "return", "set",
			"shift", "trap", "unset", "break", "continue",
		}, name) {
		w.assign(c.Assigns) // which stay
	}
	w.calls = append(w.calls, w.callOf(c, fields))
	for len(fields) > 1 && (fields[0].text == "command" || fields[0].text == "builtin") {
		fields = fields[1:]
	}
	if name := fields[0].text; name == "[" || name == "test" {
		w.succeeds(c, w.holds(&syntax.Stmt{Cmd: c, Position: c.Pos()}))
		return
	}
	if !w.builtin(c, fields) {
		w.inner(c, fields)
	}
}

// callOf returns a call as it is kept.
func (w *walker) callOf(c *syntax.CallExpr, fields []shellField) shellCall {
	call := shellCall{fields: w.legibles(fields), way: w.way, outer: w.outer}
	for _, a := range c.Assigns {
		if a.Name != nil && a.Value != nil {
			f := w.plain(a.Value)
			f.text = a.Name.Value + "=" + f.text
			call.env = append(call.env, f)
		}
	}
	return call
}

// aliased follows a name that the shell puts other text for.
func (w *walker) aliased(c *syntax.CallExpr, text string, fields []shellField) {
	w.calls = append(w.calls,
		shellCall{
			fields: inDoubt(w.legibles(fields), whether+"alias "+fields[0].text+" runs it as it is"),
			way:    w.way,
		})
	file := parsed(text)
	if file == nil {
		w.doubtAll("alias "+fields[0].text, w.lineOf(c))
		return
	}
	w.suffer(w.effectsOf(file), "alias "+fields[0].text, w.lineOf(c))
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
		at := len(w.calls) - 1
		if w.follow(c, joined(fields[1:]),
			func(list []*syntax.Stmt, deeper *walker) { deeper.statements(list) }) && at >= 0 {
			w.calls = slices.Delete(w.calls, at, at+1) // whose words are cut as eval has them
		}
		return
	}
	for i, f := range fields {
		if f.text != "-c" && f.text != "-lc" || i == 0 || i+1 == len(fields) ||
			!strings.HasSuffix(fields[i-1].text, "sh") {
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
				clear(w.alias)
				w.vars[arguments] = slices.Clone(fields[min(i+3, len(fields)):])
				w.anything, w.errexit, w.outer = "", false,
					append(slices.Clone(w.outer), w.legibles(fields[:i-1])...)
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
func (w *walker) follow(n syntax.Node, text string, run func([]*syntax.Stmt, *walker)) bool {
	if len(text) > maxScript {
		text = "("
	}
	file := parsed(text)
	if w.depth >= maxShellDepth || file == nil {
		w.notFollowed(n, "words that are a script", "not understood")
		w.doubtAll("script in words", w.lineOf(n))
		return false
	}
	w.written += len(text)
	run(file.Stmts, &walker{script: w.script, line: w.lineOf(n) - 1, depth: w.depth + 1})
	return true
}

func joined(fields []shellField) string {
	words := make([]string, len(fields))
	for i, f := range fields {
		words[i] = f.text
	}
	return strings.Join(words, " ")
}
