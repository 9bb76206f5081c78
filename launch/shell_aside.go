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
func (w *walker) forget(n syntax.Node, what string) error {
	if w.written += int(n.End().Offset() - n.Pos().Offset()); w.written > maxExpansion {
		return errTooLong
	}
	var names, grown []string
	var added []*syntax.Assign
	syntax.Walk(n, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.Assign); ok && a.Name != nil {
			if a.Append && a.Index == nil {
				added = append(added, a)
				return true
			}
			names = append(names, a.Name.Value)
			w.vars[a.Name.Value] = []shellField{{text: "$" + a.Name.Value, unknown: "$" + a.Name.Value, line: w.lineOf(a)}}
		}
		return true
	})
	for _, a := range added {
		if err := w.append(a, what); err != nil {
			return err
		}
		grown = append(grown, a.Name.Value)
	}
	w.skip(n, what)
	why := "not followed: only one way through it happens"
	if len(names) > 0 {
		slices.Sort(names)
		why += "; unknown after it: " + strings.Join(slices.Compact(names), ", ")
	}
	if len(grown) > 0 {
		slices.Sort(grown)
		why += "; may have more words after it: " + strings.Join(slices.Compact(grown), ", ")
	}
	w.leave(n, what, why)
	return w.keepAside(n, what)
}

// append adds the words to a variable that may be there after a part that is not followed.
func (w *walker) append(a *syntax.Assign, what string) error {
	var words []shellField
	if a.Array == nil {
		one, err := w.word(a.Value)
		if err != nil {
			return err
		}
		for word := range strings.FieldsSeq(one.text) {
			words = append(words, shellField{text: word})
		}
	} else {
		for _, e := range a.Array.Elems {
			if e.Value == nil {
				continue
			}
			more, err := w.fields(e.Value)
			if err != nil {
				return err
			}
			words = append(words, more...)
		}
	}
	name := a.Name.Value
	old := w.vars[name]
	for _, f := range old {
		w.written += len(f.text) + 1
	}
	if w.written > maxExpansion {
		return errTooLong
	}
	all := slices.Clone(old)
	for _, f := range words {
		all = append(all, shellField{text: f.text, unknown: fmt.Sprintf("%s%s of line %d runs", whether, what, w.lineOf(a)), line: w.lineOf(a)})
	}
	if old == nil {
		w.order = append(w.order, name)
		w.arrays[name] = a.Array != nil
	}
	w.vars[name] = all
	return nil
}

// keepAside keeps the calls of a part that is not followed.
func (w *walker) keepAside(n syntax.Node, what string) (err error) {
	said := w.ignored
	syntax.Walk(n, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok || len(c.Args) == 0 || err != nil {
			return err == nil
		}
		var words []shellField
		for _, word := range c.Args {
			more, wrong := w.fields(word)
			if wrong != nil {
				err = wrong
				return false
			}
			words = append(words, more...)
		}
		w.asides = append(w.asides, aside{words, what, w.lineOf(c)})
		return true
	})
	w.ignored = said
	return err
}

// uncalled keeps the calls of functions aside that nothing calls by name.
func (w *walker) uncalled() error {
	for _, name := range slices.Sorted(maps.Keys(w.functions)) {
		if !w.called[name] {
			if err := w.keepAside(w.functions[name], "function"); err != nil {
				return err
			}
		}
	}
	return nil
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
