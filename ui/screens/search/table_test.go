package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/table"
)

// TestOrderAndFilter: every column orders its rows, and filters leave those that
// meet them.
func TestOrderAndFilter(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := prepared(in)
	for i := range v.table.All {
		c := &v.table.All[i]
		v.table.Sort, v.table.Back = i, false
		for _, back := range []bool{false, true} {
			v.table.Back = back
			rows := v.shown(in)
			for n := 1; n < len(rows) && !c.Words() && c.ID != "rank"; n++ {
				a, b := c.Value(&rows[n-1]), c.Value(&rows[n])
				if !math.IsNaN(a) && a != b && (a < b) == (c.Down != back) {
					t.Fatalf("%s, back %t: %v before %v", c.ID, back, a, b)
				}
			}
		}
	}
	all := len(v.shown(in))
	v.press(in, "/", "t", "p", "=", "4", " ", "p", "p", ">", "1", " ", "f", "u", "l", "l", "enter")
	rows := v.shown(in)
	if len(rows) == 0 || len(rows) == all {
		t.Fatalf("%d of %d rows pass", len(rows), all)
	}
	for i := range rows {
		if s := &rows[i].Setup; s.TP != 4 || s.PP < 2 || s.Recompute.Mode != recipe.RecomputeFull {
			t.Errorf("%s passes", report.LayoutWords(s, nil))
		}
	}
	v.press(in, "esc")
	if len(v.shown(in)) != all {
		t.Error("esc does not take the filter away")
	}
}

// parse reads a filter, and says what is wrong with it.
func parse(text string) (*table.Table[row], error) {
	t := table.New(columns())
	t.Input.Set(text)
	t.Take()
	if t.Wrong != "" {
		return &t, errors.New(t.Wrong)
	}
	return &t, nil
}

func TestParseFilter(t *testing.T) {
	for text, wrong := range map[string]string{
		"":             "",
		"tp=4 pp>=2":   "",
		"mem=3":        "no column",
		"tp=x":         "not a number",
		"tp=":          "missing",
		"schedule>1":   "is a word",
		"tp!4":         "!=",
		"zero!=3 none": "",
		"TP==8":        "",
		"tok>1,000":    "",
		"foo=3":        `no column "foo"; columns are`,
		"zer=1":        `no column "zer", nearest zero`,
		"zzz":          `no row can have the word "zzz"`,
		"interleavd":   "nearest interleaved",
		"tp":           "a comparison is missing",
		"tp=1e400":     "beyond all numbers",
		"mbs>NaN":      "not a number",
		"mbs<inf":      "not a number",
		"<?8":          "name of a column is missing",
		"schedule=gpi": `schedule has no value "gpi"`,
		"full:4":       "",

		"schedule=gpipe grad-dtype=bfloat16":       "",
		"offload=cpu":                              "nearest optimizer",
		"attention=sdpa":                           "nearest flash",
		"\x7fELF\x02\x01\x01\x03<\xc1\xf0\x9f\x92": "no column",
		strings.Repeat("x", 100_000):               `xxx..."`,
	} {
		_, err := parse(text)
		if (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestFilterSaysWhatItLookedAt: where nothing of what is listed passes, the screen says
// among which it looked, and enter searches with the knobs fixed to the filter; what
// cannot be read stays under the caret with its reason.
func TestFilterSaysWhatItLookedAt(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	if v.ranked() != top {
		t.Fatalf("%d layouts, want a list that is not all", v.ranked())
	}
	listed := map[int]bool{}
	for i := range v.answer.rows {
		if r := &v.answer.rows[i]; r.Rank > 0 {
			listed[r.Setup.PP] = true
		}
	}
	absent := 0
	for _, word := range v.values[pipeline][1:] {
		if n, err := strconv.Atoi(word); err == nil && !listed[n] {
			absent = n
			break
		}
	}
	if absent == 0 {
		t.Fatalf("every PP is listed: %v", listed)
	}
	v.press(in, "/")
	v.Paste(fmt.Sprintf("pp=%d", absent))
	v.press(in, "enter")
	frame := ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n"))
	for _, want := range []string{fmt.Sprintf("none of the best 100 of %s layouts pass",
		figure.Comma(v.answer.result.legal)), fmt.Sprintf("enter searches again with PP %d fixed", absent)} {
		if !strings.Contains(frame, want) {
			t.Errorf("the screen does not say %q:\n%s", want, frame)
		}
	}
	_, do := screen.Press(v, in.At(118, 32), "enter")
	if do.Work == nil {
		t.Fatal("enter does not search")
	}
	do.Work(t.Context())()
	rows := v.shown(in)
	if v.ranked() == 0 && v.answer.conflict == nil {
		t.Error("nothing found, and no reason")
	}
	for i := range rows {
		if rows[i].Rank > 0 && rows[i].Setup.PP != absent {
			t.Errorf("PP %d was asked for, this has %d", absent, rows[i].Setup.PP)
		}
	}

	v.press(in, "a", "/", "f", "o", "o", "=", "3", "enter")
	frame = ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n"))
	if !v.Typing() || !strings.Contains(frame, `no column "foo"`) {
		t.Errorf("a column that there is not, typing %t:\n%s", v.Typing(), frame)
	}
}

func FuzzFilter(f *testing.F) {
	for _, text := range []string{"tp=4 pp>2 1f1b", "<", "!=", "step<=1e3", "schedule=interleaved", "a=b=c"} {
		f.Add(text)
	}
	s := presets.DefaultSetup()
	r := roundReport(60, 50)
	one := report.NewCandidate(&s, &r, r.Time.Step, 1)
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := parse(text)
		if err == nil && len(filter.Conditions) != len(strings.Fields(text)) {
			t.Fatalf("%q: %d conditions", text, len(filter.Conditions))
		}
		filter.Passes(&one)
	})
}

// TestFilterOfAnyColumn: a row passes the filter that names its own value, and
// none that names another.
func TestFilterOfAnyColumn(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	all := columns()
	rows := invented(in).rows
	draws.Check(t, func(r *rapid.T) {
		one := &rows[rapid.IntRange(0, len(rows)-2).Draw(r, "row")]
		c := &all[rapid.IntRange(0, len(all)-1).Draw(r, "column")]
		value := c.Brief(one)
		if !c.Words() {
			if math.IsNaN(c.Value(one)) {
				return // nobody knows what the run costs
			}
			value = fmt.Sprint(c.Number(one))
		}
		for op, want := range map[string]bool{"=": true, "!=": false} {
			filter, err := parse(c.ID + op + value)
			if err != nil || filter.Passes(one) != want {
				r.Fatalf("%s%s%s: %v", c.ID, op, value, err)
			}
		}
	})
}

// TestConflict: where nothing is found the screen says why, and enter gives the
// layout that comes nearest.
func TestConflict(t *testing.T) {
	in := small(t)
	m, err := presets.Default().Model("llama3.1-405b")
	if err != nil {
		t.Fatal(err)
	}
	s := knob.WithModel(*in.Setup, m)
	in.Setup, in.Report = &s, nil
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	text := strings.Join(strings.Fields(ansi.Strip(strings.Join(v.tablePanel(in, v.shown(in), 90, 30), " "))),
		" ")
	for _, want := range []string{
		"Llama-3.1 405B", "One limit alone excludes them all",
		"the memory of a GPU", "least memory",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if do := v.press(in, "enter"); do.Setup == nil || !engine.Legal(*do.Setup) {
		t.Error("enter does not give the layout with the least memory")
	}
}

// TestFilterIsALineOfText: every key of a line of text works in the filter, as in all
// others.
func TestFilterIsALineOfText(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"to the end":        {[]string{"ctrl+a", "ctrl+k"}, ""},
		"a word forward":    {[]string{"home", "alt+d"}, " pp=2"},
		"a word backward":   {[]string{"alt+b", "x"}, "tp=4 xpp=2"},
		"by ctrl+left":      {[]string{"ctrl+left", "x"}, "tp=4 xpp=2"},
		"under the caret":   {[]string{"home", "ctrl+d"}, "p=4 pp=2"},
		"two signs at once": {[]string{"日本"}, "tp=4 pp=2日本"},
	} {
		v := prepared(in)
		v.press(in, "/")
		v.Paste("tp=4 pp=2")
		v.press(in, c.keys...)
		if got := v.table.Input.Value(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOwnSlowEnd: the row of the current setup has the slow end of that setup, also after another
// one has taken its place in the same memory.
func TestOwnSlowEnd(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	for _, zero := range []int{1, 3, 2} {
		in.Setup.ZeRO = zero
		*in.Report = engine.Evaluate(*in.Setup)
		if got, want := v.own(in).Slow, engine.PessimisticStep(in.Setup, in.Report); got != want {
			t.Errorf("zero %d: the slow end is %v, not %v", zero, got, want)
		}
	}
}

// TestOwnSplit: layouts have the layers of each stage where the launcher must be told, and the own one is one
// of them although its stages are not written out.
func TestOwnSplit(t *testing.T) {
	in := small(t)
	own := *in.Setup
	own.Model.Layers = 29 // four stages are not alike
	r := engine.Evaluate(own)
	in.Setup, in.Report = &own, &r
	v := New(presets.Default())
	v.set(pipeline, "4")
	v.Refresh(in).Work(t.Context())()
	rows := v.shown(in)
	at := slices.IndexFunc(rows, func(r row) bool { return r.Rank > 0 && r.Setup.Split != "" })
	if at < 0 {
		t.Fatalf("none of %d layouts says its split", len(rows))
	}
	for i := range rows {
		if s := &rows[i].Setup; rows[i].Rank > 0 && len(launch.Of(s.Stack).Refusals(s)) > 0 {
			t.Fatalf("rank %d is refused: split %q", rows[i].Rank, s.Split)
		}
	}
	written := &rows[at].Setup
	own = *written
	if own.Split = ""; !same(&own, written) {
		t.Errorf("split %s makes another layout", written.Split)
	}
	if own.Split = layout.LighterEnds(own.Model.Layers, own.Stages())[0]; same(&own, written) {
		t.Errorf("splits %s and %s are the same layout", own.Split, written.Split)
	}
}
