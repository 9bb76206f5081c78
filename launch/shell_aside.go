package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// aside is a call in a part of a script that is not followed.
type aside struct {
	words []shellField
	what  string // the part: a function, a loop
	line  int
}

// whether begins what a word depends on that is added in a part that may run or not.
const whether = "whether the "

// forget leaves a part that may run or not: what it assigns is not known any more, what it appends
// may be there, and its calls are kept aside.
func (w *walker) forget(n syntax.Node, what string) {
	if w.written += int(n.End().Offset() - n.Pos().Offset()); w.tooLong() {
		return
	}
	var grown []string
	e := w.effectsOf(n)
	names := slices.Sorted(maps.Keys(e.names))
	for _, name := range names {
		w.doubt(name, what, w.lineOf(n))
	}
	if e.all != "" {
		w.doubtAll(e.all, w.lineOf(n))
	}
	for _, a := range e.grown {
		if w.append(a, what); w.tooLong() {
			return
		}
		grown = append(grown, a.Name.Value)
	}
	w.skip(n, what)
	why := "not followed: only one way through it happens"
	if len(names) > 0 {
		why += "; unknown after it: " + strings.Join(names, ", ")
	}
	if len(grown) > 0 {
		slices.Sort(grown)
		why += "; may have more words after it: " + strings.Join(slices.Compact(grown), ", ")
	}
	w.notFollowed(n, what, why)
	w.keepAside(n, what)
}

// append adds the words to a variable that may be there after a part that is not followed.
func (w *walker) append(a *syntax.Assign, what string) {
	var words []shellField
	if a.Array == nil && a.Value != nil {
		for word := range strings.FieldsSeq(w.word(a.Value).text) {
			words = append(words, shellField{text: word})
		}
	} else if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				words = append(words, w.fields(e.Value)...)
			}
		}
	}
	name := a.Name.Value
	old := w.vars[name]
	for _, f := range old {
		w.written += len(f.text) + 1
	}
	if w.tooLong() {
		return
	}
	all := slices.Clone(old)
	for _, f := range words {
		all = append(all,
			shellField{
				text: w.maybe(f.text, fmt.Sprintf("%s%s of line %d runs", whether, what, w.lineOf(a))),
				line: w.lineOf(a),
			})
	}
	if a.Array == nil && len(all) > 1 {
		all = []shellField{{text: joined(all), line: all[0].line}}
	}
	if old == nil {
		w.order = append(w.order, name)
		w.arrays[name] = a.Array != nil
	}
	w.vars[name] = all
}

// keepAside keeps the calls of a part that is not followed.
func (w *walker) keepAside(n syntax.Node, what string) {
	said := w.ignored
	syntax.Walk(n, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok || len(c.Args) == 0 || w.tooLong() {
			return !w.tooLong()
		}
		if words := w.fields(c.Args...); !w.tooLong() {
			w.asides = append(w.asides, aside{w.legibles(words), what, w.lineOf(c)})
		}
		return true
	})
	w.ignored = said
}

// uncalled keeps the calls of functions aside that nothing calls by name.
func (w *walker) uncalled() {
	for _, name := range slices.Sorted(maps.Keys(w.functions)) {
		for _, f := range w.functions[name] {
			if f != nil && !w.called[name] {
				w.keepAside(f, "function")
			}
		}
	}
}

// skip keeps the words of a part that is not followed.
func (w *walker) skip(n syntax.Node, what string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "--") {
			w.skipped = append(w.skipped, shellField{text: lit.Value, unknown: what, line: w.lineOf(lit)})
		}
		return true
	})
}
