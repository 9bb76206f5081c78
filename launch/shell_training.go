package launch

import (
	"fmt"
	"slices"
	"strings"
)

// training is the command of a script that starts training.
type training struct {
	starter []shellField // torchrun or srun with its options
	args    []shellField // flags of the program
	way     string       // what decides whether it runs; empty: it does
}

// line is where its flags are.
func (t *training) line() int {
	if len(t.args) > 0 {
		return t.args[0].line
	}
	return 0
}

// training returns the call with most known flags. Where no call has one, it is a call in a part
// that is not followed, which is said, else the words of variables that have.
func (s *script) training(known func(shellField) bool) training {
	best, most, calls := mostKnown(s.calls, known)
	if calls > 1 {
		line := 0
		if len(best.args) > 0 {
			line = best.args[0].line
		}
		s.ignored = append(s.ignored,
			Ignored{
				Key: "other command lines",
				Why: fmt.Sprintf("%d more have such flags; the one with most is read", calls-1), Line: line,
			})
	}
	if most > 0 {
		if best.way != "" {
			s.ignored = append(s.ignored,
				Ignored{
					Key: "training", Why: "read as if it runs; it depends on " + best.way,
					Line: best.line(),
				})
		}
		return best
	}
	if s.over > 0 {
		s.problems = append(s.problems,
			Problem{Line: s.over, Message: "the script ends here, before training starts"})
		return best
	}
	for i := range s.asides {
		a := &s.asides[i]
		if one, n, _ := mostKnown([]shellCall{{fields: a.words}}, known); n > most {
			best, most = one, n
			s.ignored = append(s.ignored,
				Ignored{
					Key: "training", Line: a.line,
					Why: fmt.Sprintf("it starts in a %s, which is not followed: read as if it ran once",
						a.what),
				})
		}
	}
	if most > 0 {
		return best
	}
	seen := map[string]bool{}
	for _, name := range s.order {
		if seen[name] { // assigned again: once is enough of long texts
			continue
		}
		seen[name] = true
		fields := s.vars[name]
		if !s.arrays[name] {
			var words []shellField
			for _, f := range fields {
				for _, word := range f.words() {
					words = append(words, s.legible(word))
				}
			}
			fields = words
		} else {
			fields = s.legibles(fields)
		}
		if slices.ContainsFunc(fields, known) {
			best.args = append(best.args, fields...)
		}
	}
	return best
}

// mostKnown returns the call with most known flags, how many it has, and how many calls have some. Of several
// with as many, what they have differently is in doubt.
func mostKnown(list []shellCall, known func(shellField) bool) (best training, most, calls int) {
	for i := range list {
		call := list[i].fields
		n := 0
		for _, f := range call {
			if known(f) {
				n++
			}
		}
		if n == 0 || len(call) == 0 || slices.Contains([]string{"echo", "printf", "export"}, call[0].text) {
			continue
		}
		if calls++; n < most {
			continue
		}
		at := programAt(call)
		if at < 0 {
			at = slices.IndexFunc(call,
				func(f shellField) bool { return strings.HasSuffix(f.text, "train.sh") })
		}
		if at < 0 { // flags alone
			at = slices.IndexFunc(call, known) - 1
		}
		one := training{
			starter: slices.Concat(list[i].outer, list[i].env, call[:at+1]), args: call[at+1:],
			way: list[i].way,
		}
		if n == most {
			one.args = alternatives(best.args, one.args)
			if best.way == "" || one.way == "" {
				one.way = ""
			}
		}
		best, most = one, n
	}
	best.starter = slices.Clone(best.starter)
	for i := range best.starter {
		// a number of nodes that may be another
		if f := &best.starter[i]; strings.HasPrefix(f.unknown, whether) && !strings.HasPrefix(f.text, "-") &&
			!strings.Contains(f.text, "/") {
			f.text = f.unknown
		}
	}
	return best, most, calls
}

// alternatives returns the words of one command line of two, with what they have differently in doubt.
func alternatives(a, b []shellField) []shellField {
	const why = whether + "first or another of the command lines is meant"
	first, second := groupsOf(a, false), groupsOf(b, false)
	key := func(g []shellField) string {
		var b strings.Builder
		for _, f := range g {
			b.WriteString(f.text + "\x00" + f.unknown + "\x00")
		}
		return b.String()
	}
	var out []shellField
	for i, way := range [][][]shellField{first, second} {
		other := [][][]shellField{second, first}[i]
		has := map[string]bool{}
		for _, o := range other {
			has[key(o)] = true
		}
		for _, g := range way {
			if has[key(g)] {
				if i == 0 {
					out = append(out, g...)
				}
				continue
			}
			out = append(out, inDoubt(g, why)...)
		}
	}
	return out
}
