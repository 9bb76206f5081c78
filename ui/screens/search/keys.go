package search

import (
	"slices"

	"meshscope/ui/screen"
	"meshscope/ui/table"
	"meshscope/ui/widget"
)

// Name returns the name of the tab.
func (*View) Name() string { return "Search" }

// Opens says that s opens the screen from everywhere.
func (*View) Opens() screen.Opening {
	return screen.Opening{ID: "search", Keys: "s", Help: "search: the best layouts, ranked"}
}

// mode is the part of the screen that has the arrow keys, or what the footer is about.
type mode uint8

const (
	tableMode mode = iota
	knobMode
	guideMode
	pictureMode
	runningMode // for the footer: a search runs
	noneMode    // for the footer: no layout passes the filter
)

func (v *View) mode() mode {
	switch {
	case v.inKnob:
		return knobMode
	case v.guide.open:
		return guideMode
	case v.inPicture && v.picture != scatterPicture:
		return pictureMode
	}
	return tableMode
}

// footMode returns what the footer is about.
func (v *View) footMode(in *screen.Context) mode {
	switch {
	case v.running != nil:
		return runningMode
	case in != nil && v.mode() == tableMode && !v.inPicture && v.nonePasses(v.shown(in)):
		return noneMode
	}
	return v.mode()
}

// Keys returns the key table: first the part that has the arrow keys, then the whole screen.
func (v *View) Keys(in *screen.Context) []screen.Key {
	if in != nil && in.Setup == nil {
		return nil
	}
	foot := v.footMode(in)
	var keys []screen.Key
	add := func(m mode, rows []screen.Key) {
		for _, k := range rows {
			when := k.When
			k.When = func() bool { return v.mode() == m && (when == nil || when()) }
			if foot != m && foot != noneMode {
				k.Hint = ""
			}
			keys = append(keys, k)
		}
	}
	table := v.tableKeys(in, foot)
	add(tableMode, table[:1])
	add(knobMode, v.knobKeys(in))
	add(guideMode, v.guideKeys(in))
	add(pictureMode, v.pictureKeys(in))
	keys = append(keys, v.generalKeys(in, foot)...)
	add(tableMode, table[1:])
	again := screen.Key{ID: "again", Keys: ".", Help: "search again", Do: v.again}
	if foot == tableMode {
		again.Hint = "again"
	}
	keys = append(keys, again)
	for i := range keys { // a message about what was typed goes with the next key
		k := &keys[i]
		if do := k.Do; do != nil {
			k.Do = func(n int) {
				v.entry = entry{}
				do(n)
			}
		}
	}
	return keys
}

// generalKeys returns those of every mode.
func (v *View) generalKeys(in *screen.Context, foot mode) []screen.Key {
	hint := func(texts map[mode]string) string { return texts[foot] }
	knobs := map[mode]string{tableMode: "query", knobMode: "back to the layouts", runningMode: "query"}
	return []screen.Key{
		{
			Keys: "esc", Help: "stop the search and keep its results; remove the filter",
			Hint: hint(map[mode]string{
				runningMode: "stop, keep results", noneMode: "remove the filter",
				pictureMode: "back to the layouts",
			}), When: v.escapes, Do: v.escape,
		},
		{
			ID: "knobs", Keys: "f", Help: "query: objective, limits, fixed degrees; and back",
			Hint: hint(knobs),
			Do:   func(int) { v.inKnob, v.inPicture = !v.inKnob, false },
		},
		{
			ID: "free", Keys: "a", Help: "search everything again: nothing fixed",
			Hint: hint(map[mode]string{knobMode: "free all"}), Do: func(int) { v.chosen = chosen{} },
		},
		{
			ID: "filter", Keys: "/", Help: "filter: tp=4 pp>2 free>5 interleaved",
			Hint: hint(map[mode]string{tableMode: "filter", noneMode: "change it"}), Do: v.startFilter,
		},
		{
			ID: "picture", Keys: "v",
			Help: "next picture: memory and speed, model sizes by nodes, measured runs",
			Hint: hint(map[mode]string{tableMode: "picture", pictureMode: "next picture"}), Do: func(int) {
				v.guide.open = false
				v.nextPicture(v.arrange(in.W, in.H).small)
			},
		},
		{
			ID: "guide", Keys: "3", Help: "three steps to a layout: fit, global batch, throughput; and back",
			Hint: hint(map[mode]string{tableMode: "guide", guideMode: "back to the layouts"}),
			When: func() bool { return !v.inKnob },
			Do:   func(int) { v.guide.open, v.inKnob = !v.guide.open, false },
		},
	}
}

// knobKeys choose and turn what is searched.
func (v *View) knobKeys(in *screen.Context) []screen.Key {
	return []screen.Key{
		{
			ID: "knob-up knob-down", Keys: "up k | down j", Help: "knob above, below", Hint: "choose",
			Do: func(n int) { v.moveKnob(in, n) },
		},
		{
			ID: "turn-before turn-after", Keys: "left h | right l",
			Help: "turn the knob: fix a value or leave it to the search", Hint: "fix or free",
			Do: func(n int) { v.turn(v.knob, n) },
		},
		{
			ID: "first last", Keys: "home | end", Help: "first, last knob",
			Do: func(n int) { v.moveKnob(in, n*int(knobs)) },
		},
		{Keys: "enter", Help: "back to the layouts", Do: func(int) { v.inKnob = false }},
		{
			Keys: "0 1 2 3 4 5 6 7 8 9", Help: "digits type a value, enter takes it", Foot: "0-9",
			Hint:  "type",
			Begin: v.startEntry,
		},
	}
}

// tableKeys move in the table and take a layout; the first is enter.
func (v *View) tableKeys(in *screen.Context, foot mode) []screen.Key {
	t := &v.table
	hint := func(text string) string {
		if foot == tableMode {
			return text
		}
		return ""
	}
	take := hint("take it")
	if foot == noneMode && v.fixWords() != "" {
		take = "search with it fixed"
	}
	return slices.Concat([]screen.Key{
		{
			Keys: "enter", Help: "take this layout as the setup", Hint: take,
			Ask: func() screen.Request { return v.enter(in) },
		},
		{
			ID: "own", Keys: "n", Help: "go to the current setup", Hint: hint("your setup"),
			Do: func(int) {
				t.Row = max(slices.IndexFunc(v.shown(in), func(r row) bool { return r.Current }), 0)
			},
		},
	}, t.Keys("layout", func() table.Form { return v.form(in, v.arrange(in.W, in.H).w) },
		func() int { return len(v.shown(in)) },
		func() int { return v.arrange(in.W, in.H).table - 2 - v.above(in) }, hint))
}

// enter takes the layout under the cursor, or searches with what the filter asks for
// where no layout passes it.
func (v *View) enter(in *screen.Context) screen.Request {
	v.entry = entry{}
	rows := v.shown(in)
	if v.nonePasses(rows) && v.fixWords() != "" {
		return v.fixFilter(in)
	}
	return v.take(rows)
}

// Typing says that letters go into the filter or the value of a knob.
func (v *View) Typing() bool { return v.table.Typing || v.entry.on }

// Type takes a key of the filter or of the value of a knob.
func (v *View) Type(in *screen.Context, key string) screen.Request {
	if v.table.Typing {
		v.table.Type(key)
		return screen.Request{}
	}
	return v.entryKey(in, key)
}

// Prompt returns the footer while Typing.
func (v *View) Prompt() []widget.Hint {
	if !v.table.Typing {
		return []widget.Hint{{Key: "enter", Text: "takes the value"}, {Key: "esc", Text: "does not"}}
	}
	return v.table.Prompt()
}

// Paste puts pasted text into the filter or the value that is typed.
func (v *View) Paste(text string) {
	if v.entry.on {
		v.entry.input.Paste(text)
		v.entry.wrong = ""
		return
	}
	v.table.Paste(text)
}

// again searches once more; what was stopped goes on from the beginning.
func (v *View) again(int) {
	if v.running == nil {
		v.answer = nil
	}
}

// startFilter lets the next keys go into the filter.
func (v *View) startFilter(int) {
	v.table.Typing = true
	v.table.Input.End()
}

// escapes reports whether there is something that escape ends.
func (v *View) escapes() bool {
	return v.running != nil || v.table.Input.Value() != "" || v.inKnob || v.guide.open || v.inPicture
}

// escape ends one thing: the running search, the filter, the knobs.
func (v *View) escape(int) {
	t := &v.table
	switch {
	case v.cancel():
	case t.Input.Value() != "":
		t.Clear()
	case v.inKnob:
		v.inKnob = false
	case v.guide.open:
		v.guide.open = false
	default:
		v.inPicture = false
	}
}

// take makes the layout under the cursor the setup.
func (v *View) take(rows []row) screen.Request {
	if v.foundNothing() { // the current setup is the only row, and is not shown
		if c := v.answer.conflict; c != nil && c.Least != nil {
			return screen.Take(c.Least.Setup, "the layout with the least memory")
		}
		return screen.Request{}
	}
	if r := v.table.Under(rows); r != nil {
		return screen.Take(r.Setup, nameOf(r))
	}
	return screen.Request{}
}

// moveKnob goes n knobs down.
func (v *View) moveKnob(in *screen.Context, n int) {
	list := v.listed(in)
	v.knob = list[widget.Step(max(slices.Index(list, v.knob), 0), n, len(list))]
}

// HasKnobs says that the query has them.
func (*View) HasKnobs() {}
