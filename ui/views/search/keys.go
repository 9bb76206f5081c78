package search

import (
	"slices"
	"strings"

	"meshscope/report/figure"
	"meshscope/ui/widget"
)

// Typing says that letters go into the filter or the value of a knob.
func (v *View) Typing() bool { return v.table.typing || v.entry.on }

// Paste puts pasted text into the filter or the value that is typed.
func (v *View) Paste(text string) {
	if v.entry.on {
		v.entry.input.Paste(text)
		v.entry.wrong = ""
		return
	}
	v.table.input.Paste(text)
	v.table.takeFilter()
}

// HandleKey moves, sorts, filters, turns what is searched, or takes a layout.
func (v *View) HandleKey(in Input, w, h int, key string) (handled bool, do Request) {
	if in.Setup == nil {
		return false, Request{}
	}
	if v.table.typing {
		v.table.filterKey(key)
		return true, Request{}
	}
	if v.entry.on {
		return v.entryKey(in, key)
	}
	if v.entry = (entry{}); v.inKnob && v.startEntry(key) {
		return true, Request{}
	}
	switch key {
	case "f":
		v.inKnob, v.inPicture = !v.inKnob, false
		return true, Request{}
	case "/":
		v.table.typing = true
		v.table.input.End()
		return true, Request{}
	case "r":
		return true, v.again(&in)
	case "a":
		v.wish = wish{}
		return true, v.Refresh(in)
	case "3":
		v.guide.open = !v.guide.open
		v.inKnob = false
		return true, v.Refresh(in)
	case "v":
		v.guide.open = false
		v.nextPicture(v.arrange(w, h).small)
		return true, v.Refresh(in)
	case "esc":
		return v.escape(), Request{}
	}
	switch {
	case v.inKnob:
		return v.knobKey(in, key)
	case v.guide.open:
		return v.guideKey(&in, key)
	case v.inPicture && v.picture != scatterPicture:
		return v.pictureKey(key)
	}
	return v.tableKey(in, w, h, key)
}

// again searches once more; what was stopped goes on from the beginning.
func (v *View) again(in *Input) Request {
	if v.running != nil {
		return Request{}
	}
	v.answer = nil
	return v.Refresh(*in)
}

// escape ends one thing: the running search, the filter, the knobs.
func (v *View) escape() bool {
	t := &v.table
	switch {
	case v.cancel():
	case t.input.Value() != "":
		t.input.Reset()
		t.takeFilter()
	case v.inKnob:
		v.inKnob = false
	case v.guide.open:
		v.guide.open = false
	case v.inPicture:
		v.inPicture = false
	default:
		return false
	}
	return true
}

// knobKey chooses and turns what is searched.
func (v *View) knobKey(in Input, key string) (bool, Request) {
	list := v.listed(&in)
	at := max(slices.Index(list, v.knob), 0)
	switch key {
	case "up", "k":
		v.knob = list[max(at-1, 0)]
	case "down", "j":
		v.knob = list[min(at+1, len(list)-1)]
	case "home":
		v.knob = list[0]
	case "end":
		v.knob = list[len(list)-1]
	case "left", "h":
		return true, v.turned(in, -1)
	case "right", "l":
		return true, v.turned(in, 1)
	case "enter":
		v.inKnob = false
	default:
		return false, Request{}
	}
	return true, Request{}
}

func (v *View) turned(in Input, n int) Request {
	if !v.turn(v.knob, n) {
		return Request{}
	}
	return v.Refresh(in)
}

// tableKey moves in the table.
func (v *View) tableKey(in Input, w, h int, key string) (bool, Request) {
	t := &v.table
	rows := v.shown(&in)
	body := max(v.arrange(w, h).table-2-v.above(&in), 1)
	switch key {
	case "up", "k":
		v.move(rows, -1)
	case "down", "j":
		v.move(rows, 1)
	case "pgup":
		v.move(rows, -body)
	case "pgdown":
		v.move(rows, body)
	case "home":
		v.move(rows, -len(rows))
	case "end", "G":
		v.move(rows, len(rows))
	case "left", "h":
		v.moveColumn(&in, w, h, -1)
	case "right", "l":
		v.moveColumn(&in, w, h, 1)
	case "o":
		t.order(t.column)
	case "-":
		t.hide(v.shape(&in, v.arrange(w, h).w).cols)
	case "+", "=":
		t.hidden = make([]bool, len(t.all))
	case "n":
		t.row = max(slices.IndexFunc(rows, func(r row) bool { return r.own }), 0)
	case "enter":
		if v.nonePasses(rows) && v.fixWords() != "" {
			return true, v.fixFilter(in)
		}
		return true, v.take(rows)
	default:
		return false, Request{}
	}
	return true, Request{}
}

func (v *View) move(rows []row, n int) {
	t := &v.table
	t.row = min(max(min(t.row, len(rows)-1)+n, 0), max(len(rows)-1, 0))
}

func (v *View) moveColumn(in *Input, w, h, n int) {
	t := &v.table
	cols := v.shape(in, v.arrange(w, h).w).cols
	if len(cols) == 0 {
		return
	}
	at := max(slices.Index(cols, t.column), 0)
	t.column = cols[min(max(at+n, 0), len(cols)-1)]
}

// order sorts by a column; again turns it round.
func (t *table) order(column int) {
	if t.sort == column {
		t.back = !t.back
		return
	}
	t.sort, t.back, t.row = column, false, 0
}

// hide takes the column under the cursor away, one of those shown; the rank stays.
func (t *table) hide(cols []int) {
	at := slices.Index(cols, t.column)
	if t.all[t.column].id == "rank" || at < 0 {
		return
	}
	t.hidden[t.column] = true
	if at+1 < len(cols) {
		t.column = cols[at+1]
	} else {
		t.column = cols[at-1]
	}
}

// take makes the layout under the cursor the setup.
func (v *View) take(rows []row) Request {
	if v.foundNothing() { // the setup in force is the only row, and is not shown
		if c := v.answer.conflict; c != nil && c.Least != nil {
			s := c.Least.Setup
			return Request{Setup: &s, Text: "the layout with the least memory"}
		}
		return Request{}
	}
	if len(rows) == 0 {
		return Request{}
	}
	r := &rows[min(max(v.table.row, 0), len(rows)-1)]
	s := r.setup
	return Request{Setup: &s, Text: r.name()}
}

// Bindings are all keys of the screen for the help.
func (v *View) Bindings() []widget.Binding {
	general := []widget.Binding{
		{Keys: []string{"f"}, Text: "what is searched: what is best, limits, degrees to hold; and back"},
		{Keys: []string{"a"}, Text: "search everything again: nothing fixed"},
		{Keys: []string{"r"}, Text: "search again"},
		{Keys: []string{"3"}, Text: "three steps to a layout: fit, global batch, throughput; and back"},
		{Keys: []string{"v"}, Text: "next picture: memory and speed, model sizes by nodes, measured runs"},
		{Keys: []string{"/"}, Text: "filter: tp=4 pp>2 free>5 interleaved"},
		{Keys: []string{"esc"}, Text: "stop the search with what it has; take the filter away"},
	}
	if v.inKnob { // the digit is one of a value there
		general = slices.DeleteFunc(general, func(b widget.Binding) bool { return b.Keys[0] == "3" })
	}
	if !v.inKnob && v.guide.open {
		return append([]widget.Binding{
			{Keys: []string{"enter"}, Text: "next step with this; at the last take the layout"},
			{Keys: []string{"left", "right", "h", "l"}, Text: "step before, after"},
			{Keys: []string{"up", "down", "k", "j"}, Text: "line above, below"},
			{Keys: []string{"home", "end", "G"}, Text: "first, last line"},
		}, general...)
	}
	if v.inPicture && v.picture != scatterPicture {
		return append(v.pictureBindings(), general...)
	}
	if v.inKnob {
		return append([]widget.Binding{
			{Keys: []string{"up", "down", "k", "j"}, Text: "knob above, below"},
			{Keys: []string{"left", "right", "h", "l"}, Text: "turn the knob: hold a value or leave it to the search"},
			{Keys: []string{"0", "9", "1", "2", "3", "4", "5", "6", "7", "8"}, Text: "digits type a value, enter takes it"},
			{Keys: []string{"home", "end"}, Text: "first, last knob"},
			{Keys: []string{"enter"}, Text: "back to the layouts"},
		}, general...)
	}
	return append([]widget.Binding{
		{Keys: []string{"enter"}, Text: "take this layout as the setup"},
		{Keys: []string{"up", "down", "k", "j"}, Text: "layout above, below"},
		{Keys: []string{"pgup", "pgdown"}, Text: "a page up, down"},
		{Keys: []string{"home", "end", "G"}, Text: "first, last"},
		{Keys: []string{"n"}, Text: "go to the setup in force"},
		{Keys: []string{"left", "right", "h", "l"}, Text: "column before, after"},
		{Keys: []string{"o"}, Text: "order by this column, or the other way round"},
		{Keys: []string{"-"}, Text: "hide this column"},
		{Keys: []string{"+", "="}, Text: "show all columns that there is room for"},
	}, general...)
}

// Hints are the keys of the moment.
func (v *View) Hints(in Input) []widget.Hint {
	switch {
	case v.table.typing && v.table.wrong != "":
		return []widget.Hint{{Key: "esc", Text: "takes it away"}}
	case v.table.typing:
		return []widget.Hint{{Key: "enter", Text: "keeps the filter"}, {Key: "esc", Text: "takes it away"}}
	case v.running != nil:
		return []widget.Hint{{Key: "esc", Text: "stop with what is found"}, {Key: "f", Text: "what is searched"}}
	case v.guide.open && !v.inKnob:
		hints := []widget.Hint{{Key: "enter", Text: "next step with it"}}
		if v.guide.at == speedStage {
			hints[0].Text = "take it"
			if o := v.guide.here(); o == nil || !o.found || in.Setup != nil && same(&o.row.setup, in.Setup) {
				hints = nil // there is nothing to take, or it is taken
			}
		}
		return append(hints, []widget.Hint{{Key: "left/right", Text: "step"}, {Key: "up/down", Text: "line"}, {Key: "3", Text: "back to the layouts"}}...)
	case !v.inKnob && !v.inPicture && v.nonePasses(v.shown(&in)):
		hints := []widget.Hint{{Key: "esc", Text: "take the filter away"}, {Key: "/", Text: "change it"}}
		if v.fixWords() != "" {
			hints = append([]widget.Hint{{Key: "enter", Text: "search with it fixed"}}, hints...)
		}
		return hints
	case v.inKnob:
		if v.entry.on {
			return []widget.Hint{{Key: "enter", Text: "takes the value"}, {Key: "esc", Text: "does not"}}
		}
		return []widget.Hint{{Key: "up/down", Text: "choose"}, {Key: "left/right", Text: "hold or free"}, {Key: "0-9", Text: "type"}, {Key: "f", Text: "back to the layouts"}, {Key: "a", Text: "free all"}}
	}
	if v.inPicture && v.picture != scatterPicture {
		return []widget.Hint{{Key: "enter", Text: "take it"}, {Key: "arrows", Text: "move"}, {Key: "v", Text: "next picture"}, {Key: "esc", Text: "back to the layouts"}}
	}
	return []widget.Hint{
		{Key: "enter", Text: "take it"},
		{Key: "f", Text: "what to search"},
		{Key: "/", Text: "filter"},
		{Key: "v", Text: "picture"},
		{Key: "3", Text: "guide"},
		{Key: "o", Text: "order"},
		{Key: "n", Text: "your setup"},
		{Key: "up/down", Text: "layout"},
		{Key: "left/right", Text: "column"},
		{Key: "- +", Text: "columns"},
		{Key: "r", Text: "again"},
	}
}

// Status says the whole layout under the cursor, or what a knob does.
func (v *View) Status(in Input, w int) string {
	if v.table.typing && v.table.wrong != "" {
		return in.cut(v.table.wrong, w)
	}
	if v.inKnob {
		if v.entry.on || v.entry.wrong != "" {
			return in.cut(v.entryStatus(), w)
		}
		return in.cut(v.knob.label()+": "+v.knob.help(), w)
	}
	if v.guide.open {
		return in.cut(v.guideStatus(&in), w)
	}
	if v.inPicture {
		switch v.picture {
		case heatPicture:
			return in.cut(v.heatStatus(&in), w)
		case measuredPicture:
			return in.cut(v.measuredStatus(), w)
		case scatterPicture, pictures:
		}
	}
	if v.foundNothing() {
		return in.cut(v.nothingStatus(), w)
	}
	rows := v.shown(&in)
	if len(rows) == 0 {
		return ""
	}
	r := &rows[min(max(v.table.row, 0), len(rows)-1)]
	return in.cut(v.rowStatus(&in, r, w), w)
}

// rowStatus is what the table does not show of a layout: how it stands beside the
// setup in force, then the knobs that have no column.
func (v *View) rowStatus(in *Input, r *row, w int) string {
	text := v.besideOwn(in, r)
	if words := r.room.doubt(in.Glyphs.PlusMinus); words != "" {
		text += words + "; "
	}
	shown := map[string]bool{}
	for _, i := range v.shape(in, v.arrange(w, plotFrom).w).cols {
		shown[v.table.all[i].id] = true
	}
	if rest := layoutWords(&r.setup, func(id string) bool { return shown[id] }); rest != "" {
		text += rest + "; "
	}
	return text + v.spentWords(in, r)
}

// besideOwn is how much faster a layout is than the setup in force: by its tokens, and
// where it has another number of GPUs by those of each GPU too.
func (v *View) besideOwn(in *Input, r *row) string {
	own := v.own(in)
	if own == nil || r.own || own.perGPU <= 0 || r.perGPU <= 0 {
		return ""
	}
	than := " than yours"
	if r.setup.GPUs != own.setup.GPUs {
		all := r.perGPU * float64(r.setup.GPUs) / (own.perGPU * float64(own.setup.GPUs))
		than = " a GPU and " + moreWords(all) + " in all" + than + " on " + figure.Comma(own.setup.GPUs) + " GPUs"
	}
	if !own.fits {
		than += ", which does not fit"
	}
	return moreWords(r.perGPU/own.perGPU) + " tokens/s" + than + "; "
}

// moreWords say a ratio as so much more or less.
func moreWords(ratio float64) string {
	percent := 100 * (ratio - 1)
	if percent < 0 {
		return strings.TrimPrefix(figure.Signed(percent, 1), "-") + " % fewer"
	}
	return strings.TrimPrefix(figure.Signed(percent, 1), "+") + " % more"
}

// spentWords are what a layout loses its time to, beside what the setup in force
// does: most of the reason for its place.
func (v *View) spentWords(in *Input, r *row) string {
	comm, bubble := "exposed traffic "+figure.Percent(r.comm), "bubble "+figure.Percent(r.bubble)
	if own := v.own(in); own != nil && !r.own {
		comm += " (yours " + figure.Percent(own.comm) + ")"
		bubble += " (yours " + figure.Percent(own.bubble) + ")"
	}
	return comm + ", " + bubble
}

// seconds writes how long a search took.
func seconds(s float64) string {
	if s < 0.0995 {
		return figure.Three(s*1000) + " ms"
	}
	return figure.Three(s) + " s"
}
