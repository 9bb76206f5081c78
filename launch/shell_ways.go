package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is followed more than once.
const (
	maxRounds   = 64 // of a loop
	maxFunction = 12 // functions inside each other
)

// ways follows each way through a part in a state of its own, and joins what they leave.
func (w *walker) ways(n syntax.Node, what string, runs ...func()) {
	before, line := w.shellState, w.lineOf(n)
	said, fuzzy := w.way, w.fuzzy
	if before.way == "" {
		before.way = fmt.Sprintf("%s%s of line %d runs", whether, what, line)
	}
	var ends []shellState
	for _, run := range runs {
		if w.tooLong() {
			return
		}
		w.shellState = w.copyOf(&before)
		run()
		switch {
		case w.over > 0:
			w.ignored = append(w.ignored,
				Ignored{Key: what, Why: "the script may end here, which this does not count", Line: w.over})
		default:
			fuzzy = fuzzy || w.fuzzy || w.leave != ""
			ends = append(ends, w.shellState)
		}
	}
	if len(ends) == 0 { // all of them end the script
		w.way = said
		return
	}
	w.shellState = w.copyOf(&ends[0])
	w.leave, w.way, w.fuzzy = "", said, fuzzy
	if len(ends) > 1 {
		w.join(ends, what, line)
	}
}

// join makes of several states one.
func (w *walker) join(ends []shellState, what string, line int) {
	names := map[string]bool{}
	for i := range ends {
		for name := range ends[i].vars {
			names[name] = true
		}
		for name, f := range ends[i].functions {
			for _, one := range f {
				if !slices.Contains(w.functions[name], one) {
					w.functions[name] = append(w.functions[name], one)
				}
			}
		}
		for _, of := range [][2]map[string]bool{
			{w.readonly, ends[i].readonly},
			{w.integer, ends[i].integer},
			{w.mangled, ends[i].mangled},
			{w.exported, ends[i].exported},
			{w.always, ends[i].always},
		} {
			maps.Copy(of[0], of[1])
		}
		maps.Copy(w.refs, ends[i].refs)
		w.anything = firstOf(w.anything, ends[i].anything)
		w.errexit, w.aliases, w.lastpipe = w.errexit || ends[i].errexit, w.aliases || ends[i].aliases,
			w.lastpipe || ends[i].lastpipe
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var values [][]shellField
		array, same := false, true
		for i := range ends {
			v, ok := ends[i].vars[name]
			first, had := ends[0].vars[name]
			same = same && ok == had && sameText(v, first)
			array = array || ends[i].arrays[name]
			values = append(values, v)
		}
		if w.written += len(names); same || w.tooLong() {
			continue
		}
		if array {
			w.arrays[name] = true
		}
		if name == arguments {
			w.vars[name] = []shellField{{text: w.hole("$@")}}
			continue
		}
		w.vars[name] = w.joinValues(name, what, line, values, array)
	}
}

// copyOf returns a state that changes apart from another.
func (w *walker) copyOf(s *shellState) shellState {
	w.written += len(s.vars) + len(s.arrays) + len(s.exported) + len(s.readonly) + len(s.integer) +
		len(s.mangled) + len(s.functions) + len(s.refs) + len(s.alias) + 1
	c := *s
	c.vars, c.arrays, c.functions = maps.Clone(s.vars), maps.Clone(s.arrays), maps.Clone(s.functions)
	c.readonly, c.integer, c.exported = maps.Clone(s.readonly), maps.Clone(s.integer), maps.Clone(s.exported)
	c.mangled, c.refs, c.always, c.alias = maps.Clone(s.mangled), maps.Clone(s.refs), maps.Clone(s.always),
		maps.Clone(s.alias)
	return c
}

// condition follows the commands of a condition, of which the last decides.
func (w *walker) condition(list []*syntax.Stmt) truth {
	is := unsure
	for i, st := range list {
		if i < len(list)-1 {
			w.statement(st)
			continue
		}
		is = w.holds(st)
	}
	return is
}

// branch follows an if: the way that is taken where that is known, else every one.
func (w *walker) branch(c *syntax.IfClause) {
	if c == nil || w.stopped() {
		return
	}
	if len(c.Cond) == 0 { // else
		w.statements(c.Then)
		return
	}
	errexit := w.errexit
	w.errexit = false // a condition may fail
	guards := w.guards
	w.guards = w.ends(c)
	is := w.condition(c.Cond)
	w.errexit, w.guards = errexit, guards
	switch is {
	case yes:
		if name := w.asksFor(c); name != "" {
			line := w.lineOf(c)
			w.ignored = append(w.ignored, Ignored{
				Key: name, Why: "empty, so that the script ends here: read as if it were filled in",
				Line: line,
			})
			w.doubt(name, "if", line)
			w.branch(c.Else)
			return
		}
		w.statements(c.Then)
	case no:
		w.branch(c.Else)
	default:
		w.ways(c, "if", func() { w.statements(c.Then) }, func() { w.branch(c.Else) })
	}
}

// asksFor returns the variable that the script leaves empty for its user to fill in, where an if that ends
// the script for that is decided: if [ -z "$X" ]; then exit 1; fi. Empty: it is another if.
func (w *walker) asksFor(c *syntax.IfClause) string {
	if len(c.Cond) != 1 {
		return ""
	}
	call, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || c.Cond[0].Negated || len(call.Args) != 4 || call.Args[0].Lit() != "[" ||
		call.Args[1].Lit() != "-z" {
		return ""
	}
	name := ""
	syntax.Walk(call.Args[2], func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
			name = p.Param.Value
		}
		return true
	})
	if value := w.vars[name]; len(value) == 0 || value[0].line == 0 || joined(value) != "" {
		return ""
	}
	fails := false
	for _, st := range c.Then {
		syntax.Walk(st, func(n syntax.Node) bool {
			end, ok := n.(*syntax.CallExpr)
			fails = fails || ok && len(end.Args) == 2 && end.Args[0].Lit() == "exit" &&
				end.Args[1].Lit() != "0"
			return !fails
		})
	}
	if !fails {
		return ""
	}
	return name
}

// choose follows a case.
func (w *walker) choose(c *syntax.CaseClause) {
	f := w.plain(c.Word)
	var open []*syntax.CaseItem
	sure := false
	for _, item := range c.Items {
		if item.Op != syntax.Break { // goes on into the next
			w.forget(c, "case")
			return
		}
		is := no
		for _, p := range item.Patterns {
			is = is.or(func() truth { return w.matches(p, f) })
		}
		if is == no {
			continue
		}
		open = append(open, item)
		if is == yes {
			sure = true
			break
		}
	}
	switch {
	case len(open) == 0:
	case sure && len(open) == 1:
		w.statements(open[0].Stmts)
	default:
		var runs []func()
		for _, item := range open {
			runs = append(runs, func() { w.statements(item.Stmts) })
		}
		if !sure {
			runs = append(runs, func() {})
		}
		w.ways(c, "case", runs...)
	}
}

// attempt follows a part that may turn out to be one that cannot: then it is forgotten as a whole.
func (w *walker) attempt(n syntax.Node, what string, run func() bool) {
	before := w.copyOf(&w.shellState)
	calls, ignored, fuzzy, order := len(w.calls), len(w.ignored), w.fuzzy, len(w.order)
	w.fuzzy = false
	ok := run()
	if ok && !w.fuzzy {
		w.fuzzy = fuzzy
		return
	}
	w.fuzzy = fuzzy
	w.shellState, w.calls, w.ignored, w.order = before, w.calls[:calls], w.ignored[:ignored], w.order[:order]
	w.forget(n, what)
}

// loop follows a for or while round by round, where it is known how often.
func (w *walker) loop(c syntax.Command) {
	w.attempt(c, "loop", func() bool {
		round := func(do []*syntax.Stmt) (goes, ok bool) {
			w.statements(do)
			left := w.leave
			if left == "break" || left == "continue" {
				w.leave = ""
			}
			return left == "" || left == "continue", !w.fuzzy && !w.tooLong()
		}
		switch c := c.(type) {
		case *syntax.ForClause:
			it, ok := c.Loop.(*syntax.WordIter)
			if !ok {
				return w.counted(c, round)
			}
			items := w.legibles(w.fields(it.Items...))
			if !it.InPos.IsValid() || c.Select || len(items) > maxRounds || w.special(it.Name.Value) ||
				slices.ContainsFunc(items,
					func(f shellField) bool { return f.unknown != "" || strings.ContainsAny(f.text, "*?") }) {
				return false
			}
			for _, f := range items {
				w.set(it.Name.Value, []shellField{f}, w.lineOf(c))
				if goes, ok := round(c.Do); !ok || !goes {
					return ok
				}
				if w.stopped() {
					return true
				}
			}
			return true
		case *syntax.WhileClause:
			for range maxRounds {
				is := w.condition(c.Cond)
				if c.Until {
					is = is.not()
				}
				if is != yes {
					return is == no
				}
				if goes, ok := round(c.Do); !ok || !goes {
					return ok
				}
				if w.stopped() {
					return true
				}
			}
		}
		return false
	})
}

// counted follows for ((i = 0; i < n; i++)).
func (w *walker) counted(c *syntax.ForClause, round func([]*syntax.Stmt) (goes, ok bool)) bool {
	it, ok := c.Loop.(*syntax.CStyleLoop)
	if !ok || it.Cond == nil {
		return false
	}
	if it.Init != nil {
		if _, ok := w.calculate(it, it.Init); !ok {
			return false
		}
	}
	for range maxRounds {
		n, ok := w.calculate(it, it.Cond)
		if !ok || n == 0 {
			return ok
		}
		if goes, ok := round(c.Do); !ok || !goes {
			return ok
		}
		if it.Post != nil {
			if _, ok := w.calculate(it, it.Post); !ok {
				return false
			}
		}
		if w.stopped() {
			return true
		}
	}
	return false
}

// arguments is the variable that keeps the words of $@.
const arguments = "@"

// run follows a function with its arguments.
func (w *walker) run(c *syntax.CallExpr, name string, fields []shellField) {
	bodies := w.functions[name]
	if len(bodies) != 1 || bodies[0].Body == nil || w.nested >= maxFunction { // which of them, or an alias
		w.calls = append(w.calls,
			shellCall{fields: inDoubt(w.legibles(fields),
				fmt.Sprintf("%sfunction %s runs it as it is", whether, name)), way: w.way})
		for _, f := range bodies {
			if f.Body != nil {
				w.forget(f.Body, "function")
			}
		}
		return
	}
	w.attempt(bodies[0].Body, "function", func() bool {
		before, had := w.vars[arguments]
		local, outer := w.local, w.shellState
		w.local = map[string]bool{}
		temporary := map[string]bool{}
		for _, a := range c.Assigns { // f's own
			temporary[a.Name.Value] = true
		}
		kept := w.copyOf(&outer)
		w.assign(c.Assigns)
		w.vars[arguments] = fields[1:]
		w.nested++
		w.command(bodies[0].Body.Cmd)
		w.nested--
		if w.leave == "return" {
			w.leave = ""
		}
		maps.Copy(temporary, w.local)
		for of := range temporary {
			w.give(&kept, of)
		}
		w.local = local
		delete(w.vars, arguments)
		if had {
			w.vars[arguments] = before
		}
		return w.leave == ""
	})
}

// give puts a variable back to what it was in another state.
func (w *walker) give(from *shellState, name string) {
	if v, ok := from.vars[name]; ok {
		w.vars[name] = v
	} else {
		delete(w.vars, name)
	}
	for _, of := range [][2]map[string]bool{
		{w.arrays, from.arrays},
		{w.readonly, from.readonly},
		{w.integer, from.integer},
		{w.mangled, from.mangled},
		{w.exported, from.exported},
	} {
		of[0][name] = of[1][name]
	}
}

// stopped reports whether nothing more is followed here.
func (w *walker) stopped() bool { return w.tooLong() || w.over > 0 || w.leave != "" }

// special reports whether a variable has another way of being set than by its words.
func (w *walker) special(name string) bool {
	_, ref := w.refs[name]
	return ref || w.readonly[name] || w.integer[name] || w.mangled[name] || w.always[name] || w.always["*"]
}
