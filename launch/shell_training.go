package launch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// training is the command of a script that starts training.
type training struct {
	starter []shellField // torchrun or srun with its options
	args    []shellField // flags of the program
}

// training returns the call with most known flags. Where no call has one, it is a call in a part
// that is not followed, which is a problem, else the words of variables that have.
func (s *script) training(known func(shellField) bool) training {
	best, most, calls := mostKnown(s.calls, known)
	if calls > 1 {
		line := 0
		if len(best.args) > 0 {
			line = best.args[0].line
		}
		s.ignored = append(s.ignored, Ignored{Key: "other command lines", Why: fmt.Sprintf("%d more have such flags; the one with most is read", calls-1), Line: line})
	}
	if most > 0 {
		return best
	}
	if s.over > 0 {
		s.problems = append(s.problems, Problem{Line: s.over, Message: "the script ends here, before training starts"})
		return best
	}
	for i := range s.asides {
		a := &s.asides[i]
		if one, n, _ := mostKnown([][]shellField{a.words}, known); n > most {
			best, most = one, n
			s.problems = append(s.problems, Problem{Line: a.line, Message: fmt.Sprintf("training starts in a %s, which is not followed: read as if it ran once; give a script with one command line of it", a.what)})
		}
	}
	if most > 0 {
		return best
	}
	seen := map[string]bool{}
	for _, name := range s.order {
		fields := s.vars[name]
		if !s.arrays[name] {
			var words []shellField
			for _, f := range fields {
				for word := range strings.FieldsSeq(f.text) {
					if f.text = word; !strings.HasPrefix(f.unknown, whether) {
						f.unknown = ""
					}
					words = append(words, f)
				}
			}
			fields = words
		}
		if !seen[name] && slices.ContainsFunc(fields, known) {
			best.args = append(best.args, fields...)
		}
		seen[name] = true
	}
	return best
}

// mostKnown returns the call with most known flags, how many it has, and how many calls have some.
func mostKnown(list [][]shellField, known func(shellField) bool) (best training, most, calls int) {
	for _, call := range list {
		n := 0
		for _, f := range call {
			if known(f) {
				n++
			}
		}
		if n == 0 || call[0].text == "echo" || call[0].text == "printf" {
			continue
		}
		if calls++; n < most {
			continue
		}
		at := slices.IndexFunc(call, func(f shellField) bool {
			return strings.HasSuffix(path.Base(f.text), ".py") || strings.HasSuffix(f.text, "train.sh")
		})
		if at < 0 { // flags alone
			at = slices.IndexFunc(call, known) - 1
		}
		best, most = training{slices.Clone(call[:at+1]), call[at+1:]}, n
	}
	for i := range best.starter {
		if f := &best.starter[i]; strings.HasPrefix(f.unknown, whether) && !strings.HasPrefix(f.text, "-") { // a number of nodes that may be another
			f.text = f.unknown
		}
	}
	return best, most, calls
}
