package overlay

import (
	"cmp"
	"math"
	"slices"
	"strings"

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
	query := strings.TrimSpace(p.input.Value())
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
	}
	slices.SortStableFunc(p.shown, func(a, b match) int {
		x, y := &p.items[a.index], &p.items[b.index]
		return cmp.Or(cmp.Compare(closeness(x, query), closeness(y, query)), cmp.Compare(x.Rank, y.Rank),
			cmp.Compare(before(x, query), before(y, query)), p.listed(a, b, query))
	})
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

// closeness ranks a match.
func closeness(item *Item, query string) int {
	query = strings.ToLower(query)
	title, name := strings.ToLower(item.Title), strings.ToLower(item.Name)
	behind := title
	for _, kind := range []string{"knob ", "word ", "model ", "cluster ", "figure ", "demonstration "} {
		behind = strings.TrimPrefix(behind, kind)
	}
	switch {
	case name == query || title == query ||
		slices.ContainsFunc(item.Hidden, func(s string) bool { return strings.EqualFold(s, query) }):
		return same
	case strings.HasPrefix(name, query) || strings.HasPrefix(title, query) ||
		strings.HasPrefix(behind, query):
		return begins
	case strings.Contains(title, " "+query):
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
	return strings.Index(strings.ToLower(item.Title), " "+strings.ToLower(query))
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
	return strings.Join(append([]string{t[i].Title, t[i].Name}, t[i].Hidden...), " ")
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
