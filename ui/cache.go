package ui

import "meshscope/ui/knobs"

// panelKey is everything a panel's lines depend on. Two equal keys draw the
// same lines.
type panelKey struct {
	serial int // of the report or of the rows
	look   int
	dimmed bool
	w, h   int
	a, b   int    // what else: a page, a generation
	text   string // a focus, typed text
}

// cache keeps the drawn lines of each panel, so that a key press redraws only
// what it changed. It never changes what is drawn.
type cache struct {
	panels map[string]cached
	column map[panelKey]knobs.Drawn // one entry, the last
}

type cached struct {
	key   panelKey
	lines []string
}

func newCache() *cache { return &cache{panels: map[string]cached{}} }

// lines are the panel's, drawn if its key changed.
func (c *cache) lines(panel string, key panelKey, draw func() []string) []string {
	if have, ok := c.panels[panel]; ok && have.key == key {
		return have.lines
	}
	lines := draw()
	c.panels[panel] = cached{key: key, lines: lines}
	return lines
}

// knobs is the drawn knobs column.
func (c *cache) knobs(key panelKey, draw func() knobs.Drawn) knobs.Drawn {
	if have, ok := c.column[key]; ok {
		return have
	}
	d := draw()
	c.column = map[panelKey]knobs.Drawn{key: d}
	return d
}
