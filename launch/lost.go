package launch

import (
	"fmt"
	"slices"
	"strings"
)

// Lost lists what the file of a reading says and a document that is written from it does not: keys that no
// setup has, and those of the same launcher that come out with another value.
func (r *Reading) Lost(d *Document) []NotCarried {
	written, reasoned := map[string]string{}, map[string]bool{}
	for _, e := range d.Entries {
		if !e.Site {
			// such as a vocabulary without the token that is added
			written[e.Key], reasoned[e.Key] = fmt.Sprint(e.Value), e.Why != ""
		}
	}
	var out []NotCarried
	same := func(key string, value any) (other string, ok bool) {
		other, ok = written[key]
		return other, ok && r.Launcher == d.Launcher && strings.EqualFold(other, fmt.Sprint(value))
	}
	for _, i := range r.Ignored {
		if _, kept := same(i.Key, i.value); i.lost && !kept {
			out = append(out,
				NotCarried{i.Key, fmt.Sprintf("%s in line %d: %s", shown(i.value), i.Line, i.Why)})
		}
	}
	for _, u := range r.Understood {
		if now, kept := same(u.Key, u.Value); u.Line > 0 && now != "" && !kept && !reasoned[u.Key] &&
			r.Launcher == d.Launcher {
			out = append(out,
				NotCarried{u.Key, fmt.Sprintf("%s in line %d is %s here", shown(u.Value), u.Line, now)})
		}
	}
	slices.SortStableFunc(out, func(a, b NotCarried) int { return strings.Compare(a.Key, b.Key) })
	return out
}
