package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/textbox"
	"meshscope/ui/widget"
)

// table is how the layouts are listed.
type table struct {
	all    []column
	hidden []bool // by the user, of all
	column int    // under the cursor, of all
	asked  bool   // the cursor came to the column last: the status says what it is
	sort   int    // column that rows are ordered by
	back   bool   // in reverse
	row    int    // under the cursor, of those shown

	input      textbox.Field
	typing     bool
	conditions []condition
	wrong      string // why the filter is not taken
}

func newTable() table {
	t := table{all: report.CandidateColumns(), input: textbox.New(80)}
	t.hidden = make([]bool, len(t.all))
	for i := range t.all {
		t.hidden[i] = t.all[i].Aside || t.all[i].ID == "free" || t.all[i].ID == "hours"
	}
	return t
}

// fresh puts the cursor on the best of new rows.
func (t *table) fresh() { t.row, t.asked = 0, false }

// slowOf returns the slow end of the current setup's step; its step where that takes long to find.
func (v *View) slowOf(in *screen.Context) units.Seconds {
	if v.slow.of != *in.Setup {
		v.slow.of, v.slow.step = *in.Setup, in.Report.Time.Step
		if !in.Setup.Slow() {
			v.slow.step = engine.PessimisticStep(in.Setup, in.Report)
		}
	}
	return v.slow.step
}

// own returns the current setup as a row, ranked among what was found; nil where
// there are no figures of it.
func (v *View) own(in *screen.Context) *row {
	if in.Setup == nil || in.Report == nil || in.Report.Time == nil || in.Report.Memory == nil {
		return nil
	}
	r := rowOf(in.Setup, in.Report, v.slowOf(in), 0)
	r.current = true
	if v.answer != nil && v.answer.of.chosen[budget] != "" { // the tokens are those of the question
		s := *in.Setup
		s.Budget = v.answer.of.inFull().Setup.Budget
		if run := engine.WholeRun(&s, in.Report.Time); run != nil {
			r.Spend(run)
		}
	}
	r.last = !r.Fits || v.chosen[objective] != ""
	return &r
}

// shown returns the rows in their order: those found that pass the filter, with the
// current setup among them.
func (v *View) shown(in *screen.Context) []row {
	if v.answer == nil {
		return nil
	}
	t := &v.table
	own := v.own(in)
	out := make([]row, 0, len(v.answer.rows)+1)
	found := false
	for i := range v.answer.rows {
		r := v.answer.rows[i]
		if r.Rank == 0 {
			continue
		}
		if own != nil && same(&r.Setup, in.Setup) {
			r.current, found = true, true
		}
		out = append(out, r)
	}
	if own != nil && !found {
		out = append(out, *own)
	}
	out = slices.DeleteFunc(out, func(r row) bool { return !passes(&r, t.conditions, t.all) })
	slices.SortStableFunc(out, func(a, b row) int { return t.compare(&a, &b) })
	return out
}

// compare orders two rows by the chosen column, then by what they are worth.
func (t *table) compare(a, b *row) int {
	c := &t.all[t.sort]
	var n int
	switch {
	case c.ID == "rank":
		n = worth(a, b)
	case c.Words():
		n = cmp.Compare(c.Text(&a.Candidate), c.Text(&b.Candidate))
	case c.Down:
		n = cmp.Compare(c.Value(&b.Candidate), c.Value(&a.Candidate))
	default:
		n = cmp.Compare(c.Value(&a.Candidate), c.Value(&b.Candidate))
	}
	if t.back {
		n = -n
	}
	if n == 0 {
		n = worth(a, b)
	}
	return n
}

// worth orders by rank; what has none stands by its speed among those that have
// one, and behind all where it does not fit.
func worth(a, b *row) int {
	switch {
	case a.Rank > 0 && b.Rank > 0:
		return cmp.Compare(a.Rank, b.Rank)
	case a.last != b.last:
		if b.last {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.speed(), a.speed())
}

// pointer is the width of the marks before a row: cursor and current setup.
const pointer = 2

// lines draws head and rows: exactly h lines of w cells.
func (v *View) lines(in *screen.Context, rows []row, w, h int) []string {
	t := &v.table
	form := v.shape(in, w)
	lines := []string{v.head(in, &form, w)}
	at := min(t.row, len(rows)-1)
	for _, i := range seen(rows, at, h-1) {
		lines = append(lines, v.line(in, &form, &rows[i], i == at && !v.inKnob && !v.inPicture, w))
	}
	return widget.Height(lines, w, h)
}

// seen returns the rows on n lines, that of the cursor among them. Where the setup in
// force is beyond the page it takes the last line, and the pages are a line shorter.
func seen(rows []row, at, n int) []int {
	own := slices.IndexFunc(rows, func(r row) bool { return r.current })
	from := widget.Page(at, n, len(rows))
	pinned := own >= 0 && n >= 4 && (own < from || own >= from+n)
	if pinned {
		n--
		from = widget.Page(at, n, len(rows))
	}
	out := make([]int, 0, max(n, 0)+1)
	for i := from; i < min(from+n, len(rows)); i++ {
		out = append(out, i)
	}
	switch {
	case !pinned:
	case !slices.Contains(out, own):
		out = append(out, own)
	case from+n < len(rows):
		out = append(out, from+n)
	case from > 0:
		out = slices.Insert(out, 0, from-1)
	}
	return out
}

func (v *View) head(in *screen.Context, form *shape, w int) string {
	t := &v.table
	l := widget.NewLine(w).Gap(pointer)
	for _, i := range form.cols {
		c := &t.all[i]
		text, role := c.Head, themes.Muted
		if i == t.sort {
			sign := in.Glyphs.Down
			if c.Down == t.back {
				sign = in.Glyphs.Up
			}
			text += sign
			role = themes.Strong
		}
		if i == t.column && !v.inKnob {
			role = themes.Accent
		}
		t.cell(in, l, i, form.widths[i], in.Paint(role), text)
	}
	return l.String()
}

// cell writes a text into a column of that width.
func (t *table) cell(in *screen.Context, l *widget.Line, i, width int, p themes.Paint, text string) {
	end := l.Used() + width
	if t.all[i].Words() {
		l.Gap(2).Put(p, in.Cut(text, width-2)).To(end)
		return
	}
	l.RightAligned(p, text, end)
}

func (v *View) line(in *screen.Context, form *shape, r *row, here bool, w int) string {
	t := &v.table
	l, base := in.Row(w, here)
	l.To(1)
	switch {
	case r.current:
		l.Put(in.Paint(themes.Current), in.Glyphs.Here)
	case r.Front:
		l.Put(in.Paint(themes.Good), in.Glyphs.Point)
	}
	l.To(pointer)
	for _, i := range form.cols {
		role := base
		c := &t.all[i]
		text := v.cellText(in, c, r)
		switch {
		case here:
		case r.current:
			role = themes.Current
		case c.ID == "tokens":
			role = themes.Strong
		case c.ID == "rank", c.Degree && c.Value(&r.Candidate) == 1, c.Words() &&
			(text == "off" || text == "none"):
			role = themes.Muted
		}
		if (c.ID == "peak" || c.ID == "free") && !r.Fits && !here {
			role = themes.Bad
		}
		t.cell(in, l, i, form.widths[i], in.Paint(role), text)
	}
	return l.String()
}

// beyond returns what represents the rank of the current setup where it is not among
// the layouts that are listed.
func (v *View) beyond(in *screen.Context, r *row) string {
	if !r.Fits {
		return in.Glyphs.Cross
	}
	if n := v.ranked(); n > 0 && r.speed() < v.answer.rows[n-1].speed() &&
		v.answer.of.chosen[objective] == "" {
		return ">" + strconv.Itoa(n)
	}
	return in.Glyphs.None
}

// ranked returns how many layouts are listed.
func (v *View) ranked() int {
	if v.answer == nil {
		return 0
	}
	n := 0
	for n < len(v.answer.rows) && v.answer.rows[n].Rank > 0 {
		n++
	}
	return n
}

// filterKey gives a key to the filter that is typed.
func (t *table) filterKey(key string) {
	switch key {
	case "esc":
		if t.input.Value() == "" {
			t.endTyping()
			return
		}
		t.input.Reset()
	case "enter", "up", "down":
		if t.wrong == "" { // what cannot be read stays under the caret, with the reason
			t.endTyping()
		}
		return
	default:
		t.input.Type(key)
	}
	t.takeFilter()
}

func (t *table) endTyping() { t.typing = false }

// takeFilter reads the typed conditions; one that cannot be read is named and ignored.
func (t *table) takeFilter() {
	conditions, err := parse(t.input.Value(), t.all)
	t.wrong = ""
	if err != nil {
		t.wrong, conditions = err.Error(), readable(t.input.Value(), t.all)
	}
	t.conditions, t.row = conditions, 0
}

// passing returns how many of the layouts that were found pass the filter.
func passing(rows []row) int {
	n := 0
	for i := range rows {
		if rows[i].Rank > 0 {
			n++
		}
	}
	return n
}

// nonePasses says that layouts were found, and that the filter leaves none of them.
func (v *View) nonePasses(rows []row) bool {
	return v.answer != nil && v.running == nil && len(v.table.conditions) > 0 && v.ranked() > 0 &&
		passing(rows) == 0
}

// lookedAt returns what the filter looks at: the layouts that are listed, which are the best
// of all that were ranked.
func (v *View) lookedAt() string {
	n, all := v.ranked(), v.answer.result.legal
	if n < all {
		return fmt.Sprintf("the best %s of %s", figure.Comma(n), figure.Comma(all))
	}
	return "all " + figure.Comma(n)
}

// noneLines say that no layout passes the filter, among which, and what enter does.
func (v *View) noneLines(in *screen.Context, w int) []string {
	texts := []string{"none of " + v.lookedAt() + " layouts pass; esc removes the filter"}
	if words := v.fixWords(); words != "" {
		texts = append(texts, "enter searches again with "+words+" fixed")
	}
	lines := make([]string, 0, len(texts))
	for _, text := range texts {
		lines = append(lines, in.Note(w, text))
	}
	return lines
}

// fixWords returns the knobs that enter fixes to what the filter says; none where they have
// been fixed to it.
func (v *View) fixWords() string {
	asked := fixed(v.table.conditions, v.table.all)
	var parts []string
	for k := range knobs {
		if word, ok := asked[k]; ok && v.chosen[k] != word {
			parts = append(parts, k.label()+" "+word)
		}
	}
	return strings.Join(parts, ", ")
}

// fixFilter searches anew with the knobs fixed to what the filter says.
func (v *View) fixFilter(in *screen.Context) screen.Request {
	before, asked := v.chosen, fixed(v.table.conditions, v.table.all)
	for k, typed := range asked {
		word, err := v.read(k, typed)
		if err != nil {
			v.chosen, v.table.wrong, v.table.typing = before, err.Error(), true
			return screen.Request{}
		}
		v.admit(k, word)
		v.set(k, word)
	}
	if v.chosen == before {
		return screen.Request{}
	}
	if len(asked) == len(v.table.conditions) { // the knobs say all of it now
		v.table.input.Reset()
		v.table.takeFilter()
	}
	return v.Refresh(in)
}
