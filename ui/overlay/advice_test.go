package overlay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/compare"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/ui/widget"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
)

// someAdvice has round figures in place of the engine's.
func someAdvice(fits bool) *advise.Advice {
	report := func(peak units.Bytes, step units.Seconds) engine.Report {
		r := engine.Report{
			Legal: true,
			Memory: &engine.Memory{
				Usable: 80 * units.GiB, Peak: peak * units.GiB,
				Ranks: []engine.RankMemory{{Total: peak * units.GiB}},
			},
			Time: &engine.Time{Step: step}, Throughput: &engine.Throughput{MFU: 0.5},
		}
		r.Memory.Fit = engine.FitWithin(r.Memory.Peak, r.Memory.Usable, 0)
		if r.Memory.Fits = peak <= 80; !r.Memory.Fits {
			r.Memory.Reason = "rank 0 needs 100.0 GiB, 20.0 more than the 80.0 of a GPU: gradients alone " +
				"are 33.0 GiB, for 8.8 B parameters on a GPU under ZeRO-1"
		}
		return r
	}
	peak := units.Bytes(60)
	if !fits {
		peak = 100
	}
	a := &advise.Advice{
		Report: report(peak, 10),
		Limits: []advise.Limit{
			{Name: "compute", Seconds: 8, Share: 0.8},
			{Name: "tp", Seconds: 1.5, Share: 0.15},
			{Name: "bubble", Seconds: 0.5, Share: 0.05},
		},
		Looked: advise.Looked{
			Singles: 50, Pairs: 1000, Triples: 4000, Beam: 100, Layouts: 8000,
			Further: 100,
		},
	}
	for i, name := range []string{
		"gradients", "optimizer", "activations", "weights", "overhead", "buffers",
		"logits",
	} {
		a.Terms = append(a.Terms, advise.Term{
			Name: name, Bytes: units.Bytes(35-5*i) * units.GiB,
			Share: float64(35-5*i) / 140,
		})
	}
	move := func(peak units.Bytes, step units.Seconds, changes ...compare.Change) advise.Move {
		m := advise.Move{
			Changes: changes, Turned: 1, Report: report(peak, step),
			PessimisticStep: units.Seconds(step), Speed: float64(10 / step),
			Saved: (a.Report.Memory.Peak/units.GiB - peak) * units.GiB,
		}
		m.Setup.TP = len(a.Moves) + 1
		m.Fits, m.Roomy = m.Report.Memory.Fits, m.Report.Memory.Fits
		return m
	}
	turn := func(field, to string) compare.Change { return compare.Change{Field: field, B: to} }
	for i, m := range []advise.Move{
		move(75, 10.5, turn("offload", "optimizer")),
		move(76, 11, turn("pp", "2"), compare.Change{Field: "dp", B: "2", Follows: "gpus"},
			compare.Change{Field: "microbatches", B: "8", Follows: "gbs"}),
		move(74, 9.5, turn("tp", "4"), turn("pp", "4"), turn("vpp", "20"), turn("schedule", "interleaved"),
			turn("recompute", "full:4"), turn("offload", "optimizer")),
	} {
		m.Setup.TP = i + 1
		a.Moves = append(a.Moves, m)
	}
	value := func(text string, step units.Seconds, fits bool) advise.Value {
		return advise.Value{Text: text, Step: step, Expected: step, Peak: 70 * units.GiB, Fits: fits}
	}
	refused := value("3", 9.9, true)
	refused.Refused = true
	a.Knobs = []advise.Knob{
		{ID: "tp", Values: []advise.Value{
			value("2", 7.5, false), value("16", 14, true),
			value("32", 80, true),
		}},
		{ID: "schedule", Values: []advise.Value{value("interleaved", 9, fits), value("naive", 19, true)}},
		{ID: "mbs", Values: []advise.Value{value("2", 9.5, false), value("128", 18, false)}},
		{ID: "zero", Values: []advise.Value{value("2", 10.2, true), refused}},
		{ID: "recompute", Values: []advise.Value{value("selective", 11, true), value("full", 13, true)}},
		{ID: "offload", Values: []advise.Value{value("optimizer", 10.01, true)}},
	}
	for i := range a.Knobs {
		k := &a.Knobs[i]
		k.Current = []string{"8", "1f1b", "1", "1", "none", "none"}[i]
		k.Now = advise.Value{Text: k.Current, Step: 10, Expected: 10, Peak: a.Report.Memory.Peak, Fits: fits}
	}
	by := move(74, 11, turn("pp", "2"))
	a.Rules = []advise.Rule{
		{ID: "two", Text: "From 10 to 100 B parameters on more than 8 GPUs: TP 8 with PP, TP 8 with " +
			"ZeRO-3, or ZeRO-3 alone", Verdict: advise.Agrees, Why: "fits in 74.0 GiB", Move: &by},
		{
			ID: "batch", Text: "A global batch of 4 M tokens (Llama 1) to 60 M (DeepSeek)",
			Verdict: advise.Warns, Why: "a step has 0.131 M tokens",
		},
	}
	return a
}

func adviceCard(fits bool, w, h int) *Advice {
	found := someAdvice(fits)
	card := NewAdvice(&found.Report)
	card.Resize(w, h)
	card.Make = func(m *advise.Move) Action { return m }
	card.Take(found)
	return card
}

// adviceText is what the card shows, without colours.
func adviceText(t *testing.T, a *Advice, unicode bool) string {
	t.Helper()
	d := a.Render(theme(t, colorprofile.ASCII), widget.NewGlyphs(unicode))
	for _, line := range d.Lines {
		if got := ansi.StringWidth(line); got != a.wide() || len(d.Lines) > a.h {
			t.Errorf("%dx%d: %d cells, %d lines: %q", a.w, a.h, got, len(d.Lines), line)
		}
	}
	return ansi.Strip(strings.Join(d.Lines, "\n")) + "\n"
}

// TestAdviceTooClose: a step within a quarter of the wider error band is marked, where the setup runs at all.
func TestAdviceTooClose(t *testing.T) {
	for _, test := range []struct {
		fits bool
		band float64
		want int
	}{{true, 0, 0}, {true, 0.21, 1}, {true, 0.44, 3}, {false, 0.44, 0}} {
		a := adviceCard(test.fits, 120, 36)
		a.found.Report.Time.ErrorBand = test.band
		text := adviceText(t, a, false)
		said := strings.Contains(text, "too close to call")
		if n := strings.Count(text, "~x"); n != test.want || said != (n > 0) {
			t.Errorf("band %v: %d marks, %d wanted:\n%s", test.band, n, test.want, text)
		}
	}
}

// TestAdviceRender: the card of a setup that fits and of one that does not, from its
// first line and from its last, on three sizes, and without colours in ASCII.
func TestAdviceRender(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}, {200, 60}} {
		for name, fits := range map[string]bool{"fits": true, "does not": false} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				a := adviceCard(fits, size[0], size[1])
				text := adviceText(t, a, true)
				a.HandleKey(tea.KeyPressMsg{Code: tea.KeyEnd})
				golden.RequireEqual(t, text+adviceText(t, a, true))
			})
		}
	}
	t.Run("ascii", func(t *testing.T) {
		text := adviceText(t, adviceCard(false, 120, 60), false)
		for _, r := range text {
			if r > 0x7e {
				t.Fatalf("%q is beyond ASCII", r)
			}
		}
		golden.RequireEqual(t, text)
	})
	t.Run("working", func(t *testing.T) {
		found := someAdvice(false)
		a := NewAdvice(&found.Report)
		a.Resize(80, 24)
		text := adviceText(t, a, true)
		if a.Move() != nil || !strings.Contains(text, "working") || !strings.Contains(text, "esc stops it") {
			t.Errorf("before anything is known:\n%s", text)
		}
		a.Take(nil)
		if text = adviceText(t, a, true); strings.Contains(text, "working") ||
			!strings.Contains(text, "cannot be evaluated") {
			t.Errorf("where nothing can be known:\n%s", text)
		}
	})
}

// TestAdviceVerdict: the heading goes by the peak with its error band, the words after it by the peak alone.
func TestAdviceVerdict(t *testing.T) {
	for _, c := range []struct {
		peak        units.Bytes
		want, other string
	}{
		{90, "FITS  what limits the step", "TIGHT"},
		{95, "TIGHT  what limits the step", "FITS"},
		{105, "TIGHT  what would make it fit", "OVER"},
		{112, "OVER  what would make it fit", "TIGHT"},
	} {
		a := adviceCard(c.peak <= 100, 120, 36)
		m := a.report.Memory
		m.ErrorBand, m.Usable, m.Peak = 0.1, 100*units.GiB, c.peak*units.GiB
		m.Fit, m.Fits = engine.FitWithin(m.Peak, m.Usable, m.ErrorBand), m.Peak <= m.Usable
		if text := adviceText(t, a, true); !strings.Contains(text, c.want) ||
			strings.Contains(text, c.other+"  ") {
			t.Errorf("%g of 100 GiB within 10 %%: not %q, or %q:\n%s", float64(c.peak), c.want, c.other, text)
		}
	}
}

// TestAdviceReach: at every size each move, that of a rule too, can be chosen by going
// down, every line is seen on the way, and what is chosen is always in sight.
func TestAdviceReach(t *testing.T) {
	for _, size := range draws.Some(2, [][2]int{{60, 12}, {200, 60}, {60, 20}, {80, 24}}...) {
		a := adviceCard(false, size[0], size[1])
		reached, seen := map[*advise.Move]bool{a.Move(): true}, map[int]bool{}
		for range 200 {
			for y := a.first; y < a.first+a.rows(a.page(a.body())); y++ {
				seen[y] = true
			}
			a.HandleKey(tea.KeyPressMsg{Code: tea.KeyDown})
			if m := a.Move(); m != nil {
				reached[m] = true
				if text := adviceText(t, a, true); strings.Count(text, "▸") != 1 {
					t.Fatalf("%v: not one line is chosen:\n%s", size, text)
				}
			}
		}
		delete(reached, nil)
		if want := len(a.found.Moves) + 1; len(reached) != want {
			t.Errorf("%v: %d of %d moves can be chosen", size, len(reached), want)
		}
		if len(seen) != len(a.body()) {
			t.Errorf("%v: %d of %d lines are seen", size, len(seen), len(a.body()))
		}
		for range 200 {
			a.HandleKey(tea.KeyPressMsg{Code: tea.KeyUp})
		}
		if a.first != 0 {
			t.Errorf("%v: going up ends at line %d", size, a.first)
		}
	}
}

// TestAdviceResize: what is chosen stays chosen and in sight.
func TestAdviceResize(t *testing.T) {
	a := adviceCard(false, 200, 60)
	for range 3 {
		a.HandleKey(tea.KeyPressMsg{Code: tea.KeyDown})
	}
	was := a.Move()
	if was != a.found.Rules[0].Move {
		t.Fatalf("three down is not the rule's move: %+v", was)
	}
	for _, size := range [][2]int{{80, 24}, {60, 12}, {200, 60}} {
		a.Resize(size[0], size[1])
		if a.Move() != was {
			t.Errorf("at %v it is %+v", size, a.Move())
		}
	}
	if a.Click(1000) != nil || a.Move() != was {
		t.Error("a click beside the card chooses")
	}
}

// TestAdviceOneStep: the card has one kind of step, that of the rest of the program, and names the slow end,
// by which it ranks, once.
func TestAdviceOneStep(t *testing.T) {
	for _, fits := range []bool{false, true} {
		plain, found := someAdvice(fits), someAdvice(fits)
		found.PessimisticStep = 15
		for i := range found.Moves {
			found.Moves[i].PessimisticStep *= 3
		}
		for i := range found.Knobs {
			k := &found.Knobs[i]
			k.Now.Step *= 3
			for j := range k.Values {
				k.Values[j].Step *= 3
			}
		}
		text := func(found *advise.Advice) string {
			a := NewAdvice(&found.Report)
			a.Take(found)
			a.Resize(120, 70)
			return adviceText(t, a, true)
		}
		was := strings.Split(text(plain), "\n")
		named := 0
		for _, line := range strings.Split(text(found), "\n") {
			switch {
			case strings.Contains(line, "order: of the step where no unproven overlap works, 15.0 s"):
				named++
			case strings.Contains(line, " s ") && !slices.Contains(was, line):
				t.Errorf("fits %v, another step: %s", fits, line)
			}
		}
		if named != 1 {
			t.Errorf("fits %v: the slow end is named %d times:\n%s", fits, named, text(found))
		}
	}
}
