package launch

import (
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// calculate returns the value of an expression, and assigns what it does where all of it is known.
func (w *walker) calculate(n syntax.Node, x syntax.ArithmExpr) (int, bool) {
	e := w.effectsOf(x)
	if e.all == "" && w.countable(x, e) {
		into := counted{environ{w}, w.lineOf(n)}
		value, err := calculateSafely(&into, x)
		if err == nil {
			return value, true
		}
	}
	w.suffer(e, "$((...))", w.lineOf(n))
	return 0, false
}

// calculateSafely returns the value of an expression of known values by the rules of the shell.
func calculateSafely(into *counted, x syntax.ArithmExpr) (n int, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errText("not understood")
		}
	}()
	return expand.Arithm(&expand.Config{Env: into}, x)
}

// counted is what a script knows, to which an expression assigns.
type counted struct {
	environ
	line int
}

// Set assigns a number.
func (c *counted) Set(name string, v expand.Variable) error {
	c.w.set(name, []shellField{{text: v.Str, line: c.line}}, c.line)
	return nil
}

// countable reports whether all parts of an expression are numbers that are known, as bash takes them.
func (w *walker) countable(x syntax.ArithmExpr, e *effects) bool {
	for name := range e.names {
		if w.special(name) || w.arrays[name] || w.tooLong() {
			return false
		}
	}
	ok := true
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.FlagsArithm:
			ok = false
		case *syntax.ParamExp:
			if n.Index != nil {
				ok = false
			}
		case *syntax.BinaryArithm: // assigned, not read
			if n.Op == syntax.Assgn {
				if word, of := n.X.(*syntax.Word); !of || word.Lit() == "" {
					ok = false
				} else {
					ok = ok && w.countable(n.Y, e)
					return false
				}
			}
			if (n.Op == syntax.Quo || n.Op == syntax.Rem || n.Op == syntax.Pow || n.Op == syntax.Shl ||
				n.Op == syntax.Shr) && !constant(n.Y) {
				if v, known := w.calculateMaybe(n.Y); !known || v <= 0 || v > 62 && n.Op != syntax.Quo &&
					n.Op != syntax.Rem {
					ok = false
				}
			}
		case *syntax.Word:
			text := w.word(n).text
			for range 8 { // names of names
				if !IsName(text) {
					break
				}
				of := w.vars[text]
				if len(of) == 0 || w.arrays[text] || w.mangled[text] {
					if text = "?"; len(of) == 1 {
						text = of[0].text
					}
					break
				}
				text = of[0].text
			}
			if n, whole := wholeOf(shellField{text: text}); !whole || n > 1<<47 || n < -1<<47 {
				ok = false
			}
			return false
		}
		return ok
	})
	return ok
}

// constant reports whether an expression is a number other than zero, small enough for any operation.
func constant(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	if !ok {
		return false
	}
	n, err := strconv.Atoi(word.Lit())
	return err == nil && n > 0 && n < 32
}

// calculateMaybe returns the value of a part of an expression that assigns nothing.
func (w *walker) calculateMaybe(x syntax.ArithmExpr) (int, bool) {
	if e := w.effectsOf(x); len(e.names) > 0 || e.all != "" || !w.countable(x, e) {
		return 0, false
	}
	n, err := calculateSafely(&counted{environ{w}, 0}, x)
	return n, err == nil
}

// let follows one expression of let, which may be a text.
func (w *walker) let(n syntax.Node, x syntax.ArithmExpr) {
	word, ok := x.(*syntax.Word)
	if !ok {
		w.calculate(n, x)
		return
	}
	if f := w.word(word); !hasHole(f.text) {
		w.wholeText(f.text)
		return
	}
	w.doubtAll("let", w.lineOf(n))
}
