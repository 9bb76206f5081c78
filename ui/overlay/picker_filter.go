package overlay

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sahilm/fuzzy"
)

// match is an item that passed the filter, with the letters that did.
type match struct {
	index   int
	letters []int // of Title + " " + Name, in bytes
}

// filter keeps the items that contain every word that was typed or, where none does, those that match them
// fuzzily, best first; unfiltered lists keep their order.
func (p *Picker) filter() {
	defer p.sort()
	p.more = 0
	query := strings.TrimSpace(spaced(p.input.Value()))
	p.shown = p.shown[:0]
	if query == "" {
		for i := range p.items {
			p.shown = append(p.shown, match{index: i})
		}
		return
	}
	words := strings.Fields(query)
	for _, m := range fuzzy.FindFrom(words[0], texts(p.items)) {
		if letters, ok := p.matchesAll(m.Index, words[1:], m.MatchedIndexes); ok {
			p.shown = append(p.shown, match{index: m.Index, letters: letters})
		}
	}
	// Letters here and there count only where nothing has the words themselves.
	whole := func(m match) bool { return hasAll(texts(p.items).String(m.index), words) }
	if slices.ContainsFunc(p.shown, whole) {
		p.shown = slices.DeleteFunc(p.shown, func(m match) bool { return !whole(m) })
	} else {
		p.shown = slices.DeleteFunc(p.shown,
			func(m match) bool { return !meant(texts(p.items).String(m.index), words) })
	}
	slices.SortStableFunc(p.shown, func(a, b match) int {
		x, y := &p.items[a.index], &p.items[b.index]
		return cmp.Or(cmp.Compare(closeness(x, query), closeness(y, query)), cmp.Compare(x.Rank, y.Rank),
			cmp.Compare(before(x, query), before(y, query)), p.listed(a, b, query))
	})
	if best := p.best(query); best < len(p.shown) {
		p.more, p.shown = len(p.shown)-best, p.shown[:best]
	}
}

// best returns how many of the matches are shown: all, where the list has no limit or was scrolled past it,
// else the limit and whatever begins with three letters or more that were typed.
func (p *Picker) best(query string) int {
	if p.Best == 0 || p.all {
		return len(p.shown)
	}
	n := p.Best
	for len(query) > 2 && n < len(p.shown) && closeness(&p.items[p.shown[n].index], query) <= begins {
		n++
	}
	return n
}

// meant reports whether every word shortens words of a text: letters here and there are in any long one.
func meant(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !shortens(text, w) })
}

// shortens reports whether a typed word is one of a text with some letters left out, or the beginnings of
// several: it begins where a word does, and up to half of its letters do not follow the one before in the
// text but after at most two others, or begin a word near it.
func shortens(text, typed string) bool {
	const left, near = 2, 8
	low, typed := strings.ToLower(text), strings.ToLower(typed)
	if len(low) != len(text) {
		low = text // a sign whose other case has another length
	}
	begins := func(i int) bool {
		return i == 0 || !letter(text[i-1]) || text[i] >= 'A' && text[i] <= 'Z' && text[i-1] >= 'a'
	}
	jumps := make([]int, len(low)) // of the best way that has its last letter there; 0: none, else one more
	for i := range jumps {
		if begins(i) && low[i] == typed[0] {
			jumps[i] = 1
		}
	}
	for n := 1; n < len(typed); n++ {
		next := make([]int, len(low))
		for i := range low {
			if low[i] != typed[n] {
				continue
			}
			for back := 1; back <= min(near, i); back++ {
				from := jumps[i-back]
				if from == 0 || back > 1+left && !begins(i) {
					continue
				}
				if from += min(back-1, 1); next[i] == 0 || from < next[i] {
					next[i] = from
				}
			}
		}
		jumps = next
	}
	return slices.ContainsFunc(jumps, func(j int) bool { return j > 0 && j-1 <= max(len(typed)/2, 1) })
}

// letter reports whether a byte is of a word: a letter, a digit, or of a sign beyond ASCII.
func letter(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= utf8.RuneSelf
}

// hasAll reports whether a text contains every word.
func hasAll(text string, words []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words,
		func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}

// listed keeps the order of the list among items that contain what was typed; the others stay in that
// of the fuzzy search.
func (p *Picker) listed(a, b match, query string) int {
	if closeness(&p.items[a.index], query) > contains {
		return 0
	}
	return cmp.Compare(a.index, b.index)
}

// Ranks of matches, best first; the others come behind in the order of the fuzzy search.
const (
	same     = iota // a name that is what was typed
	begins          // one that begins so, also behind its kind: knob global batch
	word            // one with a word that begins so
	contains        // one that only contains it
)

// spaced returns a text with blanks for the dashes behind letters: llama-4 is llama 4, --tp stays a flag.
func spaced(text string) string {
	out := []byte(text)
	for i := 1; i < len(out); i++ {
		if out[i] == '-' && letter(out[i-1]) {
			out[i] = ' '
		}
	}
	return string(out)
}

// closeness ranks a match.
func closeness(item *Item, query string) int {
	query = strings.ToLower(query)
	title, name := strings.ToLower(spaced(item.Title)), strings.ToLower(spaced(item.Name))
	behind := title
	for _, kind := range []string{"knob ", "word ", "model ", "cluster ", "figure ", "demonstration "} {
		behind = strings.TrimPrefix(behind, kind)
	}
	switch {
	case name == query || title == query || behind == query ||
		slices.ContainsFunc(item.Hidden, func(s string) bool { return strings.EqualFold(spaced(s), query) }):
		return same
	case strings.HasPrefix(name, query) || strings.HasPrefix(title, query) ||
		strings.HasPrefix(behind, query):
		return begins
	case wordAt(title, query) >= 0 || wordAt(name, query) >= 0:
		return word
	case strings.Contains(name, query) || strings.Contains(title, query):
		return contains
	}
	return contains + 1
}

// before returns how much of a title stands before the word that was typed: Qwen3 30B-A3B is meant by 30b-a3b
// rather than Nemotron 3 Nano 30B-A3B. 0 for other matches.
func before(item *Item, query string) int {
	if closeness(item, query) != word {
		return 0
	}
	if at := wordAt(strings.ToLower(spaced(item.Title)), strings.ToLower(query)); at >= 0 {
		return at
	}
	return math.MaxInt // a word of the name alone
}

// wordAt returns where a word of a text begins with what was typed, behind a blank, a dash or another sign;
// -1: nowhere.
func wordAt(text, typed string) int {
	for from := 0; typed != ""; {
		at := strings.Index(text[from:], typed)
		if at < 0 {
			break
		}
		if at += from; at == 0 || !letter(text[at-1]) {
			return at
		}
		from = at + 1
	}
	return -1
}

func (p *Picker) matchesAll(index int, words []string, letters []int) ([]int, bool) {
	text := texts(p.items).String(index)
	for _, w := range words {
		found := fuzzy.Find(w, []string{text})
		if len(found) == 0 {
			return nil, false
		}
		letters = append(letters, found[0].MatchedIndexes...)
	}
	return letters, true
}

// texts returns the filtered texts: title, name and hidden names of every item.
type texts []Item

func (t texts) String(i int) string {
	return spaced(strings.Join(append([]string{t[i].Title, t[i].Name}, t[i].Hidden...), " "))
}
func (t texts) Len() int { return len(t) }

// sort puts the largest of the chosen values first; items without it keep their
// order behind.
func (p *Picker) sort() {
	if p.order == 0 {
		return
	}
	value := func(m match) float64 {
		if v := p.items[m.index].Values; p.order <= len(v) {
			return v[p.order-1]
		}
		return math.Inf(-1)
	}
	slices.SortStableFunc(p.shown, func(a, b match) int { return cmp.Compare(value(b), value(a)) })
}
